"""Setting last-applied and clearing managedFields on a real API server, beside the real kubectl."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.requests.options import ApplyOptions, ClearPatch, SetAction
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
