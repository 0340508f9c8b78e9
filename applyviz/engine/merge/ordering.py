"""Identify the entries of lists that merge, and compute the resulting order.

Rule: https://git.k8s.io/design-proposals-archive/cli/preserve-order-in-strategic-merge-patch.md. Entries of a patch
take the order of `$setElementOrder`, entries that only the server has keep theirs, and both are merged by the server's
order. An index finds entries by value *and* type (1 is not 1.0), so that the cost stays linear.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

from applyviz.engine.merge.printed import print_type, print_value
from applyviz.engine.merge.sorting import sort_by_rank
from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.values import JSONValue, MutableObject

DIRECTIVE = "$patch"
_Entry = TypeVar("_Entry", bound=JSONValue)


def identify(value: JSONValue) -> Hashable:
    """Return a key that is equal only for equal scalars of one type.

    - Maps and lists cannot be merge keys; the reference panics when it compares two of them, so any key will do.
    """
    kind = type(value)
    if kind is str:
        return str(value)
    return kind if kind is dict or kind is list else (kind, value)


def require_one_type(*lists: Sequence[JSONValue]) -> type:
    """Return the type of all entries of all lists; refuse mixed types, lists of lists, and no entries."""
    kinds = {type(v) for entries in lists for v in entries}
    if not kinds:
        raise PatchError("no elements in any of the given slices")
    first: type = type(next(v for entries in lists for v in entries))
    if first is list:
        raise PatchError("lists of lists are not supported", 422)
    if first is type(None):
        raise PatchError("a list that merges holds null")
    if len(kinds) == 1:
        return first
    raise PatchError(f"list element types are not identical: {print_value([list(entries) for entries in lists])}")


def require_map(entry: JSONValue) -> MutableObject:
    """Return the entry as a map; raise the merge's error if it is not one."""
    if isinstance(entry, dict):
        return entry
    raise PatchError(f"expected a map[string]interface {{}}, but received a {print_type(entry)}")


def require_list(entry: JSONValue) -> list[Any]:
    """Return the value as a list; raise the merge's error if it is not one."""
    if isinstance(entry, list):
        return entry
    raise PatchError(f"expected a []interface {{}}, but received a {print_type(entry)}")


def read_merge_key(entry: MutableObject, merge_key: str) -> Any:
    """Return the value of the merge key, which every entry must have."""
    if merge_key not in entry:
        raise PatchError(f"map: {print_value(entry)} does not contain declared merge key: {merge_key}")
    return entry[merge_key]


def index_entries(entries: Iterable[JSONValue], merge_key: str | None) -> dict[Hashable, int]:
    """Return the first index of each entry, keyed by merge key, or by value if `merge_key` is None."""
    found: dict[Hashable, int] = {}
    for position, entry in enumerate(entries):
        value = entry if merge_key is None else entry.get(merge_key) if isinstance(entry, dict) else None
        found.setdefault(identify(value), position)
    return found


def _rank(entries: Sequence[Any], order: dict[Hashable, int], merge_key: str | None) -> list[int]:
    if merge_key is None:
        return [order.get(identify(e), -1) for e in entries]
    return [order.get(identify(e[merge_key]), -1) for e in entries]


def split_deletions(entries: Sequence[_Entry]) -> tuple[list[_Entry], list[_Entry]]:
    """Return the entries to keep, and the entries marked `$patch: delete`."""
    kept: list[_Entry] = []
    deleted: list[_Entry] = []
    for entry in entries:
        (deleted if require_map(entry).get(DIRECTIVE) == "delete" else kept).append(entry)
    return kept, deleted


def sort_like(entries: Sequence[_Entry], order: Sequence[_Entry], merge_key: str | None) -> list[_Entry]:
    """Sort entries in the order of `order`; deletions go last. Maps need their merge key on both sides."""
    deleted: list[_Entry] = []
    if merge_key is not None:
        for entry in (*entries, *order):
            read_merge_key(require_map(entry), merge_key)
        entries, deleted = split_deletions(entries)
    if len(entries) > 1:
        entries = sort_by_rank(entries, _rank(entries, index_entries(order, merge_key), merge_key))
    return [*entries, *deleted]


def weave(
    patch: Sequence[JSONValue],
    server_only: Sequence[JSONValue],
    patch_order: Sequence[JSONValue],
    server_order: Sequence[JSONValue],
    merge_key: str | None,
) -> list[JSONValue]:
    """Merge two sorted lists: an entry of the server goes first if it precedes the other one there."""
    right = sort_like(patch, patch_order, merge_key)
    left = sort_like(server_only, server_order, merge_key)
    positions = index_entries(server_order, merge_key)
    left_ranks, right_ranks = _rank(left, positions, merge_key), _rank(right, positions, merge_key)
    woven: list[JSONValue] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if 0 <= left_ranks[i] < right_ranks[j]:
            woven.append(left[i])
            i += 1
        else:
            woven.append(right[j])
            j += 1
    return [*woven, *left[i:], *right[j:]]


def partition(
    entries: Sequence[JSONValue], order: Sequence[JSONValue], merge_key: str
) -> tuple[list[JSONValue], list[JSONValue]]:
    """Return the entries that `order` names, and the others; without a merge key they are primitives."""
    named: list[JSONValue] = []
    others: list[JSONValue] = []
    if not merge_key:
        wanted = {identify(v) for v in order}
        for entry in entries:
            (named if identify(entry) in wanted else others).append(entry)
        return named, others
    finder = EntryFinder(order, merge_key)
    for entry in entries:
        value = read_merge_key(require_map(entry), merge_key)
        (named if finder.find(value) >= 0 else others).append(entry)
    return named, others


class EntryFinder:
    """Index of maps by merge key in a list that may grow; reaching an entry that is not a map raises an error."""

    __slots__ = ("_broken", "_merge_key", "_positions", "_size")

    def __init__(self, entries: Iterable[JSONValue], merge_key: str) -> None:
        self._merge_key = merge_key
        self._positions: dict[Hashable, int] = {}
        self._broken = -1
        self._size = 0
        for entry in entries:
            self.add(entry)

    def add(self, entry: JSONValue) -> None:
        """Register an entry that was appended."""
        if not isinstance(entry, dict):
            self._broken = self._size if self._broken < 0 else self._broken
        elif self._merge_key in entry:
            self._positions.setdefault(identify(entry[self._merge_key]), self._size)
        self._size += 1

    def find(self, value: JSONValue) -> int:
        """Return the first position whose merge key is `value`, -1 if there is none."""
        position = self._positions.get(identify(value), -1)
        if self._broken >= 0 and not 0 <= position < self._broken:
            raise PatchError(f"value for key {self._broken} is not a map")
        return position
