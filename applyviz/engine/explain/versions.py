"""The versions of one object, leaf by leaf, with the questions that reasons ask of them.

A version that does not exist has no leaves. Paths are those of `schema.walk`: list entries by their keys,
atomic values as one leaf.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.engine.schema.model import KindSchema, Node
from applyviz.engine.schema.walk import MISSING, list_leaves


class AllVersions(Protocol):
    """The five versions of an object, as a plan holds them; None where there is none."""

    @property
    def last_applied(self) -> Mapping[str, Any] | None: ...
    @property
    def manifest(self) -> Mapping[str, Any] | None: ...
    @property
    def live(self) -> Mapping[str, Any] | None: ...
    @property
    def merged(self) -> Mapping[str, Any] | None: ...
    @property
    def after(self) -> Mapping[str, Any] | None: ...


class Leaves:
    """The leaves of one version."""

    def __init__(self, values: dict[FieldPath, JSONValue]) -> None:
        self.values = values

    def __contains__(self, path: FieldPath) -> bool:
        return path in self.values

    def get(self, path: FieldPath) -> JSONValue:
        """The leaf at a path, `MISSING` when there is none."""
        return self.values.get(path, MISSING)

    @cached_property
    def _places(self) -> frozenset[FieldPath]:
        places: set[FieldPath] = set()
        for path in self.values:
            length = len(path)
            while length and path[:length] not in places:
                places.add(path[:length])
                length -= 1
        return frozenset(places)

    def has_place(self, path: FieldPath) -> bool:
        """Whether anything stands at a path or below it."""
        return not path or path in self._places

    def find_above(self, path: FieldPath) -> FieldPath | None:
        """The leaf that stands in the way above a path: a null, a scalar, an atomic value, an empty one."""
        for length in range(len(path) - 1, 0, -1):
            if path[:length] in self.values:
                return path[:length]
        return None


class ObjectVersions:
    """All versions of one object as leaves; what will be is what the last known stage says."""

    def __init__(self, versions: AllVersions, kind: KindSchema | None) -> None:
        self.root: Node | None = kind.root if kind is not None else None
        self.is_strategic = kind is not None and kind.is_strategic
        self._known: dict[int, Leaves] = {}
        self.has_last_applied = versions.last_applied is not None
        self.is_deletion = all(v is None for v in (versions.manifest, versions.merged, versions.after))
        after = self._find_after(versions)
        self.live_object, self.after_object = versions.live, after
        self.last_applied = self._leaves(versions.last_applied)
        self.manifest = self._leaves(versions.manifest)
        self.live = self._leaves(versions.live)
        self.after = self._leaves(after)
        self.merged = self._leaves(versions.merged if versions.merged is not None else after)

    def _find_after(self, versions: AllVersions) -> JSONObject | None:
        for version in (versions.after, versions.merged):
            if version is not None:
                return version
        # Nothing is known to happen: a refused object stays as it is, an object without manifest goes.
        return None if self.is_deletion else versions.live

    def _leaves(self, obj: JSONObject | None) -> Leaves:
        """Leaves are listed once for versions that are the very same object."""
        if id(obj) not in self._known:
            self._known[id(obj)] = Leaves(list_leaves(self.root, obj) if obj is not None else {})
        return self._known[id(obj)]

    def list_paths(self) -> tuple[FieldPath, ...]:
        """Every path of any version, in the order of after, live, manifest, last applied."""
        merged: dict[FieldPath, None] = {}
        for leaves in (self.after, self.live, self.manifest, self.last_applied, self.merged):
            merged.update(dict.fromkeys(leaves.values))
        return tuple(merged)


def is_same(left: JSONValue, right: JSONValue) -> bool:
    """Whether two leaves are equal; a missing leaf equals a missing one."""
    if left is right:
        return True
    return left is not MISSING and right is not MISSING and is_same_json(left, right)
