"""The graph of a run: each object in the color of its state, as a picture, as a table, and as a part of the page."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from applyviz.records.enums import Outcome, RolloutState
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.web.reviews.pages.graph.choice import GraphChoice
from applyviz.web.reviews.pages.graph.run_graph import present_run_graph
from tests.web import reading, rows
from tests.web.reviews.test_graph import change, config, deployment, make_plan, service

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def run(alice, bob) -> ApplyRun:
    """A run that goes on: settings are verified, one workload rolls out, one failed, a Service waits."""
    plan = make_plan(
        alice,
        [
            change(config("2")),
            change(deployment("web", "2")),
            change(deployment("payment", "2")),
            change(service("front", "web")),
        ],
    )
    made = rows.make_run(plan, bob)
    set_state(made, 0, outcome=Outcome.VERIFIED)
    pods = {"new": 3, "ready": 5, "wanted": 5}
    set_state(made, 1, outcome=Outcome.VERIFIED, rollout=RolloutState.WAITING, pods=pods)
    problems = [{"reason": "ImagePullBackOff", "pods": 2}]
    set_state(made, 2, outcome=Outcome.VERIFIED, rollout=RolloutState.FAILED, pods={"problems": problems})
    set_state(made, 3, outcome=Outcome.WAITING, step=6)
    made.refresh_from_db()
    return made


def set_state(run: ApplyRun, position: int, **values: object) -> None:
    ObjectResult.objects.filter(run=run, position=position).update(detail="", **values)


def address(run: ApplyRun, query: str = "") -> str:
    return reverse("runs:show-graph", args=[run.number]) + query


def nodes(run, person, query=None):
    graph = present_run_graph(run, query or GraphChoice(), for_user=person)
    assert graph.drawn is not None
    return {node.name: node for node in graph.drawn.nodes}


def test_nodes_have_the_color_and_words_of_their_states(run, bob):
    drawn = nodes(run, bob)

    said = {name: (re.findall(r"run-\w+", node.style), node.line, node.mark) for name, node in drawn.items()}
    assert said["settings"] == (["run-verified"], "verified", "✓")
    assert said["payment"][:2] == (["run-failed"], "ImagePullBackOff")
    assert said["front"][:2] == (["run-waiting"], "waiting for step 7")
    assert said["web"][:2] == (["run-rolling"], "rolling out 3/5")
    assert drawn["web"].filled == round(172 * 0.6)
    assert drawn["payment"].label.endswith("failed: ImagePullBackOff")


def test_page_draws_lists_and_refreshes(as_viewer, run):
    page = as_viewer.get(address(run)).content.decode()
    text = reading.text_of(reading.read(as_viewer, address(run)))

    assert 'aria-current="page">Graph' in page
    assert f'hx-get="{address(run)}?"' in page
    assert '<meta http-equiv="refresh"' in page
    assert "payment" in text
    part = as_viewer.get(address(run), headers=HTMX).content.decode()
    assert 'hx-target="#run-graph"' in part
    assert "<html" not in part

    table = reading.text_of(reading.read(as_viewer, address(run, "?view=table")))
    assert "× ImagePullBackOff" in table  # noqa: RUF001 the cross is drawn
    assert "waiting for step 7" in table
    assert '<svg class="graph" width' not in as_viewer.get(address(run, "?view=table")).content.decode()


def test_chosen_object_has_its_result_in_the_panel(as_viewer, run):
    text = reading.text_of(reading.read(as_viewer, address(run, "?node=deployment/payment")))

    assert "payment" in text
    assert "Open the result" in text
    assert "Open the result" not in reading.text_of(reading.read(as_viewer, address(run, "?node=nothing")))


def test_finished_run_waits_for_nothing(as_viewer, run):
    ApplyRun.objects.filter(pk=run.pk).update(state="failed")

    page = as_viewer.get(address(run)).content.decode()

    assert "not attempted" in page
    assert "waiting for step" not in page
    assert "hx-get" not in page.split('id="poller"')[1][:80]


def test_run_of_a_plan_without_a_graph_says_so(as_viewer, alice, bob, plan):
    run = rows.make_run(plan, bob)

    assert "it was made before graphs were kept" in reading.text_of(reading.read(as_viewer, address(run)))


def test_large_plan_sums_up_its_groups(alice, bob):
    plan = make_plan(alice, [change(config("2", name=f"c{n}")) for n in range(160)])
    run = rows.make_run(plan, bob)
    set_state(run, 7, outcome=Outcome.FAILED)

    (group,) = nodes(run, bob).values()

    assert group.line == "160 objects · 1 failed"
    assert "run-failed" in group.style


def test_writing_is_said(bob, run):
    set_state(run, 3, outcome=Outcome.APPLYING)
    set_state(run, 1, outcome=Outcome.VERIFIED, rollout=RolloutState.READY, pods={"new": 5, "ready": 5, "wanted": 5})

    graph = present_run_graph(run, GraphChoice(is_table=True), for_user=bob)

    assert {"applying", "rolled out 5/5"} <= {row.words for row in graph.rows}
