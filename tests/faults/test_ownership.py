"""kill -9 of a worker at every request of a run that moves ownership, in every way: the next worker finishes.

Each trial kills the process once the request has reached the API server: a write is lost there, or it acts and nobody
hears the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from applyviz.engine.objects.exchange import JSON, JSON_PATCH, Request
from applyviz.engine.requests.options import Handover, SetAction, TakenField
from tests.faults.checker import find_violations
from tests.faults.kill_trials import MAPS, Kill, Stage, config_map, kill_at, list_kills

pytestmark = pytest.mark.faults
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
BEFORE = {"x": "1", "kept": "1", "dropped": "1"}
MANIFEST = config_map("moved", x="2", kept="1")


def _make_client_side(stage: Stage) -> None:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "moved"}, "data": BEFORE}
    metadata = {"name": "moved", "annotations": {LAST_APPLIED: json.dumps(made)}}
    request = Request("POST", MAPS, {"fieldManager": "kubectl-client-side-apply"}, JSON, {**made, "metadata": metadata})
    assert stage.api.act(request).is_ok


def _make_five_managers(stage: Stage) -> None:
    """An object of which five managers own a field each, as tools and people leave them behind."""
    _make_client_side(stage)
    live = stage.api.find(f"{MAPS}/moved")
    data = {"x": "1", "kept": "1", "dropped": "1", "e": "1", "s": "1", "h": "1", "b": "1", "by-hand": "1"}
    annotation = {"f:annotations": {".": {}, f"f:{LAST_APPLIED}": {}}}
    owned = {
        "kubectl-client-side-apply": {"f:data": {".": {}, "f:x": {}, "f:kept": {}, "f:dropped": {}}},
        "kubectl-edit": {"f:data": {"f:e": {}, "f:by-hand": {}}},
        "kubectl-set": {"f:data": {"f:s": {}}},
        "helm": {"f:data": {"f:h": {}}},
        "before-first-apply": {"f:data": {"f:b": {}}},
    }
    owned["kubectl-client-side-apply"]["f:metadata"] = annotation
    entries = [
        {"manager": name, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
        for name, fields in owned.items()
    ]
    body = {**live, "data": data, "metadata": {**live["metadata"], "managedFields": entries}}
    assert stage.api.act(Request("PUT", f"{MAPS}/moved", {"fieldManager": "helm"}, JSON, body)).is_ok
    patch = [{"op": "replace", "path": "/metadata/managedFields", "value": entries}]
    query = {"fieldManager": "helm"}
    assert stage.api.act(Request("PATCH", f"{MAPS}/moved", query, JSON_PATCH, patch)).is_ok
    found = stage.api.find(f"{MAPS}/moved")["metadata"]["managedFields"]
    assert {entry["manager"] for entry in found} == set(owned), found


def _make_edited(stage: Stage) -> None:
    stage.apply_as("applyviz", "moved", {"x": "1", "kept": "1"})
    stage.edit("moved", {"data": {"kept": "by hand"}})


@dataclass(frozen=True)
class Direction:
    """How the object was made, how it is applied, and its data and owners in the end."""

    name: str
    make: Callable[[Stage], None]
    owners: tuple[tuple[str, str], ...]
    is_client: bool = False
    text: str = MANIFEST
    data: Mapping[str, str] = field(default_factory=lambda: {"x": "2", "kept": "1"})
    options: Mapping[str, Any] = field(default_factory=dict)
    writes: int = 2


APPLIED = (("applyviz", "Apply"),)
KEY = ("", "ConfigMap", "default", "moved")
KEPT = ("f:data", "f:kept")
MANAGERS = ("kubectl-edit", "kubectl-set", "helm", "before-first-apply")
FIVE = {"x": "2", "kept": "1", "e": "2", "s": "2", "h": "2", "b": "2"}


def _make_applied(stage: Stage) -> None:
    stage.apply_as("applyviz", "moved", BEFORE)


DIRECTIONS = (
    Direction("takeover", _make_client_side, APPLIED),
    Direction("way back", _make_applied, (("applyviz", "Update"),), is_client=True),
    Direction(
        "five managers",
        _make_five_managers,
        (("applyviz", "Apply"), ("kubectl-edit", "Update")),  # what a person added by hand stays theirs
        text=config_map("moved", **FIVE),
        data={**FIVE, "by-hand": "1"},
        options={"takes_from": MANAGERS},
    ),
    Direction(
        "handover",
        _make_applied,
        (("applyviz", "Apply"), ("other", "Apply")),
        options={"handovers": (Handover(KEY, KEPT, "other"),)},
    ),
    Direction(
        "client-side handover",
        _make_client_side,
        (("kubectl-client-side-apply", "Update"), ("applyviz", "Update")),
        is_client=True,
        options={"handovers": (Handover(KEY, KEPT, "other"),)},
        writes=1,
    ),
    Direction(
        "last-applied",
        _make_client_side,
        (("kubectl-client-side-apply", "Update"), ("applyviz", "Update")),
        data=BEFORE,
        options={"action": SetAction.SET_LAST_APPLIED},
        writes=1,
    ),
    Direction("cleared", _make_applied, (), data=BEFORE, options={"action": SetAction.CLEAR_OWNERSHIP}, writes=1),
    Direction(
        "hand edits",
        _make_edited,
        APPLIED,
        data={"x": "2", "kept": "by hand"},
        options={"taken_fields": (TakenField(KEY, KEPT, "kubectl-edit", is_live=True),)},
    ),
)


def _begin(stage: Stage, direction: Direction) -> int:
    stage.api.begin()
    direction.make(stage)
    run: int = stage.forge.call("stage", texts=[direction.text], is_client=direction.is_client, **direction.options)
    stage.listen()
    return run


def _list_points(stage: Stage, direction: Direction) -> list[Kill]:
    run = _begin(stage, direction)
    stage.forge.wait(stage.forge.fork("work", run_id=run))
    seen = list(stage.api.exchanges)
    _judge(stage, run, direction, "nothing goes wrong")
    return list_kills(seen)


def _judge(stage: Stage, run: int, direction: Direction, about: object) -> None:
    history = stage.tell(run)
    assert [str(violation) for violation in find_violations(history)] == [], about
    (told,) = history.runs
    assert (told.state, told.items[0].outcome) == ("applied", "applied"), (about, told.items[0].detail)
    assert sum(one.is_effective for one in history.exchanges) == direction.writes, about
    live = stage.api.find(f"{MAPS}/moved")
    owners = {(entry["manager"], entry["operation"]) for entry in live["metadata"].get("managedFields", ())}
    assert (live["data"], owners) == (direction.data, set(direction.owners)), about


@pytest.mark.long
@pytest.mark.parametrize("direction", DIRECTIONS, ids=lambda direction: direction.name)
def test_next_worker_finishes_what_a_killed_one_began_at_any_request(stage, direction):
    points = _list_points(stage, direction)
    assert sum(point.is_lost for point in points) == direction.writes
    for point in points:
        run = _begin(stage, direction)
        assert kill_at(stage, run, point), point
        stage.forge.call("finish", run_id=run)
        _judge(stage, run, direction, point)
