"""The object list of a plan: in groups by what a reader needs, attention first, unchanged folded away.

Rows of the database in, without their documents. Left out on purpose: what happens to each field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct, field

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import RiskLevel
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import LEVEL_STYLES, OBJECT_STYLES, Appearance
from applyviz.web.components.server_text import fold
from applyviz.workflow.approvals.viewed_objects import must_be_viewed

CELLS, FEW_CELLS = 60, 18
LISTED, FOLDED = 150, 9
KINDS = 8
SHORT_KINDS: Mapping[str, str] = {
    "CustomResourceDefinition": "CRD",
    "HorizontalPodAutoscaler": "HPA",
    "PersistentVolumeClaim": "PVC",
    "PodDisruptionBudget": "PDB",
}


class ObjectItem(Struct, frozen=True):
    """One object in the list."""

    position: int
    name: str
    kind: str
    namespace: str
    style: Appearance
    note: str
    url: str
    is_current: bool
    is_viewed: bool = False
    where: str = ""
    level: Appearance | None = None
    conflicts: int = 0

    @property
    def short_kind(self) -> str:
        """The kind as people abbreviate it."""
        return SHORT_KINDS.get(self.kind, self.kind)


class ObjectGroup(Struct, frozen=True):
    """Objects that are read together; a long one is printed in pages.

    - `key` names it within its list; `after` is where its next page begins, 0 when there is none.
    - `level`: the highest risk of its objects; a folded group shows it instead of their own.
    - `to_mark` of its objects can be marked as viewed together.
    """

    title: str | Promise
    items: tuple[ObjectItem, ...]
    note: str = ""
    is_folded: bool = False
    is_exact: bool = False
    key: str = ""
    total: int = 0
    after: int = 0
    level: Appearance | None = None
    to_mark: int = 0

    @property
    def more(self) -> int:
        """The number of objects on later pages."""
        return self.total - self.after if self.after else 0


class Cell(Struct, frozen=True):
    """One object in the picture of the plan."""

    name: str
    style: Appearance
    url: str
    has_risk: bool


class KindRow(Struct, frozen=True):
    """One kind in the picture of the plan."""

    kind: str
    cells: tuple[Cell, ...]
    more: int
    total: int


class Branch(Struct, frozen=True):
    """One namespace of the tree, with a group per kind."""

    title: str | Promise
    groups: tuple[ObjectGroup, ...]

    @property
    def total(self) -> int:
        """The number of its objects."""
        return sum(group.total for group in self.groups)

    @property
    def is_folded(self) -> bool:
        """Whether the plan changes no object of the group."""
        return all(group.is_folded for group in self.groups)


class SameChange(Struct, frozen=True):
    """Objects that change alike, what that change is, and who changes the same fields in another way.

    - `is_same`: to the very same values; else the same fields, each to a value of its own.
    """

    text: str
    positions: frozenset[int] = field(default_factory=frozenset)
    exceptions: tuple[int, ...] = ()
    is_same: bool = True


class ItemDisplay(Struct, frozen=True):
    """How items of a list are drawn: where they lead, which is open, which were seen, which page of which group."""

    url_of: Callable[[int], str]
    current: int | None = None
    viewed: frozenset[int] = frozenset()
    group: str = ""
    start: int = 0
    has_places: bool = False
    is_narrowed: bool = False
    can_mark: bool = False

    def count_to_mark(self, taken: Iterable[ObjectChange]) -> int:
        """The number of objects that can be marked as viewed together: each high risk must be on the screen."""
        if not self.can_mark:
            return 0
        open_ones = (c for c in taken if c.operation != Operation.UNCHANGED and c.position not in self.viewed)
        return sum(not must_be_viewed(change) for change in open_ones)

    def draw(self, change: ObjectChange) -> ObjectItem:
        """One item."""
        return present_item(
            change,
            url=self.url_of(change.position),
            is_current=change.position == self.current,
            is_viewed=change.position in self.viewed,
            has_place=self.has_places,
        )

    def cut(
        self, key: str, taken: Sequence[ObjectChange], *, is_folded: bool = False
    ) -> tuple[tuple[ObjectItem, ...], int]:
        """The page of a group that is asked for, the open object in any case, and where the next page begins.

        - Of what is folded away the first page is short: most people never open it.
        """
        start = self.start if key == self.group else 0
        end = start + (FOLDED if is_folded and not start and not self.is_narrowed else LISTED)
        kept = [c for n, c in enumerate(taken) if start <= n < end or (c.position == self.current and not start)]
        return tuple(self.draw(c) for c in kept), end if end < len(taken) else 0


_ORDER: tuple[tuple[Operation, str | Promise], ...] = (
    (Operation.CREATE, gettext_lazy("Created")),
    (Operation.UPDATE, gettext_lazy("Updated")),
    (Operation.PRUNE, gettext_lazy("Removed")),
    (Operation.DELETE, gettext_lazy("Deleted")),
    (Operation.LEFT_OUT, gettext_lazy("Left out")),
    (Operation.WITHHELD, gettext_lazy("Not shown")),
    (Operation.NOT_FOUND, gettext_lazy("Not found")),
    (Operation.UNCHANGED, gettext_lazy("Unchanged")),
)


_LOUDNESS: Mapping[str, int] = {
    Operation.ERROR: 0,
    Operation.BLOCKED: 1,
    Operation.REPLACE: 2,
    Operation.PRUNE: 3,
    Operation.DELETE: 3,
    Operation.UPDATE: 4,
    Operation.CREATE: 5,
    Operation.LEFT_OUT: 6,
    Operation.WITHHELD: 7,
    Operation.NOT_FOUND: 8,
    Operation.UNCHANGED: 8,
}


def needs_attention(change: ObjectChange) -> bool:
    """Whether the object belongs to the group “Needs attention”."""
    return (
        change.operation in (Operation.BLOCKED, Operation.ERROR, Operation.REPLACE)
        or change.conflicts > 0
        or change.highest_risk == RiskLevel.HIGH
    )


def _note(change: ObjectChange) -> str:
    notes = []
    if change.conflicts:
        notes.append(
            ngettext("%(count)d conflict", "%(count)d conflicts", change.conflicts) % {"count": change.conflicts}
        )
    if change.risks and change.highest_risk != RiskLevel.INFO and change.operation != Operation.ERROR:
        notes.append(ngettext("%(count)d risk", "%(count)d risks", change.risks) % {"count": change.risks})
    if change.operation == Operation.ERROR:
        notes.append(fold(change.error).sentence)
    return " · ".join(notes)


def present_item(
    change: ObjectChange, *, url: str, is_current: bool, is_viewed: bool = False, has_place: bool = False
) -> ObjectItem:
    """One row of the list; `has_place` names its namespace, where a plan has several."""
    return ObjectItem(
        position=change.position,
        name=change.name,
        kind=change.kind,
        namespace=change.namespace,
        style=OBJECT_STYLES[Operation(change.operation)],
        note=_note(change),
        url=url,
        is_current=is_current,
        is_viewed=is_viewed,
        where=change.namespace if has_place else "",
        level=_find_level(change),
        conflicts=change.conflicts,
    )


def _find_level(change: ObjectChange) -> Appearance | None:
    """How the highest risk of an object looks; a conflict carries a medium one."""
    if change.highest_risk in (RiskLevel.HIGH, RiskLevel.MEDIUM):
        return LEVEL_STYLES[RiskLevel(change.highest_risk)]
    return LEVEL_STYLES[RiskLevel.MEDIUM] if change.conflicts else None


def _find_highest(changes: Sequence[ObjectChange]) -> Appearance | None:
    """Return the mark of the highest risk of several objects."""
    found = [level for level in map(_find_level, changes) if level is not None]
    high = LEVEL_STYLES[RiskLevel.HIGH]
    return high if high in found else next(iter(found), None)


def _is_calm(changes: Sequence[ObjectChange], current: int | None) -> bool:
    return all(c.operation == Operation.UNCHANGED and c.position != current for c in changes)


def _draw_group(
    drawing: ItemDisplay,
    key: str,
    title: str | Promise,
    taken: Sequence[ObjectChange],
    alike: SameChange | None = None,
) -> ObjectGroup:
    is_folded = _is_calm(taken, drawing.current)
    items, after = drawing.cut(key, taken, is_folded=is_folded or alike is not None)
    return ObjectGroup(
        title,
        items,
        note=alike.text if alike is not None else "",
        is_folded=is_folded,
        is_exact=alike is not None and alike.is_same,
        key=key,
        total=len(taken),
        after=after,
        level=_find_highest(taken),
        to_mark=drawing.count_to_mark(taken),
    )


class Arranged(Struct, frozen=True):
    """Objects that are read together, in the order of reading; `alike` is the change that they share."""

    key: str
    title: str | Promise
    changes: tuple[ObjectChange, ...]
    alike: SameChange | None = None


def _rank_risk(change: ObjectChange) -> int:
    """The order of objects by their highest risk."""
    return {RiskLevel.HIGH.value: 0, RiskLevel.MEDIUM.value: 1}.get(change.highest_risk, 2)


def arrange(changes: Iterable[ObjectChange], same: Iterable[SameChange] = ()) -> tuple[Arranged, ...]:
    """All groups that are not empty, in the order of reading; each object belongs to one, those at risk first."""
    alike = list(same)
    group_of = {position: n for n, one in reversed(list(enumerate(alike))) for position in one.positions}
    loud: list[ObjectChange] = []
    taken: dict[int | str, list[ObjectChange]] = {}
    for change in sorted(changes, key=lambda c: (_rank_risk(c), c.position)):
        group = group_of.get(change.position, change.operation)
        (loud if needs_attention(change) else taken.setdefault(group, [])).append(change)
    loud.sort(key=lambda c: (_LOUDNESS[c.operation], _rank_risk(c), c.position))
    groups = [Arranged("attention", _("Needs attention"), tuple(loud))]
    for n, one in enumerate(alike):
        title = _("Identical changes") if one.is_same else _("Same fields, different values")
        groups.append(Arranged(f"alike-{n}", title, tuple(taken.get(n, ())), one))
    for operation, word in _ORDER:
        groups.append(Arranged(operation.value, word, tuple(taken.get(operation.value, ()))))
    return tuple(group for group in groups if group.changes)


def draw_groups(arranged: Iterable[Arranged], drawing: ItemDisplay) -> tuple[ObjectGroup, ...]:
    """The groups as a list draws them, a page of each."""
    groups = (_draw_group(drawing, one.key, one.title, one.changes, one.alike) for one in arranged)
    return tuple(g for g in groups if g.items)


def name_leaf(change: ObjectChange) -> str:
    """The key of the group of an object in the tree: its namespace and kind."""
    return f"{change.namespace}/{change.kind}"


def grow_tree(changes: Iterable[ObjectChange], drawing: ItemDisplay) -> tuple[Branch, ...]:
    """The same objects by namespace and kind, in the order of their names; what has no namespace comes first."""
    found: dict[str, dict[str, list[ObjectChange]]] = {}
    for change in sorted(changes, key=lambda c: (c.namespace, c.kind, c.name, c.position)):
        found.setdefault(change.namespace, {}).setdefault(change.kind, []).append(change)
    branches = (
        Branch(
            namespace or _("Cluster-scoped"),
            tuple(
                g
                for kind, taken in kinds.items()
                if (g := _draw_group(drawing, name_leaf(taken[0]), kind, taken)).items
            ),
        )
        for namespace, kinds in found.items()
    )
    return tuple(branch for branch in branches if branch.groups)


def draw_picture(changes: Iterable[ObjectChange], *, url_of: Callable[[int], str]) -> tuple[KindRow, ...]:
    """One row per kind, the kinds with most that happens first."""
    kinds: dict[str, list[ObjectChange]] = {}
    for change in changes:
        kinds.setdefault(change.kind, []).append(change)
    ordered = sorted(kinds.items(), key=lambda pair: (-_count_effects(pair[1]), -len(pair[1]), pair[0]))
    calm = [(kind, found) for kind, found in ordered if not _count_effects(found)]
    most = CELLS if len(ordered) <= KINDS else FEW_CELLS
    if len(ordered) <= KINDS or len(calm) < 2:
        return tuple(_draw_kind(kind, found, url_of, most) for kind, found in ordered)
    rows = [_draw_kind(kind, found, url_of, most) for kind, found in ordered[: -len(calm)]]
    total = sum(len(found) for _kind, found in calm)
    return (*rows, KindRow(_("unchanged: %(kinds)s") % {"kinds": ", ".join(k for k, _found in calm)}, (), 0, total))


def _count_effects(changes: Iterable[ObjectChange]) -> int:
    return sum(c.operation != Operation.UNCHANGED for c in changes)


def _has_high_risk(change: ObjectChange) -> bool:
    """Whether an object has a high risk; one with an error is not assessed."""
    return change.highest_risk == RiskLevel.HIGH and change.operation != Operation.ERROR


def _draw_kind(kind: str, changes: list[ObjectChange], url_of: Callable[[int], str], most: int) -> KindRow:
    loudest = sorted(changes, key=lambda c: (_LOUDNESS[c.operation], c.position))
    cells = tuple(
        Cell(c.name, OBJECT_STYLES[Operation(c.operation)], url_of(c.position), _has_high_risk(c))
        for c in loudest[:most]
    )
    return KindRow(kind, cells, more=len(changes) - len(cells), total=len(changes))
