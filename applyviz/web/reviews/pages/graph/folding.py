"""Fewer nodes: unchanged ones together, and in a large plan one node for each namespace and kind.

Rule: what is unchanged and connected to nothing that changes is folded by kind. Four or more objects of one kind and
namespace to which the same happens, and which refer to the same objects, are one group. A plan with more than 150 nodes
shows groups; one group is opened at a time, and shows at most 100 of its objects. Of more than 50 groups, those of one
kind are one until the kind is opened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.graph import GraphEdge, GraphNode
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.references.model import ReferenceKind
from applyviz.engine.risks.model import LEVELS
from applyviz.web.reviews.pages.graph.nodes import WORKLOAD, ShownNode

MOST_NODES = 150
_MOST_OPENED = 100
_NAMES = 12
_SIBLINGS = 4
_ANY = "*"
# Against the direction of traffic: drawn by the selector of the Service.
_SILENT = frozenset((ReferenceKind.GOVERNING_SERVICE,))


class ShownGraph(Struct, frozen=True):
    """The nodes and edges that are drawn; edges name nodes by number, also where they are folded."""

    nodes: tuple[ShownNode, ...]
    edges: tuple[GraphEdge, ...]
    is_grouped: bool = False


def name_group(node: GraphNode) -> str:
    """The name of a group for addresses."""
    return f"{node.namespace or '-'}/{node.kind}".lower()


def _find_components(nodes: Iterable[ShownNode], edges: Iterable[GraphEdge]) -> dict[int, int]:
    """The component of each node, by the smallest number in it."""
    parent = {shown.number: shown.number for shown in nodes}

    def find(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for edge in edges:
        if edge.source in parent and edge.target in parent:
            first, second = sorted((find(edge.source), find(edge.target)))
            parent[second] = first
    return {number: find(number) for number in parent}


def _find_group(node: GraphNode, *, by_kind: bool, opened: str) -> tuple[str, str]:
    """The group of a node: its namespace and kind, or its kind alone where there are too many namespaces."""
    is_open_kind = opened.partition("/")[2] == node.kind.lower()
    return (_ANY if by_kind and not is_open_kind else node.namespace), node.kind


def _present_group(space: str, members: Sequence[ShownNode]) -> ShownNode:
    first = members[0]
    risks = {member.risk for member in members}
    operations = {member.operation for member in members if not member.is_calm}
    return ShownNode(
        first.number,
        replace(first.node, namespace=space, name="", is_missing=False, facts={}),
        operations.pop() if len(operations) == 1 else Operation.UPDATE if operations else Operation.UNCHANGED,
        next((level for level in LEVELS if level in risks), None),
        first.column,
        None,
        len(members),
        tuple(member.node.name for member in members[:_NAMES]),
        tuple(member.number for member in members),
    )


def _group_all(nodes: Sequence[ShownNode], opened: str) -> tuple[list[ShownNode], dict[int, int]]:
    """One node for each group, and which node stands for each old one."""
    spaces = {(shown.node.namespace, shown.node.kind) for shown in nodes}
    by_kind = len(spaces) > MOST_NODES - _MOST_OPENED
    kept: list[ShownNode] = []
    stands_for: dict[int, int] = {}
    groups: dict[tuple[str, str], list[ShownNode]] = {}
    room = _MOST_OPENED
    for shown in nodes:
        if name_group(shown.node) == opened and room:
            room -= 1
            kept.append(replace(shown, dock_of=None))
            stands_for[shown.number] = shown.number
            continue
        group = _find_group(shown.node, by_kind=by_kind, opened=opened)
        if group not in groups and len(groups) >= MOST_NODES - _MOST_OPENED:
            group = _ANY, shown.node.kind
        groups.setdefault(group, []).append(shown)
    for (space, _kind), members in groups.items():
        kept.append(_present_group(space, members))
        stands_for.update({member.number: members[0].number for member in members})
    return sorted(kept, key=lambda one: one.number), stands_for


def _fold_calm(nodes: Sequence[ShownNode], edges: Sequence[GraphEdge], chosen: int | None) -> list[ShownNode]:
    """The nodes without those that are unchanged and lead to no change; one node for each kind of them."""
    component = _find_components(nodes, edges)
    lively = {component[shown.number] for shown in nodes if not shown.is_calm or shown.number == chosen}
    kept: list[ShownNode] = []
    folded: dict[str, list[ShownNode]] = {}
    for shown in nodes:
        if component[shown.number] in lively:
            kept.append(shown)
        elif shown.dock_of is None:
            folded.setdefault(shown.node.kind, []).append(shown)
    for members in folded.values():
        first = members[0]
        if len(members) == 1:
            kept.append(replace(first, column=None))
            continue
        names = tuple(member.node.name for member in members[:_NAMES])
        numbers = tuple(member.number for member in members)
        fold = replace(first, operation=Operation.UNCHANGED, column=None, names=names, members=numbers)
        kept.append(replace(fold, count=len(members)))
    return kept


def _find_siblings(
    nodes: Sequence[ShownNode], edges: Iterable[GraphEdge], *, opened: str, chosen: int | None
) -> list[list[ShownNode]]:
    """The objects of one kind and namespace with one operation and the same references, where there are several."""
    beside: dict[int, set[tuple[int, bool]]] = {}
    for edge in edges:
        beside.setdefault(edge.source, set()).add((edge.target, True))
        beside.setdefault(edge.target, set()).add((edge.source, False))
    docked_at = {shown.dock_of for shown in nodes}
    groups: dict[tuple[object, ...], list[ShownNode]] = {}
    for shown in nodes:
        node = shown.node
        is_single = shown.column == WORKLOAD or shown.dock_of is not None or shown.number in docked_at
        if is_single or shown.count or not node.name or shown.number == chosen or name_group(node) == opened:
            continue
        same = (node.group, node.kind, node.namespace, shown.operation, frozenset(beside.get(shown.number, ())))
        groups.setdefault((*same, node.is_missing, node.is_seen), []).append(shown)
    return [members for members in groups.values() if len(members) >= _SIBLINGS]


def _fold_siblings(
    nodes: Sequence[ShownNode], edges: Sequence[GraphEdge], *, opened: str, chosen: int | None
) -> tuple[list[ShownNode], list[GraphEdge]]:
    """The nodes with one for all of each kind that refer to the same objects, and the edges to it."""
    siblings = _find_siblings(nodes, edges, opened=opened, chosen=chosen)
    stands_for = {member.number: members[0].number for members in siblings for member in members}
    groups = {members[0].number: _present_group(members[0].node.namespace, members) for members in siblings}
    kept = [groups.get(one.number, one) for one in nodes if stands_for.get(one.number, one.number) == one.number]
    moved = [
        replace(e, source=stands_for.get(e.source, e.source), target=stands_for.get(e.target, e.target)) for e in edges
    ]
    return kept, moved


def choose_nodes(
    nodes: Sequence[ShownNode],
    edges: Sequence[GraphEdge],
    *,
    wide: Collection[int],
    is_folded: bool,
    has_neighbors: bool,
    opened: str,
    chosen: int | None,
) -> ShownGraph:
    """The nodes and edges that are drawn.

    - `wide`: policies for many pods; their lines are left out, and they too while they are unchanged.
    """
    shown = [one for one in nodes if has_neighbors or one.node.position >= 0 or one.node.is_missing]
    # Pods of which nothing is known are no object: a selector may match some, so the table alone has its reference.
    shown = [one for one in shown if one.node.name or one.node.is_missing]
    shown = [one for one in shown if one.number not in wide or not one.is_calm or one.number == chosen]
    drawn = [edge for edge in edges if edge.kind not in _SILENT and edge.source not in wide]
    if is_folded:
        shown = _fold_calm(shown, drawn, chosen)
        shown, drawn = _fold_siblings(shown, drawn, opened=opened, chosen=chosen)
    if len(shown) <= MOST_NODES:
        return ShownGraph(tuple(shown), tuple(drawn))
    at_chosen = next((name_group(one.node) for one in shown if one.number == chosen), "")
    shown, stands_for = _group_all(shown, opened or at_chosen)
    moved = (
        replace(edge, source=stands_for[edge.source], target=stands_for[edge.target])
        for edge in drawn
        if edge.source in stands_for and edge.target in stands_for
    )
    return ShownGraph(tuple(shown), tuple(edge for edge in moved if edge.source != edge.target), is_grouped=True)
