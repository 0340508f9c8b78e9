"""The owners of many fields, found on the way down an object: each step is taken once.

Rule: an entry owns a field that is in its set, and all that is below a field that it owns as one. Sets of
entries are bits while the walk goes on, and become owners once for each combination.
"""

from __future__ import annotations

from collections.abc import Sequence

from applyviz.engine.objects.fieldsets import FieldSet
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import PathElement


class _Combinations(dict[int, tuple[Owner, ...]]):
    """Owners by the bits of their entries."""

    def __init__(self, owners: Sequence[Owner]) -> None:
        super().__init__({0: ()})
        self._owners = owners

    def __missing__(self, bits: int) -> tuple[Owner, ...]:
        found = self[bits] = tuple(o for n, o in enumerate(self._owners) if bits >> n & 1)
        return found


class OwnerCursor:
    """The owners of what is below one place."""

    __slots__ = ("_combinations", "_entries", "_whole")

    def __init__(
        self, entries: Sequence[tuple[int, FieldSet]], whole: int, combinations: dict[int, tuple[Owner, ...]]
    ) -> None:
        self._entries = entries
        self._whole = whole  # the bits of those who own this place, or one above it, as one
        self._combinations = combinations

    def of(self, element: PathElement) -> tuple[Owner, ...]:
        """The owners of one field below."""
        bits = self._whole
        for bit, fields in self._entries:
            if element in fields.members:
                bits |= bit
        return self._combinations[bits]

    def enter(self, element: PathElement) -> OwnerCursor:
        """The cursor one step down."""
        if not self._entries:
            return self
        bits, entries = self._whole, []
        for bit, fields in self._entries:
            below = fields.children.get(element)
            if below is not None:
                entries.append((bit, below))
            elif element in fields.members:
                bits |= bit
        return OwnerCursor(entries, bits, self._combinations)


def start(entries: Sequence[tuple[Owner, FieldSet]]) -> OwnerCursor:
    """The cursor at the root of an object."""
    numbered = [(1 << number, fields) for number, (_, fields) in enumerate(entries)]
    return OwnerCursor(numbered, 0, _Combinations([owner for owner, _ in entries]))
