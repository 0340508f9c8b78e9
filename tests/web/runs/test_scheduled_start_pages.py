"""Scheduling a run on the pages: from the sheet and by the form, shown on the Overview, canceled there."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import ApplyRun, Approval, Plan, ScheduledStart
from applyviz.web.runs.pages.scheduled_starts import describe_times
from applyviz.workflow import policies, runs
from applyviz.workflow.approvals import approving
from tests.builders import grant_role, make_policy
from tests.web import builders, reading, rows


def address(plan, name: str) -> str:
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number])


def overview(browser, plan) -> str:
    return browser.get(address(plan, "show-overview")).content.decode()


@pytest.fixture
def guarded(alice):
    """A plan that needs two approvals."""
    policy = make_policy(approvals=2)
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=(), risks=())
    plan = rows.make_plan(alice, [change], state="planning")
    rows.keep_details(plan, [change])
    version = f"{policy.policy.slug}@{policy.number}"
    bound = {"policy_version": version, "policy_digest": policies.find_policy(plan).digest}
    Plan.objects.filter(pk=plan.pk).update(state="complete", digest="7" * 64, **bound)
    plan.refresh_from_db()
    return plan


def test_nothing_is_preselected(as_bob, plan):
    page = as_bob.get(address(plan, "confirm-plan")).content.decode()

    assert "Starts the run at once." in page
    assert 'name="start" value="now"' in page
    assert 'id="id_applies" checked' not in page


def test_sheet_schedules_what_waits_for_another_approval(as_bob, guarded):
    page = as_bob.get(address(guarded, "confirm-plan")).content.decode()
    assert "The run starts automatically once nothing blocks it" in page
    assert "Approve and schedule the run" in page

    given = {"digest": guarded.digest, "then": "wait", "applies": "on", "start": "scheduled"}
    answer = as_bob.post(address(guarded, "confirm-plan"), given, follow=True)

    assert (Approval.objects.count(), ScheduledStart.objects.count(), ApplyRun.objects.count()) == (1, 1, 0)
    assert "You approved plan 1 and scheduled its run." in answer.content.decode()


@pytest.mark.long
def test_overview_shows_what_the_start_waits_for_and_whoever_may_cancels_it(as_alice, as_bob, as_viewer, bob, guarded):
    last = timezone.now() + timedelta(hours=4)
    runs.schedule_start(guarded, by=bob, digest=guarded.digest, expires_at=last)

    page = overview(as_alice, guarded)
    assert "bob scheduled the run of this plan" in page
    assert "approval" in page
    assert "Cancel scheduled start" in page
    assert "Cancel scheduled start" not in overview(as_viewer, guarded)
    assert as_viewer.post(address(guarded, "cancel-start")).status_code == 403

    as_alice.post(address(guarded, "cancel-start"))
    assert "alice canceled the scheduled start" in overview(as_bob, guarded)
    assert as_alice.post(address(guarded, "cancel-start")).status_code == 409


def test_overview_says_why_it_was_canceled_before_anybody_cleans_up(as_bob, bob, plan):
    runs.schedule_start(plan, by=bob, digest=plan.digest, expires_at=timezone.now() + timedelta(hours=4))

    approving.request_changes(plan, by=bob, digest=plan.digest, note="no")

    assert "The scheduled start was canceled: an approver requested changes" in overview(as_bob, plan)


def test_form_takes_times_and_says_what_is_wrong(as_bob, plan):
    page = as_bob.get(address(plan, "schedule-start")).content.decode()
    assert "Time zone: UTC" in page
    assert address(plan, "schedule-start") in overview(as_bob, plan)

    wrong = as_bob.post(address(plan, "schedule-start"), {"digest": "0" * 64, "lasts": "24"})
    assert (wrong.status_code, "this plan has changed" in wrong.content.decode()) == (422, True)
    odd = as_bob.post(address(plan, "schedule-start"), {"digest": plan.digest, "lasts": "25", "not_before": "soon"})
    assert odd.status_code == 422

    at = (timezone.now() + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M")
    right = as_bob.post(
        address(plan, "schedule-start"), {"digest": plan.digest, "lasts": "4", "not_before": at}, follow=True
    )
    assert "The run of plan 1 is scheduled." in right.content.decode()
    row = ScheduledStart.objects.get()
    assert row.expires_at - row.not_before == timedelta(hours=4)
    again = as_bob.get(address(plan, "schedule-start")).content.decode()
    assert "bob scheduled the run of this plan" in again
    assert "Cancel scheduled start" in again
    assert "Schedule run</button>" not in again


def test_authors_schedule_nothing(as_alice, plan):
    assert as_alice.get(address(plan, "schedule-start")).status_code == 403
    assert as_alice.post(address(plan, "schedule-start"), {"digest": plan.digest, "lasts": "4"}).status_code == 403
    assert address(plan, "schedule-start") not in overview(as_alice, plan)


def test_started_one_leaves_no_notice(as_bob, bob, plan):
    approving.approve_plan(plan, by=bob, digest=plan.digest)
    runs.schedule_start(plan, by=bob, digest=plan.digest, expires_at=timezone.now() + timedelta(hours=4))
    assert runs.start_due() == 1

    assert "scheduled the run" not in overview(as_bob, plan)


def header(browser, plan) -> str:
    return reading.text_of(reading.read(browser, address(plan, "show-overview")))


@pytest.mark.long
def test_header_says_when_it_starts_and_offers_no_second_one(as_alice, as_bob, as_viewer, bob, guarded, move_clock):
    move_clock(datetime(2026, 11, 24, 9, 30, tzinfo=UTC))
    first = datetime(2026, 11, 24, 14, tzinfo=UTC)
    assert address(guarded, "schedule-start") in overview(as_bob, guarded)
    runs.schedule_start(guarded, by=bob, digest=guarded.digest, not_before=first, expires_at=first + timedelta(hours=1))

    for browser in (as_alice, as_bob, as_viewer):
        text = header(browser, guarded)
        assert "Scheduled 14:00\N{EN DASH}15:00 UTC" in text
        assert "Starts 14:00\N{EN DASH}15:00 UTC, scheduled by bob" in text
        assert "Schedule run…" not in overview(browser, guarded)
    link = f'href="{address(guarded, "show-overview")}#scheduled-start"'
    browsers = (as_alice, as_bob, as_viewer)
    found = [link in browser.get(address(guarded, "show-changes")).content.decode() for browser in browsers]
    assert found == [True, True, False]
    assert link not in overview(as_bob, guarded)  # which has the button itself

    runs.cancel_start(guarded, by=bob)
    assert "scheduled by bob" not in header(as_bob, guarded)
    assert address(guarded, "schedule-start") in overview(as_bob, guarded)


def test_button_says_that_the_last_approval_starts_the_run(bob, guarded, move_clock):
    move_clock(datetime(2026, 11, 24, 9, 30, tzinfo=UTC))
    runs.schedule_start(guarded, by=bob, digest=guarded.digest, expires_at=datetime(2026, 11, 24, 15, tzinfo=UTC))
    carol = User.objects.create_user("carol")
    grant_role(carol, "approver")
    as_carol = Client()
    as_carol.force_login(carol)
    line = "Starts on approval, at the latest 15:00 UTC, scheduled by bob"

    first = header(as_carol, guarded)
    approving.approve_plan(guarded, by=bob, digest=guarded.digest)

    assert (line in first, "Approve and start run…" in first) == (True, False)
    second, sheet = header(as_carol, guarded), reading.text_of(reading.read(as_carol, address(guarded, "confirm-plan")))
    assert (line in second, "Approve and start run…" in second) == (True, True)
    assert "This starts the run that bob scheduled." in sheet
    assert "Apply when approved" not in sheet


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        ((24, 9), (24, 12), "before 12:00 UTC"),
        ((24, 9), (25, 12), "before 25 Nov 12:00 UTC"),
        ((25, 14), (25, 15), "25 Nov 14:00\N{EN DASH}15:00 UTC"),
        ((24, 23), (25, 5), "23:00 \N{EN DASH} 25 Nov 05:00 UTC"),
    ],
)
def test_times_name_a_day_unless_it_is_today(move_clock, first, last, text):
    move_clock(datetime(2026, 11, 24, 9, 30, tzinfo=UTC))

    day, hour = first
    begin, end = datetime(2026, 11, day, hour, tzinfo=UTC), datetime(2026, 11, last[0], last[1], tzinfo=UTC)
    assert describe_times(begin, end) == text


def test_times_are_in_the_zone_of_the_settings_also_when_summer_time_begins(settings, move_clock):
    settings.TIME_ZONE = "Europe/Berlin"
    move_clock(datetime(2027, 3, 28, 0, 30, tzinfo=UTC))

    begin, end = datetime(2027, 3, 28, 2, 0, tzinfo=UTC), datetime(2027, 3, 28, 3, 0, tzinfo=UTC)

    assert describe_times(begin, end) == "04:00\N{EN DASH}05:00 CEST"


def test_run_says_that_it_was_scheduled(as_bob, bob, plan):
    approving.approve_plan(plan, by=bob, digest=plan.digest)
    runs.schedule_start(plan, by=bob, digest=plan.digest, expires_at=timezone.now() + timedelta(hours=4))
    assert runs.start_due() == 1

    page = reading.text_of(reading.read(as_bob, reverse("runs:show-run", args=[ApplyRun.objects.get().number])))

    assert "started by bob (scheduled for" in page
