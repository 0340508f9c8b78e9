"""Merge a partial object into an object.

Rule: structured-merge-diff `typed.Merge`: nothing is removed; leaves take the applied value; maps merge by entry, sets
and map lists by item. A merged list has the order of the applied list; live items that it does not name keep their
positions. Unchanged parts are the same Python objects, which makes the comparison afterwards cheap.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from applyviz.engine.objects.paths import PathElement
from applyviz.engine.objects.values import JSONValue, is_identical
from applyviz.engine.schema.topology import Topology

MAP, LIST, SCALAR, ANY = "map", "list", "scalar", "any"


def find_form(topology: Topology, value: JSONValue) -> str:
    """Return which of the allowed forms a value has; ANY for null and for a value of another form."""
    if isinstance(value, dict):
        return MAP if topology.is_map else ANY
    if isinstance(value, list):
        return LIST if topology.is_list else ANY
    return SCALAR if value is not None and topology.scalar else ANY


def choose_form(topology: Topology, form: str) -> str:
    """Return the form in which to handle a value; if several are possible, maps come before scalars before lists."""
    if form is not ANY:
        return form
    if topology.is_map:
        return MAP
    return SCALAR if topology.scalar else LIST


def merge(topology: Topology, live: JSONValue, applied: JSONValue) -> Any:
    """Merge an applied value over a live one; both are present and valid."""
    form = choose_form(topology, find_form(topology, applied))
    if form is MAP:
        return _merge_map(topology, live, applied)
    if form is LIST:
        return _merge_list(topology, live, applied)
    return live if type(live) is type(applied) and live == applied else applied


def _merge_map(topology: Topology, live: Any, applied: Any) -> Any:
    has_live = isinstance(live, dict) and bool(live)
    has_applied = isinstance(applied, dict) and bool(applied)
    if topology.is_atomic_map or not (has_live or has_applied):
        return live if is_identical(live, applied) else applied
    if not has_applied:
        return live
    if not has_live:
        return applied
    merged = None
    for name, entry in applied.items():
        if name not in live:
            outcome = entry
        else:
            old = live[name]
            if entry is old or (type(entry) is str and entry == old):
                continue  # the fast path: equal text fits everywhere
            child = topology.children[name]
            outcome = merge(child, old, entry) if child is not None else entry
            if outcome is old:
                continue
        if merged is None:
            merged = dict(live)
        merged[name] = outcome
    return live if merged is None else merged


def _merge_list(topology: Topology, live: Any, applied: Any) -> Any:
    has_live = isinstance(live, list) and bool(live)
    has_applied = isinstance(applied, list) and bool(applied)
    if topology.is_atomic_list or not (has_live or has_applied):
        return live if is_identical(live, applied) else applied
    if not has_applied:
        return live
    if not has_live:
        return applied
    merged = _ListMerge(topology, live, applied).run()
    if len(merged) == len(live) and all(a is b for a, b in zip(merged, live, strict=True)):
        return live
    return merged


class _ListMerge:
    """Merges two lists by item, walking both at once as the API server does."""

    def __init__(self, topology: Topology, live: list[JSONValue], applied: list[JSONValue]) -> None:
        self.topology = topology
        self.live, self.applied = live, applied
        self.live_elements = [topology.name_item(i) for i in live]
        self.applied_elements = [topology.name_item(i) for i in applied]
        self.live_items: dict[PathElement, JSONValue] = {}
        for element, item in zip(self.live_elements, live, strict=True):
            # Duplicates do not merge item by item: they count as null.
            self.live_items[element] = None if element in self.live_items else item
        self.applied_items = dict(zip(self.applied_elements, applied, strict=True))
        self.shared = deque(e for e in self.applied_elements if e in self.live_items)
        self.next_shared = self._advance()
        self.done: set[PathElement] = set()
        self.out: list[JSONValue] = []

    def _advance(self) -> PathElement | None:
        return self.shared.popleft() if self.shared else None

    def _take_applied(self, element: PathElement) -> None:
        item = self.applied_items[element]
        if element in self.live_items:
            item = merge(self.topology.item, self.live_items[element], item)
        self.out.append(item)
        self.done.add(element)

    def run(self) -> list[JSONValue]:
        left = right = 0
        live, applied = self.live_elements, self.applied_elements
        while left < len(live) or right < len(applied):
            if left < len(live) and right < len(applied):
                element = live[left]
                if element == applied[right]:
                    self._take_applied(element)
                    left, right = left + 1, right + 1
                    self.next_shared = self._advance()
                    continue
                if element in self.applied_items and self.next_shared is not None and self.next_shared != element:
                    left += 1  # shared, but another item comes first in the applied order
                    continue
            if left < len(live):
                element = live[left]
                if element not in self.applied_items:
                    self.out.append(self.live[left])
                    left += 1
                    continue
                if element in self.done:
                    left += 1
            if right < len(applied):
                element = applied[right]
                self._take_applied(element)
                right += 1
                if self.next_shared == element:
                    self.next_shared = self._advance()
        return self.out
