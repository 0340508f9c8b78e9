"""Merges a strategic merge patch into an object, or into another patch.

The server merges a patch into the live object; kubectl merges the patch of additions into the patch of
deletions with the same rules, but keeps directives and nulls. Rule:
https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/ (directives
`$patch`, `$setElementOrder`, `$deleteFromPrimitiveList`, `$retainKeys`). Inputs are never changed; the
result shares values with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from applyviz.engine.merge.differences import (
    DELETE_FROM_LIST,
    RETAIN_KEYS_DIRECTIVE,
    SET_ORDER,
    squeeze_duplicates,
)
from applyviz.engine.merge.ordering import (
    DIRECTIVE,
    EntryFinder,
    identify,
    partition,
    read_merge_key,
    require_list,
    require_map,
    require_one_type,
    split_deletions,
    weave,
)
from applyviz.engine.merge.printed import print_text, print_value
from applyviz.engine.merge.shapes import MERGE, REPLACE, PatchShape
from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, is_identical

_BAD_ORDER = "invalid patch format of setElementOrder list"
_DROPPED: Any = object()


def merge_maps(target: JSONObject, patch: JSONObject, shape: PatchShape, *, is_object: bool) -> MutableObject:
    """Merge a patch into an object (`is_object`), or into another patch."""
    if DIRECTIVE in patch:
        return _follow_directive(patch)
    result = dict(target)
    patch = dict(patch)
    if RETAIN_KEYS_DIRECTIVE in patch:
        _retain_keys(result, patch, is_object)
    for key in [k for k in patch if k.startswith(SET_ORDER)]:
        _merge_ordered(key, result, patch, shape, is_object)
    for key, value in patch.items():
        if key.startswith(DELETE_FROM_LIST):
            _delete_from_list(key, value, result, shape, is_object)
        else:
            _merge_field(key, value, result, shape, is_object)
    return result


def _follow_directive(patch: JSONObject) -> MutableObject:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {k: v for k, v in patch.items() if k != DIRECTIVE}
    if directive == "delete":
        return {}
    raise PatchError(f"unknown patch type: {print_text(directive)} in map: {print_value(dict(patch))}")


def _retain_keys(result: MutableObject, patch: MutableObject, is_object: bool) -> None:
    wanted = patch.pop(RETAIN_KEYS_DIRECTIVE)
    if not is_object:
        # Both patches were made for the same manifest: when both name the keys, they name the same ones.
        result[RETAIN_KEYS_DIRECTIVE] = wanted
        return
    if not isinstance(wanted, list):
        raise PatchError("invalid patch format of retainKeys", 400)
    names = {identify(name) for name in wanted}
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETE_FROM_LIST, SET_ORDER)) and key not in names:
            raise PatchError("invalid patch format of retainKeys", 400)
    for key in [k for k in result if k not in names]:
        del result[key]


def _field_name(key: str, prefix: str, problem: str) -> str:
    found, slash, name = key.partition("/")
    if not slash or found != prefix:
        raise PatchError(problem, 400)
    return name


def _merge_ordered(key: str, result: MutableObject, patch: MutableObject, shape: PatchShape, is_object: bool) -> None:
    """Merge one list together with its `$setElementOrder`, and take both out of the patch."""
    order = patch.pop(key)
    if not is_object and not is_identical(result.setdefault(key, order), order):
        raise PatchError(_BAD_ORDER, 400)
    order = require_list(order)
    name = _field_name(key, SET_ORDER, _BAD_ORDER)
    live = require_list(result[name]) if name in result else None
    changes = require_list(patch[name]) if name in patch else None
    rule = shape.list_rule(name)
    _require_order(changes or [], order, rule.merge_key)
    if live is None and changes is None:
        return
    server_order = live or []
    if live is None:
        merged = _without_directives(changes)
    elif changes is None:
        merged = live
    elif rule.strategy == MERGE:
        merged, server_order = _merge_lists(live, changes, rule.shape, rule.merge_key, is_object)
    else:
        merged = changes
    named, others = partition(merged, order, rule.merge_key)
    is_maps = require_one_type(server_order, changes or []) is dict
    result[name] = weave(named, others, order, server_order, rule.merge_key if is_maps else None)
    patch.pop(name, None)


def _require_order(changes: list[JSONValue], order: list[JSONValue], merge_key: str) -> None:
    """Require that the entries of the patch follow the order in `$setElementOrder`."""
    if not changes or not order:
        return
    kept = split_deletions(changes)[0] if merge_key else changes
    i = j = 0
    while i < len(kept) and j < len(order):
        entry = kept[i]
        if isinstance(entry, dict) and DIRECTIVE in entry:
            i += 1
            continue
        i += _has_same_key(entry, order[j], merge_key)
        j += 1
    if i < len(kept) and j >= len(order):
        given, wanted = print_value(changes), print_value(order)
        raise PatchError(f"The order in patch list:\n{given}\n doesn't match {SET_ORDER} list:\n{wanted}\n")


def _has_same_key(left: JSONValue, right: JSONValue, merge_key: str) -> bool:
    if not merge_key:
        return identify(left) == identify(right)
    keys = [read_merge_key(require_map(entry), merge_key) for entry in (left, right)]
    return identify(keys[0]) == identify(keys[1])


def _delete_from_list(key: str, value: JSONValue, result: MutableObject, shape: PatchShape, is_object: bool) -> None:
    if not is_object:
        result[key] = value
        return
    name = _field_name(key, DELETE_FROM_LIST, "invalid patch format of primitive list")
    live = result.get(name, _DROPPED)
    if value is None:
        result.pop(name, None)
    elif not isinstance(value, list):
        # The reference checks only the types: a map under this directive merges like any other.
        if type(live) is type(value):
            _merge_field(name, value, result, shape, is_object)
    elif isinstance(live, list):
        rule = shape.list_rule(name)
        if not live and not value:
            return
        if require_one_type(live, value) is dict:
            result[name] = _merge_lists(live, value, rule.shape, rule.merge_key, is_object)[0]
        else:
            gone = {identify(v) for v in value}
            result[name] = [v for v in live if identify(v) not in gone]


def _merge_field(key: str, value: JSONValue, result: MutableObject, shape: PatchShape, is_object: bool) -> None:
    if value is None:
        if is_object:
            result.pop(key, None)
        else:
            result[key] = None
        return
    live = result.get(key, _DROPPED)
    if isinstance(value, dict) and isinstance(live, dict):
        rule = shape.map_rule(key)
        is_replaced = rule.strategy == REPLACE
        result[key] = value if is_replaced else merge_maps(live, value, rule.shape, is_object=is_object)
    elif isinstance(value, list) and isinstance(live, list):
        rule = shape.list_rule(key)
        if rule.strategy == MERGE:
            value = _merge_lists(live, value, rule.shape, rule.merge_key, is_object)[0]
        result[key] = value
    else:
        _take(key, value, result, is_object)


def _take(key: str, value: JSONValue, result: MutableObject, is_object: bool) -> None:
    """Return the value of the patch if there is nothing to merge it with."""
    taken = _without_directives(_without_nulls(value) if is_object else value)
    if taken is _DROPPED:
        result.pop(key, None)
    else:
        result[key] = taken


def _without_nulls(value: JSONValue) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value


def _without_directives(value: JSONValue) -> Any:
    """Return the value without the parts marked with `$patch`, or `_DROPPED` if the value itself is marked."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return _DROPPED
        return {k: kept for k, v in value.items() if (kept := _without_directives(v)) is not _DROPPED}
    if isinstance(value, list):
        return [kept for v in value if (kept := _without_directives(v)) is not _DROPPED]
    return value


def _merge_lists(
    live: list[Any], changes: list[Any], shape: PatchShape, merge_key: str, is_object: bool
) -> tuple[list[Any], list[Any]]:
    """Merge two lists; also return the live order as the caller sees it afterwards.

    The reference merges in the live list's own memory: after deletions the caller's view of it holds the
    entries that moved up, then those appended, then what was left behind. Its order counts.
    """
    if not live and not changes:
        return live, live
    if require_one_type(live, changes) is not dict:
        values, seen = _merge_values(live, changes)
        named, others = partition(values, changes, merge_key)
        return weave(named, others, changes, seen, None), seen
    if not merge_key:
        raise PatchError(f"cannot merge lists without merge key for {shape.name}")
    wanted, unwanted, is_replaced = _read_directives(changes, merge_key)
    kept, memory = _delete_entries(live, unwanted, merge_key)
    if is_replaced:
        return weave([], wanted, [], wanted, merge_key), memory
    merged = _merge_entries(kept, wanted, shape, merge_key, is_object)
    named, others = partition(merged, wanted, merge_key)
    return weave(named, others, wanted, kept, merge_key), [*merged, *memory[len(merged) :]][: len(live)]


def _merge_values(live: list[JSONValue], changes: list[JSONValue]) -> tuple[list[JSONValue], list[JSONValue]]:
    both = [*live, *changes]
    memory, size = squeeze_duplicates(both)
    # A Go list grows by doubling: with room to spare, duplicates are dropped in the live list's memory.
    capacity = 1 << max(len(live) - 1, 0).bit_length()
    return memory[:size], memory[: len(live)] if len(both) <= capacity else live


def _read_directives(
    changes: list[MutableObject], merge_key: str
) -> tuple[list[MutableObject], dict[Hashable, None], bool]:
    """Return the changes without directives, the merge keys to delete in order, and whether the list is replaced."""
    wanted: list[MutableObject] = []
    unwanted: dict[Hashable, None] = {}
    is_replaced = False
    for change in changes:
        if DIRECTIVE not in change:
            wanted.append(change)
            continue
        directive = change[DIRECTIVE]
        if directive == "delete":
            unwanted[identify(read_merge_key(change, merge_key))] = None
        elif directive == "replace":
            is_replaced = True
        elif directive == "merge":
            raise PatchError("merging lists cannot yet be specified in the patch")
        else:
            raise PatchError(f"unknown patch type: {print_text(directive)} in map: {print_value(change)}")
    return wanted, unwanted, is_replaced


def _delete_entries(
    live: list[MutableObject], unwanted: Iterable[Hashable], merge_key: str
) -> tuple[list[MutableObject], list[MutableObject]]:
    """Return the remaining entries, and the memory of the list: those, then the leftovers of each deletion."""
    keys = [identify(e[merge_key]) if merge_key in e else _DROPPED for e in live]
    counts = Counter(keys)
    gone: set[Hashable] = set()
    tail: list[MutableObject] = []
    last = len(live) - 1
    for key in unwanted:
        while last >= 0 and keys[last] in gone:
            last -= 1
        if key in counts:
            tail.extend([live[last]] * counts[key])
            gone.add(key)
    kept = [e for e, key in zip(live, keys, strict=True) if key not in gone]
    return kept, kept + tail[::-1]


def _merge_entries(
    kept: list[MutableObject], wanted: list[MutableObject], shape: PatchShape, merge_key: str, is_object: bool
) -> list[MutableObject]:
    merged = list(kept)
    if not wanted:
        return merged
    finder = EntryFinder(kept, merge_key)
    for change in wanted:
        position = finder.find(read_merge_key(change, merge_key))
        if position >= 0:
            merged[position] = merge_maps(merged[position], change, shape, is_object=is_object)
        else:
            merged.append(change)
            finder.add(change)
    return merged
