"""kill -9 of a worker at every request of a run that moves ownership, in both directions: the next worker finishes.

Each trial kills the process once the request has reached the API server: a write is lost there, or it acts and nobody
hears the answer.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from applyviz.engine.objects.exchange import JSON, Request
from tests.faults.checker import find_violations
from tests.faults.kill_trials import MAPS, Stage, config_map, wait_until_halted

pytestmark = pytest.mark.faults
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
BEFORE = {"x": "1", "kept": "1", "dropped": "1"}
MANIFEST = config_map("moved", x="2", kept="1")


def _make_client_side(stage: Stage) -> None:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "moved"}, "data": BEFORE}
    metadata = {"name": "moved", "annotations": {LAST_APPLIED: json.dumps(made)}}
    request = Request("POST", MAPS, {"fieldManager": "kubectl-client-side-apply"}, JSON, {**made, "metadata": metadata})
    assert stage.api.act(request).is_ok


@dataclass(frozen=True)
class Direction:
    """How the object was made, how it is applied, and who owns it in the end."""

    name: str
    make: Callable[[Stage], None]
    is_client: bool
    owner: tuple[str, str]


DIRECTIONS = (
    Direction("takeover", _make_client_side, False, ("applyviz", "Apply")),
    Direction("way back", lambda stage: stage.apply_as("applyviz", "moved", BEFORE), True, ("applyviz", "Update")),
)


def _begin(stage: Stage, direction: Direction) -> int:
    stage.api.begin()
    direction.make(stage)
    run: int = stage.forge.call("stage", texts=[MANIFEST], is_client=direction.is_client)
    stage.listen()
    return run


def _list_points(stage: Stage, direction: Direction) -> list[tuple[int, str]]:
    """The requests of a run by their number; a write once lost and once carried out."""
    run = _begin(stage, direction)
    stage.forge.wait(stage.forge.fork("work", run_id=run))
    seen = list(stage.api.exchanges)
    _judge(stage, run, direction, "nothing goes wrong")
    numbered = list(enumerate(seen, start=1))
    return [(number, "") for number, _ in numbered] + [(n, "cut before acting") for n, one in numbered if one.is_write]


def _kill_at(stage: Stage, run: int, number: int, phase: str) -> bool:
    pid = stage.forge.fork("work", run_id=run, is_halted=True)
    assert wait_until_halted(pid)
    struck: list[int] = []

    def strike(seen: Any, at: int) -> None:
        if at == number:
            struck.append(at)
            os.kill(pid, signal.SIGKILL)

    stage.api.before = strike
    stage.api.choose = lambda seen, at: phase if at == number else ""
    os.kill(pid, signal.SIGCONT)
    is_killed = bool(stage.forge.wait(pid) == -signal.SIGKILL)
    stage.api.before, stage.api.choose = (lambda seen, at: None), (lambda seen, at: "")
    return is_killed and bool(struck)


def _judge(stage: Stage, run: int, direction: Direction, about: object) -> None:
    history = stage.tell(run)
    assert [str(violation) for violation in find_violations(history)] == [], about
    (told,) = history.runs
    assert (told.state, told.items[0].outcome) == ("applied", "applied"), (about, told.items[0].detail)
    assert sum(one.is_effective for one in history.exchanges) == 2, about
    live = stage.api.find(f"{MAPS}/moved")
    owners = [(entry["manager"], entry["operation"]) for entry in live["metadata"]["managedFields"]]
    assert (live["data"], owners) == ({"x": "2", "kept": "1"}, [direction.owner]), about


@pytest.mark.parametrize("direction", DIRECTIONS, ids=lambda direction: direction.name)
def test_next_worker_finishes_what_a_killed_one_began_at_any_request(stage, direction):
    points = _list_points(stage, direction)
    assert len([phase for _, phase in points if phase]) == 2
    for point in points:
        run = _begin(stage, direction)
        assert _kill_at(stage, run, *point), point
        stage.forge.call("finish", run_id=run)
        _judge(stage, run, direction, point)
