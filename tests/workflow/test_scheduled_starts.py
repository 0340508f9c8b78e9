"""Scheduled starts: a run starts automatically once nothing blocks it, and never after something changed."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from applyviz import clock
from applyviz.records import triggers
from applyviz.records.enums import AuditAction, NotificationKind, Role, RunState, ScheduledStartState, StartEnd
from applyviz.records.models import ApplyRun, AuditEntry, NotificationEvent, Plan, ScheduledStart
from applyviz.workflow import notifications, runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.approvals.quorum import list_valid_approvals
from applyviz.workflow.audit import approval_macs
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError
from applyviz.workflow.notifications import texts
from applyviz.workflow.ops import recovery
from applyviz.workflow.plans import reviews
from applyviz.workflow.policies.windows import Window
from tests.builders import make_person, make_policy, take_roles
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def team(monkeypatch, move_clock):
    move_clock(MONDAY)
    return Team().wire_up(monkeypatch)


@pytest.fixture
def plan(team) -> Plan:
    return team.plan(config_map(a="1"))


def schedule(team: Team, plan: Plan, *, lasts: timedelta = DAY, **values: object) -> ScheduledStart:
    return runs.schedule_start(plan, by=team.bob, digest=plan.digest, expires_at=clock.now() + lasts, **values)


def approve(team: Team, plan: Plan) -> None:
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)


def test_run_starts_when_the_approval_is_given(team, plan):
    schedule(team, plan)
    assert (runs.start_due(), ApplyRun.objects.count()) == (0, 0)

    approve(team, plan)
    recovery.recover()

    run = team.work(ApplyRun.objects.get())
    row = ScheduledStart.objects.get()
    assert (run.state, run.requested_by, row.state, row.run) == (RunState.APPLIED, team.bob, "started", run)
    entry = AuditEntry.objects.get(action=AuditAction.RUN_STARTED)
    assert (entry.actor_name, entry.detail["scheduled"]) == ("bob", True)
    assert runs.start_due() == 0


def test_run_starts_not_before_its_time(team, plan, move_clock):
    approve(team, plan)
    schedule(team, plan, not_before=MONDAY + timedelta(hours=3))

    move_clock(MONDAY + timedelta(hours=2, minutes=59))
    assert runs.start_due() == 0
    move_clock(MONDAY + timedelta(hours=3))
    assert runs.start_due() == 1


def test_run_starts_when_the_window_opens(team, move_clock):
    make_policy(windows=(Window((1,), "08:00", "09:00"),))
    plan = team.plan(config_map(a="1"))
    approve(team, plan)
    schedule(team, plan)

    assert runs.start_due() == 0
    move_clock(datetime(2026, 11, 24, 8, 0, tzinfo=UTC))
    assert runs.start_due() == 1


def request_changes_and_withdraw(team: Team, plan: Plan) -> None:
    made = approving.request_changes(plan, by=team.bob, digest=plan.digest, note="wait")
    approving.withdraw_request(made, by=team.bob)


def revoke_and_approve_again(team: Team, plan: Plan) -> None:
    (given,) = list_valid_approvals(plan)
    approving.revoke_approval(given, by=team.bob)
    approve(team, plan)


def start_by_hand(team: Team, plan: Plan) -> None:
    runs.start_run(plan, by=team.bob, digest=plan.digest)


ENDS: dict[StartEnd, Callable[[Team, Plan], object]] = {
    StartEnd.NEW_PLAN: lambda team, plan: reviews.replan_review(plan.review, by=team.alice),
    StartEnd.CHANGES_REQUESTED: request_changes_and_withdraw,
    StartEnd.APPROVAL_REVOKED: revoke_and_approve_again,
    StartEnd.RIGHTS_LOST: lambda team, plan: take_roles(team.bob),
    StartEnd.REVIEW_CLOSED: lambda team, plan: reviews.close_review(plan.review, by=team.alice),
    StartEnd.STARTED_BY_HAND: start_by_hand,
    StartEnd.BY_PERSON: lambda team, plan: runs.cancel_start(plan, by=team.alice),
}


@pytest.mark.core(3)
@pytest.mark.parametrize("end", list(ENDS), ids=lambda end: end.value)
def test_what_changes_cancels_the_start_for_good(team, plan, end, move_clock):
    approve(team, plan)
    schedule(team, plan, not_before=MONDAY + timedelta(hours=1))
    before = ApplyRun.objects.count()

    ENDS[end](team, plan)
    move_clock(MONDAY + timedelta(hours=2))
    started = runs.start_due()

    row = ScheduledStart.objects.get()
    assert (started, row.state, row.end) == (0, ScheduledStartState.CANCELED, end)
    assert ApplyRun.objects.count() == before + (end is StartEnd.STARTED_BY_HAND)
    assert runs.find_waiting(plan) is None
    entry = AuditEntry.objects.get(action=AuditAction.START_CANCELED)
    assert (entry.plan_digest, entry.detail["why"]) == (plan.digest, end.value)


def test_start_that_waited_too_long_is_canceled_and_people_are_notified(team, plan, move_clock):
    schedule(team, plan, lasts=timedelta(hours=4))
    move_clock(MONDAY + timedelta(hours=4, minutes=1))
    approve(team, plan)

    assert runs.start_due() == 0
    assert ScheduledStart.objects.get().end == StartEnd.EXPIRED
    notifications.send_pending()
    event = NotificationEvent.objects.get(event=NotificationKind.START_CANCELED)
    assert texts.render_sentence(event).endswith("was canceled: the plan could not start in time")
    assert {n.person.get_username() for n in event.notifications.all()} == {"alice", "bob"}


@pytest.mark.long
def test_approval_that_expired_and_was_given_again_cancels_nothing(team, plan, move_clock):
    make_policy(approval_hours=1)
    plan = team.plan(config_map("other", a="1"))
    approve(team, plan)
    schedule(team, plan, not_before=MONDAY + timedelta(hours=2))
    move_clock(MONDAY + timedelta(hours=2))
    assert runs.start_due() == 0
    approve(team, plan)

    assert runs.start_due() == 1


@pytest.mark.long
def test_person_who_scheduled_it_is_notified_of_the_start(team, plan):
    approve(team, plan)
    schedule(team, plan)
    runs.start_due()

    notifications.send_pending()

    event = NotificationEvent.objects.get(event=NotificationKind.RUN_STARTED)
    assert "bob" in {n.person.get_username() for n in event.notifications.all()}


def test_only_one_start_waits_and_a_canceled_one_makes_room(team, plan):
    schedule(team, plan)
    with pytest.raises(NotPossibleError, match="bob already scheduled this plan"):
        schedule(team, plan)

    request_changes_and_withdraw(team, plan)

    assert schedule(team, plan).state == ScheduledStartState.WAITING


def test_start_needs_the_right_the_digest_and_sensible_times(team, plan):
    with pytest.raises(NotAllowedError):
        runs.schedule_start(plan, by=team.alice, digest=plan.digest, expires_at=MONDAY + DAY)
    with pytest.raises(NotPossibleError, match="this plan has changed"):
        runs.schedule_start(plan, by=team.bob, digest="0" * 64, expires_at=MONDAY + DAY)
    with pytest.raises(NotValidError, match="after the first one"):
        schedule(team, plan, not_before=MONDAY + 2 * DAY)
    with pytest.raises(NotValidError, match="at most 14 days"):
        schedule(team, plan, lasts=timedelta(days=15))


def test_strangers_cancel_nothing(team, plan):
    schedule(team, plan)

    with pytest.raises(NotAllowedError, match="can cancel"):
        runs.cancel_start(plan, by=make_person("vera", Role.VIEWER))
    runs.cancel_start(plan, by=make_person("olga", Role.OPERATOR))
    with pytest.raises(NotPossibleError, match="no start"):
        runs.cancel_start(plan, by=team.bob)


def test_approving_and_scheduling_is_one_step(team, plan):
    row = runs.approve_and_schedule(plan, by=team.bob, digest=plan.digest, expires_at=MONDAY + DAY)

    assert (row.state, runs.start_due()) == (ScheduledStartState.WAITING, 1)


@pytest.mark.core(2)
@pytest.mark.parametrize("column", ["not_before", "expires_at", "digest", "waits_for_rollout"])
def test_forged_start_starts_nothing(team, plan, column):
    approve(team, plan)
    row = schedule(team, plan, not_before=MONDAY + timedelta(hours=1), waits_for_rollout=True)
    values = {
        "not_before": MONDAY,
        "expires_at": MONDAY + 10 * DAY,
        "digest": "0" * 64,
        "waits_for_rollout": False,
    }
    triggers.lift("default")
    ScheduledStart.objects.filter(pk=row.pk).update(not_before=MONDAY)
    ScheduledStart.objects.filter(pk=row.pk).update(**{column: values[column]})

    assert (runs.start_due(), ApplyRun.objects.count()) == (0, 0)
    assert ScheduledStart.objects.get().end == StartEnd.FORGED
    (forged,) = approval_macs.check_all().forged
    assert forged.what == "scheduled start"
