"""P2: if any reviewed field of an object moved, nothing of that object is written: bound by uid and resourceVersion.

Threats B3 (a mutation in each gap between two calls), B4 (deleted and made anew, appeared), H6 (conflicts told apart).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import yaml

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, MERGE_PATCH, Answer, Request
from applyviz.engine.requests.options import ApplyMode
from tests.model.world import MAPS
from tests.stories import config_map

pytestmark = [pytest.mark.promises, pytest.mark.django_db]
# What moves a reviewed field, and what does not.
MOVING: dict[str, Callable[[Any], Any]] = {
    "value": lambda world: world.edit("there", {"data": {"x": "by hand"}}),
    "to the very value that was planned": lambda world: world.edit("there", {"data": {"x": "2"}}),
    "field gone": lambda world: world.edit("there", {"data": {"x": None}}),
    "all fields gone": lambda world: world.edit("there", {"data": None}),
    "owner": lambda world: world.apply_as("somebody", "there", {"x": "1"}),
    "deleted": lambda world: world.delete("there"),
    "made anew": lambda world: (world.delete("there"), world.apply_as("applyviz", "there", {"x": "1", "w": "1"})),
    "made anew by hand": lambda world: (world.delete("there"), _post(world, "there", {"x": "1", "w": "1"})),
    "made anew, empty": lambda world: (world.delete("there"), _post(world, "there", {})),
    "server restored from a backup": lambda world: world.go_back("there", {"x": "0", "w": "1"}),
    "immutable": lambda world: world.edit("there", {"data": {"x": "9"}, "immutable": True}),
}
STAYING: dict[str, Callable[[Any], Any]] = {
    "other field": lambda world: world.edit("there", {"data": {"z": "by hand"}}),
    "label": lambda world: world.edit("there", {"metadata": {"labels": {"team": "shop"}}}),
    "annotation": lambda world: world.edit("there", {"metadata": {"annotations": {"seen": "now"}}}),
    "other field of another manager": lambda world: world.apply_as("somebody", "there", {"other": "1"}),
    "nothing": lambda world: world.edit("there", {}),
    "there and back": lambda world: (
        world.edit("there", {"metadata": {"labels": {"a": "1"}}}),
        world.edit("there", {"metadata": {"labels": {"a": None}}}),
    ),
}


def _post(world: Any, name: str, data: dict[str, str]) -> None:
    world.act(Request("POST", MAPS, {"fieldManager": "kubectl"}, JSON, {"metadata": {"name": name}, "data": data}))


# How an object was made, how it is applied, and the writes of a run: one moves values, others only owners.
MODES = {
    "server-side": (False, {}, ("values",)),
    "client-side": (True, {"takes_client_side": False}, ("values",)),
    "taken over": (False, {}, ("owners", "values")),
    "way back": (True, {}, ("values", "owners")),
}
STAYED = product(STAYING, MODES)
EACH_MODE = pytest.mark.parametrize("mode", MODES)


def _change(scene, *texts: str, mode: str) -> Any:
    is_client, options, _ = MODES[mode]
    if mode != "taken over":
        return scene.change(*texts, is_client=is_client, **options)
    _apply_client_side(scene.world)
    plan = scene.plan(*texts, **options)
    scene.world.exchanges.clear()
    return plan


def _apply_client_side(world: Any) -> None:
    """Somebody made the object with kubectl, client-side."""
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there"}, "data": {"x": "1", "w": "1"}}
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(made)}
    body = {**made, "metadata": {"name": "there", "annotations": annotations}}
    world.act(Request("POST", MAPS, {"fieldManager": "kubectl-client-side-apply"}, JSON, body))


def _count_gaps(scene, *, mode: str) -> int:
    """How many requests a run of one object sends: before each of them somebody may act."""
    scene.work(scene.start(_change(scene, config_map("there", x="2", w="1"), mode=mode)))
    count = len(scene.world.exchanges)
    scene.world.begin_anew()
    return count


def _list_effective(scene) -> tuple[str, ...]:
    """Return the kind of each effective write of a run: of values, or of owners alone."""
    return tuple(
        "owners" if isinstance(seen.body, list) else "values" for seen in scene.world.exchanges if seen.is_effective
    )


def _interfere(scene, monkeypatch, number: int, act: Callable[[Any], Any]) -> list[tuple[str, ...]]:
    """Somebody acts before the request of this number; gives what was written until then, once they have."""
    send, before = scene.world.send, []

    def interfered(request: Request) -> Answer:
        if len(scene.world.exchanges) == number:
            before.append(_list_effective(scene))
            act(scene.world)
        return send(request)

    monkeypatch.setattr(scene.world, "send", interfered)
    return before


@pytest.mark.core(1)
@EACH_MODE
@pytest.mark.parametrize("mutation", MOVING)
def test_moved_field_in_any_gap_means_that_nothing_is_written(scene, monkeypatch, mutation, mode):
    """Nothing more, that is: between two writes of one object, the first is done."""
    gaps = _count_gaps(scene, mode=mode)
    assert gaps >= 7
    for gap in range(gaps):
        run = scene.start(_change(scene, config_map("there", x="2", w="1"), mode=mode))
        with monkeypatch.context() as patched:
            before = _interfere(scene, patched, gap, MOVING[mutation])
            scene.work(run)

        (told,) = scene.judge(run)
        if before == [("values",)] and mutation == "to the very value that was planned":  # nothing moved
            assert (told.state, _list_effective(scene)) == ("applied", MODES[mode][2]), (gap, told.items[0])
        else:
            assert told.items[0].outcome in ("stale", "refused"), (gap, told.items[0])
            assert [_list_effective(scene)] == before, gap
        scene.world.begin_anew()


@pytest.mark.parametrize("mutation", ["removed field is back", "made anew as it was applied"])
def test_edit_after_the_values_were_applied_is_judged_before_the_ownership_moves(scene, monkeypatch, mutation):
    """What would be planned then is nothing: only what was approved tells that somebody undid it."""
    scene.give("there", x="1", w="1", v="1")
    plan = scene.plan(config_map("there", x="2", v="1"), mode=ApplyMode.CLIENT)
    scene.world.exchanges.clear()

    def act(world: Any) -> None:
        if mutation == "removed field is back":
            world.edit("there", {"data": {"w": "1"}})
            return
        live = world.find(f"{MAPS}/there")
        world.delete("there")
        metadata = {name: live["metadata"][name] for name in ("name", "annotations")}
        world.act(Request("POST", MAPS, {"fieldManager": "applyviz"}, JSON, {**live, "metadata": metadata}))

    run = scene.start(plan)
    scene.world.fault = lambda request, number: (act(scene.world) or "") if number == 2 else ""
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, told.items[0].outcome, _list_effective(scene)) == ("stale", "stale", ("values",))


@pytest.mark.parametrize("mode", ["taken over", "way back"])
def test_object_that_is_set_back_between_two_writes_is_left_alone(scene, mode):
    """A server restored from a backup: the effect is the approved one again, and half of it would follow."""
    stored: list[dict[Any, Any]] = []

    def restore(request: Request, number: int) -> str:
        if number == 1:
            stored.append(dict(scene.world.store._objects))
        else:
            scene.world.store._objects = dict(stored[0])
        return ""

    run = scene.start(_change(scene, config_map("there", x="2", w="1"), mode=mode))
    scene.world.fault = restore
    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.state, _list_effective(scene)) == ("stale", MODES[mode][2][:1])


@pytest.mark.parametrize(
    ("mutation", "mode", "step"),
    [("other field", "server-side", 2), *(pytest.param(*case, 1, marks=pytest.mark.long) for case in STAYED)],
)
def test_what_the_plan_does_not_touch_may_move_in_any_gap(scene, monkeypatch, mutation, mode, step):
    for gap in range(0, _count_gaps(scene, mode=mode), step):
        run = scene.start(_change(scene, config_map("there", x="2", w="1"), mode=mode))
        with monkeypatch.context() as patched:
            _interfere(scene, patched, gap, STAYING[mutation])
            scene.work(run)

        (told,) = scene.judge(run)
        assert (told.state, _list_effective(scene)) == ("applied", MODES[mode][2]), (gap, told.items[0])
        scene.world.begin_anew()


@pytest.mark.parametrize(
    ("mode", "step"),
    [
        ("server-side", 2),
        *(pytest.param(mode, 1, marks=pytest.mark.long) for mode in ("server-side", "client-side")),
    ],
)
def test_object_that_appears_in_any_gap_is_not_overwritten(scene, monkeypatch, mode, step):
    for gap in range(0, _count_gaps(scene, mode=mode), step):
        run = scene.start(_change(scene, config_map("fresh", a="1"), mode=mode))
        with monkeypatch.context() as patched:
            _interfere(scene, patched, gap, lambda world: _post(world, "fresh", {"a": "by hand"}))
            scene.work(run)

        scene.judge(run)
        assert (run.state, scene.world.find(f"{MAPS}/fresh")["data"]) == ("stale", {"a": "by hand"}), gap
        scene.world.begin_anew()


def test_every_write_names_the_uid_and_version_that_it_was_read_at(scene):
    run = scene.work(scene.start(scene.change()))

    scene.judge(run)
    changed, made = sorted((e for e in scene.world.exchanges if e.is_write), key=lambda e: e.before is None)
    before = changed.before["metadata"]
    bound = {name: changed.body["metadata"][name] for name in ("uid", "resourceVersion")}
    assert bound == {"uid": before["uid"], "resourceVersion": before["resourceVersion"]}
    assert made.body["metadata"]["resourceVersion"] == "1"


@pytest.mark.parametrize("times", [1, 2, 5, 7])
def test_version_conflicts_are_tried_again_only_while_the_effect_is_the_approved_one(scene, times):
    run = scene.start(scene.change(config_map("there", x="2", w="1")))

    def fault(request: Request, number: int) -> str:
        if number <= times:
            scene.world.act(
                Request("PATCH", f"{MAPS}/there", {}, MERGE_PATCH, {"metadata": {"labels": {"n": str(number)}}})
            )
        return ""

    scene.world.fault = fault
    scene.work(run)

    (told,) = scene.judge(run)
    expected = ("applied", 1) if times < 6 else ("failed", 0)
    assert (told.state, scene.effective) == expected
    assert len(scene.writes) == min(times + 1, 6)


def test_conflict_with_a_new_field_manager_stops(scene):
    run = scene.start(scene.change(config_map("there", x="2", w="1")))
    scene.world.fault = lambda request, number: scene.world.apply_as("somebody", "there", {"x": "1"}) or ""

    scene.work(run)

    (told,) = scene.judge(run)
    assert (told.items[0].outcome in ("stale", "refused"), scene.effective, len(scene.writes)) == (True, 0, 1)


def _define(list_type: str) -> dict[str, Any]:
    """A kind whose parts are merged by name, or are one value."""
    keys = {"x-kubernetes-list-map-keys": ["name"]} if list_type == "map" else {}
    item = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    parts = {"type": "array", "items": item, "x-kubernetes-list-type": list_type, **keys}
    schema = {"type": "object", "properties": {"parts": parts}}
    spec = {
        "group": "shop.example",
        "scope": "Namespaced",
        "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    metadata = {"name": "lamps.shop.example"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def _lamp(part: str) -> dict[str, Any]:
    return {
        "apiVersion": "shop.example/v1",
        "kind": "Lamp",
        "metadata": {"name": "desk", "namespace": "default"},
        "parts": [{"name": part}],
    }


def test_kind_that_is_defined_otherwise_since_the_review_is_not_written(scene):
    """What was reviewed merges a list by name; now the whole list would be replaced."""
    kinds, lamps = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/shop.example/v1/namespaces/default"
    assert scene.world.act(Request("POST", kinds, {}, JSON, _define("map"))).is_ok
    given = Request("PATCH", f"{lamps}/lamps/desk", {"fieldManager": "somebody"}, APPLY_PATCH, _lamp("shade"))
    assert scene.world.act(given).is_ok
    run = scene.start(scene.change(yaml.safe_dump(_lamp("bulb"))))
    changed = {"spec": _define("atomic")["spec"]}
    assert scene.world.act(Request("PATCH", f"{kinds}/lamps.shop.example", {}, MERGE_PATCH, changed)).is_ok

    scene.work(run)

    scene.judge(run)
    assert (run.state, scene.writes) == ("stale", [])
