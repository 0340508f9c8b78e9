"""Waiting for rollouts where real controllers are at work; what `kubectl rollout status` says of the same object."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.restarts import PODS_RESTART, TEMPLATE_WAITS
from applyviz.engine.risks.sentences import describe_risk
from applyviz.records.enums import Outcome, RolloutState, RunState
from applyviz.records.models import ApplyRun
from applyviz.workflow import runs
from applyviz.workflow.plans import changes
from tests.builders import acknowledge_all, open_dangers
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.product import Product

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]


@pytest.fixture(scope="module")
def plane(managed_plane: ControlPlane) -> ControlPlane:
    """A control plane whose controllers act; without a node no pod ever gets ready."""
    return managed_plane


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


@pytest.mark.core(1)
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


def _describe_risks(run: ApplyRun) -> list[str]:
    """Return what the plan of a run says about the pods of its object."""
    found = changes.read_masked(run.plan.changes.get()).risks
    return [describe_risk(risk, str) for risk in found if risk.kind in (PODS_RESTART, TEMPLATE_WAITS)]


def _list_uids(plane: ControlPlane, kind: str, name: str) -> list[str]:
    path = "jsonpath={.items[*].metadata.uid}"
    return plane.kubectl("get", kind, "-l", f"app={name}", "--sort-by=.metadata.name", "-o", path).stdout.split()


@pytest.mark.long
def test_paused_deployment_keeps_its_pods_until_it_is_resumed(plane):
    product, name = Product(plane), "halting"
    _run(product, {"web.yaml": _deployment(name, replicas=2)}, 1)
    plane.kubectl("wait", "--for=jsonpath={.status.updatedReplicas}=2", f"deployment/{name}", "--timeout=60s")

    changed = _deployment(name, replicas=2, paused=True).replace("web:1", "web:2")
    halted = _run(product, {"web.yaml": changed}, 60)
    plane.kubectl("wait", "--for=jsonpath={.status.replicas}=2", f"deployment/{name}", "--timeout=60s")

    assert _describe_risks(halted) == [
        "The pod template changes, but the Deployment is paused: 2 pods keep the old template until it is resumed."
    ]
    assert (halted.state, halted.results.get().rollout) == (RunState.APPLIED, RolloutState.READY)
    assert len(_list_uids(plane, "replicasets", name)) == 1
    generation = plane.kubectl("get", f"deployment/{name}", "-o", "jsonpath={.metadata.generation}").stdout
    path = f"jsonpath={{.status.observedGeneration}}={generation}"
    plane.kubectl("wait", f"--for={path}", f"deployment/{name}", "--timeout=60s")

    resumed = _run(product, {"web.yaml": changed.replace("paused: true", "paused: false")}, 1)
    plane.kubectl("wait", "--for=jsonpath={.status.updatedReplicas}=1", f"deployment/{name}", "--timeout=60s")

    assert _describe_risks(resumed) == ["2 pods restart because the rollout is resumed: rolling update."]
    assert len(_list_uids(plane, "replicasets", name)) == 2


@pytest.mark.long
def test_partition_keeps_the_pods_below_it(plane):
    product, name = Product(plane), "parted"
    spec = {"replicas": 2, "serviceName": name, "podManagementPolicy": "Parallel"}
    parted = {**spec, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}}
    text = _deployment(name, **parted).replace("kind: Deployment", "kind: StatefulSet")
    _run(product, {"set.yaml": text}, 1)
    plane.kubectl("wait", "--for=jsonpath={.status.replicas}=2", f"statefulset/{name}", "--timeout=60s")
    before = _list_uids(plane, "pods", name)

    run = _run(product, {"set.yaml": text.replace("web:1", "web:2")}, 1)
    plane.kubectl("wait", "--for=jsonpath={.status.updatedReplicas}=1", f"statefulset/{name}", "--timeout=60s")
    plane.kubectl("wait", "--for=jsonpath={.status.replicas}=2", f"statefulset/{name}", "--timeout=60s")

    assert _describe_risks(run) == [
        "1 pod restarts because the pod template changes: rolling update. 1 pod keeps the old template (partition)."
    ]
    after = _list_uids(plane, "pods", name)
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False]


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


@pytest.mark.long
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_pod_that_is_scaled_away_does_not_restart(plane, kind):
    """A controller scales down before it replaces pods, so that only a pod that stays gets a successor."""
    product, name = Product(plane), f"shrinking-{kind.lower()}"
    spec = {} if kind == "Deployment" else {"serviceName": name, "podManagementPolicy": "Parallel"}
    text = _deployment(name, replicas=2, **spec).replace("kind: Deployment", f"kind: {kind}")
    _run(product, {"web.yaml": text}, 1)
    plane.kubectl("wait", "--for=jsonpath={.status.replicas}=2", f"{kind}/{name}", "--timeout=60s")

    run = _run(product, {"web.yaml": text.replace("replicas: 2", "replicas: 1").replace("web:1", "web:2")}, 5)

    (told,) = _describe_risks(run)
    assert told.startswith("1 pod restarts because the pod template changes: ")
    plane.kubectl("wait", "--for=jsonpath={.status.updatedReplicas}=1", f"{kind}/{name}", "--timeout=60s")
    only, path = f"--field-selector=involvedObject.name={name}", "jsonpath={range .items[*]}{.message}{';'}{end}"
    said = plane.kubectl("get", "events", only, "--sort-by=.metadata.resourceVersion", "-o", path).stdout
    first, then = ("from 2 to 1", "from 0 to 1") if kind == "Deployment" else (f"Delete Pod {name}-1", "Create Pod")
    assert -1 < said.find(first) < said.rfind(then), said
