"""Collect what requires reading every change of a plan: groups of similar changes, risks, field managers.

Two updates are the same if their fields change from the same values to the same values, and similar if the same fields
change (list entries count as one). Changes are added one by one, masked, so that a plan of thousands is read while it
is made. Left out on purpose: sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.risks.model import LEVELS, RiskKind, RiskLevel

ALIKE_FROM = 3
_LONGEST = 200
_MOVING = frozenset({FieldOperation.SET, FieldOperation.CHANGED, FieldOperation.CLEARED})


class FieldDelta(NamedTuple):
    """One field that changes; values are canonical JSON, "" if the field is absent."""

    path: FieldPath
    operation: FieldOperation
    before: str
    after: str


class Alike(Struct, frozen=True):
    """Updates that can be reviewed together.

    - `members` and `exceptions` are indices in the plan; an exception changes the same fields to other values, or
      further fields.
    - `path` is the first field that changes and `more` counts the others; `before` and `after` hold its value if all
      members share it and it is short, else nothing (`is_short`).
    """

    path: FieldPath
    operation: FieldOperation
    members: tuple[int, ...]
    exceptions: tuple[int, ...] = ()
    more: int = 0
    is_same: bool = True
    is_short: bool = False
    before: tuple[JSONValue, ...] = ()
    after: tuple[JSONValue, ...] = ()


class OverviewRow(Struct, frozen=True):
    """One kind of risk and the objects that have it."""

    kind: RiskKind
    level: RiskLevel
    members: tuple[int, ...]


class Held(Struct, frozen=True):
    """One field manager, and the objects of which it owns a field, before or after."""

    manager: str
    members: tuple[int, ...]


class Overview(Struct, frozen=True):
    """The contents of a plan as a whole; risks come in order of level, field managers by name."""

    alike: tuple[Alike, ...] = ()
    risks: tuple[OverviewRow, ...] = ()
    managers: tuple[Held, ...] = ()


def _write(value: JSONValue) -> str:
    return "" if value is ABSENT else canonical_json(value)


def list_moves(change: PlannedObject) -> Iterator[tuple[FieldReason, FieldDelta]]:
    """Yield the fields that an update changes, without bookkeeping."""
    versions = change.versions
    for reason in change.fields:
        if reason.operation in _MOVING and reason.reason is not Reason.BOOKKEEPING:
            before, after = (_write(finder.find(reason.path)) for finder in (versions.in_live, versions.in_after))
            yield reason, FieldDelta(reason.path, reason.operation, before, after)


_Shape = frozenset[tuple[FieldPath, FieldOperation]]


def _name_shape(moves: Iterable[FieldDelta]) -> _Shape:
    return frozenset((tuple(e if e[0] == "f" else e[:2] for e in m.path), m.operation) for m in moves)


def _touch(moves: Iterable[FieldDelta]) -> _Shape:
    return frozenset((m.path, m.operation) for m in moves)


class _Update(Struct, frozen=True):
    number: int
    first: tuple[JSONValue, JSONValue]
    moves: tuple[FieldDelta, ...]


class Overviewer:
    """Reads changes one by one and summarizes them at the end."""

    def __init__(self) -> None:
        self._count = 0
        self._updates: list[_Update] = []
        self._risks: dict[tuple[RiskKind, RiskLevel], set[int]] = {}
        self._managers: dict[str, list[int]] = {}

    def add(self, change: PlannedObject) -> None:
        """Add the next change; it must be masked."""
        number, self._count = self._count, self._count + 1
        for named in dict.fromkeys((h.kind, h.level) for h in change.risks):
            self._risks.setdefault(named, set()).add(number)
        owners = {o.manager for r in change.fields for o in (*r.owners_before, *r.owners_after)}
        for manager in owners:
            self._managers.setdefault(manager, []).append(number)
        moves = tuple(move for _reason, move in list_moves(change)) if change.operation is Operation.UPDATE else ()
        if moves:
            versions, path = change.versions, moves[0].path
            first = versions.in_live.find(path), versions.in_after.find(path)
            self._updates.append(_Update(number, first, moves))

    def replace_risks(self, number: int, change: PlannedObject) -> None:
        """Replace the risks of the change with this number by its current ones."""
        for members in self._risks.values():
            members.discard(number)
        for named in dict.fromkeys((h.kind, h.level) for h in change.risks):
            self._risks.setdefault(named, set()).add(number)

    def find(self, positions: Sequence[int] | None = None) -> Overview:
        """Return the overview; `positions` are the final indices of the changes, in the order of reading."""
        moved = positions if positions is not None else range(self._count)

        def place_members(numbers: Iterable[int]) -> tuple[int, ...]:
            return tuple(sorted(moved[n] for n in numbers))

        risks = [
            OverviewRow(kind, level, place_members(found)) for (kind, level), found in self._risks.items() if found
        ]
        return Overview(
            alike=tuple(
                replace(a, members=place_members(a.members), exceptions=place_members(a.exceptions))
                for a in _find_alike(self._updates)
            ),
            risks=tuple(sorted(risks, key=lambda f: (LEVELS.index(f.level), f.members[0]))),
            managers=tuple(Held(name, place_members(self._managers[name])) for name in sorted(self._managers)),
        )


def _find_alike(updates: list[_Update]) -> Iterator[Alike]:
    by_number = {u.number: u for u in updates}
    moves = {u.number: frozenset(u.moves) for u in updates}
    same = _group(moves)
    taken = {number for group in same for number in group}
    shapes = {u.number: _name_shape(u.moves) for u in updates if u.number not in taken}
    touched = {number: _touch(by_number[number].moves) for number in shapes}
    for group in same:
        wanted, shape = moves[group[0]], _touch(by_number[group[0]].moves)
        exceptions = tuple(n for n in shapes if wanted < moves[n] or touched[n] == shape)
        yield _describe(by_number[group[0]], group, exceptions, is_same=True)
    for group in _group(shapes):
        wider = tuple(n for n, shape in shapes.items() if shapes[group[0]] < shape)
        yield _describe(by_number[group[0]], group, wider, is_same=False)


def _group(named: Mapping[int, frozenset[object]]) -> list[list[int]]:
    """Return the indices that share a name, the largest groups first; small groups are dropped."""
    found: dict[frozenset[object], list[int]] = {}
    for number, name in named.items():
        found.setdefault(name, []).append(number)
    return sorted((g for g in found.values() if len(g) >= ALIKE_FROM), key=lambda g: (-len(g), g[0]))


def _describe(update: _Update, group: list[int], exceptions: tuple[int, ...], *, is_same: bool) -> Alike:
    move, more = update.moves[0], len(update.moves) - 1
    found = Alike(move.path, move.operation, tuple(group), exceptions, more, is_same)
    if not is_same or max(len(move.before), len(move.after)) > _LONGEST:
        return found
    before, after = ((v,) if v is not ABSENT else () for v in update.first)
    return replace(found, is_short=True, before=before, after=after)
