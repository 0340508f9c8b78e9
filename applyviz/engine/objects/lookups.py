"""Find or drop a field by its path without a schema: list entries are found by the keys in the path.

`find_value` finds one field, `FieldFinder` many fields of one object in linear time.

Rule: an entry of `ports` without a protocol has TCP, and one of `imagePullSecrets` without a name has "": the
defaults that name them. Of entries that share a name, `find_value` finds the first, `FieldFinder` the list of them:
together they are one leaf (`schema.walk`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from applyviz.engine.objects import paths
from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json


class _Absent:
    """The value of an absent field."""


ABSENT: Final[Any] = _Absent()
_FindEntry = Callable[[list[Any], PathElement, Any], Any]


# The keys of lists of built-in kinds that have a default.
_DEFAULTS: Final = (("protocol", "TCP"), ("name", ""))


def _may_omit(name: str, wanted: JSONValue) -> bool:
    return (name, wanted) in _DEFAULTS


def _is_entry(item: JSONValue, keys: JSONObject) -> bool:
    return isinstance(item, Mapping) and all(
        is_same_json(item[name], wanted) if name in item else _may_omit(name, wanted) for name, wanted in keys.items()
    )


def _find_entry(items: list[Any], element: PathElement, named: Any) -> Any:
    is_wanted = _is_entry if element[0] == "k" else is_same_json
    return next((item for item in items if is_wanted(item, named)), ABSENT)


def _step(value: JSONValue, element: PathElement, find_entry: _FindEntry = _find_entry) -> Any:
    kind, named = element[0], paths.element_value(element)
    if kind == "f":
        return value[named] if isinstance(value, Mapping) and named in value else ABSENT
    if not isinstance(value, list):
        return ABSENT
    if kind == "i":
        return value[named] if 0 <= named < len(value) else ABSENT
    return find_entry(value, element, named)


def find_value(obj: JSONValue, path: FieldPath) -> Any:
    """Look up a field; `ABSENT` if a step is missing."""
    value = ABSENT if obj is None else obj
    for element in path:
        if value is ABSENT:
            return ABSENT
        value = _step(value, element)
    return value


def _freeze(value: object) -> Hashable:
    """Return a key of a dict that is equal for the same JSON values: 1 equals 1.0, booleans are not numbers."""
    if isinstance(value, Mapping):
        return frozenset((name, _freeze(below)) for name, below in value.items())
    if isinstance(value, list):
        return tuple(map(_freeze, value))
    return value if isinstance(value, str) else (isinstance(value, bool), value)


class EntryIndex:
    """The positions of the entries of one list by the values of some keys; an entry may omit keys."""

    def __init__(self, items: Sequence[JSONValue], names: Sequence[str]) -> None:
        self._positions: dict[tuple[str, ...], dict[Hashable, list[int]]] = {}
        for position, item in enumerate(items):
            if isinstance(item, Mapping):
                present = tuple(name for name in names if name in item)
                values = tuple(_freeze(item[name]) for name in present)
                self._positions.setdefault(present, {}).setdefault(values, []).append(position)

    def find(self, keys: JSONObject, *, may_omit: Callable[[str, JSONValue], bool]) -> int | None:
        """Return the position of the first entry with these keys, without those that it may omit."""
        return min((positions[0] for positions in self._find(keys, may_omit)), default=None)

    def find_all(self, keys: JSONObject, *, may_omit: Callable[[str, JSONValue], bool]) -> list[int]:
        """Return the positions of all entries with these keys, without those that they may omit."""
        return sorted(position for positions in self._find(keys, may_omit) for position in positions)

    def _find(self, keys: JSONObject, may_omit: Callable[[str, JSONValue], bool]) -> Iterator[list[int]]:
        for present, positions in self._positions.items():
            if all(name in present or may_omit(name, wanted) for name, wanted in keys.items()):
                found = positions.get(tuple(_freeze(keys[name]) for name in present))
                if found is not None:
                    yield found


class FieldFinder:
    """Finds many fields of one object, which must not change meanwhile: each list is indexed once."""

    def __init__(self, obj: JSONValue) -> None:
        self._obj = obj
        self._indices: dict[tuple[int, tuple[str, ...]], EntryIndex] = {}
        self._sets: dict[int, dict[Hashable, Any]] = {}
        self._entries: dict[tuple[int, PathElement], object] = {}

    def __reduce__(self) -> tuple[type[FieldFinder], tuple[object]]:
        """Copy and pickle it without its indices: they know lists by their identity."""
        return FieldFinder, (self._obj,)

    def find(self, path: FieldPath) -> Any:
        """Look up a field, as `find_value` does; entries that share a name are the list of them."""
        value = ABSENT if self._obj is None else self._obj
        for element in path:
            if value is ABSENT:
                break
            value = _step(value, element, self._find_entry)
        return value

    def has_place(self, path: FieldPath) -> bool:
        """Return whether a value can be put there, as `put_field` would: only maps on the way may be missing."""
        value = self._obj
        for number, element in enumerate(path):
            found = _step(value, element, self._find_entry)
            if found is ABSENT:
                is_map = isinstance(value, Mapping) or (value is None and number > 0)
                return is_map and all(one[0] == "f" for one in path[number:])
            value = found
        return True

    def _find_entry(self, items: list[Any], element: PathElement, named: Any) -> Any:
        if element[0] != "k":
            if id(items) not in self._sets:
                self._sets[id(items)] = _name_values(items)
            return self._sets[id(items)].get(_freeze(named), ABSENT)
        entry = (id(items), element)
        if entry not in self._entries:
            known = (id(items), tuple(named))
            if known not in self._indices:
                self._indices[known] = EntryIndex(items, known[1])
            found = [items[position] for position in self._indices[known].find_all(named, may_omit=_may_omit)]
            self._entries[entry] = found if len(found) > 1 else found[0] if found else ABSENT
        return self._entries[entry]


def _name_values(items: Sequence[JSONValue]) -> dict[Hashable, JSONValue]:
    """Return the values of a set by themselves; of equal ones the list of them."""
    groups: dict[Hashable, list[JSONValue]] = {}
    for item in items:
        groups.setdefault(_freeze(item), []).append(item)
    return {name: same if len(same) > 1 else same[0] for name, same in groups.items()}


def drop_field(obj: JSONObject, path: FieldPath) -> JSONObject:
    """Return an object without a field, and without the maps and lists that contained only this field."""
    dropped = _drop(obj, path)
    return {} if dropped is ABSENT else dict(dropped)


def _drop(value: Any, path: FieldPath) -> Any:
    """Return a value without a field below it; `ABSENT` if nothing is left."""
    found = _step(value, path[0])
    if found is ABSENT:
        return value
    left = _drop(found, path[1:]) if path[1:] else ABSENT
    if isinstance(value, Mapping):
        name = paths.element_value(path[0])
        kept: Any = {k: left if k == name else v for k, v in value.items() if k != name or left is not ABSENT}
    else:
        index = next(n for n, item in enumerate(value) if item is found)
        kept = [*value[:index], *([] if left is ABSENT else [left]), *value[index + 1 :]]
    return kept or ABSENT


def put_field(obj: Any, path: FieldPath, value: object) -> Any:
    """Return an object with a value for a field; maps on the way are added.

    - `ABSENT` if a list entry on the way is missing: nothing says what else it holds.
    """
    if not path:
        return value
    found = _step(obj, path[0])
    if found is ABSENT and not (isinstance(obj, Mapping) and path[0][0] == "f"):
        return ABSENT
    below = put_field({} if found is ABSENT or (found is None and path[1:]) else found, path[1:], value)
    if below is ABSENT:
        return ABSENT
    if isinstance(obj, Mapping):
        return {**obj, paths.element_value(path[0]): below}
    return [below if item is found else item for item in obj]
