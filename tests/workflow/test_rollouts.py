"""Waiting for rollouts, where the rules of a run say so: ready, failed, late, lost and canceled."""

import pytest
import yaml

from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.records.enums import RunState
from applyviz.workflow import runs
from tests.memory import Memory, named, start, wire_up
from tests.stories import Killed, Team, let_lease_run_out

pytestmark = pytest.mark.django_db
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments/"


def deployment(name: str = "web", image: str = "web:1") -> str:
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": pod}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
    return yaml.safe_dump(body)


def become(memory: Memory, name: str, **status: object) -> None:
    """The controller of a cluster reports."""
    path = f"{DEPLOYMENTS}{name}"
    live = memory.sandbox.handle(Request("GET", path)).body
    body = {"status": {"observedGeneration": live["metadata"]["generation"], **status}}
    answer = memory.sandbox.handle(Request("PATCH", f"{path}/status", {}, MERGE_PATCH, body))
    assert answer.is_ok, answer.message


READY = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}
BEHIND = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 0, "readyReplicas": 0}
STUCK = {
    "conditions": [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "it took too long"}
    ]
}


@pytest.fixture
def memory():
    return Memory(has_controllers=False)


@pytest.fixture
def slow(memory, monkeypatch):
    """A team on a cluster whose controllers are the test: Deployments are not ready by themselves."""
    memory.after = lambda request: become(memory, named(request), **BEHIND) if "deployments" in request.path else None
    return wire_up(Team(), memory, monkeypatch)


def scaler() -> str:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"maxReplicas": 3, "scaleTargetRef": target}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": spec,
    }
    return yaml.safe_dump(body)


def work_with_clock(run, pause):
    """A worker whose pauses call `pause(seconds)` instead of passing."""
    runs.execute_run(run.pk, sleep=pause)
    run.refresh_from_db()
    return run


def test_next_step_waits_for_the_rollout_when_the_rules_say_so(slow, memory):
    def pause(seconds):
        assert "web" not in memory.sent[1:]
        become(memory, "web", **READY)

    run = work_with_clock(start(slow, deployment(), scaler(), waits_for_rollout=True), pause)

    states = list(run.results.order_by("position").values_list("outcome", "rollout", "rollout_detail"))
    assert run.state == RunState.SUCCEEDED
    assert states[0] == ("applied and verified", "ready", "all 1 pods are available")
    assert states[1][0] == "applied and verified"


def test_nobody_waits_when_the_rules_do_not_say_so(slow, memory):
    run = slow.work(start(slow, deployment(), scaler()))

    assert (run.state, list(run.results.values_list("rollout", flat=True))) == (RunState.SUCCEEDED, ["", ""])


@pytest.mark.parametrize(
    ("status", "seconds", "rollout"), [(STUCK, 600, "failed"), (BEHIND, 0, "late")], ids=["failed", "late"]
)
def test_rollout_that_fails_or_takes_too_long_stops_the_run(slow, memory, status, seconds, rollout):
    run = start(slow, deployment(), scaler(), waits_for_rollout=True, rollout_seconds=seconds)

    work_with_clock(run, lambda _: become(memory, "web", **status))

    states = list(run.results.order_by("position").values_list("outcome", "rollout"))
    assert (run.state, states) == (RunState.FAILED, [("applied and verified", rollout), ("not reached", "")])
    assert run.error.startswith("Deployment default/web: ")


def test_waiting_for_a_rollout_survives_a_lost_worker(slow, memory):
    run = start(slow, deployment(), scaler(), waits_for_rollout=True)

    def die(seconds):
        raise Killed

    with pytest.raises(Killed):
        work_with_clock(run, die)
    first = run.results.get(position=0)
    assert (first.outcome, first.rollout) == ("applied and verified", "waiting")
    let_lease_run_out(run)
    become(memory, "web", **READY)

    work_with_clock(run, lambda seconds: None)

    assert (run.state, memory.effective) == (RunState.SUCCEEDED, ["web", "web"])


def test_canceling_ends_the_wait_for_a_rollout(slow, memory):
    run = start(slow, deployment(), scaler(), waits_for_rollout=True)
    asked = []

    def pause(seconds):
        if not asked:
            asked.append(runs.cancel_run(run, by=slow.bob))

    work_with_clock(run, pause)

    states = list(run.results.order_by("position").values_list("outcome", "rollout"))
    assert (run.state, states) == (
        RunState.CANCELED,
        [("applied and verified", "given up"), ("not reached", "")],
    )
