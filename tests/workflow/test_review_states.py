"""Where a review stands: one answer for one plan and for many, through all that can happen to it."""

import pytest

from applyviz.records.enums import PlanState, ReviewState, ReviewStatus, Role, RunState
from applyviz.records.models import ObjectChange, Plan, Review
from applyviz.workflow.approvals import approving, review_states
from applyviz.workflow.plans.live_values import show_plan
from tests.builders import make_person, make_plan_row, take_roles
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db


def read_again(plan):
    found = Plan.objects.select_related("review", "target__cluster", "requested_by").get(pk=plan.pk)
    return show_plan(found, plan.review.author)


def find(plan):
    """The status, asked for alone and among others."""
    plan = read_again(plan)
    alone = review_states.find_status(plan, getattr(plan, "run", None))
    other = read_again(plan)
    assert review_states.list_statuses([other]) == {plan.pk: alone}
    return alone


@pytest.fixture
def alice(db):
    return make_person("alice", Role.AUTHOR)


@pytest.fixture
def bob(db):
    return make_person("bob", Role.APPROVER, Role.OPERATOR)


def test_plan_is_read_planned_and_waits(alice):
    plan = make_plan_row(alice, state=PlanState.PLANNING)
    Plan.objects.filter(pk=plan.pk).update(expected=0)
    reading = find(plan)
    Plan.objects.filter(pk=plan.pk).update(expected=3)
    planning = find(plan)
    Plan.objects.filter(pk=plan.pk).update(state=PlanState.COMPLETE)

    assert (reading, planning, find(plan)) == ("reading", "planning", "needs-approval")


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"operation": "blocked"}, ReviewStatus.BLOCKED),
        ({"operation": "error"}, ReviewStatus.BLOCKED),
        ({"certainty": "unknown"}, ReviewStatus.BLOCKED),
        ({"has_effect": False}, ReviewStatus.NOTHING),
        ({}, ReviewStatus.NEEDS_APPROVAL),
    ],
)
def test_objects_decide(alice, values, status):
    plan = make_plan_row(alice, state=PlanState.PLANNING)
    if values:
        ObjectChange.objects.filter(plan=plan).update(**values)
    Plan.objects.filter(pk=plan.pk).update(state=PlanState.COMPLETE)

    assert find(plan) == status
    assert bool(approving.find_plan_blockers(read_again(plan))) == (status != ReviewStatus.NEEDS_APPROVAL)


def test_people_decide(alice, bob):
    plan = make_plan_row(alice)
    request = approving.request_changes(plan, by=bob, digest=plan.digest, note="no")
    asked = find(plan)
    approving.withdraw_request(request, by=bob)
    waiting = find(plan)
    approval = approving.approve_plan(plan, by=bob, digest=plan.digest)
    approved = find(plan)
    approving.revoke_approval(approval, by=bob)

    assert (asked, waiting, approved) == ("changes-requested", "needs-approval", "approved")
    assert find(plan) == ReviewStatus.NEEDS_APPROVAL


def test_request_of_who_may_not_approve_any_more_does_not_count(alice, bob):
    plan = make_plan_row(alice)
    approving.request_changes(plan, by=bob, digest=plan.digest, note="no")
    take_roles(bob)

    assert find(plan) == ReviewStatus.NEEDS_APPROVAL


def test_plan_that_failed(alice):
    assert find(make_plan_row(alice, state=PlanState.FAILED)) == ReviewStatus.PLAN_FAILED


def test_closed_review_stays_closed(alice):
    plan = make_plan_row(alice)
    Review.objects.filter(pk=plan.review_id).update(state=ReviewState.CLOSED)

    assert find(plan) == ReviewStatus.CLOSED


def test_review_of_what_another_tool_applies_says_so(alice):
    plan = read_again(make_plan_row(alice))
    plan.review.applied_by = "helm"

    assert review_states.find_status(plan, None) == ReviewStatus.APPLIED_ELSEWHERE


@pytest.mark.parametrize(
    "values", [{"policy_version": "old@1"}, {"denied": ["create pods"]}, {"account": {"user": "x"}}]
)
def test_plan_that_was_made_for_other_rules_is_blocked(alice, values):
    plan = make_plan_row(alice, state=PlanState.PLANNING)
    Plan.objects.filter(pk=plan.pk).update(state=PlanState.COMPLETE, **values)

    assert find(plan) == ReviewStatus.BLOCKED
    assert len(approving.find_plan_blockers(read_again(plan))) == 1


def test_run_decides(monkeypatch):
    team = Team().wire_up(monkeypatch)
    run = team.start(team.plan(config_map(a="1")))
    applying = find(run.plan)
    team.work(run)

    assert (applying, find(run.plan)) == ("applying", "applied")
    for state in (RunState.FAILED, RunState.STALE, RunState.CANCELED):
        assert review_states._OF_RUN[state] == state.value


def test_earlier_plan_is_superseded(monkeypatch):
    team = Team().wire_up(monkeypatch)
    first = team.plan(config_map(a="1"))
    second = make_plan_row(team.alice, state=PlanState.PLANNING)
    Plan.objects.filter(pk=second.pk).update(number=2, review=first.review)
    plan = read_again(first)

    assert review_states.find_status(plan, None) == ReviewStatus.SUPERSEDED


def test_every_status_has_words():
    assert [status for status in ReviewStatus if not str(status.label).strip()] == []
    assert {str(s.label).split()[0] for s in ReviewStatus} >= {"needs", "changes", "approved", "blocked"}
