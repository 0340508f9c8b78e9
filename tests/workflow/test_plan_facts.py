"""Where a review stands: one answer for one plan and for many, through all that can happen to it."""

import pytest

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.deletions import DELETED
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.records.enums import PlanState, ReviewState, ReviewStatus, Role, RunState
from applyviz.records.models import ObjectChange, Plan, Review
from applyviz.workflow.approvals import acknowledgments, approving, plan_facts, viewed_objects
from applyviz.workflow.approvals.next_steps import (
    AcknowledgeRisks,
    ApplyPlan,
    ApprovePlan,
    AwaitOthers,
    OpenNewerPlan,
    Replan,
    ResolveConflicts,
    StepOwner,
    UploadManifests,
    ViewObjects,
    WithdrawRequest,
)
from applyviz.workflow.foundation import blockers, run_blockers, sentences
from applyviz.workflow.foundation.blockers import PlanBlocker, PushersUnknown
from applyviz.workflow.people import commit_people
from applyviz.workflow.plans.live_values import show_plan
from tests.blockers import name_blockers
from tests.builders import make_person, make_plan_row, make_policy, take_roles
from tests.stories import Team, config_map
from tests.web import builders, rows

pytestmark = pytest.mark.django_db


def read_again(plan):
    found = Plan.objects.select_related("review", "target__cluster", "requested_by").get(pk=plan.pk)
    return show_plan(found, plan.review.author)


def find_facts(plan, person):
    return plan_facts.find_plan_facts([plan], person)[plan.pk]


def find(plan):
    """The status, asked for alone and among others."""
    plan = read_again(plan)
    alone = find_facts(plan, plan.review.author).status
    other = read_again(plan)
    assert {pk: one.status for pk, one in plan_facts.list_outlines([other]).items()} == {plan.pk: alone}
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
    assert bool(name_blockers(read_again(plan))) == (status != ReviewStatus.NEEDS_APPROVAL)


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

    assert find_facts(plan, alice).status == ReviewStatus.APPLIED_ELSEWHERE


@pytest.mark.parametrize(
    "values", [{"policy_version": "old@1"}, {"denied": ["create pods"]}, {"account": {"user": "x"}}]
)
def test_plan_that_was_made_for_other_rules_is_blocked(alice, values):
    plan = make_plan_row(alice, state=PlanState.PLANNING)
    Plan.objects.filter(pk=plan.pk).update(state=PlanState.COMPLETE, **values)

    assert find(plan) == ReviewStatus.BLOCKED
    assert len(name_blockers(read_again(plan))) == 1


def test_run_decides(monkeypatch):
    team = Team().wire_up(monkeypatch)
    run = team.start(team.plan(config_map(a="1")))
    applying = find(run.plan)
    team.work(run)

    assert (applying, find(run.plan)) == ("applying", "applied")
    for state in (RunState.FAILED, RunState.STALE, RunState.CANCELED):
        assert plan_facts._OF_RUN[state] == state.value


def test_earlier_plan_is_superseded(monkeypatch):
    team = Team().wire_up(monkeypatch)
    first = team.plan(config_map(a="1"))
    second = make_plan_row(team.alice, state=PlanState.PLANNING)
    Plan.objects.filter(pk=second.pk).update(number=2, review=first.review)
    plan = read_again(first)

    facts = find_facts(plan, team.bob)

    assert (facts.status, facts.next) == (ReviewStatus.SUPERSEDED, OpenNewerPlan(2))


def test_open_risk_of_an_approved_plan_waits_for_its_acknowledgment(alice, bob):
    """A list says what the page says: nothing can start before somebody acknowledged the risk."""
    make_policy(approvals=0)
    risk = Risk(DELETED, RiskLevel.HIGH)
    plan = rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE, risks=(risk,))])

    assert (find(plan), find_facts(read_again(plan), bob).next) == ("needs-approval", AcknowledgeRisks(1))


def test_plan_whose_editors_are_unknown_is_blocked(alice, bob, monkeypatch):
    plan = make_plan_row(alice)
    monkeypatch.setattr(commit_people, "find_unknown", lambda _plan: (PushersUnknown(("abc",)),))

    assert find(plan) == ReviewStatus.BLOCKED


CHANGE = builders.build_change()


def make(alice, **values):
    return rows.make_plan(alice, [replace(CHANGE, **{"operation": Operation.UPDATE, "conflicts": (), **values})])


HIGH = (Risk(DELETED, RiskLevel.HIGH),)
STEPS = [
    ({}, AwaitOthers(StepOwner.APPROVERS), ApprovePlan()),
    ({"operation": Operation.BLOCKED}, ResolveConflicts(1, 0), AwaitOthers(StepOwner.AUTHOR)),
    ({"operation": Operation.ERROR}, UploadManifests(), AwaitOthers(StepOwner.AUTHOR)),
    ({"risks": HIGH}, AcknowledgeRisks(1), AcknowledgeRisks(1)),
]


@pytest.mark.parametrize(("values", "of_author", "of_approver"), STEPS)
def test_step_is_what_a_person_can_do(alice, bob, values, of_author, of_approver):
    plan = make(alice, **values)
    found = [find_facts(show_plan(read_again(plan), person), person).next for person in (alice, bob)]

    assert found == [of_author, of_approver]


@pytest.mark.long
def test_steps_through_an_approval(alice, bob):
    plan, eve = make(alice, risks=HIGH), make_person("eve", Role.VIEWER)

    def step(person):
        return find_facts(show_plan(read_again(plan), person), person).next

    acknowledgments.acknowledge_risks(plan, DELETED, by=alice)
    before = step(bob)
    viewed_objects.record_all_viewed(plan.changes.all(), plan, by=bob)
    approving.approve_plan(plan, by=bob, digest=plan.digest)
    after = [step(person) for person in (bob, alice, eve)]

    assert (before, after) == (ViewObjects((0,)), [ApplyPlan(), *[AwaitOthers(StepOwner.STARTERS)] * 2])


def test_request_for_changes_is_withdrawn_or_answered(alice, bob):
    plan = make(alice)
    approving.request_changes(plan, by=bob, digest=plan.digest, note="no")

    assert find_facts(read_again(plan), bob).next == WithdrawRequest()
    assert find_facts(read_again(plan), alice).next == UploadManifests()


def test_plan_that_was_made_for_other_rules_is_made_again(alice, bob):
    plan = make(alice)
    make_policy(approvals=2)

    assert find_facts(read_again(plan), alice).next == Replan()
    assert find_facts(read_again(plan), bob).next == AwaitOthers(StepOwner.AUTHOR)


def test_plan_that_changes_nothing_has_no_step(alice):
    plan = make_plan_row(alice, state=PlanState.PLANNING)
    ObjectChange.objects.filter(plan=plan).update(has_effect=False)
    Plan.objects.filter(pk=plan.pk).update(state=PlanState.COMPLETE)

    assert find_facts(read_again(plan), alice).next == AwaitOthers(StepOwner.NOBODY)


def test_every_blocker_has_one_sentence():
    """A new reason is a class, its condition, and its sentence."""
    kinds = {
        kind
        for module in (blockers, run_blockers)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, PlanBlocker) and kind is not PlanBlocker
    }

    assert sentences._TEXTS.keys() | sentences._WRITERS.keys() == kinds
    assert len(kinds) > 40


def test_every_status_has_words():
    assert [status for status in ReviewStatus if not str(status.label).strip()] == []
    assert {str(s.label).split()[0] for s in ReviewStatus} >= {"needs", "changes", "approved", "blocked"}
