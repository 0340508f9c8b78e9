"""The counts of a run are those of its objects at every moment: also while a request is in flight, and after a kill."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from django.test import Client

from applyviz import clock
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Outcome, Role, RolloutState
from applyviz.records.models import ObjectChange, ObjectResult
from applyviz.web.reviews.pages.graph.run_graph import _list_legend
from applyviz.web.reviews.pages.graph.run_states import _sum_up, find_states
from applyviz.web.runs.pages.object_states import ObjectState, find_object_state
from applyviz.web.runs.pages.run_strip import present_strip
from applyviz.workflow import runs
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.plans.live_values import WITHHELD
from tests.builders import grant_role
from tests.stories import Killed, Team, config_map, let_lease_run_out
from tests.web import reading
from tests.web.api.test_api import Program

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
OBJECTS = (NAMESPACE, config_map("same", a="1"), config_map("one", a="1"), config_map("two", a="1"))


@pytest.fixture
def team(db, monkeypatch):
    found = Team().wire_up(monkeypatch)
    grant_role(found.alice, Role.OPERATOR)
    found.apply(config_map("same", a="1"))
    yield found
    failpoints.hooks.clear()


def read_counts(team, run):
    """The counts of the page, and of the API the outcomes with those of its objects."""
    browser = Client()
    browser.force_login(team.bob)
    page = reading.read(browser, f"/runs/{run.number}/")
    (shown,) = [e for e in reading.find_all(page, "ul") if reading.attribute(e, "class") == "outcomes"]
    document = Program(team.alice).get(f"runs/{run.number}/").json()
    assert document["outcomes"] == Counter(one["outcome"] for one in document["objects"])
    listed = Program(team.alice).get(f"reviews/{run.plan.review.number}/").json()["run"]
    assert listed["outcomes"] == document["outcomes"]
    return [reading.text_of(item) for item in reading.find_all(shown, "li")], document["outcomes"]


def at_first_request(action):
    """Do something once the first request of the run is written down, and not answered."""
    reached = []

    def hook(point):
        if point == "run.intended":
            reached.append(point)
            if len(reached) == 1:
                action()

    failpoints.hooks[:] = [hook]


def test_object_that_is_being_written_is_counted_as_applying(team):
    run = team.start(team.plan(*OBJECTS))
    found = [read_counts(team, run)]
    at_first_request(lambda: found.append(read_counts(team, run)))

    team.work(run)
    found.append(read_counts(team, run))

    assert [page for page, _outcomes in found] == [
        ["0 verified", "0 rolling out", "0 failed", "3 not attempted"],
        ["0 verified", "0 rolling out", "1 applying", "0 failed", "2 not attempted"],
        ["3 verified", "0 rolling out", "0 failed", "0 not attempted"],
    ]
    assert [outcomes for _page, outcomes in found] == [
        {"waiting": 4},
        {"applying": 1, "waiting": 3},
        {"applied": 3, "unchanged": 1},
    ]


def test_object_whose_worker_was_killed_is_applying_until_another_one_has_asked(team):
    def kill():
        raise Killed

    run = team.start(team.plan(*OBJECTS))
    at_first_request(kill)
    with pytest.raises(Killed):
        runs.execute_run(run.pk, sleep=lambda seconds: None)
    failpoints.hooks.clear()
    let_lease_run_out(run)

    assert read_counts(team, run) == (
        ["0 verified", "0 rolling out", "1 applying", "0 failed", "2 not attempted"],
        {"applying": 1, "waiting": 3},
    )

    team.work(run)

    assert read_counts(team, run)[1] == {"applied": 3, "unchanged": 1}


def make_results():
    """One result of each outcome and rollout, one left out by the plan, and one that is hidden from the reader."""
    pairs = [(outcome, RolloutState.NONE) for outcome in (*Outcome, WITHHELD)]
    pairs += [(Outcome.VERIFIED, rollout) for rollout in RolloutState if rollout]
    made = [
        ObjectResult(
            position=n, step=n, change=ObjectChange(operation=Operation.UPDATE), outcome=outcome, rollout=rollout
        )
        for n, (outcome, rollout) in enumerate(pairs)
    ]
    left = ObjectChange(operation=Operation.LEFT_OUT)
    return [*made, ObjectResult(position=len(made), step=0, change=left, outcome=Outcome.LEFT_OUT)]


def test_counts_of_all_states_are_all_objects():
    results = make_results()
    assert {find_object_state(result) for result in results} == set(ObjectState)

    strip = present_strip(results, {}, clock.now())

    rest = [int(number) for fact in strip.facts for number in re.findall(r"^(\d+) objects?", fact)]
    assert (len(strip.counts), len(rest)) == (6, 3)
    assert sum(count.number for count in strip.counts) + sum(rest) == len(results)
    assert sum(row.count for row in _list_legend(find_states(results, is_over=False))) == len(results)


@pytest.mark.parametrize("state", ObjectState)
def test_group_counts_the_objects_in_the_state_that_it_names(state):
    found = find_states(make_results(), is_over=True).values()

    summed = _sum_up([one for one in found if one.state is state] * 2)

    number = 2 * sum(one.state is state for one in found)
    assert summed.words == f"{number} objects · {number} {summed.style.word}"
    assert summed.state is state
