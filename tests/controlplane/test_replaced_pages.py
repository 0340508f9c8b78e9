"""Workloads that are deleted and created again beside their controllers: do the pages of the plan come true?"""

from __future__ import annotations

import json

import pytest

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Propagation, Replacement
from applyviz.web.reviews.pages.plan_summary import present_impact
from applyviz.workflow.plans import changes
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product
from tests.controlplane.takeover import install
from tests.controlplane.test_kinds import judge
from tests.controlplane.test_pages import read_observed

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
TEMPLATE = """apiVersion: apps/v1
kind: KIND
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: one}}
    spec: {containers: [{name: main, image: "web:1"}]}
"""
REPLICAS = TEMPLATE.replace("spec:", "spec:\n  replicas: 3", 1)
STATEFUL = REPLICAS.replace("spec:", "spec:\n  serviceName: one", 1)
OTHER_LABEL = ("app: web", "app: other")
JOB = TEMPLATE.replace("apps/v1", "batch/v1").replace("  selector: {matchLabels: {app: web}}\n", "")
JOB = JOB.replace("spec: {containers", "spec: {restartPolicy: Never, containers")
CASES = {
    "Deployment": (REPLICAS, OTHER_LABEL),
    "StatefulSet": (STATEFUL, ("serviceName: one", "serviceName: two")),
    "DaemonSet": (TEMPLATE, OTHER_LABEL),
    "Job": (JOB, ("web:1", "web:2")),
}


@pytest.mark.parametrize("mode", ApplyMode)
@pytest.mark.parametrize("kind", CASES)
def test_pages_of_a_replaced_workload_come_true(managed_plane: ControlPlane, kind: str, mode: ApplyMode):
    product, namespace = Product(managed_plane), f"new-{kind.lower()}-{mode.value}"
    managed_plane.kubectl("create", "namespace", namespace)
    text, (old, new) = CASES[kind]
    text = text.replace("KIND", kind)
    install(managed_plane, {"a.yaml": text}, namespace)
    managed_plane.kubectl("label", "-n", namespace, f"{kind}/web", "team=ops")
    wait(managed_plane, f"{namespace}|{kind}.v1.{'batch' if kind == 'Job' else 'apps'}/web", namespace)
    chosen = Replacement(kinds=(kind,))

    plan = product.plan({"a.yaml": text.replace(old, new)}, ApplyOptions(mode, namespace=namespace, replacement=chosen))
    (change,) = map(changes.read_masked, plan.changes.all())
    assert change.operation is Operation.REPLACE
    pages = judge(product, plan, namespace)

    assert pages.false == []


def wait(plane: ControlPlane, key: str, namespace: str) -> None:
    """Wait until the controller has made the pods."""
    read_observed(plane, [key], namespace)
    if "DaemonSet" not in key:  # no node, no pods
        plane.kubectl("wait", "-n", namespace, "--for=create", "pod", "-l", "app=web")


def test_pods_that_a_replaced_workload_leaves_are_adopted_and_none_restarts(managed_plane: ControlPlane):
    product, namespace = Product(managed_plane), "new-orphans"
    managed_plane.kubectl("create", "namespace", namespace)
    text = STATEFUL.replace("KIND", "StatefulSet")
    install(managed_plane, {"a.yaml": text}, namespace)
    wait(managed_plane, f"{namespace}|StatefulSet.v1.apps/web", namespace)
    before = list_pods(managed_plane, namespace)
    options = ApplyOptions(
        namespace=namespace, replacement=Replacement(kinds=("StatefulSet",)), propagation=Propagation.ORPHAN
    )

    plan = product.plan({"a.yaml": text.replace("serviceName: one", "serviceName: two")}, options)
    impact = present_impact(plan)
    product.run(plan)

    assert not [line for line in impact if "pod" in line or "Downtime" in line]
    managed_plane.kubectl("wait", "-n", namespace, "--for=jsonpath={.status.observedGeneration}=1", "statefulset/web")
    assert before
    assert list_pods(managed_plane, namespace) == before


@pytest.mark.parametrize("propagation", Propagation)
@pytest.mark.parametrize("label", ["other", "web, tier: one"])
def test_replaced_workload_is_scaled_to_zero_where_its_pods_stop(
    managed_plane: ControlPlane, label: str, propagation: Propagation
):
    product, namespace = Product(managed_plane), f"zero-{label.partition(',')[0]}-{propagation.value.lower()}"
    managed_plane.kubectl("create", "namespace", namespace)
    text = REPLICAS.replace("KIND", "Deployment")
    install(managed_plane, {"a.yaml": text}, namespace)
    wait(managed_plane, f"{namespace}|Deployment.v1.apps/web", namespace)
    # With both labels of the template, the new workload adopts what the old one leaves.
    changed = text.replace("replicas: 3", "replicas: 0")
    changed = changed.replace("matchLabels: {app: web}", f"matchLabels: {{app: {label}}}")
    changed = changed.replace("labels: {app: web, tier", "labels: {app: other, tier") if label == "other" else changed
    options = ApplyOptions(namespace=namespace, replacement=Replacement(kinds=("Deployment",)), propagation=propagation)

    plan = product.plan({"a.yaml": changed}, options)
    impact = present_impact(plan)
    pages = judge(product, plan, namespace)

    managed_plane.kubectl("wait", "-n", namespace, "--for=jsonpath={.status.observedGeneration}=1", "deployment/web")
    is_scaled = "Scaled to 0: Deployment/web" in impact
    if is_scaled:
        managed_plane.kubectl("wait", "-n", namespace, "--for=delete", "pod", "-l", "tier=one", "--timeout=30s")
    assert (len(list_pods(managed_plane, namespace)) == 0) is is_scaled
    assert pages.false == []


def list_pods(plane: ControlPlane, namespace: str) -> dict[str, str]:
    """The uid of each pod."""
    found = json.loads(plane.kubectl("get", "pods", "-n", namespace, "-o", "json").stdout)["items"]
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}
