"""Detect contradicting patches of one object, which `kubectl apply --overwrite=false` rejects.

One patch is what apply would send, the other what others changed since the last apply; they disagree where both give
one field different values. Rule: `kubectl apply --help` (overwrite). The comparison has a side effect: lists of values
that do not merge and that both patches contain are sent sorted.
"""

from __future__ import annotations

from typing import Any

from applyviz.engine.merge.differences import RETAIN_KEYS_DIRECTIVE, squeeze_duplicates
from applyviz.engine.merge.ordering import DIRECTIVE, read_merge_key, require_one_type
from applyviz.engine.merge.printed import print_value
from applyviz.engine.merge.shapes import MERGE, REPLACE, PatchShape
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, is_identical


class DisagreementError(Exception):
    """The two patches give one field different values."""


def reconcile(patch: JSONObject, others: JSONObject, shape: PatchShape) -> MutableObject:
    """Return the patch to send if it does not contradict the changes of others.

    - Raises `DisagreementError`.
    """
    reconciled: MutableObject = _reconcile(dict(patch), dict(others), shape, "", "")
    return reconciled


def _reconcile(left: JSONValue, right: JSONValue, shape: PatchShape, strategy: str, merge_key: str) -> Any:
    if isinstance(left, dict):
        if not isinstance(right, dict) or (DIRECTIVE in left) != (DIRECTIVE in right):
            raise DisagreementError
        return left if strategy == REPLACE else _reconcile_map(left, right, shape)
    if isinstance(left, list):
        if not isinstance(right, list):
            raise DisagreementError
        return _reconcile_list(left, right, shape, strategy, merge_key)
    if not is_identical(left, right):
        raise DisagreementError
    return left


def _reconcile_map(left: MutableObject, right: MutableObject, shape: PatchShape) -> MutableObject:
    reconciled = dict(left)
    for key, value in left.items():
        if key in (DIRECTIVE, RETAIN_KEYS_DIRECTIVE) or key not in right:
            continue
        below, strategy, merge_key = shape, "", ""
        if isinstance(value, dict | list):
            rule = shape.list_rule(key) if isinstance(value, list) else shape.map_rule(key)
            below, strategy, merge_key = rule.shape, rule.strategy, rule.merge_key
        reconciled[key] = _reconcile(value, right[key], below, strategy, merge_key)
    return reconciled


def _reconcile_list(left: list[Any], right: list[Any], shape: PatchShape, strategy: str, merge_key: str) -> list[Any]:
    is_maps = require_one_type(left, right) is dict
    if strategy == MERGE:
        return _reconcile_entries(left, right, shape, merge_key) if is_maps else left
    if len(left) != len(right):
        raise DisagreementError
    if is_maps:
        return [_reconcile(a, b, shape, "", "") for a, b in zip(left, right, strict=True)]
    mine, size = _sort_values(left)
    theirs, others = _sort_values(right)
    # The reference compares up to the length of the shorter list, and panics if that is the other one.
    if size > others or not all(map(is_identical, mine[:size], theirs[:size])):
        raise DisagreementError
    return mine


def _sort_values(values: list[Any]) -> tuple[list[Any], int]:
    """Sort the values and drop duplicates; the dropped ones stay behind. Also return how many remain."""
    memory, size = squeeze_duplicates(values)
    return sorted(memory[:size], key=print_value) + memory[size:], size


def _reconcile_entries(left: list[Any], right: list[Any], shape: PatchShape, merge_key: str) -> list[Any]:
    others = {_print_key(entry, merge_key): entry for entry in right}
    positions = {_print_key(entry, merge_key): position for position, entry in enumerate(left)}
    reconciled = list(left)
    for key, position in positions.items():
        if key in others:
            reconciled[position] = _reconcile(left[position], others[key], shape, "", "")
    return reconciled


def _print_key(entry: MutableObject, merge_key: str) -> tuple[str, str]:
    """Return the lookup key of an entry: Go's text of the merge key includes its type, so that 1 differs from 1.0."""
    value = read_merge_key(entry, merge_key)
    return type(value).__name__, print_value(value)
