"""Waiting for rollouts where real controllers are at work; what `kubectl rollout status` says of the same object."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import Outcome, RolloutState, RunState
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from tests.builders import acknowledge_all, open_dangers
from tests.controlplane.binaries import Binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[ControlPlane]:
    """A control plane whose controllers act; without a node no pod ever gets ready."""
    if binaries.controller_manager is None:
        pytest.skip("KUBEBUILDER_ASSETS brings no controller manager")
    with ControlPlane(binaries, has_manager=True) as started:
        yield started


def _deployment(name: str, **spec: object) -> str:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "shop/web:1"}]}}
    body = {"selector": {"matchLabels": labels}, "template": pod, **spec}
    return yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": body})


def _run(product: Product, files: dict[str, str], seconds: int) -> ApplyRun:
    """Carry a set out that waits for its rollouts, each so long."""
    plan = product.plan(files, ApplyOptions(namespace="default"))
    acknowledge_all(plan, product.bob)
    open_dangers(plan, product.bob)
    run = runs.approve_and_run(plan, by=product.bob, digest=plan.digest, waits_for_rollout=True)
    ApplyRun.objects.filter(pk=run.pk).update(rules={**run.rules, "rollout_seconds": seconds})
    runs.execute_run(run.pk)
    run.refresh_from_db()
    return run


def test_controllers_act_when_they_are_started(plane):
    plane.kubectl("create", "deployment", "acting", "--image=shop/web:1", "--replicas=2")

    plane.kubectl("wait", "--for=jsonpath={.status.replicas}=2", "deployment/acting", "--timeout=60s")

    assert "replicaset.apps/acting-" in plane.kubectl("get", "replicasets", "-o", "name").stdout


@pytest.mark.parametrize(
    ("name", "spec", "seconds", "rollout", "said"),
    [
        ("empty", {"replicas": 0}, 60, RolloutState.READY, "successfully rolled out"),
        ("slow", {"replicas": 1}, 3, RolloutState.LATE, "timed out waiting for the condition"),
        (
            "stuck",
            {"replicas": 1, "progressDeadlineSeconds": 1},
            60,
            RolloutState.FAILED,
            "exceeded its progress deadline",
        ),
    ],
)
def test_rollout_is_judged_as_kubectl_does(plane, name, spec, seconds, rollout, said):
    run = _run(Product(plane), {"web.yaml": _deployment(name, **spec)}, seconds)

    told = plane.kubectl("rollout", "status", f"deployment/{name}", "--timeout=1s", check=False)
    assert said in told.stdout + told.stderr
    result = run.results.get()
    assert (result.outcome, result.rollout) == (Outcome.VERIFIED, rollout)
    is_ready = rollout == RolloutState.READY
    assert (run.state, told.returncode == 0) == (RunState.APPLIED if is_ready else RunState.FAILED, is_ready)


def test_kind_and_object_of_it_go_in_one_run(plane):
    """The next step begins when the definition is established and its kind is served."""
    names = {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "shop.example", "scope": "Namespaced", "names": names, "versions": [version]}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.shop.example"},
        "spec": spec,
    }
    lamp = {"apiVersion": "shop.example/v1", "kind": "Lamp", "metadata": {"name": "desk"}, "spec": {"watts": 5}}

    run = _run(Product(plane), {"a.yaml": yaml.safe_dump(lamp), "b.yaml": yaml.safe_dump(crd)}, 30)

    told = list(run.results.order_by("step").values_list("change__kind", "outcome"))
    assert (run.state, told) == (
        RunState.APPLIED,
        [("CustomResourceDefinition", Outcome.VERIFIED), ("Lamp", Outcome.VERIFIED)],
    )
