"""The graph of a run."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires
from applyviz.web.reviews.pages.graph.choice import GraphChoice
from applyviz.web.reviews.pages.graph.run_graph import present_run_graph
from applyviz.workflow import runs
from applyviz.workflow.foundation.access import Action


@requires(Action.VIEW)
def show_run_graph(request: PageRequest, number: int) -> HttpResponse:
    """Show the objects of a run in the colors of their states; as a fragment while it goes on."""
    run = runs.get_run(number, for_user=request.user)
    graph = present_run_graph(run, GraphChoice.read(request.GET), for_user=request.user)
    name = "reviews/_run_graph_moved.html" if is_fragment(request) else "reviews/run_graph.html"
    return render(request, name, {"page": graph.run, "graph": graph})
