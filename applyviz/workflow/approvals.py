"""Approvals: one person's consent to one plan digest, never one's own, revocable until spent, spent once.

`find_blockers` is the one list of what stands in the way; pages show it and the use cases enforce it. The
database refuses the same again (`records/guards.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.utils import timezone

from applyviz.engine.planning.plan import Certainty, Operation
from applyviz.records.enums import AuditAction, PlanState, ReviewState
from applyviz.records.models import Approval, ObjectChange, Plan
from applyviz.workflow import access, audit, viewing
from applyviz.workflow.access import Action, Person, Visitor
from applyviz.workflow.errors import NotAllowedError, NotPossibleError


def about(plan: Plan) -> audit.Subject:
    """What an audit entry about a plan names."""
    return audit.Subject(
        cluster=plan.target.cluster.slug, review=plan.review.number, plan=plan.number, plan_digest=plan.digest
    )


def find_plan_blockers(plan: Plan) -> tuple[str, ...]:
    """Why nobody can approve this plan now; empty when it can be approved."""
    if plan.state == PlanState.PLANNING:
        return ("the plan is still being made",)
    if plan.state == PlanState.FAILED:
        return (f"the plan failed: {plan.error}",)
    blockers = []
    latest = plan.review.latest_plan
    if latest is not None and latest.pk != plan.pk:
        blockers.append(f"plan {latest.number} took the place of this one")
    if plan.review.state != ReviewState.OPEN:
        blockers.append(f"the review is {plan.review.get_state_display()}")
    changes = plan.changes
    for operation, words in ((Operation.REFUSED, "undecided conflicts"), (Operation.ERROR, "errors")):
        count = changes.filter(operation=operation.value).count()
        if count:
            blockers.append(f"{count} object{'s have' if count > 1 else ' has'} {words}")
    unknown = changes.filter(certainty=Certainty.UNKNOWN.value).count()
    if unknown:
        blockers.append(f"the live state of {unknown} object{'s' if unknown > 1 else ''} is unknown")
    if not changes.filter(has_effect=True).exists():
        blockers.append("there is nothing to apply")
    return tuple(blockers)


def find_role_blockers(plan: Plan, *, for_user: Visitor) -> tuple[str, ...]:
    """Why this person can never approve this plan; empty when they can."""
    if not access.can(for_user, Action.APPROVE):
        return ("you need the role approver",)
    if for_user.pk in (plan.review.author_id, plan.requested_by_id):
        return ("nobody approves what they wrote or requested",)
    return ()


def name_unopened(rows: Sequence[ObjectChange]) -> tuple[str, ...]:
    """What objects that must be opened mean for who approves."""
    return (f"open {len(rows)} object{'s' if len(rows) > 1 else ''} with a danger first",) if rows else ()


def find_approver_blockers(plan: Plan, *, for_user: Visitor) -> tuple[str, ...]:
    """Why this person may not approve this plan now; empty when they may."""
    return find_role_blockers(plan, for_user=for_user) or name_unopened(viewing.find_unopened(plan, by=for_user))


def list_standing(plan: Plan) -> list[Approval]:
    """The approvals that can still be spent on a plan: not revoked, of people still in the role."""
    rows = plan.approvals.filter(digest=plan.digest, revoked_at=None, spent_at=None).select_related("by")
    return [approval for approval in rows if access.can(approval.by, Action.APPROVE)]


def count_missing(plan: Plan) -> int:
    """How many approvals a plan still needs by the policy of its cluster."""
    return max(0, plan.target.cluster.approvals_needed - len(list_standing(plan)))


def _check(plan: Plan, *, by: Person, digest: str) -> None:
    access.require(by, Action.APPROVE)
    own = find_approver_blockers(plan, for_user=by)
    if own:
        raise NotAllowedError(own[0])
    if digest != plan.digest or not digest:
        raise NotPossibleError("the plan that was shown is not the plan that is there; look at it again")
    blockers = find_plan_blockers(plan)
    if blockers:
        raise NotPossibleError("; ".join(blockers))


def approve_plan(plan: Plan, *, by: Person, digest: str, note: str = "") -> Approval:
    """Consent to a plan by naming its digest.

    - Raises `NotAllowedError` for one's own plan, `NotPossibleError` when anything blocks or the digest is
      not the plan's, or when this person approved it already.
    """
    with transaction.atomic():
        plan = Plan.objects.select_related("review", "target__cluster").get(pk=plan.pk)
        _check(plan, by=by, digest=digest)
        audit.record(AuditAction.APPROVAL_GIVEN, by=by, about=about(plan), detail={"note": note})
        try:
            with transaction.atomic():
                return Approval.objects.create(
                    plan=plan, digest=digest, by=by, by_name=by.get_username(), note=note, created_at=timezone.now()
                )
        except IntegrityError as error:
            raise NotPossibleError("you approved this plan already") from error


def revoke_approval(approval: Approval, *, by: Person) -> None:
    """Take one's own approval back; impossible once it is spent."""
    access.require(by, Action.APPROVE)
    if approval.by_id != by.pk:
        raise NotAllowedError("only who approved can revoke")
    with transaction.atomic():
        revoked = Approval.objects.filter(pk=approval.pk, revoked_at=None, spent_at=None).update(
            revoked_at=timezone.now()
        )
        if not revoked:
            raise NotPossibleError("this approval was spent or revoked already")
        audit.record(AuditAction.APPROVAL_REVOKED, by=by, about=about(approval.plan))
