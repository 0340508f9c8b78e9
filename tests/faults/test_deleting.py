"""kill -9 of a worker at every request of a run that deletes: the next worker deletes what was approved, and no more.

Each trial kills the process once the request has reached the API server: a write is lost there, or it acts and nobody
hears the answer. An object beside the approved ones is never touched, and one that changed meanwhile stays.
"""

from __future__ import annotations

from typing import Any

import pytest

from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.requests.options import SetAction
from tests.faults.checker import find_violations
from tests.faults.kill_trials import MAPS, Kill, Stage, config_map, kill_at, list_kills

pytestmark = pytest.mark.faults
APPROVED, BESIDE = ("first", "second"), "beside"


def _write(stage: Stage, name: str, value: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": value}}
    query = {"fieldManager": "applyviz", "force": "true"}
    assert stage.api.act(Request("PATCH", f"{MAPS}/{name}", query, APPLY_PATCH, body)).is_ok


def _begin(stage: Stage) -> int:
    stage.api.begin()
    for name in (*APPROVED, BESIDE):
        _write(stage, name, "1")
    texts = [config_map(name, x="1") for name in APPROVED]
    run: int = stage.forge.call("stage", texts=texts, action=SetAction.DELETE)
    stage.listen()
    return run


def _list_points(stage: Stage) -> list[Kill]:
    run = _begin(stage)
    stage.forge.wait(stage.forge.fork("work", run_id=run))
    seen = list(stage.api.exchanges)
    _judge(stage, run, "nothing goes wrong")
    return list_kills(seen)


def _judge(stage: Stage, run: int, about: Any) -> None:
    history = stage.tell(run)
    assert [str(violation) for violation in find_violations(history)] == [], about
    (told,) = history.runs
    outcomes = [(item.outcome, item.detail) for item in told.items]
    assert (told.state, {outcome for outcome, _ in outcomes}) == ("applied", {"deleted"}), (about, outcomes)
    effective = [one for one in history.exchanges if one.is_effective]
    assert sorted((one.method, one.path) for one in effective) == [("DELETE", f"{MAPS}/{n}") for n in APPROVED], about
    assert [stage.api.find(f"{MAPS}/{name}") for name in APPROVED] == [None, None], about
    assert stage.api.find(f"{MAPS}/{BESIDE}")["data"] == {"x": "1"}, about


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_next_worker_finishes_a_deletion_that_a_killed_one_began_at_any_request(stage, step):
    points = _list_points(stage)
    assert sum(point.is_lost for point in points) == len(APPROVED)
    for point in points[::step]:
        run = _begin(stage)
        assert kill_at(stage, run, point), point
        stage.forge.call("finish", run_id=run)
        _judge(stage, run, point)


def test_object_that_changed_after_the_kill_is_not_deleted(stage):
    points = [point for point in _list_points(stage) if point.is_lost]
    for point in points:
        run = _begin(stage)
        assert kill_at(stage, run, point), point
        left = [name for name in APPROVED if stage.api.find(f"{MAPS}/{name}") is not None]
        for name in left:
            _write(stage, name, "2")
        stage.forge.call("finish", run_id=run)
        history = stage.tell(run)
        assert [str(violation) for violation in find_violations(history)] == [], point
        assert history.runs[0].state in ("stale", "failed"), point
        assert [stage.api.find(f"{MAPS}/{name}")["data"] for name in left] == [{"x": "2"}] * len(left), point
        assert stage.api.find(f"{MAPS}/{BESIDE}")["data"] == {"x": "1"}, point
