"""Compare two values as Go compares those of built-in kinds, by which a server knows whether a field changes.

Rule: k8s.io/apimachinery `pkg/api/equality`: amounts of resources are equal if they are the same amount, whatever their
spelling: 1Gi is 1073741824. Nothing else is equal in another spelling. The schema of the kind says what is an amount: a
label may have the name of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from applyviz.engine.objects.quantities import read_amount
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONValue, is_same_json
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.topology import Topology, of_root


@cache
def find_topology(api_version: str, kind: str, *names: str) -> Topology | None:
    """Return the schema of a field of a built-in kind, None if there is none."""
    group, _slash, version = api_version.rpartition("/")
    found = bundled().find_kind(GroupVersionKind(group, version, kind))
    at: Topology | None = of_root(found.root) if found is not None else None
    for name in names:
        at = find_below(at, name)
    return at


def find_below(at: Topology | None, name: str) -> Topology | None:
    """Return the schema of a field of a map."""
    return at.child(name) if at is not None and at.is_map else None


def is_equal(left: JSONValue, right: JSONValue, at: Topology | None) -> bool:
    """Return whether a server sees no difference between two values of a built-in kind, at this path of its schema."""
    return is_same_json(left, right) or _is_equal(left, right, at)


def _is_equal(left: JSONValue, right: JSONValue, at: Topology | None) -> bool:
    # Only scalars are compared by `is_same_json` here: what it compares at each level grows with the depth.
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_is_equal(left[n], right[n], find_below(at, n)) for n in left)
    if isinstance(left, list) and isinstance(right, list):
        item = at.item if at is not None and at.is_list else None
        return len(left) == len(right) and all(_is_equal(*pair, item) for pair in zip(left, right, strict=True))
    amount = read_amount(left) if at is not None and at.is_quantity else None
    return is_same_json(left, right) if amount is None else amount == read_amount(right)
