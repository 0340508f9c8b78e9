"""Make and read the details of a complete plan: impact, overview, quotas, graph and owners.

Readers who may not read a Secret get these values without its content (`live_values`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar
from zlib import compress, decompress

from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import canonical_json
from applyviz.engine.planning.digest.serialize import from_json, options_from_json, to_json
from applyviz.engine.planning.model.graph import PlanGraph
from applyviz.engine.planning.model.overview import Held, Overview, OverviewRow
from applyviz.engine.planning.model.owner_map import ObjectOwners, OwnerMap, map_owners
from applyviz.engine.planning.model.plan import PlannedObject, PlannedSet, Staying
from applyviz.engine.planning.model.quota_lines import QuotaLine
from applyviz.engine.planning.model.summary import PlanSummary, summarize
from applyviz.records.models import Plan, PlanDetails
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.plans import live_values

_T = TypeVar("_T")
_MOVED = (FieldOperation.CHANGED, FieldOperation.CLEARED)


class Forecast(Struct, frozen=True):
    """The effects of another tool's apply: conflicts that stop it, and fields of other managers that it resets."""

    conflicts: int = 0
    conflicting: int = 0
    reverted: int = 0
    managers: tuple[str, ...] = ()


def _pack(value: object) -> bytes:
    return compress(canonical_json(to_json(value)).encode())


def _unpack(wanted: type[_T], kept: bytes | memoryview) -> _T:
    return from_json(wanted, json.loads(decompress(kept)))


def make_details(plan: Plan, finished: PlannedSet, overview: Overview) -> PlanDetails:
    """Return the row of a plan that completes; it is to be stored before the plan is complete."""
    is_external = bool(plan.review.applied_by)
    return PlanDetails(
        plan=plan,
        impact=as_stored(to_json(summarize(finished.changes, finished.options))),
        overview=as_stored(to_json(overview)),
        quotas=as_stored(to_json(finished.quotas)),
        staying=as_stored(to_json(finished.staying)),
        forecast=to_json(_forecast(plan, finished.changes)) if is_external else None,
        graph=_pack(finished.graph),
        owners=_pack(map_owners(finished.changes)),
    )


def _forecast(plan: Plan, found: Iterable[PlannedObject]) -> Forecast:
    manager = options_from_json(plan.options).field_manager
    conflicts = conflicting = reverted = 0
    managers: set[str] = set()
    for change in found:
        conflicts += len(change.conflicts)
        conflicting += bool(change.conflicts)
        managers.update(conflict.manager for conflict in change.conflicts)
        theirs = [
            reason
            for reason in change.fields
            if reason.operation in _MOVED
            and reason.owners_before
            and all(owner.manager != manager for owner in reason.owners_before)
        ]
        reverted += len(theirs)
        managers.update(owner.manager for reason in theirs for owner in reason.owners_before)
    return Forecast(conflicts, conflicting, reverted, tuple(sorted(managers)))


def _find(plan: Plan) -> PlanDetails | None:
    """Return the details of a plan; None until it is complete."""
    found: PlanDetails | None = getattr(plan, "details", None)
    return found


def read_impact(plan: Plan) -> PlanSummary:
    """Return the effects of a plan on running workloads and on field ownership; none until it is complete."""
    kept = _find(plan)
    return PlanSummary() if kept is None else from_json(PlanSummary, kept.impact)


def list_quotas(plan: Plan) -> tuple[QuotaLine, ...]:
    """Return what the quotas of the namespaces of a plan's workloads allow."""
    kept = _find(plan)
    return () if kept is None else from_json(tuple[QuotaLine, ...], kept.quotas)


def list_staying(plan: Plan) -> tuple[Staying, ...]:
    """Return the objects that the prune of a plan leaves, in every namespace."""
    kept = _find(plan)
    return () if kept is None else from_json(tuple[Staying, ...], kept.staying)


def read_forecast(plan: Plan) -> Forecast | None:
    """Return the forecast of a plan that was loaded for a reader.

    - None for a plan that applyviz applies itself, and where Secrets are hidden, which it counts.
    """
    kept = _find(plan)
    if kept is None or kept.forecast is None or live_values.hidden_positions(plan):
        return None
    return from_json(Forecast, kept.forecast)


def read_whole_overview(plan_id: int, digest: str) -> Overview:
    """Return the overview of a plan for readers from whom nothing is hidden.

    - `digest`: of the plan, which distinguishes plans of different databases.
    """
    kept = PlanDetails.objects.filter(plan_id=plan_id, plan__digest=digest).values_list("overview", flat=True).get()
    return from_json(Overview, kept)


def read_overview(plan: Plan) -> Overview:
    """Return the overview of a complete plan that was loaded for a reader, without Secrets hidden from them."""
    found, hidden = read_whole_overview(plan.pk, plan.digest), live_values.hidden_positions(plan)
    risks = ((risk, tuple(n for n in risk.members if n not in hidden)) for risk in found.risks)
    return Overview(
        alike=tuple(one for one in found.alike if hidden.isdisjoint((*one.members, *one.exceptions))),
        risks=tuple(OverviewRow(risk.kind, risk.level, members) for risk, members in risks if members),
        managers=tuple(Held(one.manager, tuple(n for n in one.members if n not in hidden)) for one in found.managers),
    )


def read_owners(plan: Plan) -> OwnerMap | None:
    """Return the owners of the objects of a plan that was loaded for a reader; None until it is complete.

    - Omits hidden Secrets: their owners depend on how the manifest compares with live.
    """
    kept = _find(plan)
    if kept is None:
        return None
    found = _unpack(OwnerMap, kept.owners)
    hidden = live_values.hidden_positions(plan)
    return OwnerMap(tuple(ObjectOwners() if n in hidden else one for n, one in enumerate(found.objects)))


def read_graph(plan: Plan) -> PlanGraph | None:
    """Return the graph of a plan that was loaded for a reader; None until it is complete.

    - Omits the facts of hidden Secrets, and whether pods keep an old value.
    """
    kept = _find(plan)
    if kept is None:
        return None
    graph = _unpack(PlanGraph, kept.graph)
    hidden = live_values.hidden_positions(plan)
    if not hidden:
        return graph
    nodes = tuple(replace(node, facts={}) if node.position in hidden else node for node in graph.nodes)
    edges = tuple(replace(e, is_stale=e.is_stale and nodes[e.target].position not in hidden) for e in graph.edges)
    return PlanGraph(nodes, edges)
