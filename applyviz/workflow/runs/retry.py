"""Retrying a failed run: a further attempt under the approval that was spent on it, for some of its objects.

The worker that claims it checks rights, approval, policy and window again, and each object for the approved effect. An
attempt of a finished run begins only by its row in the database (`records/trigger_rules.py`).
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz import clock, moments
from applyviz.queue import TaskName
from applyviz.records.enums import AuditAction, Outcome, ReviewState, RunState
from applyviz.records.models import ApplyRun, EmergencyApply, ObjectResult, Review, RunAttempt
from applyviz.workflow import policies
from applyviz.workflow.approvals import plan_blockers
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, failpoints, outbox, row_macs, sentences
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.blockers import NotStarter, PlanBlocker
from applyviz.workflow.foundation.compared import is_compared
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.foundation.run_blockers import EmergencyNotRetried, RunNotFailed, RunOverlaps
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.live_values import hides
from applyviz.workflow.runs import attempts, run_order
from applyviz.workflow.runs.authorization import find_retry_faults

_MOST_NAMED = 20


def _read_results(run: ApplyRun) -> list[ObjectResult]:
    return list(run.results.select_related("change").defer("change__document", "change__found_risks", "change__sealed"))


def list_retryable(run: ApplyRun) -> list[ObjectResult]:
    """Return the results of a failed run that a further attempt may retry, as far as its reader sees them."""
    if run.state != RunState.FAILED:
        return []
    found = attempts.list_retryable(run, _read_results(run))
    return [result for result in found if not hides(run.plan, result.change)]


def find_retry_blockers(run: ApplyRun, *, for_user: Visitor) -> tuple[PlanBlocker, ...]:
    """Return why this person cannot retry objects of this failed run now; empty when they can."""
    if run.state != RunState.FAILED:
        return (RunNotFailed(),)
    plan = run.plan
    if EmergencyApply.objects.filter(plan=plan).exists():
        return (EmergencyNotRetried(),)
    blockers = list(plan_blockers.find_plan_blockers(plan))
    if not access.can(for_user, Action.APPLY, policies.list_scopes(plan)):
        blockers.append(NotStarter(is_retry=True))
    blockers += find_retry_faults(run)
    other = run_order.find_overlapping(run)
    if other is not None:
        blockers.append(RunOverlaps(other.number))
    blockers += plan_blockers.find_start_blockers(plan, policies.find_policy(plan))
    return tuple(blockers)


def _choose(run: ApplyRun, positions: Collection[int]) -> list[ObjectResult]:
    found = list_retryable(run)
    if not found:
        raise NotPossibleError(_("no object of this run can be retried: re-plan"))
    if not positions:
        return found
    chosen = [result for result in found if result.position in positions]
    if len(chosen) != len(set(positions)):
        text = _(
            "you can only retry objects that failed without a write, or were applied but did not roll out: re-plan"
        )
        raise NotPossibleError(text)
    return chosen


def _begin(run: ApplyRun, chosen: list[ObjectResult], *, by: Person) -> None:
    """Store the attempt, and reopen the run for it."""
    number, now = run.attempt + 1, clock.now()
    made = RunAttempt(
        run=run,
        number=number,
        requested_by=by,
        first_epoch=run.epoch + 1,
        before=attempts.keep_before(chosen),
        error=run.error,
        ended_at=run.finished_at or now,
        created_at=now,
    )
    row_macs.vouch(made)
    made.save(force_insert=True)
    begun = ApplyRun.objects.filter(pk=run.pk, state=RunState.FAILED, attempt=run.attempt).update(
        state=RunState.QUEUED,
        attempt=number,
        lease_until=None,
        finished_at=None,
        cancel_requested_at=None,
        canceled_by=None,
        summary={},
        error="",
    )
    taken = Review.objects.filter(pk=run.plan.review_id, state=ReviewState.OPEN).update(
        state=ReviewState.APPLYING, updated_at=now
    )
    if not (begun and taken):
        raise NotPossibleError(_("the run was just retried, or the review is being applied; reload"))
    for result in chosen:
        attempts.reset_result(result, number)
    run.attempt = number


def _describe(run: ApplyRun, chosen: list[ObjectResult]) -> dict[str, object]:
    """Return the detail of the audit entry; Secrets whose comparison with live is hidden from some are not named."""
    named = [str(changes.ref_of(result.change)) for result in chosen if not is_compared(result.change)]
    waits = sum(result.outcome == Outcome.VERIFIED for result in chosen)
    return {"attempt": run.attempt, "objects": named[:_MOST_NAMED], "rollouts": waits}


def retry_run(run: ApplyRun, *, by: Person, attempt: int, positions: Collection[int] = ()) -> ApplyRun:
    """Begin a further attempt of a failed run for objects that can be retried; without positions, for all of them.

    - `run` was loaded for this person; `attempt` is the one that they saw, so that two clicks make one attempt.
    - Raises `NotPossibleError` with everything that blocks.
    """
    access.require(by, Action.APPLY, access.scopes_of(run.plan.review))
    with transaction.atomic(), moments.until_written():
        lock_review(run.plan.review_id)
        current = ApplyRun.objects.get(pk=run.pk)
        if current.attempt != attempt:
            raise NotPossibleError(_("someone else retried this run; reload"))
        current.plan = run.plan  # with what its reader may see
        current.plan.review.refresh_from_db()
        blockers = find_retry_blockers(current, for_user=by)
        if blockers:
            raise NotPossibleError(sentences.join_clauses(blockers))
        chosen = _choose(current, positions)
        _begin(current, chosen, by=by)
        failpoints.reach("retry.begun")
        about = trail.AuditSubject.of_run(current)
        trail.record(AuditAction.RUN_RETRIED, by=by, about=about, detail=_describe(current, chosen))
        outbox.post(TaskName.EXECUTE_RUN, run_id=current.pk)
    failpoints.reach("retry.made")
    return ApplyRun.objects.select_related("plan__review", "plan__target__cluster", "requested_by").get(pk=run.pk)
