"""Walk and edit field paths in a manifest: each map and list along a path, with the key or index taken in it.

A key that a list entry omits may be defaulted, so an entry without it can still match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from applyviz.engine.objects.lookups import EntryIndex
from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue, clone, is_same_json

Steps: TypeAlias = list[tuple[Any, str | int]]
"""Each map or list along a path, with the key or index taken in it."""


class _Removed:
    """Marks a value that an edit removed, so that the places of its neighbors stay until the last edit."""


_REMOVED: Final[Any] = _Removed()


def _may_omit(_name: str, _wanted: JSONValue) -> bool:
    return True


def _find_index(items: Sequence[JSONValue], element: PathElement) -> int | None:
    wanted = element_value(element)
    if element.startswith("i:"):
        return wanted if wanted < len(items) else None
    return next((n for n, item in enumerate(items) if is_same_json(item, wanted)), None)


class PathWalker:
    """Finds many paths in one value, which must not change meanwhile: each list is indexed once."""

    def __init__(self, value: JSONValue) -> None:
        self._value: Any = value
        self._indices: dict[tuple[int, tuple[str, ...]], EntryIndex] = {}

    def list_steps(self, path: FieldPath) -> Steps:
        """Return each container along a path, with the step taken in it; shorter if the path ends early."""
        steps: Steps = []
        value = self._value
        for element in path:
            step = self._find_step(value, element)
            if step is None:
                break
            steps.append((value, step))
            value = value[step]
        return steps

    def _find_step(self, value: JSONValue, element: PathElement) -> str | int | None:
        """Return the key or index of an element in a value, None if there is none."""
        if isinstance(value, dict):
            name = element[2:]
            return name if element.startswith("f:") and name in value else None
        if not isinstance(value, list):
            return None
        return self._find_entry(value, element) if element.startswith("k:") else _find_index(value, element)

    def _find_entry(self, items: list[Any], element: PathElement) -> int | None:
        wanted = element_value(element)
        keys = tuple(wanted)
        known = (id(items), keys)
        if known not in self._indices:
            self._indices[known] = EntryIndex(items, keys)
        return self._indices[known].find(wanted, may_omit=_may_omit)


def list_steps(value: JSONValue, path: FieldPath) -> Steps:
    """Return each container along a path, with the step taken in it; shorter if the path ends early."""
    return PathWalker(value).list_steps(path)


class ManifestEditor:
    """Edits many fields in a copy of one manifest in linear time; every path means the field of the original."""

    def __init__(self, manifest: JSONObject) -> None:
        self._edited: Any = clone(dict(manifest))
        self._walker = PathWalker(self._edited)
        self._edits: list[tuple[Any, str | int, Any]] = []

    def remove_field(self, path: FieldPath) -> bool:
        """Remove a field, and the maps and lists that contained only removed fields; False if it is absent."""
        return self._edit(path, _REMOVED)

    def set_field(self, path: FieldPath, value: JSONValue) -> bool:
        """Set another value for a field; False if the manifest does not set it."""
        return self._edit(path, clone(value))

    def _edit(self, path: FieldPath, value: JSONValue) -> bool:
        steps = self._walker.list_steps(path)
        if len(steps) < len(path):
            return False
        self._edits.append((*steps[-1], value))
        return True

    def finish(self) -> JSONObject:
        """Return the edited manifest; an editor is used once."""
        for container, step, value in self._edits:
            container[step] = value
        kept = _drop_removed(self._edited)
        return {} if kept is _REMOVED else dict(kept)


def _drop_removed(value: JSONValue) -> Any:
    """Return a value without removed parts; a map or list of only removed parts is removed too."""
    if isinstance(value, dict):
        fields = {name: below for name, v in value.items() if (below := _drop_removed(v)) is not _REMOVED}
        return fields if fields or not value else _REMOVED
    if isinstance(value, list):
        items = [below for item in value if (below := _drop_removed(item)) is not _REMOVED]
        return items if items or not value else _REMOVED
    return value
