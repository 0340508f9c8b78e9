"""The difference of two objects as a strategic merge patch, for one of three purposes.

Three-way apply takes additions and changes from live → manifest and deletions from last applied →
manifest; `--overwrite=false` also looks at last applied → live. Rule:
https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/ (how apply calculates
differences). Values also differ by type: 1 is not 1.0. The result shares values with its inputs
and must not be changed in place.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from heapq import heappop, heappush
from typing import Any

from applyviz.engine.merge.ordering import (
    DIRECTIVE,
    identify,
    read_merge_key,
    require_map,
    require_one_type,
    sort_like,
)
from applyviz.engine.merge.printed import print_value
from applyviz.engine.merge.shapes import MERGE, REPLACE, PatchShape, Rule
from applyviz.engine.merge.sorting import sort_by_text
from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, is_identical

DELETE_FROM_LIST = "$deleteFromPrimitiveList"
RETAIN_KEYS_DIRECTIVE = "$retainKeys"
SET_ORDER = "$setElementOrder"

_is_texts = frozenset({str}).issuperset


class Purpose(Enum):
    """The parts of a difference to compute: (changes and additions, deletions, `$setElementOrder`)."""

    ADDITIONS = (True, False, True)
    DELETIONS = (False, True, True)
    EVERYTHING = (True, True, False)

    def __init__(self, has_changes: bool, has_deletions: bool, has_order: bool) -> None:
        self.has_changes = has_changes
        self.has_deletions = has_deletions
        self.has_order = has_order


def diff_maps(
    before: JSONObject, after: JSONObject, shape: PatchShape, purpose: Purpose, retains_keys: bool = False
) -> MutableObject:
    """Return the patch that turns `before` into `after`, limited to the parts that `purpose` selects."""
    patch: MutableObject = {}
    has_changes = purpose.has_changes
    for key, new in after.items():
        old = before.get(key, ABSENT)
        kind = type(new)
        if key == DIRECTIVE and old is not ABSENT:
            _diff_directive(old, new, patch)
        elif type(old) is not kind:
            if has_changes:
                patch[key] = new
        elif kind is dict:
            _diff_map(key, old, new, patch, shape, purpose)
        elif kind is list:
            _diff_list(key, old, new, patch, shape, purpose)
        elif has_changes and old != new:
            patch[key] = new
    if purpose.has_deletions:
        patch.update((key, None) for key in before if key not in after)
    if retains_keys:
        _add_retained_keys(before, after, patch)
    return patch


def _diff_directive(old: JSONValue, new: JSONValue, patch: MutableObject) -> None:
    if not isinstance(old, str) or not isinstance(new, str):
        raise PatchError(f"invalid value for special key: {DIRECTIVE}")
    if old != new:
        patch[DIRECTIVE] = new


def _add_retained_keys(before: JSONObject, after: JSONObject, patch: MutableObject) -> None:
    kept = sorted(key for key, value in after.items() if value is not None)
    if kept and (patch or any(v is not None and k not in after for k, v in before.items())):
        patch[RETAIN_KEYS_DIRECTIVE] = kept


def _diff_map(
    key: str,
    old: MutableObject,
    new: MutableObject,
    patch: MutableObject,
    shape: PatchShape,
    purpose: Purpose,
) -> None:
    try:
        rule = shape.map_rule(key)
    except PatchError:
        if is_identical(old, new):
            return
        raise
    if rule.strategy == REPLACE:
        if purpose.has_changes:
            patch[key] = new
        return
    below = diff_maps(old, new, rule.shape, purpose, rule.retains_keys)
    if below:
        patch[key] = below


def _diff_list(
    key: str, old: list[Any], new: list[Any], patch: MutableObject, shape: PatchShape, purpose: Purpose
) -> None:
    try:
        rule = shape.list_rule(key)
    except PatchError:
        if is_identical(old, new):
            return
        raise
    if rule.strategy != MERGE or not old:
        # An empty list adds nothing to an empty list that merges.
        if purpose.has_changes and (new or rule.strategy != MERGE) and not is_identical(old, new):
            patch[key] = new
        return
    _diff_merging_list(key, old, new, patch, rule, purpose)


def _diff_merging_list(
    key: str, old: list[Any], new: list[Any], patch: MutableObject, rule: Rule, purpose: Purpose
) -> None:
    entries: Sequence[JSONValue]
    order: Sequence[JSONValue]
    if require_one_type(old, new) is dict:
        entries, order = _diff_entries(old, new, rule, purpose)
    else:
        entries, deletions, order = _diff_primitives(old, new, purpose)
        if deletions:
            patch[f"{DELETE_FROM_LIST}/{key}"] = deletions
    if entries:
        patch[key] = entries
    if order:
        patch[f"{SET_ORDER}/{key}"] = order


def _sort_entries(entries: list[MutableObject], merge_key: str) -> tuple[list[MutableObject], list[str]]:
    texts = [print_value(e.get(merge_key)) for e in entries]
    return sort_by_text(entries, texts), sorted(texts)


def _diff_entries(
    old: list[MutableObject], new: list[MutableObject], rule: Rule, purpose: Purpose
) -> tuple[list[MutableObject], list[MutableObject]]:
    """Return the entries to merge, followed by those to delete, and the order to set."""
    merge_key = rule.merge_key
    keys = _find_shared_keys(old, new, merge_key)
    if keys is not None:
        changed = _diff_pairs(old, new, keys, rule, purpose)
        entries = sort_like(changed, new, merge_key) if len(changed) > 1 else changed
        return entries, [{merge_key: key} for key in keys] if purpose.has_order and entries else []
    changed, deleted = _pair_entries(old, new, rule, purpose)
    entries = [*sort_like(changed, new, merge_key), *deleted]
    # An entry without its merge key was refused above, in any order.
    has_same_order = len(old) == len(new) and all(
        is_identical(read_merge_key(a, merge_key), read_merge_key(b, merge_key)) for a, b in zip(old, new, strict=True)
    )
    needs_order = purpose.has_order and bool(entries or (purpose.has_changes and not has_same_order))
    return entries, [{merge_key: e[merge_key]} for e in new] if needs_order else []


def _find_shared_keys(old: list[MutableObject], new: list[MutableObject], merge_key: str) -> list[str] | None:
    """Return the merge keys if both lists have the same unique keys in the same order, as nearly all lists do."""
    keys: list[Any] = [entry.get(merge_key) for entry in new]
    if not _is_texts(map(type, keys)) or len(set(keys)) < len(keys):
        return None
    return keys if keys == [entry.get(merge_key) for entry in old] else None


def _diff_pairs(
    old: list[MutableObject], new: list[MutableObject], keys: list[str], rule: Rule, purpose: Purpose
) -> list[MutableObject]:
    """Return the differences of paired entries, in the order of their keys."""
    changed: list[MutableObject] = []
    for position in sorted(range(len(keys)), key=keys.__getitem__):
        before, after = old[position], new[position]
        if before == after and _is_texts(map(type, after.values())):
            continue  # equal texts are equal values, while 1 is not 1.0
        below = diff_maps(before, after, rule.shape, purpose, rule.retains_keys)
        if below:
            below[rule.merge_key] = keys[position]
            changed.append(below)
    return changed


def _pair_entries(
    old: list[MutableObject], new: list[MutableObject], rule: Rule, purpose: Purpose
) -> tuple[list[MutableObject], list[MutableObject]]:
    """Pair the entries of both lists by their printed merge key."""
    merge_key = rule.merge_key
    old_entries, old_texts = _sort_entries(old, merge_key)
    new_entries, new_texts = _sort_entries(new, merge_key)
    changed: list[MutableObject] = []
    deleted: list[MutableObject] = []
    i = j = 0
    while i < len(old_entries) or j < len(new_entries):
        old_key = read_merge_key(old_entries[i], merge_key) if i < len(old_entries) else None
        new_key = read_merge_key(new_entries[j], merge_key) if j < len(new_entries) else None
        if i < len(old_entries) and j < len(new_entries) and old_texts[i] == new_texts[j]:
            below = diff_maps(old_entries[i], new_entries[j], rule.shape, purpose, rule.retains_keys)
            if below:
                below[merge_key] = new_key
                changed.append(below)
            i += 1
            j += 1
        elif i >= len(old_entries) or (j < len(new_entries) and old_texts[i] > new_texts[j]):
            if purpose.has_changes:
                changed.append(require_map(new_entries[j]))
            j += 1
        else:
            if purpose.has_deletions:
                deleted.append({merge_key: old_key, DIRECTIVE: "delete"})
            i += 1
    return changed, deleted


def squeeze_duplicates(values: list[JSONValue]) -> tuple[list[JSONValue], int]:
    """Drop equal scalars in place as apply does: the last value fills the gap. Returns memory and size."""
    keys = [identify(v) for v in values]
    if len(set(keys)) == len(keys):
        return values, len(values)
    memory = list(values)
    positions: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        positions.setdefault(key, []).append(position)  # ascending, so each list is a heap
    size, i = len(values), 0
    while i < size - 1:
        heap = positions[keys[i]]
        while heap:
            j = heappop(heap)
            # An index is valid as long as it still holds the same value.
            if not i < j < size or keys[j] != keys[i]:
                continue
            size -= 1
            if j < size:
                memory[j], keys[j] = memory[size], keys[size]
                heappush(positions[keys[j]], j)
        i += 1
    return memory, size


def _diff_primitives(
    old: list[JSONValue], new: list[JSONValue], purpose: Purpose
) -> tuple[list[JSONValue], list[JSONValue], list[JSONValue]]:
    """Return the values to add, the values to delete, and the order to set; both sides are compared sorted."""
    old_sorted, new_sorted = sorted(old, key=print_value), sorted(new, key=print_value)
    added: list[JSONValue] = []
    deleted: list[JSONValue] = []
    i = j = 0
    while i < len(old_sorted) or j < len(new_sorted):
        left = print_value(old_sorted[i]) if i < len(old_sorted) else None
        right = print_value(new_sorted[j]) if j < len(new_sorted) else None
        if left == right:
            i += 1
            j += 1
        elif left is None or (right is not None and left > right):
            added.append(new_sorted[j])
            j += 1
        else:
            deleted.append(old_sorted[i])
            i += 1
    added = sort_like(added, new, None) if purpose.has_changes else []
    memory, size = squeeze_duplicates(deleted if purpose.has_deletions else [])
    deleted = memory[:size]
    # The manifest is compared with the *sorted* live list: an unsorted manifest always differs.
    needs_order = purpose.has_order and bool(deleted or (purpose.has_changes and not is_identical(old_sorted, new)))
    return added, deleted, new if needs_order else []
