"""Inputs of the playground, kind by kind: what happens to each field of `playground-kinds.yaml`, in both modes.

There are more combinations than are worth recording. Which are taken hangs on their names alone, so that a new field
changes no other input; of values that a server refuses more are taken.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from tests.yaml_files import read_yaml

FILE = Path(__file__).parent / "playground-kinds.yaml"
RULES = Path(__file__).parent / "playground-rules.yaml"
# One in so many combinations is taken.
_SPARSE = 12
_SPARSE_BAD = 2
_GONE = object()
# A wrong type for each type of a value.
_WRONG: dict[type, Any] = {str: {"a": "b"}, int: "many", bool: "maybe", float: [], dict: "text", list: {"a": "b"}}
_ONLY_NEW = ("metadata.name", "metadata.generateName")
JSONObject = dict[str, Any]
Turn = Mapping[str, Any]


def list_kind_inputs(seed: str = "") -> Iterator[JSONObject]:
    """Return the inputs, those of one object after the other; `is_cluster_scoped` says where an object lives.

    - A seed takes others, and half as many; none that is taken without one.
    """
    written = read_yaml(FILE)
    for kind in written["kinds"]:
        definition = written["definitions"].get(kind.get("definition"), "")
        yield from place_inputs(kind["object"], definition, _list_inputs(kind["object"], kind["fields"], seed))


def list_rule_inputs() -> Iterator[JSONObject]:
    """Return the inputs of `playground-rules.yaml`: each value in a new object and as a change."""
    for kind in read_yaml(RULES)["kinds"]:
        yield from place_inputs(kind["object"], "", _list_refusals(kind["object"], kind["fields"]))


def place_inputs(obj: JSONObject, definition: str, inputs: Iterable[JSONObject]) -> Iterator[JSONObject]:
    """Return the inputs of an object with where it lives, and with names of their own where they live together."""
    is_cluster_scoped = not _is_namespaced(obj, definition)
    for number, one in enumerate(inputs):
        named = copy.deepcopy(one)
        if is_cluster_scoped and obj["kind"] != "CustomResourceDefinition":
            named = _rename(named, obj["metadata"]["name"], number)
        yield named | {"crds": definition, "is_cluster_scoped": is_cluster_scoped, "group": _find_name(obj)}


def _list_refusals(obj: JSONObject, fields: Mapping[str, JSONObject]) -> Iterator[JSONObject]:
    for path, field in fields.items():
        for index, bad in enumerate(field["bad"]):
            for is_new, mode in ((True, ("client", "server")[index % 2]), (False, ("server", "client")[index % 2])):
                name = f"rule-{_find_name(obj)}-{path.lower()}-{'new' if is_new else 'changed'}-{index}"
                yield _write_input(obj, path.split("."), {"is_new": is_new, "manifest": bad}, mode) | {"name": name}


def _is_namespaced(obj: JSONObject, definition: str) -> bool:
    if definition:
        return bool(yaml.safe_load(definition)["spec"]["scope"] == "Namespaced")
    resource = bundled().find_resource(GroupVersionKind.from_object(obj))
    assert resource is not None, obj["kind"]
    return resource.is_namespaced


def _find_name(obj: JSONObject) -> str:
    return f"{obj['kind'].lower()}-{obj['metadata']['name']}"


def _rename(one: JSONObject, name: str, number: int) -> JSONObject:
    """Return the input with a name of its own, because the objects of all inputs are live together."""
    old, new = f'"name": "{name}"', f'"name": "{name}-{number}"'
    before = [[text.replace(old, new, 1) if isinstance(text, str) else text for text in step] for step in one["before"]]
    return one | {"before": before, "manifest": one["manifest"].replace(old, new, 1)}


def _list_inputs(obj: JSONObject, fields: Mapping[str, JSONObject], seed: str) -> Iterator[JSONObject]:
    for path, field in fields.items():
        for name, mode, turn in _list_turns(path, field):
            base = f"{_find_name(obj)}-{path.lower()}-{mode}-{name}"
            if _is_taken(base, _SPARSE_BAD if name.startswith(("bad", "same")) else _SPARSE, seed):
                yield _write_input(obj, path.split("."), turn, mode) | {"name": base}


def _is_taken(name: str, sparse: int, seed: str) -> bool:
    if seed and not _is_taken(name, sparse, ""):
        return _draw(f"{seed} {name}") % (2 * sparse) == 0
    return not seed and _draw(name) % sparse == 0


def _draw(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def _list_turns(path: str, field: JSONObject) -> Iterator[tuple[str, str, Turn]]:
    """Return what happens to a field: a name, a mode, and which values it has, when, by whom."""
    for mode in ("client", "server"):
        for index, bad in enumerate(field.get("bad", ())):
            is_new = path in _ONLY_NEW or (index % 2 == 0) is (mode == "client")
            yield f"bad{index}", mode, {"is_new": is_new, "manifest": bad}
        for index, (one, other) in enumerate(field.get("same", ())):
            yield f"same{index}", mode, {"last": one, "manifest": other}
        values = field.get("is", ())
        if values and path not in _ONLY_NEW:
            turns = {**_list_changes(values[0], values[-1]), **_list_odd(path, values[0])}
            if "default" in field:
                turns |= {"default": {"manifest": field["default"]}, "undefault": _drop(field["default"])}
            turns |= _list_shared(values[0], values[-1]) if mode == "server" else {}
            yield from ((name, mode, turn) for name, turn in turns.items())
            other = "server" if mode == "client" else "client"
            for name in ("change", "drop", "ci-drop", "add") if mode == "server" else ("change", "drop"):
                yield f"{other}-{name}", mode, {**turns[name], "from": other}


def _drop(value: Any) -> JSONObject:
    return {"last": value, "manifest": _GONE}


def _list_changes(one: Any, other: Any) -> dict[str, JSONObject]:
    changes = {
        "add": {"manifest": one},
        "new": {"is_new": True, "manifest": other},
        "change": {"last": one, "manifest": other},
        "drop": _drop(one),
        "null": {"last": one, "manifest": None},
        "reset": {"last": one, "edit": other, "manifest": one},
        "kept": {"edit": one},
        "wrong": {"last": one, "manifest": _WRONG[type(one)]},
        "new-null": {"is_new": True, "manifest": None},
        "set-null": {"edit": one, "manifest": None},
    }
    if isinstance(one, dict | list):
        changes["empty"] = {"last": one, "manifest": type(one)()}
        changes["new-empty"] = {"is_new": True, "manifest": type(one)()}
        changes["kept-empty"] = {"edit": one, "manifest": type(one)()}
    return changes


def _list_odd(path: str, value: Any) -> dict[str, JSONObject]:
    """Return what people rarely write: misspelled names, duplicates, and the directives of strategic merge patches."""
    odd: dict[str, JSONObject] = {"misspelled": {"last": value, "manifest": value, "as": f"{path}s"}}
    if isinstance(value, list) and value:
        odd["duplicate"] = {"last": value, "manifest": [*value, value[0]]}
        odd["new-duplicate"] = {"is_new": True, "manifest": [*value, value[0]]}
        parent, _, name = path.rpartition(".")
        order = f"{parent}.$setElementOrder/{name}".lstrip(".")
        odd["order"] = {"manifest": value, "as": order}
        if isinstance(value[0], dict):
            odd["delete"] = {"last": value, "manifest": [{**value[0], "$patch": "delete"}]}
            odd["replace"] = {"last": value, "manifest": [*value, {"$patch": "replace"}]}
    if isinstance(value, dict):
        odd["replace"] = {"last": value, "manifest": {**value, "$patch": "replace"}}
        odd["retain"] = {"last": value, "manifest": {**value, "$retainKeys": list(value)}}
    return odd


def _list_shared(one: Any, other: Any) -> dict[str, JSONObject]:
    """Return what happens between managers."""
    return {
        "forced": {"last": one, "edit": other, "manifest": one, "force": True},
        "agreed": {"last": one, "edit": other, "manifest": other},
        "given-up": {"last": one, "edit": other, "manifest": _GONE},
        "ci": {"last": one, "manifest": other, "manager": "ci"},
        "ci-forced": {"last": one, "manifest": other, "manager": "ci", "force": True},
        "ci-shared": {"last": one, "manifest": one, "manager": "ci"},
        "ci-null": {"last": one, "manifest": None, "manager": "ci"},
        "ci-drop": {**_drop(one), "manager": "ci"},
    }


def _write_input(obj: JSONObject, path: list[str], turn: Turn, mode: str) -> JSONObject:
    before: list[list[Any]] = []
    if not turn.get("is_new"):
        before.append([turn.get("from", mode), _render(obj, path, turn, "last")])
    if "edit" in turn:
        before.append(["edit", _render(obj, path, turn, "last"), path, turn["edit"]])
    manifest = _render(obj, turn["as"].split(".") if "as" in turn else path, turn, "manifest")
    return {"before": before, "manifest": manifest, "mode": mode} | {
        k: turn[k] for k in ("manager", "force") if k in turn
    }


def _render(obj: JSONObject, path: list[str], turn: Turn, part: str) -> str:
    """Return the object as text, with the value of a part of the turn at a path; metadata comes first, on a line."""
    changed = copy.deepcopy(obj)
    if part in turn:
        holder: Any = changed
        for step in path[:-1]:
            holder = holder[int(step)] if step.isdigit() else holder.setdefault(step, {})
        if turn[part] is not _GONE:
            holder[path[-1]] = turn[part]
        else:
            holder.pop(path[-1], None)
    head = f"apiVersion: {changed.pop('apiVersion')}\nkind: {changed.pop('kind')}\n"
    head += f"metadata: {json.dumps(changed.pop('metadata'))}\n"
    return head + yaml.safe_dump(changed, sort_keys=False) if changed else head
