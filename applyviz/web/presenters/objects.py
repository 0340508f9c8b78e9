"""The object list of a plan: in groups by what a reader needs, attention first, unchanged folded away.

Rows of the database in, without their documents. Left out on purpose: what happens to each field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from applyviz.engine.hazards.model import Severity
from applyviz.engine.planning.plan import Operation
from applyviz.records.models import ObjectChange
from applyviz.web.presenters.operations import OBJECT_LOOKS, Look

CELLS = 60
LISTED = 150
KINDS = 8


@dataclass(frozen=True, slots=True)
class ObjectItem:
    """One object in the list."""

    position: int
    name: str
    kind: str
    namespace: str
    look: Look
    note: str
    url: str
    is_current: bool
    is_viewed: bool = False
    is_calm: bool = False


@dataclass(frozen=True, slots=True)
class ObjectGroup:
    """Objects that are read together."""

    title: str | Promise
    items: tuple[ObjectItem, ...]
    note: str = ""
    is_folded: bool = False
    is_same: bool = False
    more: int = 0

    @property
    def total(self) -> int:
        """How many it has, those that are not printed included."""
        return len(self.items) + self.more

    @property
    def lead(self) -> tuple[ObjectItem, ...]:
        """What is always shown: of objects that change alike, the first."""
        return self.items[:1] if self.is_same else self.items

    @property
    def others(self) -> tuple[ObjectItem, ...]:
        """What is folded away under the first."""
        return self.items[1:] if self.is_same else ()

    @property
    def has_current_other(self) -> bool:
        """Whether the chosen object is among those folded away."""
        return any(i.is_current for i in self.others)


@dataclass(frozen=True, slots=True)
class Cell:
    """One object in the picture of the plan."""

    name: str
    look: Look
    url: str
    has_hazard: bool


@dataclass(frozen=True, slots=True)
class KindRow:
    """One kind in the picture of the plan."""

    kind: str
    cells: tuple[Cell, ...]
    more: int
    total: int


@dataclass(frozen=True, slots=True)
class SameChange:
    """Objects that change in the very same way, and what that change is."""

    text: str
    positions: frozenset[int] = field(default_factory=frozenset)


_ORDER: tuple[tuple[Operation, str | Promise], ...] = (
    (Operation.CREATE, gettext_lazy("Created")),
    (Operation.UPDATE, gettext_lazy("Changed")),
    (Operation.PRUNE, gettext_lazy("Removed")),
    (Operation.UNCHANGED, gettext_lazy("Unchanged")),
)


_LOUDNESS: Mapping[str, int] = {
    Operation.ERROR: 0,
    Operation.REFUSED: 1,
    Operation.RECREATE: 2,
    Operation.PRUNE: 3,
    Operation.UPDATE: 4,
    Operation.CREATE: 5,
    Operation.UNCHANGED: 6,
}


def needs_attention(change: ObjectChange) -> bool:
    """Whether a reader must look at it before anything else."""
    return (
        change.operation in (Operation.REFUSED, Operation.ERROR, Operation.RECREATE)
        or change.conflicts > 0
        or change.worst_hazard == Severity.DANGER
    )


def _note(change: ObjectChange) -> str:
    notes = []
    if change.conflicts:
        notes.append(
            ngettext("%(count)d conflict", "%(count)d conflicts", change.conflicts) % {"count": change.conflicts}
        )
    if change.hazards and change.worst_hazard != Severity.INFO and change.operation != Operation.ERROR:
        notes.append(ngettext("%(count)d risk", "%(count)d risks", change.hazards) % {"count": change.hazards})
    if change.operation == Operation.ERROR:
        notes.append(change.error)
    return " · ".join(notes)


def present_item(change: ObjectChange, *, url: str, is_current: bool, is_viewed: bool = False) -> ObjectItem:
    """One row of the list."""
    return ObjectItem(
        position=change.position,
        name=change.name,
        kind=change.kind,
        namespace=change.namespace,
        look=OBJECT_LOOKS[Operation(change.operation)],
        note=_note(change),
        url=url,
        is_current=is_current,
        is_viewed=is_viewed,
        is_calm=change.operation == Operation.UNCHANGED,
    )


def _is_among(positions: frozenset[int], change: ObjectChange) -> bool:
    return change.position in positions


def _does(operation: Operation, change: ObjectChange) -> bool:
    return change.operation == operation


def group_objects(
    changes: Sequence[ObjectChange],
    *,
    url_of: Callable[[int], str],
    current: int | None,
    same: Iterable[SameChange] = (),
    viewed: frozenset[int] = frozenset(),
    is_whole: bool = False,
) -> tuple[ObjectGroup, ...]:
    """All groups that are not empty; a long one is cut unless `is_whole`, and keeps the current object."""
    rest = sorted(changes, key=lambda c: (_LOUDNESS[c.operation] if needs_attention(c) else 9, c.position))

    def take(wanted: Callable[[ObjectChange], object]) -> tuple[tuple[ObjectItem, ...], int]:
        taken = [c for c in rest if wanted(c)]
        rest[:] = [c for c in rest if not wanted(c)]
        kept = taken if is_whole else [c for n, c in enumerate(taken) if n < LISTED or c.position == current]
        items = (
            present_item(c, url=url_of(c.position), is_current=c.position == current, is_viewed=c.position in viewed)
            for c in kept
        )
        return tuple(items), len(taken) - len(kept)

    items, more = take(needs_attention)
    groups = [ObjectGroup(_("Needs attention"), items, more=more)]
    for one in same:
        items, more = take(partial(_is_among, one.positions))
        groups.append(ObjectGroup(_("Same change"), items, note=one.text, is_same=True, more=more))
    for operation, title in _ORDER:
        items, more = take(partial(_does, operation))
        is_calm = operation is Operation.UNCHANGED and not any(i.is_current for i in items)
        groups.append(ObjectGroup(title, items, is_folded=is_calm, more=more))
    return tuple(g for g in groups if g.items)


def draw_picture(changes: Iterable[ObjectChange], *, url_of: Callable[[int], str]) -> tuple[KindRow, ...]:
    """One row per kind, the kinds with most that happens first."""
    kinds: dict[str, list[ObjectChange]] = {}
    for change in changes:
        kinds.setdefault(change.kind, []).append(change)
    ordered = sorted(kinds.items(), key=lambda pair: (-_count_effects(pair[1]), -len(pair[1]), pair[0]))
    calm = [(kind, found) for kind, found in ordered if not _count_effects(found)]
    if len(ordered) <= KINDS or len(calm) < 2:
        return tuple(_draw_kind(kind, found, url_of) for kind, found in ordered)
    rows = [_draw_kind(kind, found, url_of) for kind, found in ordered[: -len(calm)]]
    total = sum(len(found) for _kind, found in calm)
    return (*rows, KindRow(_("unchanged: %(kinds)s") % {"kinds": ", ".join(k for k, _found in calm)}, (), 0, total))


def _count_effects(changes: Iterable[ObjectChange]) -> int:
    return sum(c.operation != Operation.UNCHANGED for c in changes)


def _draw_kind(kind: str, changes: list[ObjectChange], url_of: Callable[[int], str]) -> KindRow:
    loudest = sorted(changes, key=lambda c: (_LOUDNESS[c.operation], c.position))
    cells = tuple(
        Cell(c.name, OBJECT_LOOKS[Operation(c.operation)], url_of(c.position), c.worst_hazard == Severity.DANGER)
        for c in loudest[:CELLS]
    )
    return KindRow(kind, cells, more=len(changes) - len(cells), total=len(changes))
