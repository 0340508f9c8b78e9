"""The panel beside the graph: the chosen object with its references, and the legend with counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.golang import is_digits
from applyviz.engine.planning.model.graph import GraphEdge
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.references.model import ReadMode
from applyviz.engine.references.resolving import EdgeState
from applyviz.engine.risks.model import RiskLevel
from applyviz.web.components.badges import LEVEL_STYLES, OBJECT_STYLES, Appearance
from applyviz.web.reviews.pages.graph.nodes import ShownNode
from applyviz.web.reviews.pages.graph.picture import is_docking, name_line_style
from applyviz.web.reviews.pages.graph.words import describe_change, name_node, name_short

MOST = 30
_LIVE = Appearance("·", _("live"), "calm")


class PanelRow(Struct, frozen=True):
    """One other object, and what there is to say of the reference."""

    style: Appearance
    name: str
    words: str
    url: str


class PanelList(Struct, frozen=True):
    """One list of the panel; `total` counts what is left out too."""

    title: str
    rows: tuple[PanelRow, ...]
    total: int


class Panel(Struct, frozen=True):
    """The chosen object."""

    style: Appearance
    name: str
    line: str
    risk: Appearance | None
    url: str
    lists: tuple[PanelList, ...]


class LegendRow(Struct, frozen=True):
    """One entry of the legend: `style` is that of a line or a node."""

    style: str
    word: str
    count: int | None = None


def describe_state(edge: GraphEdge) -> str:
    """Return the change of a reference, in words."""
    words = {
        EdgeState.MISSING: _("missing"),
        EdgeState.KEY_MISSING: _("key is missing"),
        EdgeState.PORT_MISSING: _("port is missing"),
        EdgeState.NO_MATCH: _("matches nothing"),
        EdgeState.OPTIONAL: _("missing, optional"),
        EdgeState.UNKNOWN: _("not checked"),
    }
    if edge.state in words:
        word = words[edge.state]
        return f"{word} ({edge.detail})" if edge.state is EdgeState.UNKNOWN and is_digits(edge.detail) else word
    return _("new") if edge.is_new else _("exists")


def describe_read(edge: GraphEdge) -> str:
    """Return what is read from the target, and how."""
    modes = {
        ReadMode.ENV: _("environment"),
        ReadMode.ENV_FROM: _("whole environment"),
        ReadMode.MOUNTED: _("mounted"),
        ReadMode.SUB_PATH: _("mounted, not refreshed"),
    }
    parts = [edge.key, modes.get(edge.mode, ""), _("keeps old value") if edge.is_stale else ""]
    return " · ".join(part for part in parts if part)


def style_node(shown: ShownNode) -> Appearance:
    """Return the style of a node in a list."""
    return OBJECT_STYLES[shown.operation] if shown.operation is not None else _LIVE


def _list_rows(
    title: str,
    found: Iterable[tuple[int, GraphEdge]],
    nodes: Sequence[ShownNode],
    link: Callable[[ShownNode], str],
) -> PanelList | None:
    by_node: dict[int, list[str]] = {}
    for number, edge in found:
        word = describe_read(edge) or (describe_state(edge) if edge.state is not EdgeState.EXISTS else "")
        by_node.setdefault(number, []).append(word)
    rows = []
    for number, words in list(by_node.items())[:MOST]:
        shown = nodes[number]
        text = ", ".join(dict.fromkeys(word for word in words if word)) or describe_change(shown)
        rows.append(PanelRow(style_node(shown), name_short(shown), text, link(shown)))
    return PanelList(title, tuple(rows), len(by_node)) if rows else None


def present_panel(
    chosen: ShownNode,
    nodes: Sequence[ShownNode],
    edges: Sequence[GraphEdge],
    *,
    link: Callable[[ShownNode], str],
    open_url: str,
) -> Panel:
    """The panel of the chosen node."""
    number = chosen.number
    into = [(e.source, e) for e in edges if e.target == number and not is_docking(e)]
    out = [(e.target, e) for e in edges if e.source == number and not is_docking(e)]
    docked = [(e.source, e) for e in edges if e.target == number and is_docking(e)]
    holds = [(e.target, e) for e in edges if e.source == number and is_docking(e)]
    lists = (
        _list_rows(_("Reached through"), into, nodes, link),
        _list_rows(_("Refers to"), out, nodes, link),
        _list_rows(_("Configuration and rules"), docked, nodes, link),
        _list_rows(_("Applies to"), holds, nodes, link),
    )
    return Panel(
        style=style_node(chosen),
        name=f"{chosen.node.kind}/{name_node(chosen)}",
        line=describe_change(chosen),
        risk=LEVEL_STYLES[chosen.risk] if chosen.risk is not None else None,
        url=open_url,
        lists=tuple(found for found in lists if found is not None),
    )


def list_line_legend(edges: Sequence[GraphEdge]) -> tuple[LegendRow, ...]:
    """The tones of lines, each with how many references have it."""
    looks = [name_line_style(edge) for edge in edges]
    return (
        LegendRow("exists", _("exists"), looks.count("exists")),
        LegendRow("new", _("new with this plan"), looks.count("new")),
        LegendRow("dangling", _("dangling: target is missing, or selector matches nothing"), looks.count("dangling")),
        LegendRow("stale", _("read at start and changed, but its pods do not restart"), looks.count("stale")),
        LegendRow("reach", _("reach of the chosen object")),
    )


def list_node_legend(nodes: Sequence[ShownNode]) -> tuple[LegendRow, ...]:
    """The marks of nodes, each with how many have it."""
    risks = [shown.risk for shown in nodes]
    unchanged = sum(shown.operation is Operation.UNCHANGED for shown in nodes)
    return (
        LegendRow("operation", _("left bar: operation")),
        LegendRow("high", _("right bar: high risk"), risks.count(RiskLevel.HIGH)),
        LegendRow("medium", _("right bar: medium risk"), risks.count(RiskLevel.MEDIUM)),
        LegendRow("calm", _("dashed: unchanged"), unchanged),
    )
