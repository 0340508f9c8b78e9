"""Compare two values as Go compares those of built-in kinds, by which a server knows whether a field changes.

Rule: k8s.io/apimachinery `pkg/api/equality`: amounts of resources are equal if they are the same amount, whatever their
spelling: 1Gi is 1073741824. Nothing else is equal in another spelling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from applyviz.engine.objects.quantities import read_amount
from applyviz.engine.objects.values import JSONValue, is_same_json

# The fields of pod templates and claims that hold amounts: maps of resources, and single amounts.
_RESOURCES: Final = frozenset(("limits", "requests", "overhead"))
_AMOUNTS: Final = frozenset(("sizeLimit", "divisor"))


def is_equal(left: JSONValue, right: JSONValue) -> bool:
    """Return whether a server sees no difference between two values of a built-in kind."""
    return is_same_json(left, right) or _is_equal(left, right)


def _is_equal(left: JSONValue, right: JSONValue) -> bool:
    # Only scalars are compared by `is_same_json` here: what it compares at each level grows with the depth.
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_is_equal_at(name, left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    return is_same_json(left, right)


def _is_equal_at(name: str, left: JSONValue, right: JSONValue) -> bool:
    if name in _AMOUNTS:
        return _is_same_amount(left, right)
    if name in _RESOURCES and isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_is_same_amount(left[n], right[n]) for n in left)
    return _is_equal(left, right)


def _is_same_amount(left: JSONValue, right: JSONValue) -> bool:
    amount = read_amount(left)
    return _is_equal(left, right) if amount is None else amount == read_amount(right)
