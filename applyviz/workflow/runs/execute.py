"""Execution of a run: claim it, check every effect, then apply step by step and object by object.

A worker that resumes does not repeat the check: finished objects stay finished, and the others are compared with live
one by one. A further attempt checks and executes its own objects only.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from django.db import InterfaceError, InternalError, OperationalError, transaction
from msgspec import Struct

from applyviz import clock
from applyviz.clusters import connect, facts
from applyviz.clusters.read_log import ReadLog
from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.writer import ClusterWriter
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.records.enums import Outcome, RolloutState, RunState
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.sources.collector import defer_full_gc
from applyviz.workflow.clusters import impersonation, permissions
from applyviz.workflow.foundation import failpoints, sentences
from applyviz.workflow.foundation.leases import LeaseLostError, LeaseRenewer, WorkerStoppingError
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.plans import calculation, changes
from applyviz.workflow.plans.moved_objects import is_unreadable
from applyviz.workflow.plans.object_choices import is_left_out
from applyviz.workflow.runs import attempts, effect_check
from applyviz.workflow.runs.authorization import find_claim_blockers
from applyviz.workflow.runs.check_watch import CanceledError, CheckWatch
from applyviz.workflow.runs.flow_executor import FlowExecutor
from applyviz.workflow.runs.journal import Journal, ObjectOutcome
from applyviz.workflow.runs.lease import Claim, RunParkedError, claim_run
from applyviz.workflow.runs.objects import Access, Ended, ObjectRun
from applyviz.workflow.runs.plan_integrity import find_difference
from applyviz.workflow.runs.request_sender import StopError
from applyviz.workflow.runs.rollout import LOOK_SECONDS
from applyviz.workflow.runs.rules import RunRules
from applyviz.workflow.runs.run_content import RunContent
from applyviz.workflow.runs.step_runner import StepRunner, find_closing_writes, read_journal

logger = logging.getLogger(__name__)


class RunStoppedError(ApplyVizError):
    """The run ends before anything, or anything more, is written; the text says why."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A claimed run with everything needed to execute it; `fresh` holds the changes from the check, by result.

    - `closing`: the results that write their object for the second time; they start from what the first one left.
    """

    claim: Claim
    reader: ClusterReader
    prepared: calculation.Calculation
    tag_key: bytes
    renewer: LeaseRenewer
    closing: frozenset[int] = frozenset()
    fresh: dict[int, PlannedObject] = field(default_factory=dict)
    paths: dict[ObjectRef, str] = field(default_factory=dict)
    log: ReadLog = field(kw_only=True)

    def recompute(self, result: ObjectResult) -> PlannedObject:
        """Return the change of one object as it would be planned now."""
        record = changes.find_record(result.change)
        is_last = result.pk in self.closing
        change = self.prepared.recompute(changes.ref_of(result.change), is_last=is_last, record=record)
        if change is None:
            raise StopError(Outcome.STALE, "the object is no longer part of the plan")
        return change

    def pop_checked(self, result: ObjectResult) -> PlannedObject | None:
        """Return the change from this worker's check, once: the write is bound to the live object of that check."""
        return self.fresh.pop(result.pk, None)

    def find_path(self, change: PlannedObject) -> str:
        """Return the URL path of an object."""
        path = self._try_find_path(change.ref)
        if not path:
            raise StopError(
                Outcome.FAILED, f"the cluster does not serve {change.ref.gvk.kind} ({change.ref.gvk.api_version})"
            )
        return path

    def _try_find_path(self, ref: ObjectRef) -> str:
        if ref not in self.paths and (resource := self.prepared.catalog.find_resource(ref.gvk)) is not None:
            self.paths[ref] = resource.path(ref.namespace, ref.name)
        return self.paths.get(ref, "")

    def take_reads(self, change: PlannedObject) -> Sequence[Mapping[str, JSONValue]]:
        """Return the reads of an object since the last time."""
        return self.log.take(self._try_find_path(change.ref))

    def store_shared_reads(self, results: Iterable[ObjectResult]) -> None:
        """Store the reads that belong to no object: discovery and schemas."""
        paths = {self._try_find_path(changes.ref_of(result.change)) for result in results}
        found = self.log.take_others(paths)
        if found:
            run = self.claim.run
            ApplyRun.objects.filter(pk=run.pk, epoch=self.claim.epoch).update(reads=[*run.reads, *found])


def _check_plan(claim: Claim, content: RunContent) -> None:
    odd = find_difference(claim.run, content)
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


def _check_permissions(claim: Claim, reader: ClusterReader, content: RunContent) -> None:
    """Stop an identity that no longer has the permissions for the approved writes."""
    left = [r for r in content.results if claim.is_due(r) and r.outcome in Outcome.unfinished()]
    denied = permissions.describe_denied(permissions.find_denied(reader, content.list_needs(left)))
    found = permissions.list_denied(impersonation.read_identity(claim.run.plan), denied)
    if found:
        raise RunStoppedError(sentences.join_clauses(found))


def _recalculate(work: _Work, watch: CheckWatch, pairs: Sequence[effect_check.Pair]) -> list[PlannedObject | None]:
    """Return these changes as they would be planned now; their requests are sent in parallel."""

    def recompute(pair: effect_check.Pair) -> PlannedObject | None:
        result, change = pair
        is_last, record = result.pk in work.closing, changes.find_record(result.change)
        return change and work.prepared.recompute(change.ref, is_last=is_last, record=record)

    return watch.map(recompute, pairs, width=work.reader.parallel)


def _check_effect(work: _Work, access: Access, result: ObjectResult, change: PlannedObject | None) -> None:
    """Raise `StopError` unless the effect of one object is still the approved one, or it is still applied."""
    if change is None:
        raise StopError(Outcome.STALE, "the object is no longer part of the plan")
    load = partial(access.content.load, [result])
    if result.outcome in Outcome.unfinished():
        kind = work.prepared.catalog.find_kind(change.ref.gvk)
        effect_check.raise_if_stale(result, change, tag_key=work.tag_key, kind=kind, load=load)
    elif is_unreadable(change):  # its outcome stays
        raise RunStoppedError(f"{change.ref} could not be read, so its rollout was not watched again")
    else:
        load()
        ObjectRun(access, result).check_applied(change)


def _check_effects(
    work: _Work, access: Access, results: list[ObjectResult], sleep: Callable[[float], None]
) -> tuple[RunState, str] | None:
    """Return None when every effect is still the approved one; else record outcomes and return how the run ends.

    - Objects of earlier attempts are left alone.
    """
    watch = CheckWatch(work.claim, work.renewer)
    recalculate = partial(_recalculate, work, watch)
    pairs = effect_check.match(results, watch.each(work.prepared.run(watch.check)))
    pairs = [(result, change) for result, change in pairs if work.claim.is_due(result)]
    pairs = effect_check.read_again(pairs, recalculate, pause=partial(watch.pause, sleep=sleep))
    checked = list(effect_check.calculate_twice(pairs, recalculate))
    stale = []
    for result, change, is_same in checked:
        try:
            if not is_same:
                _check_effect(work, access, result, change)
        except StopError as stop:
            stale.append((result, stop))
    with transaction.atomic():
        work.claim.keep()
        for result, found in stale:
            access.content.load([result])
            sealed, masked = changes.open_cores(result.change)
            journal = Journal(work.claim, result, sealed, masked, work.tag_key, partial(work.take_reads, sealed))
            journal.conclude(ObjectOutcome(found.outcome, found.detail, found.differences))
        if not stale:
            effect_check.remember_checked((result, change) for result, change, _ in checked)
            work.fresh.update((r.pk, now) for r, now, _ in checked if now is not None and r.pk not in work.closing)
    return _read_verdict((result, stop.outcome, stop.detail) for result, stop in stale)


def _read_verdict(found: Iterable[tuple[ObjectResult, Outcome, str]]) -> tuple[RunState, str] | None:
    """Return how a run ends after these failed checks; None without any."""
    failed = list(found)
    unread = [
        f"{changes.ref_of(result.change)}: {detail}" for result, outcome, detail in failed if outcome != Outcome.STALE
    ]
    if unread:
        return RunState.FAILED, unread[0]
    return (RunState.STALE, "") if failed else None


class _ClusterClients(Struct, frozen=True):
    """Clients of a cluster: `own` identifies it, all other requests use the identity of the plan."""

    own: ClusterReader
    reader: ClusterReader
    writer: ClusterWriter
    sleep: Callable[[float], None]
    renewer: LeaseRenewer
    log: ReadLog


def _open_access(lines: _ClusterClients, work: _Work, rules: RunRules, content: RunContent) -> Access:
    return Access(
        claim=work.claim,
        reader=lines.reader,
        writer=lines.writer,
        find_kind=lambda change: work.prepared.catalog.find_kind(change.ref.gvk),
        find_path=work.find_path,
        recompute=work.recompute,
        pop_checked=work.pop_checked,
        take_reads=work.take_reads,
        tag_key=work.tag_key,
        rules=rules,
        content=content,
    )


def _check_last_write(claim: Claim, lines: _ClusterClients) -> bool:
    """Before a run ends early, determine the outcome of a lost worker's last writes; return whether everything is done.

    - When live cannot be read, the write stays open, and the end of the run records it as unknown.
    """
    begun = list(ObjectResult.objects.filter(run=claim.run, outcome=Outcome.APPLYING).values_list("pk", flat=True))
    if not begun:
        return False
    content = RunContent(claim.run)
    plan, rules = claim.run.plan, RunRules.from_json(claim.run.rules)
    try:
        _check_plan(claim, content)
        _check_target(claim, lines.own)
        prepared = calculation.prepare(plan, lines.reader, has_notes=False)
        key, closing = plan.tag_key.open_bytes(), find_closing_writes(content.results)
        work = _Work(claim, lines.reader, prepared, key, lines.renewer, closing, log=lines.log)
        around = _open_access(lines, work, rules, content)
        last = read_journal(claim)
        results = content.each([result for result in content.results if result.pk in begun])
        flows = [ObjectRun(around, result, last.get(result.pk)).check_last_write() for result in results]
    except (LeaseLostError, WorkerStoppingError):
        raise
    except ApplyVizError as error:
        log_unexpected(logger, f"run {claim.run.number} ends early, and its last write cannot be checked", error)
        return False
    with FlowExecutor[Ended](claim, width=min(rules.at_once, lines.reader.parallel), sleep=lines.sleep) as crew:
        deque(crew.execute(iter(flows), may_start=lambda: True, may_wait=lambda: True), maxlen=0)
        if crew.has_given_up:
            raise WorkerStoppingError("this worker was asked to stop")
    found = ObjectResult.objects.filter(run=claim.run).values_list("outcome", flat=True)
    return all(Outcome(outcome).is_good for outcome in found)


def _carry_out(claim: Claim, lines: _ClusterClients) -> tuple[RunState, str]:
    """Check, then write; a run that must stop checks its last writes and ends."""
    if claim.is_canceled():
        return (RunState.APPLIED if _check_last_write(claim, lines) else RunState.CANCELED), ""
    if claim.is_hopeless():
        raise RunStoppedError("several workers stopped without finishing an object; check their logs")
    blockers = find_claim_blockers(claim.run)
    if blockers:  # approvers and requester must still have their roles
        is_done = _check_last_write(claim, lines)
        return (RunState.APPLIED, "") if is_done else (RunState.FAILED, sentences.join_clauses(blockers))
    try:
        return _check_and_write(claim, lines)
    except CanceledError:
        return RunState.CANCELED, ""


def _check_and_write(claim: Claim, lines: _ClusterClients) -> tuple[RunState, str]:
    plan, reader, renewer = claim.run.plan, lines.reader, lines.renewer
    content = RunContent(claim.run)
    every = content.results
    _check_plan(claim, content)
    _check_target(claim, lines.own)
    results = [result for result in every if claim.is_due(result)]
    is_checked = all(result.checked is not None for result in results)
    if not is_checked:  # an earlier worker found that the run must stop, and was lost before recording it
        recorded = ((r, Outcome(r.outcome), r.detail) for r in results if not _is_to_do(r))
        if (verdict := _read_verdict(recorded)) is not None:
            return verdict
    renewer.check()
    _check_permissions(claim, reader, content)
    renewer.check()
    prepared = calculation.prepare(plan, reader, has_notes=False)
    failpoints.reach("run.prepared")
    key, closing = plan.tag_key.open_bytes(), find_closing_writes(every)
    work = _Work(claim, reader, prepared, key, lines.renewer, closing, log=lines.log)
    rules = RunRules.from_json(claim.run.rules)
    around = _open_access(lines, work, rules, content)
    if not is_checked and (ended := _check_effects(work, around, every, lines.sleep)) is not None:
        return ended
    work.store_shared_reads(every)
    prepared.forget()
    failpoints.reach("run.checked")
    with FlowExecutor[Ended](claim, width=min(rules.at_once, reader.parallel), sleep=lines.sleep) as crew:
        state, error = StepRunner(around, crew, results).go()
    return _judge_rest(every, claim) if state is RunState.APPLIED else (state, error)


def _is_to_do(result: ObjectResult) -> bool:
    """Return whether a result waits for its write, or again for its rollout."""
    is_watched = result.outcome == Outcome.VERIFIED and result.rollout == RolloutState.WAITING
    return result.outcome in Outcome.unfinished() or is_watched


def _is_left(result: ObjectResult) -> bool:
    """Return whether the plan promised more for an object than its result; nothing for one that it leaves out."""
    is_done = Outcome(result.outcome).is_good and result.rollout not in attempts.NOT_READY
    return not (is_done or is_left_out(result.change))


def _judge_rest(every: list[ObjectResult], claim: Claim) -> tuple[RunState, str]:
    """Return how a run ends whose attempt succeeded: its other objects may not be applied, or not be ready."""
    left = [result for result in every if not claim.is_due(result) and _is_left(result)]
    if not left:
        return RunState.APPLIED, ""
    first = f"{changes.ref_of(left[0].change)}: {left[0].rollout_detail or Outcome(left[0].outcome).label}"
    more = f", and {len(left) - 1} more" if len(left) > 1 else ""
    return RunState.FAILED, f"the retry succeeded; {first}{more}: re-plan"


def execute_run(run_id: int, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Execute a run; does nothing when another worker has it or it is finished.

    - Writes only approved effects, bound to the live object that was just read.
    - Stops at once when the lease is lost or the database goes away, because the last write may or may not be stored,
      and leaves everything to the next worker.
    - A worker that is asked to stop starts no more objects, waits for the requests in flight for a few seconds, and
      leaves the rest to the next worker.
    - A run that only waits for rollouts gives its worker back (`rollout_watch`).
    """
    claim = claim_run(run_id)
    if claim is None:
        return
    try:
        cluster = claim.run.plan.target.cluster
        with closing(connect.open_transport(cluster)) as transport:
            acting = connect.act_as(transport, impersonation.read_identity(claim.run.plan))
            log = ReadLog(clock.start_steady())
            own, reader = connect.reader_over(cluster, transport), connect.reader_over(cluster, acting, log=log)
            with LeaseRenewer(claim.keep, release=claim.release) as renewer, defer_full_gc():
                clients = _ClusterClients(own, reader, ClusterWriter(acting), sleep, renewer, log)
                state, error = _carry_out(claim, clients)
        failpoints.reach("run.finishing")
        claim.finish(state, error=error)
    except RunParkedError:
        claim.park(seconds=LOOK_SECONDS)
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
