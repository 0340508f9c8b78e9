"""Carrying a run out: claim, check every effect, then step by step and object by object.

A worker that resumes does not check again what was checked: objects that are done stay done, and the others
are compared with live one by one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import InterfaceError, InternalError, OperationalError, transaction

from applyviz.clusters import connect, discovery
from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.writer import ClusterWriter
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.plan import ObjectChange
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ObjectResult
from applyviz.workflow import calculation, changes, failpoints, identities, permissions
from applyviz.workflow.logs import log_unexpected
from applyviz.workflow.runs import checking
from applyviz.workflow.runs.binding import find_difference
from applyviz.workflow.runs.consent import find_claim_blockers
from applyviz.workflow.runs.crew import Crew
from applyviz.workflow.runs.journal import Journal
from applyviz.workflow.runs.lease import Claim, LeaseLostError, claim_run
from applyviz.workflow.runs.objects import Access, Ended
from applyviz.workflow.runs.parts import StopError
from applyviz.workflow.runs.rules import RunRules
from applyviz.workflow.runs.stepping import Walk

logger = logging.getLogger(__name__)


class RunStoppedError(ApplyVizError):
    """The run ends before anything (more) is written; the text says why."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A claimed run with everything that is needed to carry it out; `fresh` is live as the check read it, by result."""

    claim: Claim
    reader: ClusterReader
    prepared: calculation.Calculation
    tag_key: bytes
    fresh: dict[int, JSONObject | None] = field(default_factory=dict)

    def recompute(self, result: ObjectResult) -> ObjectChange:
        """The change of one object as it would be planned now."""
        change = self.prepared.recompute(changes.ref_of(result.change))
        if change is None:
            raise StopError(Outcome.STALE, "the object is no longer part of what would be planned")
        return change

    def take_fresh(self, result: ObjectResult) -> tuple[bool, JSONObject | None]:
        """Live as the check of this worker read it, once: each write is bound to it, so it need not be read again."""
        return result.pk in self.fresh, self.fresh.pop(result.pk, None)

    def find_path(self, change: ObjectChange) -> str:
        """The address of an object."""
        resource = self.prepared.catalog.find_resource(change.ref.gvk)
        if resource is None:
            raise StopError(
                Outcome.FAILED, f"the cluster does not serve {change.ref.gvk.kind} ({change.ref.gvk.api_version})"
            )
        return resource.path(change.ref.namespace, change.ref.name)


def _check_rights(claim: Claim) -> None:
    """Rights count when they are used: approvers and requester must still have them."""
    found = find_claim_blockers(claim.run)
    if found:
        raise RunStoppedError("; ".join(found))


def _read_results(claim: Claim) -> list[ObjectResult]:
    """All objects in their order, with their changes: what is checked is what is used."""
    rows = ObjectResult.objects.filter(run=claim.run).select_related("change")
    return list(rows.order_by("step", "position"))


def _check_plan(claim: Claim, results: list[ObjectResult]) -> None:
    odd = find_difference(claim.run, [result.change for result in results])
    if odd:
        raise RunStoppedError(f"the stored plan is not the one that was approved ({odd}): plan again")


def _check_target(claim: Claim, reader: ClusterReader) -> None:
    facts = discovery.read_facts(reader)
    if not facts.uid:
        raise RunStoppedError("the cluster did not say who it is")
    if facts.uid != claim.run.plan.cluster_uid:
        raise RunStoppedError("this is another cluster than the one that was planned for")


def _check_permissions(claim: Claim, reader: ClusterReader, results: list[ObjectResult]) -> None:
    """An identity that may no longer write what was approved writes nothing of it."""
    identity = identities.read_identity(claim.run.plan)
    if identity.is_own:
        return
    left = [result for result in results if result.outcome in Outcome.unfinished()]
    requests = [r for result in left for r in changes.read_masked_core(result.change).requests]
    denied = permissions.find_denied(reader, permissions.list_needs(requests))
    if denied:
        raise RunStoppedError("; ".join(permissions.name_denied(identity, [str(need) for need in denied])))


def _check_effects(work: _Work, results: list[ObjectResult]) -> bool:
    """Whether every effect is still the approved one; those that are not get their outcome."""
    pairs = checking.match(results, work.prepared.run())
    stale = []
    for result, change in pairs:
        kind = work.prepared.catalog.find_kind(changes.ref_of(result.change).gvk)
        try:
            if change is None:
                raise StopError(Outcome.STALE, "the object is no longer part of what would be planned")
            checking.raise_if_stale(result, change, tag_key=work.tag_key, kind=kind)
        except StopError as stop:
            stale.append((result, stop))
    with transaction.atomic():
        work.claim.keep()
        for result, found in stale:
            masked = changes.read_masked_core(result.change)
            journal = Journal(work.claim, result, changes.open_sealed_core(result.change), masked, work.tag_key)
            journal.conclude(found.outcome, found.detail, found.differences)
        if not stale:
            checking.remember_checked(pairs)
            work.fresh.update({result.pk: change.versions.live for result, change in pairs if change is not None})
    return not stale


def _carry_out(
    claim: Claim, own: ClusterReader, reader: ClusterReader, writer: ClusterWriter, sleep: Callable[[float], None]
) -> tuple[RunState, str]:
    """Check, then write; `own` asks who the cluster is, everything else goes out as the identity of the plan."""
    plan = claim.run.plan
    if claim.is_cancelled():
        return RunState.CANCELLED, ""
    if claim.is_hopeless():
        raise RunStoppedError("one worker after the other was lost over it; look at their logs")
    _check_rights(claim)
    results = _read_results(claim)
    _check_plan(claim, results)
    _check_target(claim, own)
    _check_permissions(claim, reader, results)
    prepared = calculation.prepare(plan, reader, has_notes=False)
    failpoints.reach("run.prepared")
    work = _Work(claim, reader, prepared, plan.tag_key.open_bytes())
    is_checked = all(result.checked is not None for result in results)
    if not is_checked and not _check_effects(work, results):
        return RunState.STALE, ""
    failpoints.reach("run.checked")
    rules = RunRules.from_json(claim.run.rules)
    around = Access(
        claim=claim,
        reader=reader,
        writer=writer,
        find_kind=lambda change: prepared.catalog.find_kind(change.ref.gvk),
        find_path=work.find_path,
        recompute=work.recompute,
        take_fresh=work.take_fresh,
        tag_key=work.tag_key,
        rules=rules,
    )
    with Crew[Ended](claim, width=min(rules.at_once, reader.parallel), sleep=sleep) as crew:
        return Walk(around, crew, results).go()


def execute_run(run_id: int, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Carry out a run; nothing happens when another worker has it or it is finished.

    - Writes are sent only for effects that are the approved ones, bound to the live object just read.
    - A worker that loses its lease stops at once and leaves everything to the one that has it; so does one whose
      database went away, because what it last wrote may or may not be there.
    """
    claim = claim_run(run_id)
    if claim is None:
        return
    try:
        cluster = claim.run.plan.target.cluster
        transport = connect.open_transport(cluster)
        try:
            acting = connect.act_as(transport, identities.read_identity(claim.run.plan))
            own, reader = connect.reader_over(cluster, transport), connect.reader_over(cluster, acting)
            state, error = _carry_out(claim, own, reader, ClusterWriter(acting), sleep)
        finally:
            transport.close()
        failpoints.reach("run.finishing")
        claim.finish(state, error=error)
    except LeaseLostError:
        logger.info("Run %s is owned by another worker", claim.run.number)
    except ApplyVizError as stop:
        claim.finish(RunState.FAILED, error=str(stop))
    except (OperationalError, InterfaceError, InternalError) as lost:
        log_unexpected(logger, f"run {claim.run.number} is left to the next worker: the database went away", lost)
    except Exception as unexpected:
        log_unexpected(logger, f"run {claim.run.number} stopped", unexpected)
        claim.finish(RunState.FAILED, error=f"an unexpected error stopped the run ({type(unexpected).__name__})")
