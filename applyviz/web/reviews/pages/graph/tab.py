"""The whole Graph tab: the picture or the table, the tools above it and the panel beside it."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.graph import GraphEdge, PlanGraph
from applyviz.engine.references.resolving import EdgeState
from applyviz.web.components.object_links import link_change
from applyviz.web.reviews.pages.graph.choice import GraphChoice
from applyviz.web.reviews.pages.graph.folding import choose_nodes, name_group
from applyviz.web.reviews.pages.graph.nodes import NodeNames, ShownNode, find_reach, find_wide_policies, list_nodes
from applyviz.web.reviews.pages.graph.panel import LegendRow, Panel, list_line_legend, list_node_legend, present_panel
from applyviz.web.reviews.pages.graph.picture import DrawnGraph, Painter, draw_graph
from applyviz.web.reviews.pages.graph.table import ReferenceTable, present_table
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.workflow.plans.plan_details import read_graph


class Switch(Struct, frozen=True):
    """One switch above the picture: where it leads, and whether it is on."""

    word: str
    url: str
    is_on: bool


class GraphTab(Struct, frozen=True):
    """The tab: the picture or the table; without both there is nothing to draw yet."""

    is_table: bool = False
    views: tuple[Switch, ...] = ()
    switches: tuple[Switch, ...] = ()
    facts: str = ""
    notice: str = ""
    drawn: DrawnGraph | None = None
    table: ReferenceTable | None = None
    earlier_url: str = ""
    later_url: str = ""
    panel: Panel | None = None
    line_legend: tuple[LegendRow, ...] = ()
    node_legend: tuple[LegendRow, ...] = ()
    clear_url: str = ""
    export_url: str = ""
    find: str = ""


def _state_facts(nodes: Sequence[ShownNode], graph: PlanGraph) -> str:
    planned = sum(shown.node.position >= 0 for shown in nodes)
    live = sum(shown.node.position < 0 and shown.node.is_seen and not shown.node.is_missing for shown in nodes)
    facts = [
        ngettext("%(count)d object of the plan", "%(count)d objects of the plan", planned) % {"count": planned},
        ngettext("%(count)d live neighbor", "%(count)d live neighbors", live) % {"count": live},
    ]
    for number, count in sorted(find_wide_policies(graph).items()):
        text = ngettext("%(name)s: for %(count)d workload", "%(name)s: for %(count)d workloads", count)
        text = text if count else _("%(name)s: for every pod of the namespace")
        facts.append(text % {"name": nodes[number].node.name, "count": count})
    return " · ".join(facts)


def _state_notice(edges: Sequence[GraphEdge]) -> str:
    refused = sum(edge.state is EdgeState.UNKNOWN and edge.detail == "403" for edge in edges)
    if not refused:
        return ""
    text = ngettext(
        "%(count)d reference was not checked: reading its target was forbidden (403).",
        "%(count)d references were not checked: reading their targets was forbidden (403).",
        refused,
    )
    return text % {"count": refused}


def state_not_found(choice: GraphChoice) -> str:
    """Return that no object has the wanted name; "" if none is wanted."""
    return _("No object matches “%(text)s”.") % {"text": choice.find} if choice.find and not choice.node else ""


def link_node(shown: ShownNode, choice: GraphChoice, names: NodeNames) -> str:
    """Return the address of a node within the tab: its reach, what is in a group, or everything that is folded."""
    if shown.count and not shown.node.name:
        return choice.link(opened=name_group(shown.node), node="")
    if shown.count:
        return choice.link(is_folded=False)
    return choice.link(node=names.name(shown.number))


class _Links:
    """Where nodes lead: a node to its reach, a group to what is in it, a fold to all that is in it."""

    def __init__(self, context: PlanContext, choice: GraphChoice, names: NodeNames) -> None:
        self._context, self._choice, self._names = context, choice, names

    def link_node(self, shown: ShownNode) -> str:
        """The address of a node within the tab."""
        return link_node(shown, self._choice, self._names)

    def link_change(self, shown: ShownNode) -> str:
        """The address of a node's object in the plan; "" of one that is not in it."""
        position = shown.node.position
        return link_change(self._context.plan, position) if position >= 0 else ""


def list_views(choice: GraphChoice) -> tuple[Switch, ...]:
    """Return the views: the picture, and the table."""
    return (
        Switch(_("Graph"), choice.link(is_table=False), not choice.is_table),
        Switch(_("Table"), choice.link(is_table=True), choice.is_table),
    )


def list_switches(choice: GraphChoice) -> tuple[Switch, ...]:
    """Return what can be shown and folded in the picture."""
    return (
        Switch(_("Fold unchanged and similar"), choice.link(is_folded=not choice.is_folded), choice.is_folded),
        Switch(_("Live neighbors"), choice.link(has_neighbors=not choice.has_neighbors), choice.has_neighbors),
    )


def _present_picture(context: PlanContext, graph: PlanGraph, nodes: list[ShownNode], choice: GraphChoice) -> GraphTab:
    names = NodeNames(nodes)
    links = _Links(context, choice, names)
    chosen = names.find(choice.node) if choice.node else names.search(choice.find)
    choice = choice if chosen is None else replace(choice, node=names.name(chosen))
    reach = find_reach(graph.edges, chosen) if chosen is not None else set()
    shown = choose_nodes(
        nodes,
        graph.edges,
        wide=find_wide_policies(graph),
        is_folded=choice.is_folded,
        has_neighbors=choice.has_neighbors,
        opened=choice.opened,
        chosen=chosen,
    )
    panel = None
    if chosen is not None:
        open_url = links.link_change(nodes[chosen])
        panel = present_panel(nodes[chosen], nodes, graph.edges, link=links.link_node, open_url=open_url)
    return GraphTab(
        switches=list_switches(choice),
        drawn=draw_graph(shown, Painter(reach, chosen, links.link_node, links.link_change)) if shown.nodes else None,
        panel=panel,
        line_legend=list_line_legend(graph.edges),
        node_legend=list_node_legend(nodes),
        notice="" if chosen is not None else state_not_found(choice),
        clear_url=choice.link(node="", opened="") if choice.node or choice.find or choice.opened else "",
        find=choice.find,
        export_url=reverse("reviews:export-graph", args=context.address) + choice.link(),
    )


def _present_references(
    context: PlanContext, graph: PlanGraph, nodes: Sequence[ShownNode], choice: GraphChoice
) -> GraphTab:
    links = _Links(context, choice, NodeNames(nodes))
    urls = {shown.number: url for shown in nodes if (url := links.link_change(shown))}
    table = present_table(nodes, graph.edges, urls, page=choice.page)
    pages = choice.link(is_table=True)
    return GraphTab(
        is_table=True,
        table=table,
        earlier_url=f"{pages}&page={table.earlier}" if table.earlier else "",
        later_url=f"{pages}&page={table.later}" if table.later else "",
    )


def present_graph(context: PlanContext, choice: GraphChoice) -> GraphTab:
    """The tab of a plan; empty while the plan is calculated."""
    graph = read_graph(context.plan)
    if graph is None:
        return GraphTab()
    nodes = list_nodes(graph, context.changes)
    present = _present_references if choice.is_table else _present_picture
    tab = present(context, graph, nodes, choice)
    return replace(
        tab,
        views=list_views(choice),
        facts=_state_facts(nodes, graph),
        notice=tab.notice or _state_notice(graph.edges),
    )
