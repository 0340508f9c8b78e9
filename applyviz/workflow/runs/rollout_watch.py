"""Looks at the rollouts of parked runs: a run that only waits for rollouts has no worker in between.

A look is one read per object that is not ready; nothing is calculated and nothing is written to the cluster. When no
object is left that rolls out, the run is resumed, and does what its rules say about failed rollouts.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

from applyviz.clusters import connect
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.objects import withheld_messages
from applyviz.records.enums import Outcome, RolloutState
from applyviz.records.models import JournalEntry, ObjectResult
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.foundation.leases import LeaseLostError, LeaseRenewer, WorkerStoppingError
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.plans import changes
from applyviz.workflow.runs.flow_executor import FlowExecutor
from applyviz.workflow.runs.flows import ObjectFlow
from applyviz.workflow.runs.lease import Claim, claim_parked
from applyviz.workflow.runs.live_objects import find_object_path, read_object, withhold_texts
from applyviz.workflow.runs.pod_reports import read_pod_report
from applyviz.workflow.runs.request_sender import StopError
from applyviz.workflow.runs.rollout import LOOK_SECONDS, Rollout
from applyviz.workflow.runs.rules import RunRules

logger = logging.getLogger(__name__)


def _list_rolling_out(claim: Claim) -> list[ObjectResult]:
    waiting = ObjectResult.objects.filter(run=claim.run, rollout=RolloutState.WAITING).select_related("change")
    return list(waiting.order_by("position"))


def _find_paths(results: list[ObjectResult]) -> dict[int, str]:
    """Return the path of each object, from the last request that was sent for it; by result."""
    last = JournalEntry.objects.filter(result__in=results).order_by("result_id", "sequence")
    sent = {entry.result_id: entry for entry in last.only("result_id", "method", "path")}
    return {
        result.pk: find_object_path(changes.ref_of(result.change), sent[result.pk].method, sent[result.pk].path)
        for result in results
        if result.pk in sent
    }


def _list_looks(claim: Claim, reader: ClusterReader, results: list[ObjectResult]) -> Iterator[ObjectFlow[RolloutState]]:
    paths, rules = _find_paths(results), RunRules.from_json(claim.run.rules)
    for result in results:
        is_withholding = withheld_messages.holds_masked(changes.read_masked_core(result.change))
        watched = Rollout(
            result,
            partial(_read, reader, result, paths.get(result.pk, ""), is_withholding=is_withholding),
            partial(read_pod_report, reader, is_withholding=is_withholding),
            seconds=rules.rollout_seconds,
            clock=time.monotonic,
        )
        yield watched.look_again(seconds=LOOK_SECONDS)


def _read(reader: ClusterReader, result: ObjectResult, path: str, *, is_withholding: bool) -> JSONObject | None:
    if not path:
        raise StopError(Outcome.FAILED, "no request was sent for it")
    live = read_object(reader, changes.ref_of(result.change), path)
    return withhold_texts(live) if is_withholding else live


def _look(claim: Claim, reader: ClusterReader, sleep: Callable[[float], None]) -> None:
    """Look at each object that rolls out, then park the run again, or have it resumed."""
    results = _list_rolling_out(claim)
    at_once = min(RunRules.from_json(claim.run.rules).at_once, reader.parallel)
    with FlowExecutor[RolloutState](claim, width=at_once, sleep=sleep) as crew:
        flows = _list_looks(claim, reader, results)
        deque(crew.execute(flows, may_start=lambda: True, may_wait=lambda: True), maxlen=0)
    if _list_rolling_out(claim):
        claim.park(seconds=LOOK_SECONDS)
    else:
        claim.unpark()


def watch_rollouts(run_id: int, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Look once at the rollouts of a parked run; does nothing when it is not due or its cluster is busy.

    - A cluster that cannot be connected to is left to the resumed run, which says so.
    """
    claim = claim_parked(run_id)
    if claim is None:
        return
    try:
        cluster = claim.run.plan.target.cluster
        with closing(connect.open_transport(cluster)) as transport:
            acting = connect.act_as(transport, impersonation.read_identity(claim.run.plan))
            release = partial(claim.park, seconds=LOOK_SECONDS)
            with LeaseRenewer(claim.keep, release=release):
                _look(claim, connect.reader_over(cluster, acting), sleep)
    except LeaseLostError:
        logger.info("run %s is owned by another worker", claim.run.number)
    except WorkerStoppingError:
        claim.park(seconds=LOOK_SECONDS)
    except ApplyVizError as error:
        log_unexpected(logger, f"the rollouts of run {claim.run.number} could not be looked at", error)
        claim.unpark()
