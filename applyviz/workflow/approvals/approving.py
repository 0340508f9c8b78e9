"""Approvals: a person approves one plan digest, never their own change; revocable until spent, spent once.

`find_blockers` lists everything that prevents an approval; pages show the list and the use cases enforce it. The
database enforces the same rules again (`records/triggers.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz import clock, moments
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.records.enums import AuditAction, PlanState, ReviewState
from applyviz.records.models import Approval, ChangeRequest, ObjectChange, Plan
from applyviz.workflow import policies
from applyviz.workflow.approvals import acknowledgments, quorum, viewed_objects
from applyviz.workflow.approvals.acknowledgments import OpenRisk
from applyviz.workflow.approvals.quorum import list_valid_approvals
from applyviz.workflow.audit import approval_macs, trail
from applyviz.workflow.clusters import impersonation, permissions, states
from applyviz.workflow.foundation import access, plan_rows
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.people import commit_people, humans
from applyviz.workflow.plans import conflict_rules
from applyviz.workflow.policies import PolicyRules
from applyviz.workflow.policies.windows import find_closed

__all__ = [
    "approve_plan",
    "count_missing",
    "find_approver_blockers",
    "find_plan_blockers",
    "find_policy_blockers",
    "find_role_blockers",
    "find_start_blockers",
    "find_timing_blockers",
    "find_unsafe",
    "list_change_requests",
    "list_valid_approvals",
    "name_unopened",
    "request_changes",
    "revoke_approval",
    "withdraw_request",
]


def name_conflicting(count: int) -> str:
    """Return the blocker for `count` objects with open conflicts."""
    text = ngettext("%(n)d object with unresolved conflicts", "%(n)d objects with unresolved conflicts", count)
    return text % {"n": count}


def name_broken(count: int) -> str:
    """Return the blocker for `count` objects that could not be planned, or that the server rejected."""
    return ngettext("%(n)d object has errors", "%(n)d objects have errors", count) % {"n": count}


def _count_states(plan: Plan, hidden: Collection[int]) -> Counter[tuple[str, str, bool]]:
    """Return how many objects have each operation, certainty and effect."""
    kept = plan_rows.find_kept(plan)
    if kept is not None:
        shown = (row for row in kept if row.position not in hidden)
        return Counter((row.operation, row.certainty, row.has_effect) for row in shown)
    rows = plan.changes.exclude(position__in=hidden).order_by().values_list("operation", "certainty", "has_effect")
    return Counter({(operation, sure, effect): n for operation, sure, effect, n in rows.annotate(n=Count("pk"))})


def _find_object_blockers(plan: Plan, policy: PolicyRules, hidden: Collection[int]) -> Iterator[str]:
    states = _count_states(plan, hidden)
    refused = sum(n for (operation, _certainty, _effect), n in states.items() if operation == Operation.BLOCKED)
    if refused:
        yield name_conflicting(refused)
    broken = sum(n for (operation, _certainty, _effect), n in states.items() if operation == Operation.ERROR)
    if broken:
        yield name_broken(broken)
    unknown = sum(n for (_operation, certainty, _effect), n in states.items() if certainty == Certainty.UNKNOWN)
    if unknown and not policy.may_run_unknown:
        text = ngettext(
            "the live state of %(n)d object is unknown", "the live state of %(n)d objects is unknown", unknown
        )
        yield text % {"n": unknown}
    if not policy.may_run_estimated:
        count = sum(n for (_operation, sure, effect), n in states.items() if effect and sure == Certainty.ESTIMATED)
        if count:
            text = ngettext(
                "%(n)d object is only estimated, and the policy requires a dry run",
                "%(n)d objects are only estimated, and the policy requires a dry run",
                count,
            )
            yield text % {"n": count}
    if not (refused or broken or unknown or hidden) and not any(effect for _operation, _certainty, effect in states):
        yield _("nothing to apply")


def find_policy_blockers(plan: Plan, policy: PolicyRules) -> tuple[str, ...]:
    """Return why a policy does not allow this requester; empty when it does."""
    mine = humans.list_teams([plan.requested_by])[plan.requested_by_id] if policy.asking else frozenset()
    return tuple(
        _("the policy only allows team %(teams)s to request this") % {"teams": _(" or ").join(teams)}
        for teams in policy.asking
        if mine.isdisjoint(teams)
    )


def find_editor_blockers(plan: Plan, policy: PolicyRules) -> tuple[str, ...]:
    """Return which people behind the commits of a plan are not known, unless the policy allows that."""
    return () if policy.allows_unknown_editors else commit_people.name_unknown(plan)


def _name_problems(plan: Plan) -> tuple[str, ...]:
    """Return the blockers for manifests that could not be read or planned: an incomplete set cannot be approved."""
    count = len(plan.problems)
    text = ngettext(
        "%(n)d problem in the manifests: fix or remove it and re-plan",
        "%(n)d problems in the manifests: fix or remove them and re-plan",
        count,
    )
    return (text % {"n": count},) if count else ()


def find_unsafe(plan: Plan, policy: PolicyRules, hidden: Collection[int] = ()) -> tuple[str, ...]:
    """Return why a plan cannot run, regardless of approvals: it is incomplete, or no longer the current plan."""
    if plan.state == PlanState.PLANNING:
        return (_("planning is not finished"),)
    if plan.state == PlanState.FAILED:
        return (_("the plan failed: %(error)s") % {"error": plan.error},)
    blockers = []
    if plan.review.applied_by:
        tool = plan.review.get_applied_by_display()
        blockers.append(_("applied by %(tool)s, not applyviz: verify it afterwards") % {"tool": tool})
    latest = plan.review.latest_plan
    if latest is not None and latest.pk != plan.pk:
        blockers.append(_("superseded by plan %(number)d") % {"number": latest.number})
    if plan.review.state != ReviewState.OPEN:
        blockers.append(_("the review is %(state)s") % {"state": plan.review.get_state_display()})
    if plan.policy_version != policy.version:
        blockers.append(_("the policy changed since this plan was created: re-plan"))
    blockers += conflict_rules.find_blockers(plan)
    blockers += impersonation.find_moved(plan)
    blockers += permissions.name_denied(impersonation.read_identity(plan), plan.denied)
    blockers += _name_problems(plan)
    blockers += policies.describe_kept(policies.find_kept([plan], hidden=hidden)[plan.pk])
    return (*blockers, *_find_object_blockers(plan, policy, hidden))


def find_plan_blockers(
    plan: Plan,
    *,
    policy: PolicyRules | None = None,
    risks: Sequence[OpenRisk] | None = None,
    hidden: Collection[int] = (),
) -> tuple[str, ...]:
    """Return why this plan cannot be approved now; empty when it can.

    - `hidden`: for display only, positions of objects whose state must not be revealed to the reader.
    - `policy` and `risks`: the policy of the plan and its open risks, if the caller has just read them.
    """
    policy = policy or policies.find_policy(plan)
    blockers = list(find_unsafe(plan, policy, hidden))
    if plan.state != PlanState.COMPLETE:
        return tuple(blockers)
    blockers += find_policy_blockers(plan, policy)
    blockers += find_editor_blockers(plan, policy)
    found = acknowledgments.find_open(plan, policy=policy) if risks is None else risks
    blockers += acknowledgments.name_open([risk for risk in found if risk.position not in hidden])
    blockers += [
        _("%(name)s requests changes") % {"name": change_request.by.get_username()}
        for change_request in list_change_requests(plan)
    ]
    return tuple(blockers)


def find_timing_blockers(policy: PolicyRules) -> tuple[str, ...]:
    """Return why no run may start at this moment under a policy; empty when one may."""
    return find_closed(policy.windows, policy.freezes, clock.now())


def find_start_blockers(plan: Plan, policy: PolicyRules) -> tuple[str, ...]:
    """Return why no run of this plan may start now: its cluster is paused or archived, or the policy forbids it."""
    return (*states.find_stop(plan.target.cluster), *find_timing_blockers(policy))


def find_role_blockers(plan: Plan, *, for_user: Visitor) -> tuple[str, ...]:
    """Return why this person can never approve this plan; empty when they can."""
    if not isinstance(for_user, Person) or not access.can(for_user, Action.APPROVE, policies.list_scopes(plan)):
        return (_("only approvers can approve"),)
    if policies.find_policy(plan).refuses_sole and access.rests_on_sole(
        for_user, Action.APPROVE, policies.list_scopes(plan)
    ):
        return (_("the policy does not count approvals from roles granted by the sole administrator"),)
    if quorum.is_involved(plan, for_user):
        if quorum.is_commit_editor(plan, for_user):
            return (_("you can't approve your own changes: you wrote, committed or pushed commits of this plan"),)
        return (_("you can't approve your own changes: you wrote, edited, resolved or requested this plan"),)
    return ()


def name_unopened(rows: Sequence[ObjectChange]) -> tuple[str, ...]:
    """Return the blocker for high-risk objects that the approver has not viewed."""
    count = len(rows)
    text = ngettext("view %(n)d high-risk object first", "view %(n)d high-risk objects first", count)
    return (text % {"n": count},) if rows else ()


def find_approver_blockers(plan: Plan, *, for_user: Visitor) -> tuple[str, ...]:
    """Return why this person may not approve this plan now; empty when they may."""
    return find_role_blockers(plan, for_user=for_user) or name_unopened(viewed_objects.find_unopened(plan, by=for_user))


def count_missing(plan: Plan) -> int:
    """Return the fewest approvals that a plan still needs under its policy."""
    return quorum.count_quorum(plan).missing


def _lock(plan: Plan) -> Plan:
    """Return the current row of a plan, with its review locked against edits."""
    lock_review(plan.review_id)
    return Plan.objects.select_related("review", "target__cluster", "revision", "requested_by").get(pk=plan.pk)


def _check_digest(plan: Plan, digest: str) -> None:
    if digest != plan.digest or not digest:
        raise NotPossibleError(_("this plan has changed. Reload and review again"))


def _check(plan: Plan, *, by: Person, digest: str) -> None:
    access.require(by, Action.APPROVE, access.scopes_of(plan.review))
    own = find_approver_blockers(plan, for_user=by)
    if own:
        raise NotAllowedError(own[0])
    _check_digest(plan, digest)
    blockers = find_plan_blockers(plan)
    if blockers:
        raise NotPossibleError("; ".join(blockers))


def approve_plan(plan: Plan, *, by: Person, digest: str, note: str = "") -> Approval:
    """Approve a plan by naming its digest.

    - Raises `NotAllowedError` for the person's own plan, `NotPossibleError` when anything blocks, the digest is
        not the plan's, or this person already approved it.
    """
    with transaction.atomic():
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


def list_change_requests(plan: Plan) -> list[ChangeRequest]:
    """Return the open change requests for this digest, by people who may still approve."""
    if not plan.digest:
        return []
    found = moments.read_once(("change requests of plan", plan.pk), lambda: _read_change_requests(plan))
    scopes = policies.list_scopes(plan) if found else ()
    return [change_request for change_request in found if access.can(change_request.by, Action.APPROVE, scopes)]


def _read_change_requests(plan: Plan) -> tuple[ChangeRequest, ...]:
    rows = ChangeRequest.objects.filter(plan__review=plan.review_id, digest=plan.digest, withdrawn_at=None)
    return tuple(rows.select_related("by", "plan"))


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
        return ChangeRequest.objects.create(plan=plan, digest=digest, by=by, note=note.strip(), created_at=clock.now())


def withdraw_request(change_request: ChangeRequest, *, by: Person) -> None:
    """Withdraw the person's own change request."""
    access.require(by, Action.VIEW, access.scopes_of(change_request.plan.review))
    if change_request.by_id != by.pk:
        raise NotAllowedError(_("you can only withdraw your own request for changes"))
    with transaction.atomic():
        lock_review(change_request.plan.review_id)
        withdrawn = ChangeRequest.objects.filter(pk=change_request.pk, withdrawn_at=None).update(
            withdrawn_at=clock.now()
        )
        if not withdrawn:
            raise NotPossibleError(_("it is already withdrawn"))
        trail.record(AuditAction.REQUEST_WITHDRAWN, by=by, about=trail.AuditSubject.of_plan(change_request.plan))
