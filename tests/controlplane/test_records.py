"""Setting last-applied and clearing managedFields on a real API server, beside the real kubectl."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.requests.options import ApplyOptions, ClearPatch, SetAction
from applyviz.engine.risks.ineffective import RECORD_IGNORED
from applyviz.engine.risks.sentences import describe_risk
from applyviz.workflow.plans import changes
from tests.controlplane.product import Product
from tests.controlplane.takeover import Takeover, install
from tests.controlplane.test_ownership_moves import WEB, owners_of, patch, read

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
SHORT = WEB.replace("  replicas: 3\n", "")


def test_last_applied_is_set_as_kubectl_sets_it_and_the_next_apply_keeps_the_field(control_plane):
    product, namespaces = Product(control_plane), ("set-by-us", "set-by-kubectl")
    for namespace in namespaces:
        product.plane.kubectl("create", "namespace", namespace)
        install(product.plane, {"web.yaml": WEB}, namespace)
    options = ApplyOptions(action=SetAction.SET_LAST_APPLIED, namespace=namespaces[0])

    step = Takeover(product).bring("set", {"web.yaml": SHORT}, options)
    product.plane.kubectl("apply", "set-last-applied", "-n", namespaces[1], "-f", "-", stdin=SHORT)

    assert step.faults == []
    ours, theirs = (read(product, namespace)["metadata"]["annotations"][ANNOTATION] for namespace in namespaces)
    assert ours == theirs.replace(namespaces[1], namespaces[0])
    shown = product.plane.kubectl("apply", "view-last-applied", "deployment/web", "-n", namespaces[0], "-o", "json")
    assert "replicas" not in json.loads(shown.stdout)["spec"]
    for namespace in namespaces:
        install(product.plane, {"web.yaml": SHORT.replace("nginx:1", "nginx:2")}, namespace)
        assert read(product, namespace)["spec"]["replicas"] == 3


RECORD = f"{ANNOTATION}: '{{}}'"
SET = """apiVersion: v1
kind: ConfigMap
metadata: {name: own-record, annotations: {%s}}
data: {a: "1"}
"""
APPLIED = SET.replace("{%s}", "{}")
REPLACED_RECORD = "kubectl would send it, and the server would replace it with the manifest."


@pytest.mark.parametrize(
    ("before", "told", "conflicts", "forces"),
    [
        ("", REPLACED_RECORD, False, False),
        (APPLIED, "kubectl would send it and conflict with kubectl-client-side-apply.", True, False),
        (APPLIED, REPLACED_RECORD, False, True),
    ],
    ids=["new", "applied client-side", "forced"],
)
def test_record_in_a_manifest_does_with_kubectl_what_the_risk_says(control_plane, before, told, conflicts, forces):
    product, namespace = Product(control_plane), f"own-record-{conflicts}-{forces}".lower()
    product.plane.kubectl("create", "namespace", namespace)
    if before:
        install(product.plane, {"a.yaml": before}, namespace)
    manifest = SET % RECORD

    options = ApplyOptions(namespace=namespace, field_manager="kubectl", takes_over=forces)
    plan = product.plan({"a.yaml": manifest}, options)
    command = ("apply", "--server-side", *(["--force-conflicts"] if forces else []), "-n", namespace, "-f", "-")
    kubectl = product.plane.kubectl(*command, stdin=manifest, check=False)

    (change,) = map(changes.read_masked, plan.changes.all())
    assert [describe_risk(one) for one in change.risks if one.kind is RECORD_IGNORED] == [
        f"The manifest sets the last-applied annotation, which this apply does not send. {told}"
    ]
    assert ("conflict" in kubectl.stderr) == conflicts
    if not conflicts:
        shown = product.plane.kubectl("apply", "view-last-applied", "cm/own-record", "-n", namespace, "-o", "json")
        assert json.loads(shown.stdout)["data"] == {"a": "1"}


@pytest.mark.long
@pytest.mark.parametrize("how", ClearPatch)
def test_managed_fields_are_cleared_and_the_next_apply_credits_before_first_apply(control_plane, how):
    product, namespace = Product(control_plane), f"cleared-{how}"
    product.plane.kubectl("create", "namespace", namespace)
    product.apply({"web.yaml": WEB}, ApplyOptions(namespace=namespace))
    patch(product, namespace, "helm", {"metadata": {"labels": {"tier": "helm"}}})
    options = ApplyOptions(action=SetAction.CLEAR_OWNERSHIP, clear_patch=how, namespace=namespace)

    step = Takeover(product).bring("clear", {"web.yaml": WEB}, options)

    assert step.faults == []
    live = read(product, namespace)
    assert "managedFields" not in live["metadata"]
    assert (live["spec"]["replicas"], live["metadata"]["labels"]["tier"]) == (3, "helm")
    product.apply({"web.yaml": WEB}, ApplyOptions(namespace=namespace, takes_over=True))
    assert owners_of(read(product, namespace)) == {("applyviz", "Apply"), ("before-first-apply", "Update")}
