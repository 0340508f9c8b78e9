"""Objects of one step go on side by side: as many as allowed, journalled in order, stopped exactly, lost never."""

import threading

import pytest
import yaml

from applyviz.clusters.errors import NotSentError
from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.records.enums import AuditAction, EntryState, RunState
from applyviz.records.models import ApplyRun, AuditEntry, JournalEntry
from applyviz.workflow import runs
from applyviz.workflow.audit import chain
from applyviz.workflow.foundation import failpoints
from tests.memory import Memory, many, named, start, wire_up
from tests.stories import Killed, Team, let_lease_run_out

pytestmark = pytest.mark.django_db
FOLDER = "/api/v1/namespaces/default/configmaps/"


@pytest.fixture
def memory():
    return Memory()


@pytest.fixture
def team(memory, monkeypatch):
    return wire_up(Team(), memory, monkeypatch)


def meet(parties: int):
    """Writes wait for each other: they pass only when so many are on their way at once."""
    barrier = threading.Barrier(parties)

    def wait_for_the_others(request: Request) -> None:
        barrier.wait(10)

    return wait_for_the_others


def test_objects_of_a_step_are_written_at_once_and_never_more_than_allowed(team, memory):
    memory.before = meet(4)

    run = team.work(start(team, *many(8)))

    assert (run.state, set(team.outcomes(run)), memory.most) == (RunState.APPLIED, {"applied"}, 4)


@pytest.mark.long
def test_first_writes_are_on_their_way_while_later_objects_are_prepared(team, memory, at_point):
    sent, seen = threading.Event(), []
    memory.before = lambda request: sent.set()
    at_point("run.object", lambda: seen.append(sent.is_set()))
    at_point("run.object", lambda: seen.append(sent.wait(10)), time=9)

    run = team.work(start(team, *many(16), at_once=16))

    assert (run.state, seen) == (RunState.APPLIED, [False, True])


def test_steps_wait_for_each_other(team, memory):
    namespace = yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    inside = yaml.safe_dump(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}
    )

    run = team.work(start(team, inside, namespace, *many(2)))

    assert run.state == RunState.APPLIED
    assert (memory.sent[0], sorted(memory.sent[1:])) == ("shop", ["object-00", "object-01", "settings"])


def test_every_intent_is_in_the_history_before_its_write_is_sent(team, memory):
    told = {}

    def look(request):
        told[named(request)] = True

    memory.before = look
    seen = []
    failpoints.hooks.append(
        lambda point: (
            seen.append(AuditEntry.objects.filter(action=AuditAction.OBJECT_INTENT).count())
            if point == "run.intended"
            else None
        )
    )
    try:
        run = team.work(start(team, *many(9)))
    finally:
        failpoints.hooks.clear()

    entries = list(AuditEntry.objects.filter(run=run.number).order_by("id").values_list("action", "name"))
    for name in memory.sent:
        assert entries.index(("object.intent", name)) < entries.index(("object.result", name))
    assert (len(told), seen[-1], chain.verify_chain().is_intact) == (9, 9, True)
    assert set(JournalEntry.objects.values_list("state", "sequence")) == {(EntryState.ANSWERED, 0)}


def test_nothing_is_started_after_the_first_failure(team, memory):
    refusal = Answer(403, {"kind": "Status", "message": "forbidden"})
    memory.before = lambda request: refusal if named(request) == "object-02" else None

    run = team.work(start(team, *many(20), at_once=1))

    assert (run.state, memory.sent) == (RunState.FAILED, ["object-00", "object-01", "object-02"])
    assert team.outcomes(run) == ["applied"] * 2 + ["refused"] + ["not-attempted"] * 17
    assert "ConfigMap default/object-02" in run.error


@pytest.mark.long
def test_what_is_on_its_way_at_a_failure_is_finished_and_recorded(team, memory):
    gate = threading.Event()

    def before(request):
        if named(request) == "object-00":
            gate.set()
            return Answer(403, {"kind": "Status", "message": "forbidden"})
        gate.wait(10)
        return None

    memory.before = before

    run = team.work(start(team, *many(12)))

    outcomes = team.outcomes(run)
    assert (run.state, outcomes[0], outcomes.count("refused")) == (RunState.FAILED, "refused", 1)
    assert sorted(memory.sent) == [f"object-{n:02}" for n in range(len(memory.sent))]
    assert outcomes[1 : len(memory.sent)] == ["applied"] * (len(memory.sent) - 1)
    assert outcomes[len(memory.sent) :] == ["not-attempted"] * (12 - len(memory.sent))
    assert len(memory.sent) <= 8


def test_carrying_on_leaves_out_what_needs_the_failed_object(team, memory):
    pod = {
        "containers": [{"name": "web", "image": "web:1", "envFrom": [{"configMapRef": {"name": "object-00"}}]}],
    }
    deployment = yaml.safe_dump(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
            },
        }
    )
    scaler = yaml.safe_dump(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web"},
            "spec": {
                "maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            },
        }
    )
    refusal = Answer(403, {"kind": "Status", "message": "forbidden"})
    memory.before = lambda request: refusal if named(request) == "object-00" else None

    run = team.work(start(team, *many(2), deployment, scaler, carries_on=True))

    told = {str(r.change): (r.outcome, r.detail) for r in run.results.select_related("change")}
    assert run.state == RunState.FAILED
    assert told["create ConfigMap default/object-01"] == ("applied", "")
    assert told["create Deployment default/web"] == (
        "left-out",
        "it needs ConfigMap default/object-00, which was refused",
    )
    assert told["create HorizontalPodAutoscaler default/web"] == (
        "left-out",
        "it needs Deployment default/web, which was left out",
    )


@pytest.mark.long
def test_canceling_starts_nothing_more_and_finishes_what_is_on_its_way(team, memory, at_point):
    run = start(team, *many(12))
    at_point("run.concluded", lambda: runs.cancel_run(run, by=team.bob))

    team.work(run)

    outcomes = team.outcomes(run)
    count = len(memory.sent)
    assert (run.state, count <= 8) == (RunState.CANCELED, True)
    assert sorted(outcomes) == ["applied"] * count + ["not-attempted"] * (12 - count)


def test_worker_that_lost_the_run_starts_nothing_more(team, memory, at_point):
    run = start(team, *many(12))
    memory.before = meet(4)
    at_point("run.answered", lambda: ApplyRun.objects.filter(pk=run.pk).update(epoch=99))

    runs.execute_run(run.pk)

    assert len(memory.sent) == 4
    assert ApplyRun.objects.get(pk=run.pk).state == RunState.APPLYING
    assert not JournalEntry.objects.exclude(state=EntryState.INTENT).exists()


@pytest.mark.long
@pytest.mark.parametrize("point", ["run.object", "run.intended", "run.answered", "run.recorded", "run.concluded"])
@pytest.mark.parametrize("time", [1, 3, 6])
def test_killed_worker_loses_nothing_and_repeats_nothing(team, memory, at_point, point, time):
    def die():
        raise Killed

    run = start(team, *many(7))
    at_point(point, die, time)
    with pytest.raises(Killed):
        runs.execute_run(run.pk)
    let_lease_run_out(run)

    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"] * 7)
    assert sorted(memory.effective) == [f"object-{n:02}" for n in range(7)]
    assert chain.verify_chain().is_intact


def test_busy_server_is_given_the_time_it_asks_for(team, memory):
    slept = []
    memory.before = lambda request: (
        Answer(429, {"kind": "Status", "message": "slow down"}, (), 7.0) if len(memory.sent) == 1 else None
    )
    run = start(team, *many(1))

    runs.execute_run(run.pk, sleep=slept.append)

    assert team.outcomes(run) == ["applied"]
    assert (len(memory.sent), round(sum(slept))) == (2, 7)


@pytest.mark.long
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_server_that_failed_after_it_wrote_is_resolved_by_reading(team, memory, status):
    def answer_badly(request):
        memory.sandbox.handle(request)
        memory.effective.append(named(request))
        return Answer(status, {"kind": "Status", "message": "failed"})

    memory.before = answer_badly

    run = team.work(start(team, *many(1)))

    assert (team.outcomes(run), memory.effective) == (["applied"], ["object-00"])
    assert JournalEntry.objects.get().note.endswith("live shows that it was carried out")


@pytest.mark.long
def test_outcome_is_unknown_when_nobody_can_read_what_became_of_a_write(team, memory, monkeypatch):
    def cut(request):
        send = memory.send
        monkeypatch.setattr(memory, "send", lambda r: (_ for _ in ()).throw(UnreachableError("gone")) if r else send(r))
        raise UnreachableError("the connection broke")

    memory.before = cut

    run = team.work(start(team, *many(3), at_once=1))

    assert (run.state, team.outcomes(run)) == (RunState.FAILED, ["unknown", "not-attempted", "not-attempted"])
    assert "its outcome is unknown" in run.results.first().detail


def test_connection_that_never_stood_is_tried_again_and_then_failed(team, memory):
    def refuse(request):
        raise NotSentError("no connection", is_retryable=True)

    memory.before = refuse

    run = team.work(start(team, *many(1)))

    assert (team.outcomes(run), len(memory.sent)) == (["failed"], 6)


@pytest.mark.long
def test_conflict_of_versions_is_tried_again_and_conflict_of_fields_is_not(team, memory):
    moved = Answer(409, {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"})
    owned = Answer(
        409,
        {
            "kind": "Status",
            "reason": "Conflict",
            "message": "Apply failed with 1 conflict",
            "details": {"causes": [{"reason": "FieldManagerConflict", "field": ".data.a"}]},
        },
    )
    answers = {"object-00": moved, "object-01": owned}
    memory.before = lambda request: answers.pop(named(request), None)

    run = team.work(start(team, *many(2), carries_on=True))

    assert team.outcomes(run) == ["applied", "refused"]
    assert sorted(memory.sent) == ["object-00", "object-00", "object-01"]
