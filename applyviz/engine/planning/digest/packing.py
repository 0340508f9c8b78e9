"""Write the versions, requests and fields of a change without what they repeat.

The versions of an object are mostly equal, and so are the owners and reasons of its fields; stored whole, they are four
fifths of a change. One version is written whole, the others as their differences from it; each reason is written once,
and of a path only what the path before does not begin with. Reading gives the very values, in their order, and parts
that versions share are one object again. What is written depends on the values alone.

A difference is one of:
- `0`: the same value;
- `[value]`: another value;
- `{name: difference}`: a map with the names of the other one, these of which differ;
- `[1, {name: difference}]`: a map with these names in this order;
- `[2, difference, …]`: a list, compared entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.engine.planning.model.plan import Versions

_SAME, _MAP, _LIST = 0, 1, 2
# Each version is compared with one before it; databases read owners from the live one, so that is written whole.
_BASES: Mapping[str, tuple[str, ...]] = {
    "live": (),
    "manifest": ("live",),
    "last_applied": ("manifest", "live"),
    "merged": ("live", "manifest", "last_applied"),
    "after": ("merged", "live", "manifest", "last_applied"),
}


def pack_value(value: JSONValue, base: JSONValue) -> JSONValue:
    """Return the difference of a JSON value from another one."""
    kind = type(value)
    if kind is type(base):
        if value is base:
            return _SAME
        if isinstance(value, dict) and isinstance(base, dict):
            return _pack_map(value, base)
        if isinstance(value, list) and isinstance(base, list):
            return _pack_list(value, base)
        if value == base and (kind is not float or repr(value) == repr(base)):
            return _SAME
    return [value]


def _pack_map(value: Mapping[str, JSONValue], base: Mapping[str, JSONValue]) -> JSONValue:
    found: MutableObject = {}
    for name, item in value.items():
        found[name] = pack_value(item, base[name]) if name in base else [item]
    if len(found) == len(base) and [*value] == [*base]:
        return {name: difference for name, difference in found.items() if difference != _SAME} or _SAME
    return [_MAP, found]


def _pack_list(value: Sequence[JSONValue], base: Sequence[JSONValue]) -> JSONValue:
    if not value:
        return [value] if base else _SAME
    found: list[JSONValue] = [pack_value(item, other) for item, other in zip(value, base, strict=False)]
    found += [[item] for item in value[len(base) :]]
    is_same = len(value) == len(base) and all(difference == _SAME for difference in found)
    return _SAME if is_same else [_LIST, *found]


def unpack_value(difference: Any, base: Any) -> Any:
    """Return the value that differs so from another one.

    - Raises `ValueError`, `TypeError`, `LookupError` or `AttributeError` for data that is no difference from it.
    """
    if isinstance(difference, dict) and difference.keys() <= base.keys():
        return {**base, **{name: unpack_value(one, base[name]) for name, one in difference.items()}}
    if isinstance(difference, list) and len(difference) == 1:
        return difference[0]
    if isinstance(difference, list) and difference[0] == _MAP:
        # Hot: most parts are the same, or a new value in a separate list, and calls for them cost more than the rest.
        return {
            name: one[0]
            if type(one) is list and len(one) == 1
            else base.get(name)
            if type(one) is int and one == _SAME
            else unpack_value(one, base.get(name))
            for name, one in difference[1].items()
        }
    if isinstance(difference, list) and difference[0] == _LIST:
        others = [*base, *[None] * len(difference)]
        return [unpack_value(one, other) for one, other in zip(difference[1:], others, strict=False)]
    if type(difference) is int and difference == _SAME:
        return base
    raise ValueError("a stored value is no difference")


def pack_versions(versions: Versions) -> JSONObject:
    """Return the versions of an object: the first one whole, the others as differences."""
    packed: dict[str, JSONValue] = {}
    for name, bases in _BASES.items():
        version = getattr(versions, name)
        if version is not None:
            base = next((base for base in bases if base in packed), None)
            packed[name] = version if base is None else pack_value(version, getattr(versions, base))
    return packed


def unpack_versions(packed: JSONObject) -> MutableObject:
    """Return the versions that were packed, by their names."""
    found: MutableObject = {}
    for name, bases in _BASES.items():
        if name in packed:
            base = next((base for base in bases if base in found), None)
            found[name] = packed[name] if base is None else unpack_value(packed[name], found[base])
    return found


def pack_bodies(requests: Iterable[JSONObject], manifest: JSONObject | None) -> list[JSONObject]:
    """Return requests with their bodies as differences from the manifest."""
    return _change_bodies(requests, lambda body: pack_value(body, manifest))


def unpack_bodies(requests: Iterable[JSONObject], manifest: JSONObject | None) -> list[JSONObject]:
    """Return requests with the bodies that were packed."""
    return _change_bodies(requests, lambda body: unpack_value(body, manifest))


def _change_bodies(requests: Iterable[JSONObject], change: Callable[[JSONValue], JSONValue]) -> list[JSONObject]:
    return [{**one, "body": change(one["body"])} if "body" in one else one for one in requests]


# What fields of one object share: everything besides their path and their position in the file.
_SHARED = tuple(name for name in FieldReason.__struct_fields__ if name not in ("path", "position"))
_get_shared = attrgetter(*_SHARED)


def pack_fields(fields: Iterable[FieldReason], write: Callable[[FieldReason], JSONObject]) -> JSONObject:
    """Return fields as the reasons that they share, and a row [reason, line, column, length, element, …] for each.

    - `write` writes one field as JSON. `length` is how many elements a path shares with that of the row before.
    """
    numbers: dict[tuple[object, ...], int] = {}
    reasons: list[JSONObject] = []
    rows: list[list[JSONValue]] = []
    before: FieldPath = ()
    for one in fields:
        position = one.position
        key = (*_get_shared(one), position.file, position.document, position.item)
        number = numbers.setdefault(key, len(reasons))
        if number == len(reasons):
            shared = write(replace(one, path=(), position=replace(position, line=0, column=0)))
            # Whatever is stored counts: a change of it must change what is read.
            reasons.append({name: value for name, value in shared.items() if name != "path"})
        length = _count_shared(one.path, before)
        rows.append([number, position.line, position.column, length, *one.path[length:]])
        before = one.path
    return {"reasons": reasons, "rows": rows}


def _count_shared(path: FieldPath, before: FieldPath) -> int:
    length = 0
    for element, other in zip(path, before, strict=False):
        if element != other:
            break
        length += 1
    return length


def unpack_paths(packed: JSONObject, is_wanted: Callable[[JSONObject], bool]) -> list[FieldPath]:
    """Return the paths of the fields that were packed and whose reason is wanted.

    - Raises what `unpack_fields` raises.
    """
    wanted = [is_wanted(one) for one in packed["reasons"]]
    return [path for number, path, _line, _column in _list_rows(packed) if wanted[number]]


def unpack_fields(packed: JSONObject, read: Callable[[JSONObject], FieldReason]) -> tuple[FieldReason, ...]:
    """Return the fields that were packed; `read` reads one field from JSON.

    - Raises `ValueError`, `TypeError` or `LookupError` for other data.
    """
    reasons = [read({**one, "path": ()}) for one in packed["reasons"]]
    shared = [(dict(zip(_SHARED, _get_shared(one), strict=True)), one.position) for one in reasons]
    found: list[FieldReason] = []
    for number, path, line, column in _list_rows(packed):
        values, first = shared[number]
        # Hot: most fields have no line of their own, and a position takes longer to make than the field.
        position = SourcePosition(first.file, line, column, first.document, first.item) if line or column else first
        found.append(FieldReason(path, position=position, **values))
    return tuple(found)


def _list_rows(packed: JSONObject) -> Iterator[tuple[int, FieldPath, int, int]]:
    """Yield the reason, path, line and column of each row."""
    path: FieldPath = ()
    for number, line, column, length, *elements in packed["rows"]:
        if not 0 <= length <= len(path):
            raise ValueError("a stored path shares more than there is")
        path = (*path[:length], *elements)
        yield number, path, line, column
