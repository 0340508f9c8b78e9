"""How the checker compares: a request with its template, what a write did with what was approved.

Nothing of the product is used: what is judged must not judge itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.faults.history import JSON

_NOISE = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"}
)
_ALLOTTED = frozenset({"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", "volumeName"})
# Others write into these at any time: their entries count one by one, also where all of them come or go.
_SHARED = ("annotations", "labels")
_ABSENT = "\0absent"


def quiet(obj: JSON) -> JSON:
    """An object without what changes by itself."""
    if not isinstance(obj, Mapping):
        return obj
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in _NOISE}
    shared = {name: metadata.get(name) or {} for name in _SHARED}
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": {**metadata, **shared}}


def differences(before: JSON, after: JSON, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], tuple[Any, Any]]:
    """Every place where two values differ, by path."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        found: dict[tuple[str, ...], tuple[Any, Any]] = {}
        for key in {*before, *after}:
            if key not in _ALLOTTED:
                found.update(differences(before.get(key, _ABSENT), after.get(key, _ABSENT), (*path, key)))
        return found
    return {} if before == after else {path: (before, after)}


def effect_of(before: JSON, after: JSON) -> dict[tuple[str, ...], tuple[Any, Any]]:
    """What a write did to the stored object; appearing and vanishing are differences of the whole."""
    left = _ABSENT if before is None else quiet(before)
    right = _ABSENT if after is None else quiet(after)
    return differences(left, right)


def holds(got: JSON, promised: JSON) -> bool:
    if isinstance(promised, Mapping):
        return isinstance(got, Mapping) and all(k in got and holds(got[k], v) for k, v in promised.items())
    return bool(got == promised)


def find_at(obj: JSON, *path: str) -> JSON:
    for step in path:
        obj = obj.get(step) if isinstance(obj, Mapping) else None
    return obj


def fits_template(sent: tuple[str, str, JSON, str, JSON], template: JSON) -> bool:
    """Whether a request is a template with each of its holes filled, and nothing else changed."""
    method, path, query, content_type, body = sent
    wanted = (template["method"], template["path"], template.get("query") or {}, template.get("contentType") or "")
    if (method, path, query, content_type) != wanted:
        return False
    for placeholder, rule in template.get("placeholders") or ():
        inner = body
        for step in placeholder:
            inner = inner.get(step) if isinstance(inner, Mapping) else inner[step] if isinstance(inner, list) else None
        if inner is None or (rule in ("uid", "resourceVersion") and not isinstance(inner, str)):
            return False
        body = _with(body, placeholder, None)
    return bool(body == template.get("body"))


def _with(body: JSON, path: list[Any], value: JSON) -> JSON:
    if not path:
        return value
    if isinstance(body, list):
        return [_with(item, path[1:], value) if n == path[0] else item for n, item in enumerate(body)]
    return {**body, path[0]: _with(body.get(path[0]), path[1:], value)}
