"""Retry: a further attempt of a failed run, under the same approval, for objects that were not written or not ready."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from applyviz.records.enums import AuditAction, NotificationKind, Outcome, ReviewState, Role, RunState
from applyviz.records.models import ApplyRun, AuditEntry, JournalEntry, NotificationEvent, ObjectResult, RunAttempt
from applyviz.workflow import notifications, runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.audit import chain
from applyviz.workflow.evidence import report
from applyviz.workflow.foundation import failpoints, sentences
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.plans import reviews
from applyviz.workflow.policies.windows import Window
from applyviz.workflow.runs import emergency_apply
from tests.builders import grant_role, make_person, make_policy, take_roles
from tests.shared_stories import share_story
from tests.stories import Killed, config_map, let_lease_run_out, secret

pytestmark = pytest.mark.django_db
MONDAYS = Window((0,), "00:00", "23:59")


@pytest.fixture(autouse=True)
def _no_failpoints():
    yield
    failpoints.hooks.clear()


def is_about(name, request):
    return name in (request.path.rpartition("/")[2], (request.body or {}).get("metadata", {}).get("name"))


def fail(team, *texts, name="other"):
    """A run whose object of this name cannot be sent; afterwards the network works again."""
    run = team.start(team.plan(*texts))
    team.wire.fault = lambda request, number: "refuse connection" if is_about(name, request) else ""
    team.work(run)
    team.wire.fault = lambda request, number: ""
    team.wire.writes.clear()
    return run


def play(team):
    run = fail(team, config_map(a="1"), config_map("other", b="2"))
    assert (run.state, sorted(team.outcomes(run))) == (RunState.FAILED, ["applied", "failed"])


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, play)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


@pytest.fixture
def failed(team):
    return ApplyRun.objects.get()


def read(run, person):
    return runs.get_run(run.number, for_user=person)


def retry(team, run, **values):
    person = values.pop("by", team.bob)
    return runs.retry_run(read(run, person), by=person, **{"attempt": run.attempt, **values})


def blockers(team, run, person=None):
    return sentences.join_clauses(runs.find_retry_blockers(read(run, person or team.bob), for_user=person or team.bob))


def test_object_that_was_not_written_is_retried_in_the_same_run(team, failed):
    epoch = failed.epoch
    before = list(JournalEntry.objects.filter(result__run=failed).values_list("result", "sequence", "epoch"))
    assert blockers(team, failed) == ""

    run = retry(team, failed)
    assert (run.state, run.attempt, run.plan.review.state) == (RunState.QUEUED, 2, ReviewState.APPLYING)
    team.work(run)

    assert (run.state, run.error, run.epoch, team.outcomes(run)) == (
        RunState.APPLIED,
        "",
        epoch + 1,
        ["applied", "applied"],
    )
    assert [is_about("other", request) for request in team.wire.writes] == [True], "what was applied is left alone"
    result = run.results.get(attempt=2)
    numbers = list(result.journal.values_list("sequence", "epoch"))
    assert [number for number, _epoch in numbers] == list(range(len(numbers)))
    assert numbers[-1][1] == run.epoch
    assert list(JournalEntry.objects.filter(epoch=epoch).values_list("result", "sequence", "epoch")) == before
    assert chain.verify_chain().is_intact
    assert ReviewState(run.plan.review.__class__.objects.get(pk=run.plan.review_id).state) == ReviewState.APPLIED


def test_history_evidence_and_notifications_tell_of_attempts(team, failed):
    auditor = make_person("ann", Role.AUDITOR)
    run = team.work(retry(team, failed))

    entry = AuditEntry.objects.get(action=AuditAction.RUN_RETRIED)
    assert (entry.chain, entry.actor_name, entry.run) == (0, "bob", run.number)
    assert entry.detail == {"attempt": 2, "objects": ["ConfigMap default/other"], "rollouts": 0}
    told = AuditEntry.objects.filter(run=run.number, action=AuditAction.OBJECT_RESULT, name="other").order_by("pk")
    assert [(one.detail["outcome"], one.detail.get("attempt")) for one in told] == [("failed", None), ("applied", 2)]
    today = timezone.localdate()
    facts = list(
        report.read_section(
            report.EvidenceSection.RUNS, report.Period(today - timedelta(1), today + timedelta(1)), for_user=auditor
        )
    )
    assert [fact.what for fact in facts] == ["run.started", "run.finished", "run.retried", "run.finished"]
    assert "attempt: 2; objects: ConfigMap default/other" in facts[2].summary
    notifications.send_pending()
    event = NotificationEvent.objects.get(event=NotificationKind.RUN_RETRIED)
    assert {one.person.username for one in event.notifications.all()} == {"alice"}


def test_row_of_the_attempt_keeps_what_was_before(team, failed):
    retry(team, failed)

    row = RunAttempt.objects.get()
    was = row.before["1"] if "1" in row.before else row.before["0"]
    assert (row.number, row.first_epoch, row.requested_by) == (2, failed.epoch + 1, team.bob)
    assert was["outcome"] == "failed"
    assert "could not be reached" in was["detail"]
    for change in (lambda: RunAttempt.objects.update(number=3), lambda: RunAttempt.objects.all().delete()):
        with pytest.raises(IntegrityError, match="attempts are never"), transaction.atomic():
            change()


def test_no_row_no_attempt(team, failed):
    """Not even who writes into the database starts a finished run again without its row."""
    for changed in ({"state": "queued"}, {"state": "queued", "attempt": 2}, {"attempt": 2}, {"state": "applying"}):
        with pytest.raises(IntegrityError, match="a run never changes its plan"), transaction.atomic():
            ApplyRun.objects.filter(pk=failed.pk).update(**changed)


@pytest.mark.core(1)
@pytest.mark.parametrize("state", ["stale", "canceled", "applied"])
def test_row_alone_starts_no_other_finished_run(team, failed, state):
    ApplyRun.objects.filter(pk=failed.pk).update(state=state)
    now = timezone.now()
    RunAttempt.objects.create(run=failed, number=2, requested_by=team.bob, first_epoch=2, ended_at=now, created_at=now)
    with pytest.raises(IntegrityError, match="a run never changes its plan"), transaction.atomic():
        ApplyRun.objects.filter(pk=failed.pk).update(state="queued", attempt=2)
    assert "only a failed run" in blockers(team, failed)


def expire(team, run, move_clock):
    move_clock(timezone.now() + timedelta(days=3))


REFUSALS = {
    "approver lost the role": (lambda team, run: take_roles(team.bob), "can no longer approve"),
    "requester lost the role": (lambda team, run: take_roles(team.alice), "can no longer do so"),
    "approver requests changes": (
        lambda team, run: approving.request_changes(run.plan, by=team.bob, digest=run.plan.digest, note="no"),
        "bob requests changes",
    ),
    "policy was written": (lambda team, run: make_policy(approvals=1), "policy changed"),
    "policy freezes": (lambda team, run: make_policy(windows=(MONDAYS,)), "policy changed"),
    "newer plan": (lambda team, run: reviews.replan_review(run.plan.review, by=team.alice), "superseded by plan 2"),
    "review closed": (lambda team, run: reviews.close_review(run.plan.review, by=team.alice), "the review is closed"),
}


@pytest.mark.core(2)
@pytest.mark.parametrize("what", list(REFUSALS))
def test_refused(team, failed, what):
    carol = make_person("carol", Role.OPERATOR)
    act, reason = REFUSALS[what]
    act(team, failed)

    with pytest.raises(NotPossibleError, match=reason):
        retry(team, failed, by=carol)
    assert (ApplyRun.objects.get().state, team.wire.writes) == (RunState.FAILED, [])
    assert reason in blockers(team, failed, carol)


@pytest.mark.core(1)
@pytest.mark.parametrize("what", [key for key in REFUSALS if key not in ("newer plan", "review closed")])
def test_worker_checks_again(team, failed, what):
    """Whatever is taken back after the click and before the worker: nothing is written, and it can be said why."""
    carol = make_person("carol", Role.OPERATOR)
    run = retry(team, failed, by=carol)
    if what == "approver requests changes":  # which needs an open review
        run.plan.review.__class__.objects.filter(pk=run.plan.review_id).update(state=ReviewState.OPEN)
    REFUSALS[what][0](team, run)

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert sorted(team.outcomes(run)) == ["applied", "failed"], "what was not come to is as before"
    assert run.results.get(outcome="failed").detail


@pytest.mark.long
def test_person_who_asked_must_still_have_the_right_when_a_worker_claims(team, failed):
    carol = make_person("carol", Role.OPERATOR)
    run = retry(team, failed, by=carol)
    take_roles(carol)

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "carol can no longer start" in run.error


def test_approval_that_expired_carries_no_retry(team, move_clock):
    make_policy(approvals=1, approval_hours=4)
    run = fail(team, config_map(a="1"), config_map("other", b="2"))
    second = fail(team, config_map("x", a="1"), config_map("other-2", b="2"), name="other-2")
    begun = retry(team, second)
    move_clock(timezone.now() + timedelta(hours=5))

    with pytest.raises(NotPossibleError, match="the approval by bob expired"):
        retry(team, run)
    team.work(begun)
    assert (begun.state, team.wire.writes) == (RunState.FAILED, [])
    assert "the approval by bob expired" in begun.error


@pytest.mark.long
def test_window_must_be_open_for_the_retry_and_its_worker(team, move_clock):
    move_clock(datetime(2026, 11, 23, 23, 50, tzinfo=UTC))  # a Monday
    make_policy(windows=(MONDAYS,))
    run = fail(team, config_map(a="1"), config_map("other", b="2"))
    second = fail(team, config_map("x", a="1"), config_map("other-2", b="2"), name="other-2")
    begun = retry(team, second)
    move_clock(datetime(2026, 11, 24, 0, 1, tzinfo=UTC))

    with pytest.raises(NotPossibleError, match="change window is closed"):
        retry(team, run)
    team.work(begun)
    assert (begun.state, team.wire.writes) == (RunState.FAILED, [])
    assert "change window is closed" in begun.error


@pytest.mark.long
def test_without_the_right_nobody_retries(team, failed):
    viewer = make_person("vic", Role.VIEWER)
    with pytest.raises(NotAllowedError):
        retry(team, failed, by=viewer)
    with pytest.raises(NotAllowedError):
        retry(team, failed, by=team.alice)
    assert "only approvers and operators" in blockers(team, failed, team.alice)
    elsewhere = make_person("eve", Role.VIEWER)
    grant_role(elsewhere, Role.OPERATOR, cluster="another")
    with pytest.raises(NotAllowedError):
        retry(team, failed, by=elsewhere)


def test_effect_that_moved_stops_the_attempt_before_any_write(team, failed):
    run = retry(team, failed)
    team.apply_as("kubectl", config_map("other", b="by hand"))

    team.work(run)

    assert (run.state, team.wire.writes) == (RunState.STALE, [])
    assert run.results.get(attempt=2).outcome == Outcome.STALE
    assert "created since it was reviewed" in run.results.get(attempt=2).detail
    assert "only a failed run" in blockers(team, run)


def test_two_clicks_make_one_attempt(team, failed):
    seen = read(failed, team.bob)
    runs.retry_run(seen, by=team.bob, attempt=1)
    with pytest.raises(NotPossibleError, match="someone else retried this run"):
        runs.retry_run(seen, by=team.bob, attempt=1)
    with pytest.raises(NotPossibleError, match="only a failed run"):
        runs.retry_run(read(failed, team.bob), by=team.bob, attempt=2)
    assert RunAttempt.objects.count() == 1


@pytest.mark.long
def test_run_of_the_same_objects_comes_first(team, failed):
    other = team.start(team.plan(config_map("other", b="3")))
    with pytest.raises(NotPossibleError, match=f"run {other.number} changes the same objects"):
        retry(team, failed)


@pytest.mark.long
def test_what_was_written_is_no_candidate(team):
    """A lost answer whose outcome stays unknown, a stale object and one not attempted: a new plan for each."""
    run = team.start(team.plan(config_map(a="1"), config_map("other", b="2")))
    result = run.results.get(position=0)
    team.wire.fault = lambda request, number: "refuse connection" if is_about("other", request) else ""
    team.work(run)
    for outcome in (Outcome.UNKNOWN, Outcome.STALE, Outcome.DIFFERS, Outcome.SKIPPED, Outcome.LEFT_OUT):
        ObjectResult.objects.filter(pk=result.pk).update(outcome=outcome, step=5)
        assert [one.position for one in runs.list_retryable(read(run, team.bob))] == [1]
        with pytest.raises(NotPossibleError, match="you can only retry objects that failed without a write"):
            retry(team, run, positions=[0])
    ObjectResult.objects.filter(pk=result.pk).update(outcome=Outcome.SKIPPED, step=0)
    ObjectResult.objects.filter(run=run, position=1).update(step=1)
    with pytest.raises(NotPossibleError, match="no object of this run can be retried"):
        retry(team, run)
    ObjectResult.objects.filter(pk=result.pk).update(outcome=Outcome.VERIFIED)
    for effect in (None, True):
        JournalEntry.objects.filter(result__run=run, result__position=1).update(took_effect=effect)
        assert runs.list_retryable(read(run, team.bob)) == []


@pytest.mark.long
def test_rest_that_was_not_attempted_keeps_the_run_failed(team, failed):
    ObjectResult.objects.filter(run=failed, outcome=Outcome.VERIFIED).update(outcome=Outcome.SKIPPED, step=9)

    run = team.work(retry(team, failed))

    assert (run.state, sorted(team.outcomes(run))) == (RunState.FAILED, ["applied", "not-attempted"])
    assert run.error == "the retry succeeded; ConfigMap default/settings: not attempted: re-plan"


@pytest.mark.long
def test_attempt_that_fails_again_can_be_retried_again(team, failed):
    run = retry(team, failed)
    team.wire.fault = lambda request, number: "refuse connection"
    team.work(run)
    assert (run.state, sorted(team.outcomes(run))) == (RunState.FAILED, ["applied", "failed"])
    team.wire.fault = lambda request, number: ""

    run = team.work(retry(team, run))

    assert (run.state, run.attempt, RunAttempt.objects.count()) == (RunState.APPLIED, 3, 2)


@pytest.mark.long
def test_emergency_apply_is_not_retried(team):
    make_policy(approvals=2)
    grant_role(team.bob, Role.BREAK_GLASS)
    plan = team.plan(config_map(a="1"), config_map("other", b="2"))
    run = emergency_apply.start_emergency_apply(plan, by=team.bob, digest=plan.digest, reason="down", ticket="T-1")
    team.wire.fault = lambda request, number: "refuse connection" if is_about("other", request) else ""
    team.work(run)

    with pytest.raises(NotPossibleError, match="an emergency apply has no approval"):
        retry(team, run)


def test_secret_that_is_hidden_is_neither_offered_nor_named(team):
    team.apply(secret(password="one"))
    carol = make_person("carol", Role.OPERATOR)  # sees no comparison of Secrets
    run = fail(team, secret(password="two"), config_map("other", b="2"), name="login")
    assert [one.change.kind for one in runs.list_retryable(read(run, team.bob))] == ["Secret"]
    assert runs.list_retryable(read(run, carol)) == []
    with pytest.raises(NotPossibleError, match="no object of this run can be retried"):
        retry(team, run, by=carol)

    retry(team, run)

    assert AuditEntry.objects.get(action=AuditAction.RUN_RETRIED).detail["objects"] == []


def kill_at(point, act):
    def die(where):
        if where == point:
            raise Killed

    failpoints.hooks.append(die)
    with pytest.raises(Killed):
        act()
    failpoints.hooks.clear()


POINTS = ("run.claimed", "run.checked", "run.intended", "run.answered", "run.concluding", "run.ending", "run.ended")


@pytest.mark.core(1)
@pytest.mark.parametrize("point", POINTS)
def test_worker_killed_in_an_attempt_loses_and_repeats_nothing(team, failed, point):
    run = retry(team, failed)
    kill_at(point, lambda: team.work(run))
    let_lease_run_out(run)
    team.work(run)

    assert (run.state, run.attempt, team.outcomes(run)) == (RunState.APPLIED, 2, ["applied", "applied"])
    assert [is_about("other", request) for request in team.wire.effective[1:]] == [True]
    assert AuditEntry.objects.filter(action=AuditAction.OBJECT_RESULT, name="other", run=run.number).count() == 2


@pytest.mark.core(1)
@pytest.mark.parametrize("point", ["retry.begun", "retry.made"])
def test_web_process_killed_in_a_retry_begins_it_or_not(team, failed, point):
    kill_at(point, lambda: retry(team, failed))
    failed.refresh_from_db()

    is_begun = failed.state == RunState.QUEUED
    assert (is_begun, RunAttempt.objects.exists(), failed.attempt == 2) == (point == "retry.made",) * 3
    team.work(failed)
    assert (failed.state == RunState.APPLIED) == is_begun
