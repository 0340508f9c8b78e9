"""Whether two patches of one object disagree: what `kubectl apply --overwrite=false` refuses.

One patch is what apply would send, the other what others changed since the last apply; they disagree
where both give one field different values. Rule: `kubectl apply --help` (overwrite).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from applyviz.engine.merge.differences import RETAIN_KEYS_DIRECTIVE, is_identical
from applyviz.engine.merge.ordering import DIRECTIVE, require_one_type
from applyviz.engine.merge.printed import print_value
from applyviz.engine.merge.shapes import MERGE, REPLACE, PatchShape
from applyviz.engine.objects.errors import PatchError
from applyviz.engine.objects.values import JSONObject, JSONValue


def has_disagreement(left: JSONObject, right: JSONObject, shape: PatchShape) -> bool:
    """Whether two strategic merge patches of one kind give a field different values."""
    return _disagrees(dict(left), dict(right), shape, "", "")


def _disagrees(left: JSONValue, right: JSONValue, shape: PatchShape | None, strategy: str, merge_key: str) -> bool:
    if isinstance(left, dict):
        if not isinstance(right, dict) or (DIRECTIVE in left) != (DIRECTIVE in right):
            return True
        if not is_identical(left.get(DIRECTIVE), right.get(DIRECTIVE)):
            return True
        return strategy != REPLACE and _maps_disagree(left, right, shape)
    if isinstance(left, list):
        return not isinstance(right, list) or _lists_disagree(left, right, shape, strategy, merge_key)
    return not is_identical(left, right)


def _maps_disagree(left: Mapping[str, Any], right: Mapping[str, Any], shape: PatchShape | None) -> bool:
    for key, value in left.items():
        if key in (DIRECTIVE, RETAIN_KEYS_DIRECTIVE) or key not in right:
            continue
        below, strategy, merge_key = shape, "", ""
        if isinstance(value, (dict, list)):
            if shape is None:
                raise PatchError(f'unable to find api field "{key}"')
            rule = shape.list_rule(key) if isinstance(value, list) else shape.map_rule(key)
            below, strategy, merge_key = rule.shape, rule.strategy, rule.merge_key
        if _disagrees(value, right[key], below, strategy, merge_key):
            return True
    return False


def _lists_disagree(left: list[Any], right: list[Any], shape: PatchShape | None, strategy: str, merge_key: str) -> bool:
    is_maps = require_one_type(left, right) is dict
    if strategy == MERGE:
        if not is_maps:
            return False
        others = _by_merge_key(right, merge_key)
        return any(
            key in others and _disagrees(entry, others[key], shape, "", "")
            for key, entry in _by_merge_key(left, merge_key).items()
        )
    if len(left) != len(right):
        return True
    if not is_maps:
        left, right = (sorted({(type(v), v): v for v in side}.values(), key=print_value) for side in (left, right))
        # The reference compares as far as the left side goes, after dropping duplicates from both.
        if len(left) > len(right):
            return True
    return any(_disagrees(a, b, shape, "", "") for a, b in zip(left, right, strict=False))


def _by_merge_key(entries: list[Any], merge_key: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in entries:
        if merge_key not in entry:
            raise PatchError(f"cannot find merge key `{merge_key}` in merging list element:{print_value(entry)}")
        found[print_value(entry[merge_key])] = entry
    return found
