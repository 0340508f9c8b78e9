"""Odd turns for client-side cases: long lists, directives in manifests, `--overwrite=false`, and patches alone.

A case with a `patch` asks what the live object becomes: with a kind it is a strategic merge patch, without one a
JSON merge patch, and as a list a JSON patch.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.controlplane.judge import Judge
from tests.controlplane.mutations import VERSIONS, change_object, list_containers

_ODD = (
    1,
    80,
    "a",
    "web",
    True,
    None,
    1.5,
    2.0,
    "é<&>",
    {},
    [],
    {"name": "a"},
    {"x": {"y": 1}},
    ["b", "a"],
    12345678901234567,
)
_DIRECTIVES = ("delete", "replace", "merge", ["name", "type"], ["a"], None)
_KEYS = ("name", "containerPort", "port", "mountPath", "ip", "key")
_OPERATIONS = ("add", "remove", "replace", "test", "move", "copy", "none")
Case = dict[str, Any]


def make_odd(case: Case, rng: random.Random, judge: Judge) -> Case:
    """The case, much odder, or a patch to its live object."""
    for name in VERSIONS[case["op"]] if rng.random() < 0.4 else ():
        if isinstance(case["input"].get(name), dict) and rng.random() < 0.6:
            _distort(case["input"][name], rng)
    turn = rng.random()
    if case["op"] == "smp3" and turn < 0.15:
        case["input"]["overwrite"] = False
    elif turn < 0.35:
        return _ask_for_patch(case, rng, judge)
    return case


def _distort(obj: Case, rng: random.Random) -> None:
    _, container = rng.choice(list(list_containers(obj)))
    if isinstance(container, list):
        _grow(container, rng)
    elif container is obj:
        container["metadata"] = {**_as_map(obj.get("metadata")), "finalizers": rng.choices("abcde", k=rng.randrange(8))}
    elif rng.random() < 0.3:
        container[rng.choice(("$patch", "$retainKeys", "extra", "name"))] = rng.choice(_DIRECTIVES)
    elif container and rng.random() < 0.2:
        name = rng.choice(sorted(container))
        container[name.capitalize()] = container.pop(name)
    else:
        name = rng.choice([*sorted(container), "env", "ports", "type"])
        container[name] = copy.deepcopy(rng.choice(_ODD))


def _as_map(value: Any) -> Case:
    return value if isinstance(value, dict) else {}


def _grow(items: list[Any], rng: random.Random) -> None:
    """More entries like one of those there, so many that sorts change their way."""
    model = copy.deepcopy(rng.choice(items)) if items else "a"
    for _ in range(rng.choice((2, 5, 13, 25))):
        items.append(_rename(model, rng))
    if rng.random() < 0.5:
        rng.shuffle(items)


def _rename(model: Any, rng: random.Random) -> Any:
    if isinstance(model, dict):
        return {k: _rename(v, rng) if k in _KEYS else copy.deepcopy(v) for k, v in model.items()}
    if isinstance(model, str):
        return f"{model}{rng.randrange(12)}"
    is_number = isinstance(model, int) and not isinstance(model, bool)
    return model + rng.randrange(30) if is_number else model


def _ask_for_patch(case: Case, rng: random.Random, judge: Judge) -> Case:
    given = case["input"]
    asked: Case = {"current": given["current"]}
    if case["op"] == "jmp3" and rng.random() < 0.5:
        return {"op": case["op"], "input": {**asked, "patch": _make_operations(given["current"], rng)}}
    answer = judge.ask(case) or {}
    patch = answer.get("patch", given["modified"])
    for _ in range(rng.choice((0, 1, 2, 3)) if isinstance(patch, dict) else 0):
        change_object(patch, given, rng)
    if case["op"] == "smp3":
        asked["gvk"] = given["gvk"]
    return {"op": case["op"], "input": {**asked, "patch": patch}}


def _make_operations(current: Any, rng: random.Random) -> list[Case]:
    places = [(*path, key) for path, value in list_containers(current) for key in _list_steps(value)] or [("a",)]
    made = []
    for _ in range(rng.randint(1, 3)):
        path = _write_pointer(rng.choice(places))
        if rng.random() < 0.2:
            path += f"/{rng.choice(('-', '0', '1', 'new', '-1', 'x~0y', '99'))}"
        operation: Case = {"op": rng.choice(_OPERATIONS), "path": path}
        if rng.random() < 0.9:
            operation["value"] = copy.deepcopy(rng.choice(_ODD))
        if operation["op"] in ("move", "copy") or rng.random() < 0.1:
            operation["from"] = _write_pointer(rng.choice(places))
        made.append(operation)
    return made


def _list_steps(value: Any) -> list[Any]:
    return sorted(value) if isinstance(value, dict) else list(range(len(value)))


def _write_pointer(path: tuple[Any, ...]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
