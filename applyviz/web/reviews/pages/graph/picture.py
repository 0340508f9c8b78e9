"""The picture of a graph: where its nodes, docks and lines are, and how each of them looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.layout.drawing import Drawing, draw
from applyviz.engine.layout.model import COLUMNS, PICTURE, WIDTH, Box, Line
from applyviz.engine.planning.model.graph import GraphEdge
from applyviz.engine.planning.model.plan import UNPLANNED, Operation
from applyviz.engine.references.model import ReferenceKind
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.reviews.pages.graph.folding import ShownGraph
from applyviz.web.reviews.pages.graph.nodes import DOCKING, WORKLOAD, ShownNode
from applyviz.web.reviews.pages.graph.text_width import measure
from applyviz.web.reviews.pages.graph.words import (
    DOCK_SIZE,
    fit_line,
    fit_name,
    label_dock,
    label_pill,
    name_node,
    read_aloud,
)

# Drawn from what defines or owns to what follows from it.
_BACKWARD = frozenset((ReferenceKind.INSTANCE, ReferenceKind.OWNER))
_RANK = ("exists", "live", "optional", "new", "stale", "dangling", "reach")


class DrawnNode(Struct, frozen=True):
    """The drawing of one node; its texts have a fixed distance from `x`, `y`.

    - `filled` is the width of its filled part, `mark` the sign at its end: of the graph of a run.
    """

    number: int
    name: str
    line: str
    label: str
    url: str
    x: int
    y: int
    height: int
    style: str
    glyph: str
    risk: str
    is_pill: bool
    beside: str
    open_url: str = ""
    filled: int = 0
    mark: str = ""


class DrawnDock(Struct, frozen=True):
    """One object that is docked at a workload."""

    label: str
    aloud: str
    url: str
    x: int
    y: int
    width: int
    style: str


class DrawnLine(Struct, frozen=True):
    """One line between two nodes; `style` is its tone."""

    path: str
    style: str
    source: int
    target: int


class DrawnGraph(Struct, frozen=True):
    """The whole picture; `band` is the height at which what nothing leads to begins, 0 without it.

    - `groups`: where each namespace begins, with its name; none where there is only one.
    """

    nodes: tuple[DrawnNode, ...]
    docks: tuple[DrawnDock, ...]
    lines: tuple[DrawnLine, ...]
    heads: tuple[tuple[int, str], ...]
    width: int
    height: int
    band: int
    groups: tuple[tuple[int, int, str], ...] = ()


def name_line_style(edge: GraphEdge) -> str:
    """The tone of an edge: what is known to lead nowhere comes before all else."""
    if edge.state.is_dangling:
        return "dangling"
    if edge.is_stale:
        return "stale"
    if edge.is_new:
        return "new"
    return "exists"


def _name_ends(edge: GraphEdge) -> Line:
    return Line(edge.target, edge.source) if edge.kind in _BACKWARD else Line(edge.source, edge.target)


def _merge_lines(graph: ShownGraph, drawn: set[int], reach: set[int]) -> dict[Line, str]:
    """One line for each two nodes, in the loudest tone of its edges."""
    found: dict[Line, str] = {}
    for edge in graph.edges:
        line = _name_ends(edge)
        if line.source == line.target or not {line.source, line.target} <= drawn:
            continue
        style = name_line_style(edge)
        if style not in ("dangling", "stale") and {line.source, line.target} <= reach:
            style = "reach"
        before = found.get(line, "exists")
        found[line] = max(style, before, key=_RANK.index)
    return found


def _find_main(nodes: Sequence[ShownNode], lines: Sequence[Line]) -> set[int]:
    """The nodes of the main picture: workloads, and what has a column and is connected to one of them."""
    by_number = {shown.number: shown for shown in nodes if shown.column is not None}
    beside: dict[int, list[int]] = {}
    for line in lines:
        beside.setdefault(line.source, []).append(line.target)
        beside.setdefault(line.target, []).append(line.source)
    waiting = [number for number, shown in by_number.items() if shown.column == WORKLOAD and shown.node.name]
    waiting += [number for number, shown in by_number.items() if shown.column == WORKLOAD and shown.count]
    found = set(waiting)
    while waiting:
        for number in beside.get(waiting.pop(), ()):
            if number in by_number and number not in found:
                found.add(number)
                waiting.append(number)
    return found


def _is_pill(shown: ShownNode) -> bool:
    is_fold = shown.count > 0 and shown.operation is Operation.UNCHANGED
    return is_fold or (shown.is_calm and (shown.column is None or shown.column > WORKLOAD))


def _name_style(shown: ShownNode, reach: set[int], chosen: int | None) -> str:
    tone = OBJECT_STYLES[shown.operation].tone if shown.operation is not None else "calm"
    words = [f"tone-{tone}"]
    if shown.operation is Operation.CREATE:
        words.append("is-new")
    if shown.operation in UNPLANNED or shown.node.is_missing:
        words.append("is-broken")
    if shown.is_calm or (shown.count and shown.operation is Operation.UNCHANGED):
        words.append("is-calm")
    if shown.number == chosen:
        words.append("is-chosen")
    elif shown.number in reach:
        words.append("is-reached")
    return " ".join(words)


class Painter(Struct, frozen=True):
    """The context of the drawing: the chosen node, the nodes that it reaches, and the links of nodes."""

    reach: set[int]
    chosen: int | None
    link: Callable[[ShownNode], str]
    open: Callable[[ShownNode], str]

    def paint_node(self, shown: ShownNode, drawing: Drawing, beside: Sequence[int]) -> DrawnNode:
        """Return the shapes and texts of one node at its position."""
        is_pill = _is_pill(shown)
        return DrawnNode(
            number=shown.number,
            name=label_pill(shown) if is_pill else fit_name(name_node(shown)),
            line="" if is_pill else fit_line(shown),
            label=read_aloud(shown),
            url=self.link(shown),
            x=COLUMNS[drawing.columns[shown.number]],
            y=drawing.picture.tops[shown.number],
            height=20 if is_pill else 40,
            style=_name_style(shown, self.reach, self.chosen),
            glyph=OBJECT_STYLES[shown.operation].glyph if shown.operation is not None else "·",
            risk=shown.risk.value if shown.risk is not None else "",
            is_pill=is_pill,
            beside=" ".join(map(str, beside)),
            open_url=self.open(shown),
        )

    def paint_docks(self, at: DrawnNode, docks: Sequence[ShownNode]) -> list[DrawnDock]:
        """The docks below a node: as many as there is room for, at most two, and how many more."""
        found: list[DrawnDock] = []
        x, y = at.x + 4, at.y + 43
        for n, shown in enumerate(docks):
            label = label_dock(shown)
            rest = f"+{len(docks) - n}"
            width = round(measure(label, DOCK_SIZE)) + 16
            if n == 2 or (n and x + width > at.x + WIDTH):
                aloud = ", ".join(read_aloud(one) for one in docks[n:])
                found.append(DrawnDock(rest, aloud, self.link(shown), x, y, 28, "tone-calm"))
                break
            style = _name_style(shown, self.reach, self.chosen)
            found.append(DrawnDock(label, read_aloud(shown), self.link(shown), x, y, width, style))
            x += width + 4
        return found


def _list_heads() -> tuple[tuple[int, str], ...]:
    words = (_("Ingress"), _("Service"), _("Workload"), _("Configuration and storage"), _("Identity"))
    return tuple(zip(COLUMNS, words, strict=True))


def _find_namespaces(nodes: Mapping[int, ShownNode], lines: Iterable[Line]) -> dict[int, str]:
    """The namespace of each node; an object of the whole cluster stands with the first that it is connected to."""
    found = {number: shown.node.namespace for number, shown in nodes.items() if shown.node.namespace}
    beside: dict[int, list[int]] = {}
    for line in lines:
        beside.setdefault(line.source, []).append(line.target)
        beside.setdefault(line.target, []).append(line.source)
    waiting = list(found)
    for number in waiting:
        for other in beside.get(number, ()):
            if other in nodes and other not in found:
                found[other] = found[number]
                waiting.append(other)
    return found


def _number_groups(namespaces: Iterable[str]) -> dict[str, int]:
    """The namespaces in the order in which they are drawn: those with most nodes first, the whole cluster last."""
    counts = Counter(namespaces)
    ordered = sorted(counts, key=lambda name: (not name, -counts[name], name))
    return {name: number for number, name in enumerate(ordered)}


def draw_graph(graph: ShownGraph, painter: Painter) -> DrawnGraph:
    """The picture of what is shown."""
    by_number = {shown.number: shown for shown in graph.nodes}
    docks: dict[int, list[ShownNode]] = {}
    for shown in graph.nodes:
        if shown.dock_of in by_number and not graph.is_grouped:
            docks.setdefault(shown.dock_of or 0, []).append(shown)
    docked = {shown.number for members in docks.values() for shown in members}
    drawn = set(by_number) - docked
    looks = _merge_lines(graph, drawn, painter.reach)
    main = _find_main(graph.nodes, list(looks)) - docked
    spaces = _find_namespaces({number: by_number[number] for number in drawn}, looks)
    groups = _number_groups(spaces.get(number, "") for number in drawn)
    boxes = {
        number: Box(
            number,
            shown.column or 0 if number in main else 0,
            _is_pill(shown),
            number in docks,
            groups[spaces.get(number, "")],
        )
        for number, shown in by_number.items()
        if number in drawn
    }
    drawing = draw(
        [box for number, box in boxes.items() if number in main],
        [box for number, box in boxes.items() if number not in main],
        list(looks),
        middle=WORKLOAD,
    )
    names = list(groups)
    beside: dict[int, list[int]] = {}
    for line in looks:
        beside.setdefault(line.source, []).append(line.target)
    ordered = sorted(drawn, key=lambda n: (drawing.columns[n], drawing.picture.tops[n]))
    nodes = [painter.paint_node(by_number[n], drawing, beside.get(n, ())) for n in ordered]
    paths = sorted(drawing.picture.paths.items(), key=lambda one: _RANK.index(looks[one[0]]))
    return DrawnGraph(
        nodes=tuple(nodes),
        docks=tuple(dock for node in nodes for dock in painter.paint_docks(node, docks.get(node.number, ()))),
        lines=tuple(DrawnLine(path, looks[line], line.source, line.target) for line, path in paths),
        heads=_list_heads() if main else (),
        width=PICTURE,
        height=drawing.picture.height,
        band=drawing.band,
        groups=tuple((COLUMNS[at], top, names[group] or _("cluster-scoped")) for group, at, top in drawing.groups),
    )


def is_docking(edge: GraphEdge) -> bool:
    """Whether an edge docks its source at its target."""
    return edge.kind in DOCKING
