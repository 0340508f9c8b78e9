"""P2: if any reviewed field of an object moved, nothing of that object is written: bound by uid and resourceVersion.

Threats B3 (a mutation in each gap between two calls), B4 (deleted and made anew, appeared), H6 (conflicts told apart).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, MERGE_PATCH, Answer, Request
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


def _change(scene, *texts: str, is_client: bool) -> Any:
    """Plan one object; a client-side plan leaves the ownership of the object as it is, so a run is one write."""
    return scene.change(*texts, is_client=is_client, takes_client_side=not is_client)


def _count_gaps(scene, *, is_client: bool) -> int:
    """How many requests a run of one object sends: before each of them somebody may act."""
    scene.work(scene.start(_change(scene, config_map("there", x="2", w="1"), is_client=is_client)))
    count = len(scene.world.exchanges)
    scene.world.begin_anew()
    return count


def _interfere(scene, monkeypatch, number: int, act: Callable[[Any], Any]) -> None:
    send = scene.world.send

    def interfered(request: Request) -> Answer:
        if len(scene.world.exchanges) == number:
            act(scene.world)
        return send(request)

    monkeypatch.setattr(scene.world, "send", interfered)


@pytest.mark.parametrize("is_client", [False, True], ids=["server-side", "client-side"])
@pytest.mark.parametrize("mutation", MOVING)
def test_moved_field_in_any_gap_means_that_nothing_is_written(scene, monkeypatch, mutation, is_client):
    gaps = _count_gaps(scene, is_client=is_client)
    assert gaps >= 7
    for gap in range(gaps):
        run = scene.start(_change(scene, config_map("there", x="2", w="1"), is_client=is_client))
        with monkeypatch.context() as patched:
            _interfere(scene, patched, gap, MOVING[mutation])
            scene.work(run)

        (told,) = scene.judge(run)
        assert (scene.effective, told.items[0].outcome in ("stale", "refused")) == (0, True), (gap, told.items[0])
        scene.world.begin_anew()


# Client-side apply makes the annotations of an object that has none: the reviewed difference is the whole map.
STAYS = [
    (name, is_client) for name in STAYING for is_client in (False, True) if (name, is_client) != ("annotation", True)
]


@pytest.mark.parametrize(("mutation", "is_client"), STAYS)
def test_what_the_plan_does_not_touch_may_move_in_any_gap(scene, monkeypatch, mutation, is_client):
    for gap in range(_count_gaps(scene, is_client=is_client)):
        run = scene.start(_change(scene, config_map("there", x="2", w="1"), is_client=is_client))
        with monkeypatch.context() as patched:
            _interfere(scene, patched, gap, STAYING[mutation])
            scene.work(run)

        (told,) = scene.judge(run)
        assert (told.state, scene.effective) == ("succeeded", 1), (gap, told.items[0])
        scene.world.begin_anew()


@pytest.mark.parametrize("is_client", [False, True], ids=["server-side", "client-side"])
def test_object_that_appears_in_any_gap_is_not_overwritten(scene, monkeypatch, is_client):
    for gap in range(_count_gaps(scene, is_client=is_client)):
        run = scene.start(_change(scene, config_map("fresh", a="1"), is_client=is_client))
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


@pytest.mark.parametrize("times", [1, 2, 3, 5])
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
    expected = ("succeeded", 1) if times < 4 else ("failed", 0)
    assert (told.state, scene.effective) == expected
    assert len(scene.writes) == min(times + 1, 4)


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
