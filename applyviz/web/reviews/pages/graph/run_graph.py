"""The Graph tab of a run: the picture of its plan with the state of each object, a panel, and the same as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from django.urls import reverse
from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.graph import PlanGraph
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.web.components.badges import Appearance
from applyviz.web.reviews.pages.graph.choice import GraphChoice
from applyviz.web.reviews.pages.graph.folding import choose_nodes
from applyviz.web.reviews.pages.graph.nodes import NodeNames, ShownNode, find_reach, find_wide_policies, list_nodes
from applyviz.web.reviews.pages.graph.picture import DrawnGraph, draw_graph
from applyviz.web.reviews.pages.graph.run_states import NodeState, RunPainter, find_states
from applyviz.web.reviews.pages.graph.tab import Switch, link_node, list_switches, list_views, state_not_found
from applyviz.web.reviews.pages.graph.words import name_short
from applyviz.web.reviews.pages.plan_context import list_changes
from applyviz.web.runs.pages.object_states import OBJECT_STATE_STYLES, ObjectState, rank_by_state
from applyviz.web.runs.pages.run_page import RunPage, present_run
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.live_values import list_results
from applyviz.workflow.plans.plan_details import read_graph

MOST = 200
_LEGEND = (
    (ObjectState.VERIFIED, "run-verified"),
    (ObjectState.APPLYING, "run-rolling"),
    (ObjectState.ROLLING, "run-rolling"),
    (ObjectState.FAILED, "run-failed"),
    (ObjectState.STALE, "run-stale"),
    (ObjectState.NOT_ATTEMPTED, "run-waiting"),
    (ObjectState.UNCHANGED, "run-calm is-calm"),
    (ObjectState.LEFT_OUT, "run-calm is-calm"),
    (ObjectState.HIDDEN, "run-calm is-calm"),
)
_IF_ANY = (ObjectState.APPLYING, ObjectState.STALE, ObjectState.LEFT_OUT, ObjectState.HIDDEN)


class StateRow(Struct, frozen=True):
    """One object of the run in the table: its state, and what it refers to."""

    name: str
    url: str
    style: Appearance
    words: str
    targets: tuple[str, ...]


class StateLegend(Struct, frozen=True):
    """One state, how a node in it looks, and how many objects have it."""

    css: str
    style: Appearance
    count: int


class ChosenState(Struct, frozen=True):
    """The chosen object in the panel."""

    name: str
    style: Appearance
    words: str
    detail: str
    url: str


class RunGraph(Struct, frozen=True):
    """The tab; without `rows` the plan of the run has no graph."""

    run: RunPage
    views: tuple[Switch, ...]
    switches: tuple[Switch, ...]
    drawn: DrawnGraph | None
    rows: tuple[StateRow, ...]
    more: int
    legend: tuple[StateLegend, ...]
    chosen: ChosenState | None
    is_table: bool
    clear_url: str
    find: str
    notice: str


def _list_legend(states: Mapping[int, NodeState]) -> tuple[StateLegend, ...]:
    counts = Counter(state.state for state in states.values())
    return tuple(
        StateLegend(css, OBJECT_STATE_STYLES[state], counts[state])
        for state, css in _LEGEND
        if counts[state] or state not in _IF_ANY
    )


def _list_rows(
    results: Sequence[ObjectResult], graph: PlanGraph, nodes: Sequence[ShownNode], states: Mapping[int, NodeState]
) -> tuple[StateRow, ...]:
    by_position = {shown.node.position: shown for shown in nodes if shown.node.position >= 0}
    targets: dict[int, dict[str, None]] = {}
    for edge in graph.edges:
        targets.setdefault(edge.source, {})[name_short(nodes[edge.target])] = None
    rows = []
    for result in sorted(results, key=rank_by_state)[:MOST]:
        shown = by_position.get(result.position)
        if shown is None:
            continue
        state = states[result.position]
        rows.append(
            StateRow(
                name_short(shown),
                reverse("runs:show-result", args=[result.run.number, result.position]),
                state.style,
                state.words,
                tuple(targets.get(shown.number, ())),
            )
        )
    return tuple(rows)


def _present_chosen(
    shown: ShownNode | None, states: Mapping[int, NodeState], results: Mapping[int, ObjectResult]
) -> ChosenState | None:
    result = results.get(shown.node.position) if shown is not None else None
    if shown is None or result is None:
        return None
    state = states[shown.node.position]
    url = reverse("runs:show-result", args=[result.run.number, result.position])
    return ChosenState(name_short(shown), state.style, state.words, result.rollout_detail or result.detail, url)


def _draw(
    graph: PlanGraph,
    nodes: Sequence[ShownNode],
    choice: GraphChoice,
    states: Mapping[int, NodeState],
    urls: Mapping[int, str],
) -> tuple[DrawnGraph | None, ShownNode | None]:
    names = NodeNames(nodes)
    chosen = names.find(choice.node) if choice.node else names.search(choice.find)
    choice = choice if chosen is None else replace(choice, node=names.name(chosen))
    reach = find_reach(graph.edges, chosen) if chosen is not None else set()
    shown = choose_nodes(
        list(nodes),
        graph.edges,
        wide=find_wide_policies(graph),
        is_folded=choice.is_folded,
        has_neighbors=choice.has_neighbors,
        opened=choice.opened,
        chosen=chosen,
    )

    def link(one: ShownNode) -> str:
        return link_node(one, choice, names)

    def find_page(one: ShownNode) -> str:
        return urls.get(one.node.position, "")

    painter = RunPainter(reach, chosen, link, find_page, states, nodes)
    drawn = draw_graph(shown, painter) if shown.nodes else None
    return drawn, nodes[chosen] if chosen is not None else None


def present_run_graph(run: ApplyRun, choice: GraphChoice, *, for_user: Person) -> RunGraph:
    """Return the tab of a run as its reader sees it."""
    page = present_run(run, for_user=for_user, has_body=False)
    here = reverse("runs:show-graph", args=[run.number])
    page = replace(page, poll_url=here + choice.link() if page.poll_url else "")
    graph = read_graph(run.plan) or PlanGraph()
    nodes = list_nodes(graph, list_changes(run.plan))
    results = list_results(run)
    states = find_states(results, is_over=run.is_finished)
    urls = {r.position: reverse("runs:show-result", args=[run.number, r.position]) for r in results}
    drawn, chosen = (None, None) if choice.is_table else _draw(graph, nodes, choice, states, urls)
    return RunGraph(
        run=page,
        views=list_views(choice),
        switches=() if choice.is_table else list_switches(choice),
        drawn=drawn,
        rows=_list_rows(results, graph, nodes, states),
        more=max(0, len(results) - MOST) if nodes else 0,
        legend=_list_legend(states),
        chosen=_present_chosen(chosen, states, {result.position: result for result in results}),
        is_table=choice.is_table,
        clear_url=choice.link(node="", opened="") if choice.node or choice.find or choice.opened else "",
        find=choice.find,
        notice="" if chosen is not None else state_not_found(choice),
    )
