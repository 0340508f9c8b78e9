"""The graph of a plan, and its changes with the risks of their references.

Rule: an edge is new when the live object does not have it; edges between neighbors alone are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.graph.facts import list_facts
from applyviz.engine.planning.graph.plan_references import PlanReferences, gather_plan_references
from applyviz.engine.planning.graph.pod_risks import (
    find_blocked_evictions,
    find_stale,
    is_stale,
    list_changed_keys,
)
from applyviz.engine.planning.graph.reference_risks import find_dangling, locate
from applyviz.engine.planning.model.graph import GraphEdge, GraphNode, PlanGraph
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.model.quotas import find_quota_risks
from applyviz.engine.references.model import Key
from applyviz.engine.references.resolving import Edge, EdgeState
from applyviz.engine.risks.model import RelatedObjects, Risk
from applyviz.engine.risks.rules import sort_risks


def _list_edges(around: PlanReferences) -> Iterator[Edge]:
    """Yield the edges of the plan's objects, and those of its neighbors that lead to one of them."""
    for key, edges in around.after.edges.items():
        for edge in edges:
            if key in around.changes or edge.target in around.changes:
                yield edge


def _name(edge: Edge) -> tuple[object, ...]:
    """Return the identity of an edge of one object; list indices may change."""
    return edge.kind, edge.target, edge.key, edge.mode


class _Nodes:
    """Numbers nodes for the edges."""

    def __init__(self, around: PlanReferences) -> None:
        self._around = around
        self.nodes = [
            GraphNode(*change.ref.key, position, facts=list_facts(change))
            for position, change in enumerate(around.planned)
        ]
        self._numbers: dict[Key | tuple[Key, str], int] = {}
        self._numbers.update(around.changes.items())

    def number(self, key: Key, edge: Edge) -> int:
        # A selector without matches has no target, so each one gets a separate node.
        named: Key | tuple[Key, str] = (key, f"{edge.source}{edge.path}") if not key[3] else key
        if named not in self._numbers:
            self._numbers[named] = len(self.nodes)
            is_missing = edge.state in (EdgeState.MISSING, EdgeState.NO_MATCH)
            is_seen = key in self._around.after.objects
            self.nodes.append(GraphNode(*key, is_missing=is_missing and not is_seen, is_seen=is_seen))
        return self._numbers[named]


def build_graph(around: PlanReferences) -> PlanGraph:
    """Return the graph of a plan, in the order of its objects and their fields."""
    nodes = _Nodes(around)
    changed: dict[Key, tuple[str, ...]] = {}
    live: dict[Key, set[tuple[object, ...]]] = {}
    edges = []
    for edge in _list_edges(around):
        if edge.source not in live:
            live[edge.source] = {_name(e) for e in around.before.edges.get(edge.source, ())}
        target = around.find_change(edge.target)
        if edge.mode and target is not None and edge.target not in changed:
            changed[edge.target] = list_changed_keys(target) if target.versions.live is not None else ()
        keys = changed.get(edge.target, ())
        source = around.after.objects.get(edge.source)
        edges.append(
            GraphEdge(
                nodes.number(edge.source, edge),
                nodes.number(edge.target, edge),
                edge.kind,
                render_path(locate(source, edge.path)),
                edge.key,
                edge.mode,
                edge.state,
                edge.detail,
                is_new=edge.source in around.changes and _name(edge) not in live[edge.source],
                is_stale=bool(keys) and is_stale(edge, around, keys),
                is_optional=edge.is_optional,
            )
        )
    return PlanGraph(tuple(nodes.nodes), tuple(edges))


def _add(
    planned: Sequence[PlannedObject], around: PlanReferences, found: Iterable[tuple[Key, Risk]]
) -> tuple[PlannedObject, ...]:
    added: dict[int, list[Risk]] = {}
    for key, risk in found:
        added.setdefault(around.changes[key], []).append(risk)
    return tuple(
        replace(change, risks=sort_risks((*change.risks, *added[n]))) if n in added else change
        for n, change in enumerate(planned)
    )


def relate(planned: Sequence[PlannedObject], related: RelatedObjects) -> tuple[tuple[PlannedObject, ...], PlanGraph]:
    """Return the changes with the risks of their references, and the graph of the plan."""
    around = gather_plan_references(planned, related)
    incoming = around.after.list_incoming()
    risks = (
        *find_dangling(around),
        *find_stale(around, incoming),
        *find_blocked_evictions(around, incoming),
        *find_quota_risks(planned, related.quotas),
    )
    return _add(planned, around, risks), build_graph(around)
