"""Scheduled starts: a run that starts automatically as soon as its approvals are given and its time has come.

A scheduled start approves nothing and lifts nothing. When it is due, `start_run` checks everything as for a person who
starts the run at that moment: the digest, their right, the approvals, the policy with its windows and freezes. The run
then checks the effect on every object. A start that is due begins; one that can never begin is canceled, and people are
notified: a new plan, a request for changes and a revoked approval end a scheduled start for good, even if they are
withdrawn a moment later.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from applyviz import clock, moments
from applyviz.records.enums import AuditAction, ReviewState, ScheduledStartState, StartEnd
from applyviz.records.models import ApplyRun, Approval, ChangeRequest, Plan, ScheduledStart
from applyviz.workflow import policies
from applyviz.workflow.approvals import approving, plan_blockers
from applyviz.workflow.approvals.quorum import list_valid_approvals
from applyviz.workflow.audit import approval_macs, trail
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.blockers import NotStarter, PlanBlocker, StartScheduled
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.runs.start import find_run_blockers, start_run

LONGEST = timedelta(days=14)
_MOST = 500


def _with_plan(pk: int) -> ScheduledStart:
    related = ("plan__review", "plan__target__cluster", "plan__revision", "plan__requested_by", "by", "entry")
    return ScheduledStart.objects.select_related(*related).get(pk=pk)


def find_schedule_blockers(plan: Plan, *, for_user: Visitor, hidden: Collection[int] = ()) -> tuple[PlanBlocker, ...]:
    """Return why this person cannot schedule a run of this plan; empty when they can.

    - Missing approvals, open risks and a closed window do not count: the start waits for them.
    - `hidden`: for display only, positions of objects whose state must not be revealed to the reader.
    """
    blockers = list(plan_blockers.find_unsafe(plan, policies.find_policy(plan), hidden))
    if not access.can(for_user, Action.APPLY, policies.list_scopes(plan)):
        blockers.append(NotStarter())
    blockers += plan_blockers.find_objections(plan)
    waiting = find_waiting(plan)
    if waiting is not None:
        blockers.append(StartScheduled(waiting.by_name))
    return tuple(blockers)


def _has_none(plan: Plan) -> bool:
    return moments.find(("plan has scheduled starts", plan.pk)) is False


def find_last_start(plan: Plan) -> ScheduledStart | None:
    """Return the last scheduled start of a plan, ended ones too; None without one."""
    if _has_none(plan):
        return None
    return ScheduledStart.objects.filter(plan=plan).select_related("ended_by").order_by("pk").last()


def find_waiting(plan: Plan) -> ScheduledStart | None:
    """Return the scheduled start that waits for this plan, unless something has ended it; None without one."""
    if _has_none(plan):
        return None
    row = ScheduledStart.objects.filter(plan=plan, state=ScheduledStartState.WAITING).first()
    return row if row is not None and find_end(row) is None else None


def schedule_start(
    plan: Plan,
    *,
    by: Person,
    digest: str,
    expires_at: datetime,
    not_before: datetime | None = None,
    waits_for_rollout: bool | None = None,
) -> ScheduledStart:
    """Order the run of a plan digest, to be started once nothing blocks it.

    - `not_before` None means at once.
    - Raises `NotValidError` for times that cannot be, `NotPossibleError` with everything that blocks, or when the
      digest is not the plan's.
    """
    now = clock.now()
    earliest = not_before or now
    _check_times(now, earliest, expires_at)
    access.require(by, Action.APPLY, access.scopes_of(plan.review))
    with transaction.atomic(), moments.until_written():
        lock_review(plan.review_id)
        plan = Plan.objects.select_related("review", "target__cluster", "revision", "requested_by").get(pk=plan.pk)
        if digest != plan.digest or not digest:
            raise NotPossibleError(_("this plan has changed. Reload and review again"))
        _end_lapsed(plan)
        blockers = find_schedule_blockers(plan, for_user=by)
        if blockers:
            raise NotPossibleError(sentences.join_clauses(blockers))
        made = ScheduledStart(
            plan=plan,
            digest=digest,
            by=by,
            by_name=by.get_username(),
            not_before=earliest,
            expires_at=expires_at,
            waits_for_rollout=waits_for_rollout,
            created_at=now,
        )
        _store(made)
        return made


def _check_times(now: datetime, earliest: datetime, expires_at: datetime) -> None:
    if expires_at <= max(now, earliest):
        raise NotValidError(_("the last moment to start must be after the first one, and in the future"))
    if expires_at > now + LONGEST:
        raise NotValidError(_("a start can be scheduled for at most %(n)d days") % {"n": LONGEST.days})


def _store(made: ScheduledStart) -> None:
    """Record a scheduled start, authenticate it, and store it."""
    detail = {"not before": made.not_before.isoformat(), "not after": made.expires_at.isoformat()}
    about = trail.AuditSubject.of_plan(made.plan)
    approval_macs.vouch(made, trail.record(AuditAction.START_SCHEDULED, by=made.by, about=about, detail=detail))
    try:
        with transaction.atomic():
            made.save(force_insert=True)
    except IntegrityError as error:
        raise NotPossibleError(_("a start of this plan is already scheduled")) from error


def approve_and_schedule(
    plan: Plan,
    *,
    by: Person,
    digest: str,
    expires_at: datetime,
    note: str = "",
    waits_for_rollout: bool | None = None,
) -> ScheduledStart:
    """Approve and schedule in one step, for a plan that waits for more than this approval."""
    with transaction.atomic(), moments.until_written():
        if all(approval.by_id != by.pk for approval in list_valid_approvals(plan)):
            approving.approve_plan(plan, by=by, digest=digest, note=note)
        return schedule_start(plan, by=by, digest=digest, expires_at=expires_at, waits_for_rollout=waits_for_rollout)


def find_end(row: ScheduledStart) -> StartEnd | None:
    """Return why a scheduled start has ended, stored or not yet; None while it waits."""
    if row.state == ScheduledStartState.WAITING:
        return _find_end(_with_plan(row.pk), clock.now())
    return StartEnd(row.end) if row.end else None


def can_cancel(row: ScheduledStart, person: Person) -> bool:
    """Return whether a person may cancel a scheduled start: its creator, the author, anyone who may start runs."""
    review = row.plan.review
    mine = person.pk in (row.by_id, review.author_id, row.plan.requested_by_id)
    return (mine and access.can(person, Action.VIEW, access.scopes_of(review))) or access.can(
        person, Action.APPLY, access.scopes_of(review)
    )


def cancel_start(plan: Plan, *, by: Person) -> None:
    """Cancel the scheduled start of a plan.

    - Raises `NotPossibleError` when none waits.
    """
    access.require(by, Action.VIEW, access.scopes_of(plan.review))
    with transaction.atomic():
        lock_review(plan.review_id)
        row = ScheduledStart.objects.filter(plan=plan, state=ScheduledStartState.WAITING).first()
        if row is None:
            raise NotPossibleError(_("no start of this plan is scheduled"))
        if not can_cancel(row, by):
            raise NotAllowedError(_("only its author, operators and approvers can cancel a scheduled start"))
        _end(row, StartEnd.BY_PERSON, by=by)


def cancel_all_starts() -> int:
    """Cancel every scheduled start because the database was restored; return how many, in the caller's transaction."""
    waiting = list(ScheduledStart.objects.filter(state=ScheduledStartState.WAITING).values_list("pk", flat=True))
    for pk in waiting:
        _end(_with_plan(pk), StartEnd.RESTORED)
    return len(waiting)


def _end(row: ScheduledStart, end: StartEnd, *, by: Person | None = None) -> None:
    ended = ScheduledStart.objects.filter(pk=row.pk, state=ScheduledStartState.WAITING).update(
        state=ScheduledStartState.CANCELED, end=end, ended_at=clock.now(), ended_by=by
    )
    if ended:
        about = trail.AuditSubject.of_plan(row.plan)
        trail.record(
            AuditAction.START_CANCELED, by=by, about=about, detail={"why": end.value, "scheduled by": row.by_name}
        )


def _end_lapsed(plan: Plan) -> None:
    """End the scheduled start of a plan that something has ended already, so that another one can be made."""
    row = ScheduledStart.objects.filter(plan=plan, state=ScheduledStartState.WAITING).first()
    if row is None:
        return
    row = _with_plan(row.pk)
    end = _find_end(row, clock.now())
    if end:
        _end(row, end)


def _find_end(row: ScheduledStart, now: datetime) -> StartEnd | None:
    """Return why a scheduled start can never start any more; None while it may."""
    plan, review = row.plan, row.plan.review
    if approval_macs.find_fault(row) or approval_macs.find_revocation(row):
        return StartEnd.FORGED
    latest = review.latest_plan
    if row.digest != plan.digest or latest is None or latest.pk != plan.pk:
        return StartEnd.NEW_PLAN
    if review.state == ReviewState.CLOSED:
        return StartEnd.REVIEW_CLOSED
    if ApplyRun.objects.filter(plan=plan).exists():
        return StartEnd.STARTED_BY_HAND
    if _was_objected(row):
        return StartEnd.CHANGES_REQUESTED
    if _was_revoked(row):
        return StartEnd.APPROVAL_REVOKED
    if not access.can(row.by, Action.APPLY, policies.list_scopes(plan)):
        return StartEnd.RIGHTS_LOST
    return StartEnd.EXPIRED if row.expires_at <= now else None


def _was_objected(row: ScheduledStart) -> bool:
    """Return whether an approver requested changes since; a withdrawn request counts too."""
    return ChangeRequest.objects.filter(
        plan__review=row.plan.review_id, digest=row.digest, created_at__gte=row.created_at
    ).exists()


def _was_revoked(row: ScheduledStart) -> bool:
    """Return whether an approval was revoked since; one that expired and was given again does not count."""
    while_valid = Q(expires_at=None) | Q(revoked_at__lt=F("expires_at"))
    return Approval.objects.filter(
        while_valid, plan__review=row.plan.review_id, digest=row.digest, revoked_at__gte=row.created_at
    ).exists()


def _start(pk: int) -> bool:
    """Start what is due, or end what can never start; return whether a run was started."""
    with transaction.atomic(), moments.until_written():
        row = _with_plan(pk)
        lock_review(row.plan.review_id)
        row, now = _with_plan(pk), clock.now()
        if row.state != ScheduledStartState.WAITING:
            return False
        end = _find_end(row, now)
        if end:
            _end(row, end)
            return False
        if row.not_before > now or find_run_blockers(row.plan, for_user=row.by):
            return False
        run = start_run(
            row.plan, by=row.by, digest=row.digest, waits_for_rollout=row.waits_for_rollout, is_scheduled=True
        )
        ScheduledStart.objects.filter(pk=pk).update(state=ScheduledStartState.STARTED, run=run, ended_at=now)
        return True


def start_due() -> int:
    """Start every scheduled run that nothing blocks any more, and cancel what can never start; return the starts.

    - Two processes may run this at once: the review is locked, and a plan runs once.
    """
    waiting = ScheduledStart.objects.filter(state=ScheduledStartState.WAITING).order_by("not_before", "pk")
    started = 0
    for pk in waiting.values_list("pk", flat=True)[:_MOST]:
        try:
            started += _start(pk)
        except NotPossibleError:
            continue  # something changed between the check and the start: the next round decides
    return started
