"""Execution of a run: claim it, check every effect, then apply step by step and object by object.

A worker that resumes does not repeat the check: finished objects stay finished, and the others are compared with live
one by one.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.db import InterfaceError, InternalError, OperationalError, transaction

from applyviz.clusters import connect, facts
from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.writer import ClusterWriter
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ObjectResult
from applyviz.workflow.clusters import impersonation, permissions
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.foundation.leases import LeaseLostError, LeaseRenewer, WorkerStoppingError
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.plans import calculation, changes
from applyviz.workflow.runs import effect_check
from applyviz.workflow.runs.authorization import find_claim_blockers
from applyviz.workflow.runs.flow_executor import FlowExecutor
from applyviz.workflow.runs.journal import Journal
from applyviz.workflow.runs.lease import Claim, claim_run
from applyviz.workflow.runs.objects import Access, Ended, ObjectRun
from applyviz.workflow.runs.plan_integrity import find_difference
from applyviz.workflow.runs.request_sender import StopError
from applyviz.workflow.runs.rules import RunRules
from applyviz.workflow.runs.step_runner import StepRunner, read_journal

logger = logging.getLogger(__name__)
_READING_PAUSES = (0.5, 1.0, 2.0)


class RunStoppedError(ApplyVizError):
    """The run ends before anything, or anything more, is written; the text says why."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A claimed run with everything needed to execute it; `fresh` holds the changes from the check, by result."""

    claim: Claim
    reader: ClusterReader
    prepared: calculation.Calculation
    tag_key: bytes
    renewer: LeaseRenewer
    fresh: dict[int, PlannedObject] = field(default_factory=dict)

    def recompute(self, result: ObjectResult) -> PlannedObject:
        """Return the change of one object as it would be planned now."""
        change = self.prepared.recompute(changes.ref_of(result.change))
        if change is None:
            raise StopError(Outcome.STALE, "the object is no longer part of what would be planned")
        return change

    def pop_checked(self, result: ObjectResult) -> PlannedObject | None:
        """Return the change from this worker's check, once: the write is bound to the live object of that check."""
        return self.fresh.pop(result.pk, None)

    def find_path(self, change: PlannedObject) -> str:
        """Return the URL path of an object."""
        resource = self.prepared.catalog.find_resource(change.ref.gvk)
        if resource is None:
            raise StopError(
                Outcome.FAILED, f"the cluster does not serve {change.ref.gvk.kind} ({change.ref.gvk.api_version})"
            )
        return resource.path(change.ref.namespace, change.ref.name)


def _read_results(claim: Claim) -> list[ObjectResult]:
    """Return all results in order, with their changes: the rows that are checked are the rows that are used."""
    rows = ObjectResult.objects.filter(run=claim.run).select_related("change")
    return list(rows.order_by("step", "position"))


def _check_plan(claim: Claim, results: list[ObjectResult]) -> None:
    odd = find_difference(claim.run, [result.change for result in results])
    if odd:
        raise RunStoppedError(f"the stored plan is not the one that was approved ({odd}): re-plan")


def _check_target(claim: Claim, reader: ClusterReader) -> None:
    plan = claim.run.plan
    cluster = plan.target.cluster
    facts.require_same(reader, uid=plan.cluster_uid, server=cluster.server, name=cluster.name)
    account = {} if plan.identity else facts.read_account(reader)
    if account and account != plan.account:
        raise RunStoppedError(
            f"the credential of {cluster.name} belongs to another account ({account['user']}) than this plan was "
            "made for: re-plan"
        )


def _check_permissions(claim: Claim, reader: ClusterReader, results: list[ObjectResult]) -> None:
    """Stop an identity that no longer has the permissions for the approved writes."""
    identity = impersonation.read_identity(claim.run.plan)
    left = [result for result in results if result.outcome in Outcome.unfinished()]
    requests = [r for result in left for r in changes.read_masked_core(result.change).requests]
    denied = permissions.find_denied(reader, permissions.list_needs(requests))
    if denied:
        raise RunStoppedError("; ".join(permissions.name_denied(identity, permissions.describe_denied(denied))))


def _read_again(work: _Work, change: PlannedObject | None, sleep: Callable[[float], None]) -> PlannedObject | None:
    """Recalculate a change whose live object could not be read, with pauses, until it can; else return it unchanged."""
    for pause in _READING_PAUSES:
        if change is None or not effect_check.is_unreadable(change):
            return change
        sleep(pause)
        work.renewer.check()
        change = work.prepared.recompute(change.ref)
    return change


def _check_effects(
    work: _Work, results: list[ObjectResult], sleep: Callable[[float], None]
) -> tuple[RunState, str] | None:
    """Return None when every effect is still the approved one; else record outcomes and return how the run ends."""
    pairs = effect_check.match(results, work.renewer.each(work.prepared.run(work.renewer.check)))
    pairs = [(result, _read_again(work, change, sleep)) for result, change in pairs]
    stale = []
    for result, change in pairs:
        kind = work.prepared.catalog.find_kind(changes.ref_of(result.change).gvk)
        try:
            if change is None:
                raise StopError(Outcome.STALE, "the object is no longer part of what would be planned")
            effect_check.raise_if_stale(result, change, tag_key=work.tag_key, kind=kind)
        except StopError as stop:
            stale.append((result, stop))
    with transaction.atomic():
        work.claim.keep()
        for result, found in stale:
            masked = changes.read_masked_core(result.change)
            journal = Journal(work.claim, result, changes.open_sealed_core(result.change), masked, work.tag_key)
            journal.conclude(found.outcome, found.detail, found.differences)
        if not stale:
            effect_check.remember_checked(pairs)
            work.fresh.update({result.pk: change for result, change in pairs if change is not None})
    return _read_verdict((result, stop.outcome, stop.detail) for result, stop in stale)


def _read_verdict(found: Iterable[tuple[ObjectResult, Outcome, str]]) -> tuple[RunState, str] | None:
    """Return how a run ends after these failed checks; None without any."""
    told = list(found)
    unread = [
        f"{changes.ref_of(result.change)}: {detail}" for result, outcome, detail in told if outcome != Outcome.STALE
    ]
    if unread:
        return RunState.FAILED, unread[0]
    return (RunState.STALE, "") if told else None


@dataclass(frozen=True, slots=True)
class _ClusterClients:
    """Clients of a cluster: `own` identifies it, all other requests use the identity of the plan."""

    own: ClusterReader
    reader: ClusterReader
    writer: ClusterWriter
    sleep: Callable[[float], None]
    renewer: LeaseRenewer


def _open_access(lines: _ClusterClients, work: _Work, rules: RunRules) -> Access:
    return Access(
        claim=work.claim,
        reader=lines.reader,
        writer=lines.writer,
        find_kind=lambda change: work.prepared.catalog.find_kind(change.ref.gvk),
        find_path=work.find_path,
        recompute=work.recompute,
        pop_checked=work.pop_checked,
        tag_key=work.tag_key,
        rules=rules,
    )


def _check_last_write(claim: Claim, lines: _ClusterClients) -> bool:
    """Before a run ends early, determine the outcome of a lost worker's last writes; return whether everything is done.

    - When live cannot be read, the write stays open, and the end of the run records it as unknown.
    """
    results = _read_results(claim)
    begun = [result for result in results if result.outcome == Outcome.APPLYING]
    if not begun:
        return False
    plan, rules = claim.run.plan, RunRules.from_json(claim.run.rules)
    try:
        _check_plan(claim, results)
        _check_target(claim, lines.own)
        prepared = calculation.prepare(plan, lines.reader, has_notes=False)
        work = _Work(claim, lines.reader, prepared, plan.tag_key.open_bytes(), lines.renewer)
        around = _open_access(lines, work, rules)
        last = read_journal(claim)
        flows = [ObjectRun(around, result, last.get(result.pk)).check_last_write() for result in begun]
    except (LeaseLostError, WorkerStoppingError):
        raise
    except ApplyVizError as error:
        log_unexpected(logger, f"run {claim.run.number} ends early, and its last write cannot be checked", error)
        return False
    with FlowExecutor[Ended](claim, width=min(rules.at_once, lines.reader.parallel), sleep=lines.sleep) as crew:
        deque(crew.execute(iter(flows), may_start=lambda: True, may_wait=lambda: True), maxlen=0)
    found = ObjectResult.objects.filter(run=claim.run).values_list("outcome", flat=True)
    return all(Outcome(outcome).is_good for outcome in found)


def _carry_out(claim: Claim, lines: _ClusterClients) -> tuple[RunState, str]:
    """Check, then write; a run that must stop checks its last writes and ends."""
    if claim.is_canceled():
        return (RunState.APPLIED if _check_last_write(claim, lines) else RunState.CANCELED), ""
    if claim.is_hopeless():
        raise RunStoppedError("several workers were lost during this run; check their logs")
    blockers = find_claim_blockers(claim.run)
    if blockers:  # approvers and requester must still have their roles
        is_done = _check_last_write(claim, lines)
        return (RunState.APPLIED, "") if is_done else (RunState.FAILED, "; ".join(blockers))
    return _check_and_write(claim, lines)


def _check_and_write(claim: Claim, lines: _ClusterClients) -> tuple[RunState, str]:
    plan, reader, renewer = claim.run.plan, lines.reader, lines.renewer
    results = _read_results(claim)
    _check_plan(claim, results)
    _check_target(claim, lines.own)
    is_checked = all(result.checked is not None for result in results)
    if not is_checked:  # an earlier worker found that the run must stop, and was lost before recording it
        told = ((r, Outcome(r.outcome), r.detail) for r in results if r.outcome not in Outcome.unfinished())
        if (verdict := _read_verdict(told)) is not None:
            return verdict
    renewer.check()
    _check_permissions(claim, reader, results)
    renewer.check()
    prepared = calculation.prepare(plan, reader, has_notes=False)
    failpoints.reach("run.prepared")
    work = _Work(claim, reader, prepared, plan.tag_key.open_bytes(), lines.renewer)
    if not is_checked and (ended := _check_effects(work, results, lines.sleep)) is not None:
        return ended
    failpoints.reach("run.checked")
    rules = RunRules.from_json(claim.run.rules)
    with FlowExecutor[Ended](claim, width=min(rules.at_once, reader.parallel), sleep=lines.sleep) as crew:
        return StepRunner(_open_access(lines, work, rules), crew, results).go()


def execute_run(run_id: int, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Execute a run; does nothing when another worker has it or it is finished.

    - Writes only approved effects, bound to the live object that was just read.
    - Stops at once when the lease is lost or the database goes away, because the last write may or may not be stored,
      and leaves everything to the next worker.
    - A worker that is asked to stop finishes the objects in progress, and leaves the rest to the next worker.
    """
    claim = claim_run(run_id)
    if claim is None:
        return
    try:
        cluster = claim.run.plan.target.cluster
        transport = connect.open_transport(cluster)
        try:
            acting = connect.act_as(transport, impersonation.read_identity(claim.run.plan))
            own, reader = connect.reader_over(cluster, transport), connect.reader_over(cluster, acting)
            with LeaseRenewer(claim.keep) as renewer:
                state, error = _carry_out(claim, _ClusterClients(own, reader, ClusterWriter(acting), sleep, renewer))
        finally:
            transport.close()
        failpoints.reach("run.finishing")
        claim.finish(state, error=error)
    except LeaseLostError:
        logger.info("run %s is owned by another worker", claim.run.number)
    except WorkerStoppingError:
        logger.info("run %s is left to the next worker: this one was asked to stop", claim.run.number)
        claim.release()
    except ApplyVizError as stop:
        claim.finish(RunState.FAILED, error=str(stop))
    except (OperationalError, InterfaceError, InternalError) as lost:
        log_unexpected(logger, f"run {claim.run.number} is left to the next worker: the database went away", lost)
    except Exception as unexpected:
        log_unexpected(logger, f"run {claim.run.number} stopped", unexpected)
        claim.finish(RunState.FAILED, error=f"an unexpected error stopped the run ({type(unexpected).__name__})")
