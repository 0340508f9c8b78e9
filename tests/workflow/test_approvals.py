"""Approvals: of the digest that was shown, never one's own, revocable until spent."""

import pytest

from applyviz.records.enums import AuditAction, PlanState, Role
from applyviz.records.models import AuditEntry, ObjectChange, Plan
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.approvals.quorum import list_valid_approvals
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotVisibleError
from tests.blockers import name_blockers
from tests.builders import make_person, make_plan_row, take_roles

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice():
    return make_person("alice", Role.AUTHOR, Role.APPROVER)


@pytest.fixture
def bob():
    return make_person("bob", Role.APPROVER)


def test_approval_is_recorded_with_its_digest(alice, bob):
    plan = make_plan_row(alice)

    approval = approving.approve_plan(plan, by=bob, digest=plan.digest, note="looks right")

    assert (approval.by_name, approval.digest, approval.spent_at) == ("bob", plan.digest, None)
    entry = AuditEntry.objects.get(action=AuditAction.APPROVAL_GIVEN)
    assert (entry.actor_name, entry.plan_digest, entry.detail) == ("bob", plan.digest, {"note": "looks right"})


def test_nobody_approves_their_own(alice):
    plan = make_plan_row(alice)

    with pytest.raises(NotAllowedError, match="you can't approve your own changes"):
        approving.approve_plan(plan, by=alice, digest=plan.digest)


def test_outsider_and_weak_role_are_refused(alice):
    plan = make_plan_row(alice)

    with pytest.raises(NotVisibleError):
        approving.approve_plan(plan, by=make_person("charlie"), digest=plan.digest)
    with pytest.raises(NotAllowedError):
        approving.approve_plan(plan, by=make_person("victor", Role.VIEWER), digest=plan.digest)


def test_other_digest_is_refused(alice, bob):
    plan = make_plan_row(alice)

    for digest in ("", "b" * 64):
        with pytest.raises(NotPossibleError, match="this plan has changed"):
            approving.approve_plan(plan, by=bob, digest=digest)


def test_second_approval_by_one_person_is_refused(alice, bob):
    plan = make_plan_row(alice)
    approving.approve_plan(plan, by=bob, digest=plan.digest)

    with pytest.raises(NotPossibleError, match="already"):
        approving.approve_plan(plan, by=bob, digest=plan.digest)
    assert AuditEntry.objects.filter(action=AuditAction.APPROVAL_GIVEN).count() == 1


def test_revoked_approval_can_be_given_again(alice, bob):
    plan = make_plan_row(alice)
    approving.revoke_approval(approving.approve_plan(plan, by=bob, digest=plan.digest), by=bob)
    assert quorum.count_quorum(plan).missing == 1

    approving.approve_plan(plan, by=bob, digest=plan.digest)

    assert quorum.count_quorum(plan).missing == 0


def test_only_who_approved_revokes(alice, bob):
    approval = approving.approve_plan(plan := make_plan_row(alice), by=bob, digest=plan.digest)

    with pytest.raises(NotAllowedError):
        approving.revoke_approval(approval, by=make_person("dora", Role.APPROVER))


def test_approval_counts_while_the_role_lasts(alice, bob):
    plan = make_plan_row(alice)
    approving.approve_plan(plan, by=bob, digest=plan.digest)
    take_roles(bob)

    assert list_valid_approvals(plan) == []


@pytest.mark.parametrize(
    ("values", "blocker"),
    [
        ({"operation": "blocked"}, "1 object with unresolved conflicts"),
        ({"operation": "error"}, "1 object has errors"),
        ({"certainty": "unknown"}, "the live state of 1 object is unknown"),
        ({"has_effect": False}, "nothing to apply"),
    ],
)
def test_incomplete_plan_blocks(alice, bob, values, blocker):
    plan = make_plan_row(alice, state=PlanState.PLANNING)
    ObjectChange.objects.filter(plan=plan).update(**values)
    Plan.objects.filter(pk=plan.pk).update(state=PlanState.COMPLETE)
    plan.refresh_from_db()

    assert name_blockers(plan) == (blocker,)
    with pytest.raises(NotPossibleError, match=blocker):
        approving.approve_plan(plan, by=bob, digest=plan.digest)


def test_unfinished_plan_blocks(alice):
    assert name_blockers(make_plan_row(alice, state=PlanState.PLANNING)) == ("planning is not finished",)
