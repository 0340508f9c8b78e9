"""How often one change asks the database, from opening a review to the end of its run.

Statements of the sandbox are not counted: it stands for a cluster.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from applyviz.records.enums import RunState
from applyviz.workflow import runs
from applyviz.workflow.plans import planner
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db
MOST = {"open": 22, "plan": 32, "start": 47, "run": 67}
"""At most so many statements for one object."""
EACH = {"plan": 1, "run": 14}
"""At most so many more for each further object, when one is applied after the other."""


@pytest.fixture
def team(monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.live()  # the sandbox has its first objects
    return team


def count(act: Callable[[], Any]) -> tuple[Any, int]:
    """Return the answer of an act, and the number of its statements without those of the sandbox and savepoints."""
    found: Counter[str] = Counter()

    def watch(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        is_sandbox = '"records_sandbox' in sql
        if not is_sandbox and not sql.startswith(("SAVEPOINT", "RELEASE")):
            found[sql] += 1
        return execute(sql, *rest)

    with connection.execute_wrapper(watch):
        answer = act()
    return answer, found.total()


def follow(team: Team, name: str, objects: int) -> dict[str, int]:
    """The statements of one change of some new objects."""
    files = {f"{n}.yaml": config_map(f"{name}-{n}", a="1") for n in range(objects)}
    review, opening = count(lambda: team.review(files))
    plan = review.plans.get()
    _, planning = count(lambda: planner.make_plan(plan.pk))
    plan.refresh_from_db()
    run, starting = count(lambda: runs.approve_and_run(plan, by=team.bob, digest=plan.digest))
    _, running = count(lambda: runs.execute_run(run.pk, sleep=lambda seconds: None))
    run.refresh_from_db()
    assert (run.state, team.outcomes(run)) == (RunState.APPLIED, ["applied"] * objects)
    return {"open": opening, "plan": planning, "start": starting, "run": running}


def test_change_of_one_object_asks_no_more_often_than_it_must(team):
    """On a slow machine a worker renews its lease once more. Lower a limit when the product needs fewer statements."""
    found = follow(team, "one", 1)

    assert {act: (found[act], most) for act, most in MOST.items() if not most - 1 <= found[act] <= most + 2} == {}


def test_further_objects_cost_few_statements_each(team):
    few, many = follow(team, "few", 2), follow(team, "many", 12)

    assert many["open"] == few["open"]
    assert many["start"] == few["start"]
    for act, most in EACH.items():
        assert many[act] - few[act] <= 10 * most, act
