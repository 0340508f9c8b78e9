"""JSON values as Kubernetes knows them: what they are, how they are copied, compared and written.

Integers are Python `int`, floats are `float`: strategic merge tells 1 from 1.0, server-side apply
does not, so each room picks the comparison it needs. A boolean is never a number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

# Recursive aliases defeat `Mapping` covariance in mypy; the engine narrows with isinstance instead.
JSONValue: TypeAlias = Any
JSONObject: TypeAlias = Mapping[str, Any]
MutableObject: TypeAlias = dict[str, Any]


def clone(value: JSONValue) -> JSONValue:
    """Copy a JSON value deeply; dicts and lists are new, scalars are shared."""
    if isinstance(value, dict):
        return {k: clone(v) if isinstance(v, (dict, list)) else v for k, v in value.items()}
    if isinstance(value, list):
        return [clone(v) if isinstance(v, (dict, list)) else v for v in value]
    return value


def canonical_json(value: JSONValue) -> str:
    """Write a value as compact JSON with sorted keys: equal values give equal text.

    - Raises `ValueError` for NaN and infinities, which JSON does not have.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def is_same_json(left: JSONValue, right: JSONValue) -> bool:
    """Compare as JSON values: 1 equals 1.0, booleans are not numbers, list order counts."""
    if left is right:
        return True
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, Mapping):
        return (
            isinstance(right, Mapping)
            and len(left) == len(right)
            and all(k in right and is_same_json(v, right[k]) for k, v in left.items())
        )
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(is_same_json(a, b) for a, b in zip(left, right, strict=True))
        )
    return type(right) not in (dict, list) and bool(left == right)


def get_at(value: JSONValue, keys: Sequence[str], default: JSONValue = None) -> JSONValue:
    """Walk nested mappings by key; `default` when a step is missing or is no mapping."""
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return default
        value = value[key]
    return value
