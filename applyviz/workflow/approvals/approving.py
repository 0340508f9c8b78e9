"""Approvals: a person approves one plan digest, never their own change; revocable until spent, spent once.

`plan_blockers` lists everything that prevents an approval; pages show the list and these use cases enforce it. The
database enforces the same rules again (`records/triggers.py`).
"""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from applyviz import clock, moments
from applyviz.records.enums import AuditAction, PlanState, ReviewState
from applyviz.records.models import Approval, ChangeRequest, Plan
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow import policies
from applyviz.workflow.approvals import quorum
from applyviz.workflow.approvals.plan_blockers import find_approver_blockers, find_plan_blockers, list_change_requests
from applyviz.workflow.audit import approval_macs, trail
from applyviz.workflow.foundation import access, row_macs, sentences
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError
from applyviz.workflow.foundation.locks import lock_review

_CURRENT = WrittenQuery(
    lambda plan: Plan.objects.select_related("review", "target__cluster", "revision", "requested_by").filter(pk=plan)
)


def _lock(plan: Plan) -> Plan:
    """Return the current row of a plan, with its review locked against edits."""
    lock_review(plan.review_id)
    (current,) = _CURRENT.ask(plan.pk)
    return current


def _check_digest(plan: Plan, digest: str) -> None:
    if digest != plan.digest or not digest:
        raise NotPossibleError(_("this plan has changed. Reload and review again"))


def _check(plan: Plan, *, by: Person, digest: str) -> None:
    access.require(by, Action.APPROVE, access.scopes_of(plan.review))
    own = find_approver_blockers(plan, for_user=by)
    if own:
        raise NotAllowedError(sentences.describe(own[0]))
    _check_digest(plan, digest)
    blockers = find_plan_blockers(plan)
    if blockers:
        raise NotPossibleError(sentences.join_clauses(blockers))


def approve_plan(plan: Plan, *, by: Person, digest: str, note: str = "") -> Approval:
    """Approve a plan by naming its digest.

    - Raises `NotAllowedError` for the person's own plan, `NotPossibleError` when anything blocks, the digest is
        not the plan's, or this person already approved it.
    """
    with transaction.atomic(), moments.until_written():
        plan = _lock(plan)
        _check(plan, by=by, digest=digest)
        now, lasts = clock.now(), policies.find_policy(plan).approval_lasts
        mine = [a for a in quorum.list_given(plan) if a.by_id == by.pk]
        expired = [a.pk for a in mine if a.expires_at is not None and a.expires_at <= now]
        if len(expired) < len(mine):
            raise NotPossibleError(_("you already approved this plan"))
        Approval.objects.filter(pk__in=expired, revoked_at=None, spent_at=None).update(revoked_at=now)
        made = Approval(
            plan=plan,
            digest=digest,
            by=by,
            by_name=by.get_username(),
            note=note,
            created_at=now,
            expires_at=now + lasts if lasts else None,
            is_sole=access.rests_on_sole(by, Action.APPROVE, policies.list_scopes(plan)),
        )
        detail = {"note": note, **({"sole administrator": True} if made.is_sole else {})}
        approval_macs.vouch(
            made, trail.record(AuditAction.APPROVAL_GIVEN, by=by, about=trail.AuditSubject.of_plan(plan), detail=detail)
        )
        try:
            with transaction.atomic():
                made.save(force_insert=True)
                return made
        except IntegrityError as error:
            raise NotPossibleError(_("you already approved this plan")) from error


def revoke_approval(approval: Approval, *, by: Person) -> None:
    """Revoke the person's own approval; impossible once it is spent."""
    access.require(by, Action.VIEW, access.scopes_of(approval.plan.review))
    if approval.by_id != by.pk:
        raise NotAllowedError(_("you can only revoke your own approval"))
    with transaction.atomic():
        lock_review(approval.plan.review_id)
        revoked = Approval.objects.filter(pk=approval.pk, revoked_at=None, spent_at=None).update(revoked_at=clock.now())
        if not revoked:
            raise NotPossibleError(_("this approval was already used or revoked"))
        trail.record(AuditAction.APPROVAL_REVOKED, by=by, about=trail.AuditSubject.of_plan(approval.plan))


def request_changes(plan: Plan, *, by: Person, digest: str, note: str) -> ChangeRequest:
    """Request changes with a reason; this blocks every plan with this digest until it is withdrawn.

    - Revokes an approval that this person gave.
    - Raises `NotValidError` without a note, `NotPossibleError` when the plan can no longer be approved.
    """
    if not note.strip():
        raise NotValidError(_("describe the changes you request"))
    with transaction.atomic():
        plan = _lock(plan)
        access.require(by, Action.APPROVE, access.scopes_of(plan.review))
        _check_digest(plan, digest)
        if plan.review.state != ReviewState.OPEN or plan.state != PlanState.COMPLETE:
            raise NotPossibleError(_("changes can only be requested on the complete plan of an open review"))
        if any(change_request.by_id == by.pk for change_request in list_change_requests(plan)):
            raise NotPossibleError(_("you already requested changes"))
        for approval in quorum.list_given(plan):
            if approval.by_id == by.pk:
                revoke_approval(approval, by=by)
        trail.record(
            AuditAction.CHANGES_REQUESTED, by=by, about=trail.AuditSubject.of_plan(plan), detail={"note": note}
        )
        made = ChangeRequest(plan=plan, digest=digest, by=by, note=note.strip(), created_at=clock.now())
        row_macs.vouch(made)
        made.save(force_insert=True)
        return made


def withdraw_request(change_request: ChangeRequest, *, by: Person) -> None:
    """Withdraw the person's own change request."""
    access.require(by, Action.VIEW, access.scopes_of(change_request.plan.review))
    if change_request.by_id != by.pk:
        raise NotAllowedError(_("you can only withdraw your own request for changes"))
    with transaction.atomic():
        lock_review(change_request.plan.review_id)
        stored = ChangeRequest.objects.get(pk=change_request.pk)
        if stored.withdrawn_at is not None:
            raise NotPossibleError(_("it is already withdrawn"))
        if row_macs.find_fault(stored):
            raise NotPossibleError(_("it was changed outside of this installation, so it cannot be withdrawn"))
        stored.withdrawn_at = clock.now()
        row_macs.vouch(stored)
        stored.save(update_fields=["withdrawn_at", "mac"])
        trail.record(AuditAction.REQUEST_WITHDRAWN, by=by, about=trail.AuditSubject.of_plan(change_request.plan))
