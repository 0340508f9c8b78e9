"""JSON values as Kubernetes knows them: what they are, how they are copied, compared and written.

Integers are Python `int`, floats are `float`: strategic merge distinguishes 1 and 1.0, server-side apply
does not, so each room picks the comparison it needs. A boolean is never a number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

# Where a value crosses the border of a room, it is one of these; `accessors` narrows it. At run time it is Any, because
# decoders read annotations and a recursive alias would make them walk every document twice.
if TYPE_CHECKING:
    JSONValue: TypeAlias = "str | int | float | bool | Sequence[JSONValue] | Mapping[str, JSONValue] | None"
else:
    JSONValue = Any
# A JSON map, such as a Kubernetes object: the schema of its kind types its values, not Python.
JSONObject: TypeAlias = Mapping[str, Any]
MutableObject: TypeAlias = dict[str, Any]


def clone(value: JSONValue) -> Any:
    """Copy a JSON value deeply; dicts and lists are new, scalars are shared."""
    if isinstance(value, dict):
        return {k: clone(v) if isinstance(v, (dict, list)) else v for k, v in value.items()}
    if isinstance(value, list):
        return [clone(v) if isinstance(v, (dict, list)) else v for v in value]
    return value


_write = msgspec.json.encode
# Hot in hashing: made once.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical_json(value: JSONValue) -> str:
    """Write a value as compact JSON with sorted keys: equal values give equal text.

    - Raises `ValueError` for NaN and infinities, which JSON does not have.
    """
    return _encode(value)


def is_same_json(left: JSONValue, right: JSONValue) -> bool:
    """Compare as JSON values: 1 equals 1.0, booleans are not numbers, list order counts."""
    if left is right:
        return True
    # Hot: exact types first, since `isinstance` with an abstract class costs ten times as much.
    kind, other = type(left), type(right)
    if kind is str or other is str:
        return kind is other and bool(left == right)
    if kind is other and (kind is dict or kind is list):
        if left != right:
            return False  # what differs as Python values differs as JSON too, and is found in one call
        if _is_same_text(left, right):
            return True
    return _is_same_below(left, right)


def _is_same_text(left: JSONValue, right: JSONValue) -> bool:
    """Return whether two equal Python values are written alike, which costs a fifth of walking through both.

    - 1 and true are equal Python values, but written differently; so are 1 and 1.0, which are the same JSON value.
    """
    try:
        return _write(left) == _write(right)
    except (TypeError, ValueError):
        return False  # a mapping of another type, or a character that no JSON has


def _is_same_below(left: Any, right: Any) -> bool:
    if left is right:
        return True
    kind, other = type(left), type(right)
    if kind is str or other is str:
        return kind is other and bool(left == right)
    if kind is dict or isinstance(left, Mapping):
        if not (other is dict or isinstance(right, Mapping)) or len(left) != len(right):
            return False
        return all(key in right and _is_same_below(value, right[key]) for key, value in left.items())
    if kind is list or other is list:
        return kind is other and len(left) == len(right) and all(map(_is_same_below, left, right))
    if kind is bool or other is bool:
        return kind is other and bool(left == right)
    return other is not dict and bool(left == right)


def is_identical(left: Any, right: Any) -> bool:
    """Return whether two values are deeply equal in value and type, as Go's reflect.DeepEqual has it."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return len(left) == len(right) and all(k in right and is_identical(v, right[k]) for k, v in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_identical, left, right))
    return bool(left == right)


def get_at(value: JSONValue, keys: Sequence[str], default: JSONValue = None) -> Any:
    """Walk nested mappings by key; return `default` if a step is missing or is not a mapping."""
    for key in keys:
        # Hot: `isinstance` with an abstract class costs ten times as much as the exact type.
        if (type(value) is not dict and not isinstance(value, Mapping)) or key not in value:
            return default
        value = value[key]
    return value
