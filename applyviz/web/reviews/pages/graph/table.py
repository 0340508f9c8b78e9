"""The graph as a table: a row for each reference, in the order of the plan. Phones show it in place of the picture."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from applyviz.engine.planning.model.graph import GraphEdge
from applyviz.web.reviews.pages.graph.nodes import ShownNode
from applyviz.web.reviews.pages.graph.panel import describe_read, describe_state
from applyviz.web.reviews.pages.graph.picture import name_line_style
from applyviz.web.reviews.pages.graph.words import describe_node, name_node

PER_PAGE = 100


class TableRow(Struct, frozen=True):
    """One reference."""

    source: str
    source_url: str
    reference: str
    target: str
    target_url: str
    state: str
    style: str
    effect: str


class ReferenceTable(Struct, frozen=True):
    """One page of references; `first` and `last` count from 1."""

    rows: tuple[TableRow, ...]
    first: int
    last: int
    total: int
    earlier: int
    later: int


def _present_row(edge: GraphEdge, nodes: Sequence[ShownNode], urls: dict[int, str]) -> TableRow:
    source, target = nodes[edge.source], nodes[edge.target]
    named = f"{target.node.kind}/{name_node(target)}" if target.node.name else edge.detail
    return TableRow(
        source=f"{source.node.kind}/{source.node.name}",
        source_url=urls.get(edge.source, ""),
        reference=edge.path.removeprefix("."),
        target=named,
        target_url=urls.get(edge.target, ""),
        state=describe_state(edge),
        style=name_line_style(edge),
        effect=describe_read(edge) or describe_node(target),
    )


def present_table(
    nodes: Sequence[ShownNode], edges: Sequence[GraphEdge], urls: dict[int, str], *, page: int
) -> ReferenceTable:
    """One page of the table."""
    pages = max(1, -(-len(edges) // PER_PAGE))
    page = min(max(1, page), pages)
    start = (page - 1) * PER_PAGE
    chosen = edges[start : start + PER_PAGE]
    return ReferenceTable(
        rows=tuple(_present_row(edge, nodes, urls) for edge in chosen),
        first=start + 1,
        last=start + len(chosen),
        total=len(edges),
        earlier=page - 1,
        later=page + 1 if page < pages else 0,
    )
