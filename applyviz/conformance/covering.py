"""Take the fields of rows out of an object, without a schema: what the paths themselves say is enough.

A path names a list entry by its keys, by its value or by its position. Nothing here knows how the engine walks, pairs
or explains objects, so that it can judge that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from applyviz.engine.objects.known_names import LAST_APPLIED, SERVER_WRITTEN
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, canonical_json, is_same_json

NOTHING: Any = object()
# What every write changes, whoever sends it; a new object gets all of it.
_RECORDS = SERVER_WRITTEN | {"deletionTimestamp", "name", "namespace"}
# The keys of lists of built-in kinds that have a default.
_KEY_DEFAULTS = {"protocol": "TCP", "name": ""}


def strip(obj: JSONObject | None, *, has_status: bool) -> MutableObject:
    """Return a copy of an object without the records of server and kubectl; `has_status`: controllers write it."""
    if obj is None:
        return {}
    kept = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}
    if has_status:
        kept.pop("status", None)
    metadata = kept.get("metadata")
    if isinstance(metadata, Mapping):
        metadata = {name: value for name, value in metadata.items() if name not in _RECORDS}
        annotations = metadata.get("annotations")
        if isinstance(annotations, Mapping) and LAST_APPLIED in annotations:
            metadata["annotations"] = {n: v for n, v in annotations.items() if n != LAST_APPLIED}
        if not metadata.get("annotations", True):
            del metadata["annotations"]
        kept["metadata"] = metadata
        if not metadata:
            del kept["metadata"]
    copied: MutableObject = json.loads(json.dumps(kept))
    return copied


def _matches(entry: JSONValue, element: str) -> bool:
    wanted = json.loads(element[2:])
    if element[0] == "v":
        return is_same_json(entry, wanted)
    return isinstance(entry, Mapping) and all(is_same_json(entry.get(n), v) for n, v in wanted.items())


def _matches_almost(entry: JSONValue, element: str) -> bool:
    """Return whether an entry lacks only keys that have a default; a server reads null as a key that is not there."""
    wanted = json.loads(element[2:])
    entry = {n: v for n, v in entry.items() if v is not None} if isinstance(entry, Mapping) else entry
    if element[0] != "k" or not isinstance(entry, Mapping):
        return False
    if not any(name in entry for name in wanted) and wanted != {"name": ""}:
        return False
    return all(is_same_json(entry.get(n, _KEY_DEFAULTS.get(n, v)), v) for n, v in wanted.items())


def _find_entries(items: Sequence[JSONValue], element: str) -> list[int]:
    if element[0] == "i":
        position = int(element[2:])
        return [position] if position < len(items) else []
    exact = [n for n, entry in enumerate(items) if _matches(entry, element)]
    return exact or [n for n, entry in enumerate(items) if _matches_almost(entry, element)]


def find(obj: JSONValue, path: FieldPath) -> Any:
    """Return the value at a path, `NOTHING` if there is none; entries that share a name are the list of them."""
    for element in path:
        if element[0] == "f":
            obj = obj.get(element[2:], NOTHING) if isinstance(obj, Mapping) else NOTHING
        else:
            found = _find_entries(obj, element) if isinstance(obj, list) else []
            if not found:
                return NOTHING
            entries = [obj[n] for n in found] if isinstance(obj, list) else []
            obj = entries[0] if len(entries) == 1 else entries
        if obj is NOTHING:
            return NOTHING
    return obj


def take_out(obj: JSONValue, path: FieldPath) -> None:
    """Remove the value at a path in place, with the parents that hold nothing else, or nothing but their keys."""
    if not path or obj is NOTHING:
        return
    element, rest = path[0], path[1:]
    if element[0] == "f":
        name = element[2:]
        if not isinstance(obj, dict) or name not in obj:
            return
        had = bool(obj[name])
        take_out(obj[name], rest)
        if not rest or (had and not obj[name] and obj[name] is not None and isinstance(obj[name], dict | list)):
            del obj[name]
    elif isinstance(obj, list):
        for index in reversed(_find_entries(obj, element)):
            take_out(obj[index], rest)
            if not rest or _is_only_keys(obj[index], element):
                del obj[index]


def _is_only_keys(entry: JSONValue, element: str) -> bool:
    return isinstance(entry, dict) and set(entry) <= (set(json.loads(element[2:])) if element[0] == "k" else set())


def put_in_order(obj: JSONValue, path: FieldPath) -> None:
    """Sort the list at a path in place: its order has a row of its own."""
    found = find(obj, path)
    if isinstance(found, list):
        found.sort(key=canonical_json)


def differs(left: JSONValue, right: JSONValue) -> bool:
    """Return whether two values at a path differ; `NOTHING` differs from every value."""
    return left is not right and (left is NOTHING or right is NOTHING or not is_same_json(left, right))


def find_difference(left: JSONValue, right: JSONValue, path: str = "") -> Iterator[str]:
    """Yield each place where two values differ, as text."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for name in {**left, **right}:
            yield from find_difference(left.get(name, NOTHING), right.get(name, NOTHING), f"{path}.{name}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from find_difference(one, other, f"{path}[{index}]")
    elif differs(left, right):
        yield f"{path}: {_show(left)} → {_show(right)}"


def _show(value: JSONValue) -> str:
    return "nothing" if value is NOTHING else json.dumps(value)[:200]
