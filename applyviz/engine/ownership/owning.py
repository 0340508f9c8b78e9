"""Find the owners of many fields before and after a change, on one walk down the object.

Rule: an entry owns the fields in its set and no others: the owner of a map owns that it exists, not the fields in it.
An atomic value is one field. During the walk, entries are bits; each combination of bits is converted to owners once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from applyviz.engine.objects.fieldsets import FieldSet
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import PathElement

Owners: TypeAlias = tuple[Owner, ...]
Entries: TypeAlias = Sequence[tuple[Owner, FieldSet]]


class _Combinations(dict[int, tuple[Owners, Owners]]):
    """Owners before and after, by the bits of their entries: bits of entries before come first."""

    def __init__(self, before: Sequence[Owner], after: Sequence[Owner]) -> None:
        super().__init__()
        self._before, self._after = before, after

    def __missing__(self, bits: int) -> tuple[Owners, Owners]:
        rest = bits >> len(self._before)
        found = self[bits] = (
            tuple(o for n, o in enumerate(self._before) if bits >> n & 1),
            tuple(o for n, o in enumerate(self._after) if rest >> n & 1),
        )
        return found


class OwnerCursor:
    """The owners of the fields below one path."""

    __slots__ = ("_combinations", "_entries")

    def __init__(self, entries: Sequence[tuple[int, FieldSet]], combinations: _Combinations) -> None:
        self._entries = entries
        self._combinations = combinations

    def of(self, element: PathElement) -> tuple[Owners, Owners]:
        """Return the owners of one field below, before and after."""
        bits = 0
        for bit, fields in self._entries:
            if element in fields.members:
                bits |= bit
        return self._combinations[bits]

    def enter(self, element: PathElement) -> OwnerCursor:
        """Return the cursor one step down."""
        if not self._entries:
            return self
        entries = []
        for bit, fields in self._entries:
            below = fields.children.get(element)
            if below is not None:
                entries.append((bit, below))
        return OwnerCursor(entries, self._combinations)


def start(before: Entries, after: Entries) -> OwnerCursor:
    """Return the cursor at the root of an object; a set that both sides share is walked once."""
    bits: dict[int, tuple[int, FieldSet]] = {}
    for number, (_, fields) in enumerate((*before, *after)):
        known, _ = bits.get(id(fields), (0, fields))
        bits[id(fields)] = known | 1 << number, fields
    combinations = _Combinations([owner for owner, _ in before], [owner for owner, _ in after])
    return OwnerCursor(list(bits.values()), combinations)
