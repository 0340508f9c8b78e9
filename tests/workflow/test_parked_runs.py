"""A run that only waits for rollouts has no worker; somebody looks at them from time to time, and resumes it."""

from datetime import timedelta

import pytest

from applyviz import clock
from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.queue import TaskName
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, OutboxMessage
from applyviz.workflow import runs
from applyviz.workflow.foundation.leases import WorkerStoppingError
from applyviz.workflow.runs import rollout_watch
from applyviz.workflow.runs.live_objects import find_object_path
from tests.memory import start
from tests.stories import Killed, config_map, let_lease_run_out
from tests.workloads import (
    BEHIND,
    READY,
    STUCK,
    answer_lists,
    become,
    deployment,
    scaler,
    slow_team,
    stuck_pod,
    work_with_clock,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def slow(memory, monkeypatch):
    return slow_team(memory, monkeypatch)


def park(slow, memory, **rules):
    """A run whose only worker has nothing to do but wait."""
    run = start(slow, deployment(), scaler(), waits_for_rollout=True, **rules)
    OutboxMessage.objects.all().delete()
    return work_with_clock(run, lambda seconds: None)


def look(run):
    """The next look at the rollouts of a parked run is due, and a worker takes it."""
    ApplyRun.objects.filter(pk=run.pk).exclude(watch_at=None).update(watch_at=clock.now())
    runs.watch_rollouts(run.pk, sleep=lambda seconds: None)
    run.refresh_from_db()
    return run


def list_asked():
    return list(OutboxMessage.objects.values_list("task", "ids"))


def test_run_that_only_waits_for_rollouts_has_no_worker(slow, memory, settings, client):
    settings.APPLYVIZ_CLUSTER_CONCURRENCY = 1

    run = park(slow, memory)

    assert (run.state, run.results.get(position=0).rollout) == (RunState.APPLYING, "rolling-out")
    assert run.lease_until <= clock.now() < run.watch_at
    assert (runs.find_unfinished(now=run.watch_at), runs.find_parked(now=run.watch_at)) == ([], [run.pk])
    assert slow.apply(config_map("other")).state == RunState.APPLIED
    client.force_login(slow.bob)
    assert "Another worker is taking" not in client.get(f"/runs/{run.number}/").text


def test_parked_run_is_resumed_once_its_objects_are_ready(slow, memory):
    run = park(slow, memory)
    sent = list(memory.sent)

    look(run)
    assert (run.watch_at is None, list_asked()) == (False, [])

    become(memory, "web", **READY)
    look(run)
    assert (run.watch_at, run.results.get(position=0).rollout) == (None, "ready")
    assert list_asked() == [(TaskName.EXECUTE_RUN.value, {"run_id": run.pk})]

    work_with_clock(run, lambda seconds: None)
    assert (run.state, memory.sent) == (RunState.APPLIED, [*sent, "web"])


@pytest.mark.long
@pytest.mark.parametrize(("status", "late", "state"), [(STUCK, 0, "failed"), (BEHIND, 700, "timed-out")])
def test_parked_run_ends_when_its_rollout_fails_or_takes_too_long(slow, memory, status, late, state):
    run = park(slow, memory)
    become(memory, "web", **status)
    run.results.filter(position=0).update(finished_at=clock.now() - timedelta(seconds=late))

    work_with_clock(look(run), lambda seconds: None)

    states = list(run.results.order_by("position").values_list("outcome", "rollout"))
    assert (run.state, states) == (RunState.FAILED, [("applied", state), ("not-attempted", "")])


@pytest.mark.long
def test_parked_run_is_canceled_at_once(slow, memory):
    run = park(slow, memory)

    runs.cancel_run(run, by=slow.bob)
    assert runs.find_unfinished(now=clock.now() + timedelta(seconds=1)) == [run.pk]
    work_with_clock(run, lambda seconds: None)

    assert (run.state, run.results.get(position=0).rollout) == (RunState.CANCELED, "not-watched")


@pytest.mark.long
def test_parked_run_is_left_alone_until_it_is_due_and_its_cluster_has_time(slow, memory, settings):
    settings.APPLYVIZ_CLUSTER_CONCURRENCY = 1
    run = park(slow, memory)
    become(memory, "web", **READY)

    runs.execute_run(run.pk)
    runs.watch_rollouts(run.pk)
    other = slow.start(slow.plan(config_map("other")))
    ApplyRun.objects.filter(pk=other.pk).update(
        state=RunState.APPLYING, epoch=1, lease_until=clock.now() + timedelta(seconds=60)
    )
    look(run)

    assert (run.watch_at is None, run.results.get(position=0).rollout) == (False, "rolling-out")


def test_lost_worker_that_looked_at_rollouts_is_replaced(slow, memory, monkeypatch):
    run = park(slow, memory)
    become(memory, "web", **READY)

    def die(request):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(memory, "send", die)
        with pytest.raises(Killed):
            look(run)
    let_lease_run_out(run)
    work_with_clock(run, lambda seconds: None)

    assert (run.state, memory.effective) == (RunState.APPLIED, ["web", "web"])


@pytest.mark.long
def test_worker_that_must_stop_parks_the_run_again(slow, memory, monkeypatch):
    run = park(slow, memory)
    monkeypatch.setattr(rollout_watch, "_look", lambda *_: (_ for _ in ()).throw(WorkerStoppingError("stop")))

    assert look(run).watch_at is not None


@pytest.mark.long
def test_cluster_that_cannot_be_connected_to_is_left_to_the_resumed_run(slow, memory, monkeypatch):
    run = park(slow, memory)
    monkeypatch.setattr(rollout_watch, "_look", lambda *_: (_ for _ in ()).throw(UnreachableError("no route")))

    look(run)

    assert (run.watch_at, list_asked()) == (None, [(TaskName.EXECUTE_RUN.value, {"run_id": run.pk})])


@pytest.mark.long
def test_pods_of_a_parked_run_are_asked_for_reasons_every_thirty_seconds(slow, memory, monkeypatch):
    run = park(slow, memory)
    asked = answer_lists(memory, monkeypatch, [stuck_pod()], [])
    began = run.results.get(position=0).finished_at

    counts = []
    for seconds in (25, 32, 40):
        run.results.filter(position=0).update(finished_at=clock.now() - timedelta(seconds=seconds))
        look(run)
        counts.append(len(asked))

    run.results.filter(position=0).update(finished_at=began)
    assert counts == [0, 2, 2]
    assert [one["reason"] for one in run.results.get(position=0).pods["problems"]] == ["ImagePullBackOff"]


def ref_of(namespace, name):
    return ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), namespace, name)


@pytest.mark.parametrize(
    ("ref", "method", "path", "expected"),
    [
        (ref_of("shop", "web"), "POST", "/apis/apps/v1/namespaces/shop/deployments", "/web"),
        (ref_of("shop", "web"), "PATCH", "/apis/apps/v1/namespaces/shop/deployments/web", ""),
    ],
)
def test_path_of_an_object_follows_from_its_last_request(ref, method, path, expected):
    assert find_object_path(ref, method, path) == path + expected


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        (ref_of("shop", "scale"), "/apis/apps/v1/namespaces/shop/deployments/scale"),
        (ref_of("", "shop"), "/api/v1/namespaces/shop"),
        (ref_of("shop", "web"), "/api/v1/namespaces/shop/pods/web"),
        (ref_of("", "fern"), "/apis/example.com/v1/plants/fern"),
    ],
)
def test_path_of_an_object_leaves_out_subresources(ref, path):
    assert find_object_path(ref, "PATCH", f"{path}/status") == path
