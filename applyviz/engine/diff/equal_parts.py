"""Say which parts of two values are equal, when each part is asked about after the one that holds it.

Comparing whole parts at each level takes time that grows with the size and the depth. An answer about a map or a list
is kept, so that all questions together read each pair of parts once.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.values import JSONValue, is_same_json

_SHALLOW = 16
"""Comparing at so many levels costs less than keeping answers about each part."""


class EqualParts:
    """Compares parts of two values as `is_same_json` does."""

    def __init__(self) -> None:
        # With the values, so that their numbers stay their own.
        self._known: dict[tuple[int, int], tuple[JSONValue, JSONValue, bool]] = {}

    def is_same(self, left: JSONValue, right: JSONValue, depth: int) -> bool:
        """Return whether two parts are equal; `depth` is how many steps below the whole values they are."""
        return is_same_json(left, right) if depth < _SHALLOW else self._find(left, right)

    def _find(self, left: JSONValue, right: JSONValue) -> bool:
        if left is right:
            return True
        if not isinstance(left, (Mapping, list)) or not isinstance(right, (Mapping, list)):
            return is_same_json(left, right)
        key = id(left), id(right)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = left, right, self._compare(left, right)
        return known[2]

    def _compare(self, left: Mapping[str, JSONValue] | list[JSONValue], right: JSONValue) -> bool:
        if isinstance(left, Mapping):
            if not isinstance(right, Mapping) or left.keys() != right.keys():
                return False
            return all(map(self._find, left.values(), (right[name] for name in left)))
        return isinstance(right, list) and len(left) == len(right) and all(map(self._find, left, right))
