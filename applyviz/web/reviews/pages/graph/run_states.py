"""The graph of a plan while its run goes on: the state of each object as a color, words and a part of ready pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.layout.drawing import Drawing
from applyviz.engine.layout.model import WIDTH
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectResult
from applyviz.web.components.badges import Appearance
from applyviz.web.reviews.pages.graph.nodes import ShownNode
from applyviz.web.reviews.pages.graph.picture import DrawnDock, DrawnNode, Painter
from applyviz.web.reviews.pages.graph.text_width import fit
from applyviz.web.reviews.pages.graph.words import LINE_SIZE
from applyviz.web.runs.pages.object_states import OBJECT_STATE_STYLES, ObjectState, find_object_state

_ROOM = 128
_BAR = 4
_CLASSES = {
    ObjectState.VERIFIED: "run-verified",
    ObjectState.APPLYING: "run-rolling",
    ObjectState.ROLLING: "run-rolling",
    ObjectState.FAILED: "run-failed",
    ObjectState.STALE: "run-stale",
    ObjectState.NOT_ATTEMPTED: "run-waiting",
}


class NodeState(Struct, frozen=True):
    """The state of one object or of a group: its words, its part of ready pods (of 1), and its mark."""

    state: ObjectState
    words: str
    ready: float = 0.0

    @property
    def style(self) -> Appearance:
        """Return the style of the state."""
        return OBJECT_STATE_STYLES[self.state]

    @property
    def aloud(self) -> str:
        """Return the state and its words, where no color says the state."""
        return self.words if self.words.startswith(str(self.style.word)) else f"{self.style.word}: {self.words}"

    @property
    def css(self) -> str:
        """Return the class of a node in this state."""
        return _CLASSES.get(self.state, "run-calm")

    @property
    def mark(self) -> str:
        """Return the sign at the end of a node that is done or failed."""
        return self.style.glyph if self.state in (ObjectState.VERIFIED, ObjectState.FAILED, ObjectState.STALE) else ""


def _name_failure(result: ObjectResult) -> str:
    problems = result.pods.get("problems") or ()
    if problems:
        return str(problems[0]["reason"])
    is_rollout = result.outcome == Outcome.VERIFIED
    return str(result.get_rollout_display() if is_rollout else Outcome(result.outcome).label)


def _describe(result: ObjectResult, state: ObjectState, *, is_over: bool) -> str:
    pods = f"{result.pods['new']}/{result.pods['wanted']}" if "wanted" in result.pods else ""
    match state:
        case ObjectState.NOT_ATTEMPTED if not is_over:
            return _("waiting for step %(n)d") % {"n": result.step + 1}
        case ObjectState.ROLLING:
            return _("rolling out %(pods)s") % {"pods": pods} if pods else _("rolling out")
        case ObjectState.VERIFIED if pods:
            return _("rolled out %(pods)s") % {"pods": pods}
        case ObjectState.FAILED | ObjectState.STALE:
            return _name_failure(result)
        case _:
            return str(OBJECT_STATE_STYLES[state].word)


def _measure(result: ObjectResult, state: ObjectState) -> float:
    wanted = result.pods.get("wanted") or 0
    return min(1.0, result.pods["new"] / wanted) if state is ObjectState.ROLLING and wanted else 0.0


def find_states(results: Sequence[ObjectResult], *, is_over: bool) -> dict[int, NodeState]:
    """Return the state of each object by its position in the plan; `results` are as their reader sees them.

    - `is_over`: the run is finished, so that nothing waits any more.
    """
    found = {}
    for result in results:
        state = find_object_state(result)
        words = _describe(result, state, is_over=is_over)
        found[result.position] = NodeState(state, words, _measure(result, state))
    return found


def _sum_up(members: Sequence[NodeState]) -> NodeState | None:
    counts = Counter(member.state for member in members)
    if not counts:
        return None
    state = next(one for one in ObjectState if counts[one])
    total = sum(counts.values())
    text = ngettext("%(n)d object", "%(n)d objects", total) % {"n": total}
    return NodeState(state, f"{text} · {counts[state]} {OBJECT_STATE_STYLES[state].word}")


class RunPainter(Painter, frozen=True):
    """The painter of a run: nodes have the color of their state; those that the run does not write stay calm.

    - `nodes` are all nodes of the plan, of which a group sums up its members.
    """

    states: Mapping[int, NodeState]
    nodes: Sequence[ShownNode]

    def find_state(self, shown: ShownNode) -> NodeState | None:
        """Return the state of a node; None of one that the run does not touch."""
        if not shown.count:
            return self.states.get(shown.node.position)
        if shown.operation is Operation.UNCHANGED:
            return None
        positions = (self.nodes[number].node.position for number in shown.members)
        return _sum_up([self.states[position] for position in positions if position in self.states])

    def paint_node(self, shown: ShownNode, drawing: Drawing, beside: Sequence[int]) -> DrawnNode:
        """Return the shapes and texts of one node in the color of its state."""
        drawn = Painter.paint_node(self, shown, drawing, beside)
        state = self.find_state(shown)
        if state is None or drawn.is_pill:
            return replace(drawn, style=f"{drawn.style} run-calm")
        return replace(
            drawn,
            line=fit(state.words, LINE_SIZE, _ROOM),
            label=f"{drawn.label}, {state.aloud}",
            style=f"{drawn.style} {state.css}",
            risk="",
            filled=round((WIDTH - _BAR) * state.ready),
            mark=state.mark,
        )

    def paint_docks(self, at: DrawnNode, docks: Sequence[ShownNode]) -> list[DrawnDock]:
        """Return the docks below a node in the colors of their states."""
        found = Painter.paint_docks(self, at, docks)
        states = [self.find_state(shown) for shown in docks]
        return [
            replace(dock, style=f"{dock.style} {state.css}", aloud=f"{dock.aloud}, {state.aloud}") if state else dock
            for dock, state in zip(found, states, strict=False)
        ]
