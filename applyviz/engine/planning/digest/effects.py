"""Compute the effect of a change: what it does to the live object, without values that vary on their own.

Rule: `docs/architecture.md`, invariant 1. Included: operation, existence and uid, request templates, the difference
live → after by path, conflicts, conflict rules that were applied, and that a written object is being deleted.
Excluded: resourceVersion, times, status, values that a server allocates to a new object (addresses, names of tokens),
ignored fields that the manifest does not set, and the client that created a map in metadata that several managers
share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, get_at, is_same_json
from applyviz.engine.planning.model.placeholders import template
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.server_chosen import without_allocated
from applyviz.engine.planning.model.server_managed import drop_server_managed
from applyviz.engine.schema.model import SchemaOrigin

PlainPath: TypeAlias = tuple[str, ...]
_ABSENT = object()
_SHARED = (("metadata", "annotations"), ("metadata", "labels"))
_MADE_ANEW = (Operation.CREATE, Operation.REPLACE)
_WITHOUT_EFFECT = (
    Operation.UNCHANGED,
    Operation.NOT_FOUND,
    Operation.ERROR,
    Operation.BLOCKED,
    Operation.LEFT_OUT,
)


def _item_names(items: list[JSONValue]) -> list[str] | None:
    """Return the names of list entries if each has a unique name."""
    names = [i.get("name") for i in items if isinstance(i, Mapping)]
    texts = [n for n in names if isinstance(n, str)]
    return texts if len(texts) == len(items) == len(set(texts)) else None


def _pair(before: list[Any], after: list[Any]) -> Iterator[tuple[str, Any, Any]] | None:
    """Return the entries of two lists side by side, by name if all have one; None if they do not pair."""
    names = _item_names(before), _item_names(after)
    if names[0] is None or names[1] is None:
        if len(before) != len(after) or not all(isinstance(i, Mapping) for i in (*before, *after)):
            return None
        return ((str(n), b, a) for n, (b, a) in enumerate(zip(before, after, strict=True)))
    left, right = dict(zip(names[0], before, strict=True)), dict(zip(names[1], after, strict=True))
    if names[0] != [n for n in names[1] if n in left]:
        return None
    return ((n, left.get(n, _ABSENT), right.get(n, _ABSENT)) for n in dict.fromkeys((*names[0], *names[1])))


def list_differences(before: Any, after: Any, path: PlainPath = ()) -> Iterator[tuple[PlainPath, Any, Any]]:
    """Yield every path where two values differ, with the values before and after (`_ABSENT` for none).

    - Labels and annotations count one by one, even if all are added or removed: other clients may add more at any time.
    """
    if before is after:
        return
    if path in _SHARED:
        before, after = ({} if value is _ABSENT else value for value in (before, after))
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from list_differences(before.get(key, _ABSENT), after.get(key, _ABSENT), (*path, key))
        return
    if isinstance(before, list) and isinstance(after, list):
        pairs = _pair(before, after)
        if pairs is not None:
            for name, left, right in pairs:
                yield from list_differences(left, right, (*path, name))
            return
    if before is _ABSENT or after is _ABSENT or not is_same_json(before, after):
        yield path, before, after


def _matches(path: PlainPath, pattern: PlainPath) -> bool:
    return len(path) >= len(pattern) and all(p in ("*", s) for p, s in zip(pattern, path, strict=False))


def _names(value: Any, path: PlainPath) -> bool:
    """Return whether a manifest sets anything at or below a path; list entries are matched by name or index."""
    for step in path:
        if isinstance(value, list):
            named = _item_names(value)
            found = [i for n, i in enumerate(value) if step == (named[n] if named else str(n))]
            value = found[0] if found else _ABSENT
        else:
            value = value.get(step, _ABSENT) if isinstance(value, Mapping) else _ABSENT
        if value is _ABSENT:
            return False
    return True


def is_ignored(path: PlainPath, ignore: Iterable[PlainPath], manifest: JSONObject) -> bool:
    """Return whether a path is on the ignore list and the manifest does not set it."""
    return any(_matches(path, pattern) for pattern in ignore) and not _names(manifest, path)


def _quiet(obj: JSONObject, *, has_status: bool = True) -> JSONObject:
    """Return an object without values that every write changes, and without the creator of a shared map.

    - `.` in an entry marks who created a map such as `annotations`. If another manager adds the first annotation, later
      managers get no mark. The owners of single annotations are compared.
    - `has_status`: only controllers write its status, so it does not count.
    """
    quiet = drop_server_managed(obj, has_status=has_status)
    managers = get_at(quiet, ("metadata", "managedFields"))
    if not isinstance(managers, Mapping):
        return quiet
    kept = {name: _without_markers(fields) for name, fields in managers.items()}
    return {**quiet, "metadata": {**quiet["metadata"], "managedFields": kept}}


def _without_markers(fields: Any) -> Any:
    owned = get_at(fields, ("f:metadata",))
    if not isinstance(owned, Mapping):
        return fields
    kept = {
        name: {key: value for key, value in below.items() if key != "."} if isinstance(below, Mapping) else below
        for name, below in owned.items()
    }
    return {**fields, "f:metadata": kept}


def find_difference(change: PlannedObject, ignore: Iterable[PlainPath] = ()) -> Iterator[tuple[PlainPath, Any, Any]]:
    """Yield what the change does to the live object, by path.

    - A created object counts as calculated, because the values that servers allocate and default vary. So does an
      object whose kind the same set defines: a dry run answers differently after the definition is applied.
    """
    versions = change.versions
    live, manifest = versions.live or {}, versions.manifest or {}
    is_calculated = change.operation in _MADE_ANEW or change.schema_origin is SchemaOrigin.SOURCE_CRD
    result = versions.merged if is_calculated and versions.merged is not None else versions.after
    if change.operation in _WITHOUT_EFFECT:
        return
    if change.operation.is_deletion:
        result = None
    quiet = partial(_quiet, has_status=not change.writes_status)
    before = quiet(live) if versions.live is not None else _ABSENT
    after = quiet(without_allocated(result, manifest, live)) if result is not None else _ABSENT
    ignore = (*ignore, *change.ignored)
    for path, left, right in list_differences(before, after):
        if not is_ignored(path, ignore, manifest):
            yield path, left, right


def _as_data(request: Request) -> JSONObject:
    open_request = template(request)
    return {
        "method": open_request.method,
        "path": open_request.path,
        "query": dict(open_request.query),
        "contentType": open_request.content_type,
        "body": open_request.body,
        "placeholders": [[list(h.path), h.rule, *(h.managers or ())] for h in open_request.placeholders],
    }


def _is_lost(change: PlannedObject) -> bool:
    """Return whether an object that is written or unchanged is being deleted, so that it will not stay."""
    is_meant_to_stay = change.operation in (Operation.UPDATE, Operation.UNCHANGED)
    return is_meant_to_stay and bool(get_at(change.versions.live, ("metadata", "deletionTimestamp")))


def effect(change: PlannedObject, *, ignore: Iterable[PlainPath] = ()) -> JSONObject:
    """Return the effect of a change as plain JSON values, the same for the same effect."""
    ref = change.ref
    difference = []
    for path, before, after in find_difference(change, ignore):
        entry: dict[str, JSONValue] = {"path": list(path)}
        if before is not _ABSENT:
            entry["before"] = before
        if after is not _ABSENT:
            entry["after"] = after
        difference.append(entry)
    conflicts = [[c.manager, c.operation, c.subresource, list(c.path)] for c in change.conflicts]
    rules = [[a.rule, a.resolution.value, a.manager, list(a.path)] for a in change.answers if a.rule]
    found = {"rules": rules, "ignored": [list(path) for path in change.ignored], "goes": _is_lost(change)}
    return {
        "object": [*ref.gvk, ref.namespace, ref.name],
        "operation": change.operation.value,
        "exists": change.versions.live is not None,
        "uid": get_at(change.versions.live, ("metadata", "uid"), ""),
        "requests": [_as_data(r) for r in change.requests],
        "difference": difference,
        "conflicts": sorted(conflicts, key=canonical_json),
        "error": change.error,
        **{name: one for name, one in found.items() if one},
    }
