"""The owners of list entries with keys: a manager that sets a field of an entry also owns the entry and its keys.

Rule: structured-merge-diff. A manifest names an entry by its keys, so a manager that applies one field of it (`args` of
the container `web`) owns the field, the entry and its keys. A manager that drops the field, and sets no other field of
the entry, no longer names the entry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from applyviz.engine.objects.fieldsets import FieldSet, from_paths
from applyviz.engine.objects.paths import FieldPath, element_value


def _list_entries(path: FieldPath) -> Iterator[tuple[FieldPath, frozenset[FieldPath]]]:
    """Yield the entries of lists that a field is in, the innermost first, each with itself and its keys."""
    for end in range(len(path) - 1, 0, -1):
        if path[end - 1][0] == "k":
            entry = path[:end]
            keys = {(*entry, "f:" + name) for name in element_value(path[end - 1])}
            yield entry, frozenset({entry, *keys})


def find_keys(path: FieldPath, owned: FieldSet) -> FieldSet:
    """Return what is owned of the entries that a field is in: the entries themselves and their keys."""
    return from_paths(one for _entry, named in _list_entries(path) for one in named if owned.has(one))


def find_left_entries(paths: Collection[FieldPath], owned: FieldSet) -> FieldSet:
    """Return what is owned of the entries that some fields were in and of which nothing but the keys is left.

    - `owned`: without these fields.
    """
    entries = {entry: named for path in paths for entry, named in _list_entries(path)}
    left: set[FieldPath] = set()
    for entry in sorted(entries, key=len, reverse=True):
        below = {one for one in _list_below(entry, owned) if one not in left}
        left |= below if below <= entries[entry] else frozenset()
    return from_paths(left)


def _list_below(path: FieldPath, owned: FieldSet) -> Iterator[FieldPath]:
    """Yield a path, if it is owned, and everything owned below it."""
    if owned.has(path):
        yield path
    for element in path:
        owned = owned.below(element)
    yield from ((*path, *below) for below in owned)
