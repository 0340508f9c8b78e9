"""Compare two objects as data: the leaves that were added, removed or changed, and the lists that changed order.

Rule: the leaves of server-side apply (`schema.walk`), so that list entries pair by their keys and an atomic value is
one leaf. 1 and 1.0 are equal; quantities in another spelling (`1000m` and `1`) are differences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from applyviz.engine.objects.paths import FieldPath, PathElement
from applyviz.engine.objects.quantities import read_amount
from applyviz.engine.objects.values import JSONValue, MutableObject, is_same_json
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.topology import Topology, of_root
from applyviz.engine.schema.walk import MISSING, collect_entry, collect_leaves, name_entries

_Leaves: TypeAlias = dict[FieldPath, JSONValue]
_Entries: TypeAlias = dict[PathElement, JSONValue]
_is_texts = frozenset({str}).issuperset


class StructuralDifference(Struct, frozen=True):
    """One leaf that differs; a side without a value is `MISSING`."""

    path: FieldPath
    before: JSONValue
    after: JSONValue


def diff_objects(before: JSONValue, after: JSONValue, *, root: Node | None = None) -> tuple[StructuralDifference, ...]:
    """Return all leaves that differ, first in the order of the live object, then what is new; None is no object."""
    differences = _Differences([], [])
    left, right = (MISSING if obj is None else obj for obj in (before, after))
    differences.walk(of_root(root), left, right, ())
    return (*differences.gone_or_changed, *differences.new)


class _Differences(NamedTuple):
    """Walks both objects together and skips equal parts."""

    gone_or_changed: list[StructuralDifference]
    new: list[StructuralDifference]

    def walk(self, topology: Topology | None, old: JSONValue, new: JSONValue, path: FieldPath) -> None:
        """Compare the values at a path on both sides; a side without a value is `MISSING`."""
        if topology is not None and old and new:
            if type(old) is dict and type(new) is dict and topology.is_map and not topology.is_atomic_map:
                self._walk_maps(topology, old, new, path)
                return
            if type(old) is list and type(new) is list:
                left, right = name_entries(topology, old), name_entries(topology, new)
                if left is not None and right is not None:
                    self._walk_lists(topology, left, right, path)
                    return
        leaves: tuple[_Leaves, _Leaves] = {}, {}
        for side, value in zip(leaves, (old, new), strict=True):
            if value is not MISSING:
                collect_leaves(topology, value, path, side)
        self._compare(*leaves)

    def _compare(self, left: _Leaves, right: _Leaves) -> None:
        for path, value in left.items():
            other = right.get(path, MISSING)
            if other is MISSING:
                self.gone_or_changed.append(StructuralDifference(path, value, MISSING))
            elif value is not other and not is_same_json(value, other):
                self.gone_or_changed.append(StructuralDifference(path, value, other))
        self.new.extend(StructuralDifference(path, MISSING, value) for path, value in right.items() if path not in left)

    def _walk_maps(self, topology: Topology, old: MutableObject, new: MutableObject, path: FieldPath) -> None:
        for name, value in old.items():
            other = new.get(name, MISSING)
            if value is other or (type(value) is str and type(other) is str and value == other):
                continue
            self.walk(topology.children[name], value, other, (*path, "f:" + name))
        for name, value in new.items():
            if name not in old:
                self.walk(topology.children[name], MISSING, value, (*path, "f:" + name))

    def _walk_lists(self, topology: Topology, old: _Entries, new: _Entries, path: FieldPath) -> None:
        for element, value in old.items():
            other = new.get(element, MISSING)
            # Most entries are maps of text and equal on both sides; equal texts are equal values, but 1 and true are
            # not.
            if type(value) is dict and value == other and _is_texts(map(type, value.values())):
                continue
            if type(value) is dict and type(other) is dict:
                self.walk(topology.item, value, other, (*path, element))
            else:
                self._compare_entries(topology, value, other, (*path, element))
        for element, value in new.items():
            if element not in old:
                self._compare_entries(topology, MISSING, value, (*path, element))

    def _compare_entries(self, topology: Topology, old: JSONValue, new: JSONValue, path: FieldPath) -> None:
        """Compare entries that are missing on one side, duplicated, or values of a set."""
        leaves: tuple[_Leaves, _Leaves] = {}, {}
        for side, value in zip(leaves, (old, new), strict=True):
            if value is not MISSING:
                collect_entry(topology, path[-1], value, path, side)
        self._compare(*leaves)


def is_equal_in_meaning(left: JSONValue, right: JSONValue) -> bool:
    """Return whether two scalars are the same quantity: `0.5` and `500m`."""
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    amounts = [read_amount(v) for v in (left, right)]
    return None not in amounts and amounts[0] == amounts[1]


def is_same_at(root: Node | None, path: FieldPath, left: JSONValue, right: JSONValue) -> bool:
    """Return whether two values of a field are equal, or the same quantity where the schema has a quantity."""
    if is_same_json(left, right):
        return True
    if isinstance(left, Mapping | list) or not is_equal_in_meaning(left, right):
        return False
    topology: Topology | None = of_root(root)
    for element in path:
        if topology is None:
            return False
        topology = topology.child(element[2:]) if element[0] == "f" else topology.item
    return topology is not None and topology.is_quantity


def is_without_breaks(text: JSONValue, other: JSONValue) -> bool:
    """Return whether the other value is a text without its line breaks: the server stores base64 without them."""
    return isinstance(text, str) and "\n" in text and re.sub(r"[\r\n]", "", text) == other
