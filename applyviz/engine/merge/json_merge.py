"""Compute and apply JSON merge patches, which client-side apply uses for kinds without a Go type.

Rule: https://www.rfc-editor.org/rfc/rfc7386 and kubectl for custom resources: additions and changes are the difference
live → manifest without nulls, deletions are the nulls of the difference last applied → manifest. Lists are replaced
whole. apiVersion, kind and name must not change. Numbers pass through a 64-bit float, as they do in kubectl.
"""

from __future__ import annotations

from typing import Any

from applyviz.engine.merge.calculation import MergedPatch
from applyviz.engine.merge.printed import print_value
from applyviz.engine.objects.errors import MergeError, PatchError
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject

_EXACT = 1 << 53


def compute_json_merge(last_applied: JSONObject, manifest: JSONObject, live: JSONObject) -> MergedPatch:
    """Return the JSON merge patch that turns the live object into the manifest.

    - Raises `MergeError` when it would change apiVersion, kind or name.
    """
    additions = _only_values(_diff(live, manifest))
    deletions = _only_nulls(_diff(last_applied, manifest))
    # Both follow the manifest, so they cannot contradict each other.
    patch = _merge(deletions, additions)
    metadata = patch.get("metadata")
    if "apiVersion" in patch or "kind" in patch or (isinstance(metadata, dict) and "name" in metadata):
        raise MergeError(f"precondition failed for: {print_value(patch)}")
    return MergedPatch(patch, deletions, additions)


def apply_json_merge(live: JSONObject, patch: JSONValue) -> MutableObject:
    """Apply a JSON merge patch to the live object; maps that the patch changes are sorted in the result."""
    if not isinstance(patch, dict):
        raise PatchError("Invalid JSON Patch", 400)
    return _sort(_merge(live, patch))


def _sort(merged: MutableObject) -> MutableObject:
    return {name: merged[name] for name in sorted(merged)}


def _as_float(number: JSONValue) -> JSONValue:
    return int(float(number)) if type(number) is int and abs(number) > _EXACT else number


def _is_number(value: JSONValue) -> bool:
    return type(value) in (int, float)


def _is_equal(left: Any, right: Any) -> bool:
    if _is_number(left) and _is_number(right):
        return float(left) == float(right)
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return len(left) == len(right) and all(k in right and _is_equal(v, right[k]) for k, v in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    return bool(left == right)


def _rounded(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return _as_float(value)


def _diff(before: JSONObject, after: JSONObject) -> MutableObject:
    """Return a merge patch from one object to the other; deleted fields are null."""
    patch: MutableObject = {}
    for key, new in after.items():
        old = before.get(key, ABSENT)
        if isinstance(old, dict) and isinstance(new, dict):
            below = _diff(old, new)
            if below:
                patch[key] = below
        elif old is ABSENT or not _is_equal(old, new):
            patch[key] = _rounded(new)
    for key in before:
        if key not in after:
            patch[key] = None
    return patch


def _only_values(patch: JSONObject) -> MutableObject:
    """Return the patch without nulls; maps that are empty from the start stay."""
    kept: MutableObject = {}
    for key, value in patch.items():
        if isinstance(value, dict) and value:
            value = _only_values(value) or None
        if value is not None:
            kept[key] = value
    return kept


def _only_nulls(patch: JSONObject) -> MutableObject:
    kept: MutableObject = {}
    for key, value in patch.items():
        if value is None:
            kept[key] = None
        elif isinstance(value, dict) and (below := _only_nulls(value)):
            kept[key] = below
    return kept


def _merge(target: JSONObject, patch: JSONObject) -> MutableObject:
    result = dict(target)
    for key, value in patch.items():
        live = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(live, dict) and isinstance(value, dict):
            result[key] = _sort(_merge(live, value))
        elif isinstance(live, dict):
            # The reference prunes nulls inside lists only where no map stood before.
            result[key] = value
        else:
            result[key] = _without_nulls(value)
    return result


def _without_nulls(value: JSONValue) -> JSONValue:
    """Return the value without null map fields, also inside lists, with its maps sorted; null list entries stay."""
    if isinstance(value, dict):
        return {k: _without_nulls(value[k]) for k in sorted(value) if value[k] is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value
