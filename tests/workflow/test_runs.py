"""Apply runs: what was approved is what runs, each outcome is true, and nothing is lost or done twice."""

from datetime import timedelta

import pytest
import yaml
from django.utils import timezone

from applyviz.engine.objects.exchange import Request
from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode
from applyviz.records.enums import AuditAction, ReviewState, Role, RunState
from applyviz.records.models import ApplyRun, AuditEntry, JournalEntry
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.audit import chain
from applyviz.workflow.clusters import registration
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from tests.builders import make_person, make_policy, take_roles
from tests.stories import SETTINGS, Killed, config_map, let_lease_run_out, secret

pytestmark = pytest.mark.django_db
STAGES = ("checked", "object", "intended", "answered", "recorded", "concluding", "concluded", "finishing")
POINTS = tuple(f"run.{stage}" for stage in STAGES)


def die():
    raise Killed


def test_whole_job(team):
    plan = team.plan(config_map(a="1"), secret(password="canary-7f3a91"))
    run = team.work(team.start(plan))

    assert (run.state, run.error) == (RunState.APPLIED, "")
    assert team.outcomes(run) == ["applied", "applied"]
    assert team.live()["data"] == {"a": "1"}
    plan.review.refresh_from_db()
    assert plan.review.state == ReviewState.APPLIED
    assert chain.verify_chain().is_intact
    shown = str(list(JournalEntry.objects.values("request", "answer"))) + str(list(AuditEntry.objects.values("detail")))
    assert "canary-7f3a91" not in shown
    assert "Y2FuYXJ5" not in shown


def test_history_tells_the_intent_before_the_result(team):
    run = team.apply(config_map(a="1"))

    told = list(AuditEntry.objects.filter(run=run.number).order_by("id").values_list("action", flat=True))
    assert told == ["run.started", "run.claimed", "object.intent", "object.result", "run.finished"]


def test_what_was_planned_is_what_is_sent(team):
    team.apply(config_map(a="1", b="2"))
    plan = team.plan(config_map(a="1", b="3"))
    team.wire.writes.clear()

    team.work(team.start(plan))

    sent = team.wire.writes[0]
    entry = JournalEntry.objects.order_by("-pk").first()
    assert len(team.wire.writes) == 1
    assert sent.body["data"] == {"a": "1", "b": "3"}
    assert sent.body["metadata"]["uid"] == team.live()["metadata"]["uid"]
    assert entry.sealed_request.open_json() == sent.body
    assert (entry.method, entry.path, entry.status) == ("PATCH", SETTINGS, 200)


def test_unchanged_object_is_not_written(team):
    team.apply(config_map(a="1"))
    run = team.apply(config_map(a="1"), config_map("other", b="2"))

    assert sorted(team.outcomes(run)) == ["applied", "unchanged"]
    assert len(team.wire.writes) == 2


def test_client_side_apply_runs_too(team):
    team.apply(config_map(a="1", b="2"), mode=ApplyMode.CLIENT)
    run = team.apply(config_map(a="1", c="3"), mode=ApplyMode.CLIENT)

    assert run.state == RunState.APPLIED
    assert team.live()["data"] == {"a": "1", "c": "3"}


def test_moved_field_makes_the_run_stale(team):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2"), config_map("other", b="2")))
    team.edit(SETTINGS, {"data": {"a": "changed by hand"}})
    team.wire.writes.clear()

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.STALE, [])
    assert sorted(team.outcomes(run)) == ["not-attempted", "stale"]
    moved = run.results.get(outcome="stale").differences
    assert {"path": ".data.a", "reviewed": "1", "live": "changed by hand"} in moved
    run.plan.review.refresh_from_db()
    assert run.plan.review.state == ReviewState.OPEN


@pytest.mark.core(1)
@pytest.mark.parametrize("value", ["1", "2"])
def test_object_whose_deletion_began_since_the_review_is_not_written(team, value):
    held = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "finalizers": ["example.com/hold"]},
    }
    team.apply(yaml.safe_dump({**held, "data": {"a": "1"}}))
    run = team.start(team.plan(yaml.safe_dump({**held, "data": {"a": value}}), config_map("other", b="2")))
    team.send(Request("DELETE", SETTINGS))
    team.wire.writes.clear()

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.STALE, [])
    assert run.results.get(outcome="stale").detail == "its deletion began since it was reviewed: no apply keeps it"


@pytest.mark.long
def test_nothing_is_written_when_the_last_object_moved(team):
    team.apply(config_map("a", x="1"), config_map("z", x="1"))
    run = team.start(team.plan(config_map("a", x="2"), config_map("z", x="2")))
    team.edit("/api/v1/namespaces/default/configmaps/z", {"data": {"x": "by hand"}})
    team.wire.writes.clear()

    team.work(run)

    assert (run.state, team.outcomes(run), team.wire.writes) == (RunState.STALE, ["not-attempted", "stale"], [])


@pytest.mark.long
def test_pruned_object_is_deleted(team):
    prune = Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True)
    team.apply(config_map("a", x="1"), config_map("z", x="1"), mode=ApplyMode.CLIENT)
    run = team.start(team.plan(config_map("a", x="1"), mode=ApplyMode.CLIENT, prune=prune))
    team.edit("/api/v1/namespaces/default/configmaps/z", {"metadata": {"labels": {}}})

    team.work(run)

    assert (run.state, sorted(team.outcomes(run))) == (RunState.APPLIED, ["deleted", "unchanged"])
    assert team.live("/api/v1/namespaces/default/configmaps/z") is None


def test_object_that_was_deleted_is_said_to_be_deleted(team):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))
    team.send(Request("DELETE", SETTINGS))

    assert team.work(run).state == RunState.STALE
    result = run.results.get(outcome="stale")
    assert (result.detail, result.differences) == ("it was deleted since it was reviewed", [])


@pytest.mark.long
def test_object_that_was_created_is_said_to_be_created(team):
    run = team.start(team.plan(config_map(a="1")))
    team.apply_as("somebody", config_map(z="9"))

    assert team.work(run).state == RunState.STALE
    result = run.results.get(outcome="stale")
    assert (result.detail, result.differences) == ("it was created since it was reviewed", [])
    assert team.live()["data"] == {"z": "9"}


@pytest.mark.long
def test_object_that_was_made_anew_makes_the_run_stale(team):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))
    team.send(Request("DELETE", SETTINGS))
    team.apply_as("applyviz", config_map(a="1"))

    assert team.work(run).state == RunState.STALE


def test_what_the_plan_does_not_touch_may_move(team, at_point):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))
    team.edit(SETTINGS, {"metadata": {"labels": {"team": "shop"}}})
    at_point("run.checked", lambda: team.edit(SETTINGS, {"data": {"other": "by hand"}}))
    at_point("run.intended", lambda: team.edit(SETTINGS, {"data": {"third": "by hand"}}))

    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"])
    assert team.live()["data"] == {"a": "2", "other": "by hand", "third": "by hand"}


@pytest.mark.long
def test_ownership_that_moved_makes_the_run_stale(team):
    team.apply(config_map(a="1", b="1"))
    run = team.start(team.plan(config_map(a="1")))
    team.apply_as("somebody", config_map(b="1"))

    assert team.work(run).state == RunState.STALE
    assert team.live()["data"] == {"a": "1", "b": "1"}
    assert run.results.get(outcome="stale").detail.startswith("its values are as reviewed, but applying it would have")


def test_change_between_check_and_write_is_found(team, at_point):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))
    at_point("run.checked", lambda: team.edit(SETTINGS, {"data": {"a": "3"}}))

    assert team.work(run).state == RunState.STALE
    assert team.live()["data"] == {"a": "3"}


@pytest.mark.long
def test_change_between_read_and_write_is_found(team, at_point):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))
    at_point("run.intended", lambda: team.edit(SETTINGS, {"data": {"a": "3"}}))

    assert team.work(run).state == RunState.STALE
    assert team.live()["data"] == {"a": "3"}


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("time", [1, 2])
def test_killed_worker_loses_nothing_and_repeats_nothing(team, at_point, point, time):
    run = team.start(team.plan(config_map("one", a="1"), config_map("two", b="2"), secret(password="x")))
    at_point(point, die, time)
    try:
        runs.execute_run(run.pk)
        is_killed = False
    except Killed:
        is_killed = True
    let_lease_run_out(run)
    if is_killed:
        assert runs.find_unfinished(now=timezone.now()) == [run.pk]

    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"] * 3)
    assert len(team.wire.effective) == 3
    assert is_killed == (time == 1 or point in POINTS[1:-1])
    assert chain.verify_chain().is_intact
    told = AuditEntry.objects.filter(action=AuditAction.OBJECT_RESULT, run=run.number)
    assert told.count() == 3


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "writes", "outcome"),
    [("lose answer", 1, "applied"), ("lose request", 2, "applied"), ("refuse connection", 2, "applied")],
)
def test_lost_messages_are_resolved_by_reading_live(team, fault, writes, outcome):
    run = team.start(team.plan(config_map(a="1")))
    team.wire.fault = lambda request, number: fault if number == 1 else ""

    team.work(run)

    assert team.outcomes(run) == [outcome]
    assert (len(team.wire.writes), len(team.wire.effective)) == (writes, 1)


def test_what_cannot_be_resolved_is_unknown(team):
    team.apply(config_map(a="1"))
    run = team.start(team.plan(config_map(a="2")))

    def fault(request, number):
        team.edit(SETTINGS, {"data": {"a": "by hand"}})
        return "lose request"

    team.wire.fault = fault
    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.FAILED, ["unknown"])
    assert "neither as before nor as approved" in run.results.get().detail


def test_cluster_that_stays_away_fails_the_run(team):
    run = team.start(team.plan(config_map("one", a="1"), config_map("two", a="1")))
    team.wire.fault = lambda request, number: "refuse connection"

    team.work(run)

    assert (run.state, team.outcomes(run), team.wire.effective) == (RunState.FAILED, ["failed", "not-attempted"], [])


def test_worker_that_lost_the_run_writes_nothing(team, at_point):
    run = team.start(team.plan(config_map(a="1"), config_map("two", b="2")))
    at_point("run.object", lambda: ApplyRun.objects.filter(pk=run.pk).update(epoch=99))

    runs.execute_run(run.pk)

    assert team.wire.writes == []
    assert ApplyRun.objects.get(pk=run.pk).state == RunState.APPLYING


def test_run_of_another_worker_is_left_alone(team):
    run = team.start(team.plan(config_map(a="1")))
    ApplyRun.objects.filter(pk=run.pk).update(
        state=RunState.APPLYING, epoch=1, lease_until=timezone.now() + timedelta(minutes=1)
    )

    runs.execute_run(run.pk)

    assert team.wire.writes == []


@pytest.mark.long
def test_finished_run_is_not_run_again(team):
    run = team.apply(config_map(a="1"))

    for _ in range(3):
        runs.execute_run(run.pk)

    assert len(team.wire.writes) == 1


def test_canceled_run_stops_between_objects(team, at_point):
    run = team.start(team.plan(config_map("one", a="1"), config_map("two", b="2")))
    at_point("run.concluded", lambda: runs.cancel_run(run, by=team.bob))

    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.CANCELED, ["applied", "not-attempted"])
    with pytest.raises(NotPossibleError):
        runs.cancel_run(run, by=team.bob)


@pytest.mark.long
def test_run_that_is_canceled_before_it_starts_writes_nothing(team):
    run = team.start(team.plan(config_map(a="1")))
    runs.cancel_run(run, by=team.bob)

    assert team.work(run).state == RunState.CANCELED
    assert team.wire.writes == []


def test_plan_runs_once(team):
    plan = team.plan(config_map(a="1"))
    team.work(team.start(plan))

    for attempt in (team.start, lambda p: runs.start_run(p, by=team.bob, digest=p.digest)):
        with pytest.raises(NotPossibleError):
            attempt(plan)
    assert ApplyRun.objects.count() == 1


def test_run_needs_an_approval_of_somebody_else(team):
    plan = team.plan(config_map(a="1"))
    dora = make_person("dora", Role.AUTHOR, Role.APPROVER)

    with pytest.raises(NotPossibleError, match="1 approval missing"):
        runs.start_run(plan, by=team.bob, digest=plan.digest)
    with pytest.raises(NotAllowedError):
        runs.approve_and_run(plan, by=team.alice, digest=plan.digest)
    approving.approve_plan(plan, by=dora, digest=plan.digest)
    assert runs.find_run_blockers(plan, for_user=team.bob) == ()


def test_policy_may_ask_for_two(team):
    make_policy(approvals=2)
    plan = team.plan(config_map(a="1"))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)

    assert sentences.describe_all(runs.find_run_blockers(plan, for_user=team.bob)) == ("1 approval missing",)


def test_rights_count_when_they_are_used(team):
    run = team.start(team.plan(config_map(a="1")))
    take_roles(team.bob)

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "can no longer" in run.error


def test_other_cluster_behind_the_name_is_refused(team):
    run = team.start(team.plan(config_map(a="1")))
    team.wire.leads_to = registration.create_sandbox(slug="other", name="Other")

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "a different cluster" in run.error


def test_sweep_asks_for_lost_runs(team, monkeypatch):
    run = team.start(team.plan(config_map(a="1")))
    asked = []
    monkeypatch.setattr("applyviz.queue.send", lambda name, **ids: asked.append((name.value, ids)) or True)
    assert runs.resume_unfinished_runs() == 0
    ApplyRun.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(seconds=30))

    assert runs.resume_unfinished_runs() == 1
    assert asked == [("applyviz.execute_run", {"run_id": run.pk})]
