"""Ownership of a run: a claim with a lease and an epoch; a worker that lost it writes nothing more.

Safety does not depend on the lease alone: each write is bound to the uid and resourceVersion that were just read.
The database's clock measures leases, so that differing host clocks neither end a lease early nor prolong it.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Max, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from msgspec import Struct

from applyviz import clock, stopping
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.structs import replace
from applyviz.queue import TaskName
from applyviz.records.enums import AuditAction, Outcome, ReviewState, RolloutState, RunState
from applyviz.records.models import ApplyRun, AuditEntry, ObjectResult, Review
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import compatibility, failpoints, outbox
from applyviz.workflow.foundation.leases import LeaseLostError, WorkerStoppingError, find_lease_end
from applyviz.workflow.plans import changes, live_values
from applyviz.workflow.runs import attempts, run_order
from applyviz.workflow.runs.rules import RunRules

logger = logging.getLogger(__name__)
_MOST_LOST = 20
_FINISHED_REVIEW = {RunState.APPLIED: ReviewState.APPLIED}


class RunParkedError(ApplyVizError):
    """The run only waits for rollouts: its worker takes other work until it is resumed."""


_CANCELED = WrittenQuery(
    lambda run: ApplyRun.objects.filter(pk=run).exclude(cancel_requested_at=None).values_list("pk", flat=True)
)
_UNFINISHED = WrittenQuery(
    lambda run: ApplyRun.objects.select_related("plan__target__cluster").filter(pk=run, state__in=RunState.unfinished())
)


class Claim(Struct, frozen=True):
    """A run and the epoch under which this worker owns it; `first_epoch` is that of the attempt's first worker."""

    run: ApplyRun
    epoch: int
    first_epoch: int = 1

    @property
    def is_first(self) -> bool:
        """Return whether no other worker had the run before."""
        return self.epoch == 1

    def is_due(self, result: ObjectResult) -> bool:
        """Return whether an object belongs to the attempt of this claim."""
        return result.attempt == self.run.attempt

    def keep(self) -> None:
        """Renew the lease of the run.

        - Raises `LeaseLostError` when another worker owns it, `WorkerStoppingError` once it is handed over.
        """
        if stopping.is_overdue():
            raise WorkerStoppingError(f"run {self.run.number} is left to the next worker")
        kept = ApplyRun.objects.filter(pk=self.run.pk, state=RunState.APPLYING, epoch=self.epoch).update(
            lease_until=find_lease_end(clock.now())
        )
        if not kept:
            raise LeaseLostError(f"run {self.run.number} is owned by another worker")

    def release(self) -> None:
        """Return the run to the next worker at once, because this one was asked to stop."""
        ApplyRun.objects.filter(pk=self.run.pk, state=RunState.APPLYING, epoch=self.epoch).update(
            lease_until=clock.now()
        )

    def park(self, *, seconds: float) -> None:
        """Leave the run without a worker; its rollouts are looked at again in some seconds."""
        now = clock.now()
        ApplyRun.objects.filter(pk=self.run.pk, state=RunState.APPLYING, epoch=self.epoch).update(
            lease_until=now, watch_at=now + timedelta(seconds=seconds)
        )

    def unpark(self) -> None:
        """End the wait of a run for its rollouts: ask for a worker that resumes it."""
        with transaction.atomic():
            self.keep()
            self.release()
            outbox.post(TaskName.EXECUTE_RUN, run_id=self.run.pk)

    def is_hopeless(self) -> bool:
        """Return whether so many workers in a row were lost without a finished object that the next would be, too."""
        if self.epoch <= _MOST_LOST:
            return False
        entries = AuditEntry.objects.filter(chain=self.run.number)
        last = entries.filter(action=AuditAction.OBJECT_RESULT).aggregate(last=Max("sequence"))["last"] or 0
        return entries.filter(action=AuditAction.RUN_CLAIMED, sequence__gt=last).count() > _MOST_LOST

    def is_canceled(self) -> bool:
        """Return whether a person asked to cancel the run."""
        return bool(_CANCELED.ask(self.run.pk))

    def _record_unknown(self, results: Iterable[ObjectResult], now: datetime) -> None:
        """Record an unknown outcome for every object in progress when the run had to end."""
        detail = "the run ended before it was known what became of it"
        for result in results:
            ObjectResult.objects.filter(pk=result.pk).update(outcome=Outcome.UNKNOWN, finished_at=now, detail=detail)
            trail.record(
                AuditAction.OBJECT_RESULT,
                by=None,
                about=replace(trail.AuditSubject.of_run(self.run), ref=changes.ref_of(result.change)),
                detail={"outcome": Outcome.UNKNOWN.value, "detail": detail, "differences": []},
            )

    def finish(self, state: RunState, *, error: str = "") -> None:
        """End the run: record objects that were not attempted, and update the review."""
        now = clock.now()
        with transaction.atomic():
            self.keep()
            attempts.restore_untouched(self.run)
            results = ObjectResult.objects.filter(run=self.run)
            results.filter(outcome=Outcome.WAITING).update(outcome=Outcome.SKIPPED, finished_at=now)
            self._record_unknown(results.filter(outcome=Outcome.APPLYING).select_related("change"), now)
            results.filter(rollout=RolloutState.WAITING).update(rollout=RolloutState.GIVEN_UP, rollout_at=now)
            outcomes = list(ObjectResult.objects.filter(run=self.run).values_list("outcome", flat=True))
            counts = {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))}
            ApplyRun.objects.filter(pk=self.run.pk, epoch=self.epoch).update(
                state=state, finished_at=now, lease_until=None, summary=counts, error=error
            )
            Review.objects.filter(pk=self.run.plan.review_id).update(
                state=_FINISHED_REVIEW.get(state, ReviewState.OPEN), updated_at=now
            )
            trail.record(
                AuditAction.RUN_FINISHED,
                by=None,
                about=trail.AuditSubject.of_run(self.run),
                detail={
                    "state": state.value,
                    **live_values.count_results(self.run),
                    "error": error,
                    **({"attempt": self.run.attempt} if self.run.attempt > 1 else {}),
                },
            )
            run_order.wake_next(self.run)
            failpoints.reach("run.ending")
        failpoints.reach("run.ended")


def _refuse(run_id: int, now: datetime) -> None:
    """End a run without an approval: it was inserted past the use cases, and no worker executes it."""
    run = ApplyRun.objects.select_related("plan__review", "plan__target__cluster").get(pk=run_id)
    error = "no approval was spent on this run: it was not started by a use case"
    ended = ApplyRun.objects.filter(pk=run_id, state__in=RunState.unfinished()).update(
        state=RunState.FAILED, finished_at=now, lease_until=None, error=error
    )
    if not ended:  # another worker has recorded it
        return
    ObjectResult.objects.filter(run=run, outcome=Outcome.WAITING).update(outcome=Outcome.SKIPPED, finished_at=now)
    Review.objects.filter(pk=run.plan.review_id, state=ReviewState.APPLYING).update(
        state=ReviewState.OPEN, updated_at=now
    )
    trail.record(
        AuditAction.RUN_FINISHED,
        by=None,
        about=trail.AuditSubject.of_run(run),
        detail={"state": "failed", "error": error},
    )


def _find_newer(run: ApplyRun) -> str:
    """Return why a worker of this version must not execute a run; "" when it may."""
    unknown = RunRules.list_unknown(run.rules)
    if unknown:
        return f"run {run.number} was started by a newer version (rule {unknown[0]} is not known)"
    return compatibility.find_newer_plan(run.plan)


def _must_wait(run_id: int) -> bool:
    """Return whether this worker must not claim a run yet; any worker may claim a canceled one."""
    if stopping.is_requested():
        return True
    run = _UNFINISHED.find(run_id)
    if run is None or run.cancel_requested_at is not None:
        return False
    newer = _find_newer(run)
    if newer:
        logger.warning("%s: it is left to a worker of that version", newer)
        return True
    if run.state == RunState.QUEUED and run.plan.target.cluster.paused_at is not None:
        logger.info("run %s waits: its cluster is paused", run.number)
        return True
    before = run_order.find_run_before(run)
    if before is not None:
        logger.info("run %s waits for run %s, which changes the same objects", run.number, before.number)
        return True
    if not run_order.has_turn(run, now=clock.now()):
        logger.info("run %s waits: workers execute other runs of its cluster", run.number)
        return True
    return False


def claim_run(run_id: int) -> Claim | None:
    """Claim an unowned run; return None when another worker owns it, it is finished, or another run comes first."""
    if _must_wait(run_id):
        return None
    now = clock.now()
    is_due = Q(watch_at=None) | Q(cancel_requested_at__isnull=False)
    free = Q(state=RunState.QUEUED) | Q(is_due, state=RunState.APPLYING, lease_until__lte=now)
    me = f"{socket.gethostname()}:{os.getpid()}"
    with transaction.atomic():
        try:
            with transaction.atomic():
                claimed = ApplyRun.objects.filter(free, pk=run_id).update(
                    state=RunState.APPLYING,
                    epoch=F("epoch") + 1,
                    lease_until=find_lease_end(now),
                    watch_at=None,
                    started_at=Coalesce("started_at", Value(now)),
                )
        except IntegrityError:  # the database finds no approval that was spent on it (`records/triggers.py`)
            _refuse(run_id, now)
            return None
        if not claimed:
            return None
        (run,) = _CLAIMED.ask(run_id)
        trail.record(
            AuditAction.RUN_CLAIMED,
            by=None,
            about=trail.AuditSubject.of_run(run),
            detail={"worker": me, "epoch": run.epoch},
        )
        failpoints.reach("run.claiming")
    failpoints.reach("run.claimed")
    return _make_claim(run)


def _select_with_plan() -> QuerySet[ApplyRun]:
    return ApplyRun.objects.select_related("plan__review", "plan__target__cluster", "plan__revision")


_CLAIMED = WrittenQuery(lambda run: _select_with_plan().filter(pk=run))


def _make_claim(run: ApplyRun) -> Claim:
    attempt = attempts.find_attempt(run)
    return Claim(run, run.epoch, attempt.first_epoch if attempt else 1)


def claim_parked(run_id: int) -> Claim | None:
    """Claim a parked run to look at its rollouts; return None when it is not due, or its cluster is busy.

    - The epoch stays, because nothing is sent: when this worker is lost, the next one resumes the run as usual.
    """
    now = clock.now()
    due = _select_with_plan().filter(state=RunState.APPLYING, cancel_requested_at=None, watch_at__lte=now)
    run = due.filter(pk=run_id, lease_until__lte=now).first()
    if run is None or stopping.is_requested() or not run_order.has_turn(run, now=now):
        return None
    mine = ApplyRun.objects.filter(pk=run_id, state=RunState.APPLYING, epoch=run.epoch, watch_at=run.watch_at)
    return _make_claim(run) if mine.update(watch_at=None, lease_until=find_lease_end(now)) else None
