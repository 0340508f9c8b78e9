"""The filtered object list: by text (of an object or a field), operation, kind, namespace, field manager, risk, state.

Only the server filters, so that the list is the same with and without script. It is shown in groups or as a tree; long
groups have pages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct, field

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import RiskKind, RiskLevel, find_kind
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import OBJECT_STYLES
from applyviz.web.components.phrases import title_kind
from applyviz.web.reviews.pages.object_groups import (
    Arranged,
    Branch,
    ItemDisplay,
    ObjectGroup,
    SameChange,
    arrange,
    draw_groups,
    grow_tree,
    name_leaf,
)
from applyviz.web.reviews.pages.search.row_words import describe_object
from applyviz.workflow.approvals.viewed_objects import name_object


class ViewFilter(StrEnum):
    """The objects that still need a view."""

    CONFLICTS = "conflicts"
    RISKS = "risks"
    UNSEEN = "unseen"


_ONLY_WORDS: dict[ViewFilter, Promise] = {
    ViewFilter.CONFLICTS: _("with conflicts"),
    ViewFilter.RISKS: _("with risks"),
    ViewFilter.UNSEEN: _("not viewed yet"),
}


FILTERS = ("q", "op", "kind", "ns", "manager", "risk", "only")
TREE = "tree"


class ListChoice(Struct, frozen=True):
    """The filters in an address; empty means all.

    - `layout` is `tree` or "" for groups; `group` and `start` request a later page of one group.
    """

    q: str = ""
    op: str = ""
    kind: str = ""
    ns: str = ""
    manager: str = ""
    risk: str = ""
    only: str = ""
    layout: str = ""
    group: str = ""
    start: int = 0

    @property
    def is_active(self) -> bool:
        """Return whether any filter is active."""
        return any(getattr(self, name) for name in FILTERS)

    @property
    def is_narrowed(self) -> bool:
        """Return whether a menu filters."""
        return any(getattr(self, name) for name in FILTERS[1:])

    @property
    def asked(self) -> tuple[tuple[str, str], ...]:
        """Return the filters and the layout that are not the default, by their names."""
        values = ((name, getattr(self, name)) for name in (*FILTERS, "layout"))
        return tuple((name, value) for name, value in values if value)

    @property
    def query(self) -> str:
        """Return the filters as a query; empty without any."""
        return urlencode(self.asked)

    @property
    def more(self) -> str:
        """Return the query to append to another query."""
        return f"&{self.query}" if self.query else ""


class ObjectIndex(Struct, frozen=True):
    """The objects with each risk, those in which each field manager owns a field, and those with a field that matches
    the text of the filter; by position.
    """

    risks: Mapping[RiskKind, frozenset[int]] = field(default_factory=dict)
    managers: Mapping[str, frozenset[int]] = field(default_factory=dict)
    same: tuple[SameChange, ...] = ()
    by_field: frozenset[int] = frozenset()


class SelectedObjects(Struct, frozen=True):
    """The objects that match the filters, and their groups in the order of reading."""

    changes: Sequence[ObjectChange]
    groups: Sequence[Arranged]


class Option(Struct, frozen=True):
    """One entry of a menu."""

    value: str
    word: str | Promise
    is_chosen: bool


class Menu(Struct, frozen=True):
    """One menu of the filter."""

    name: str
    label: str | Promise
    every: str | Promise
    options: tuple[Option, ...]


class ObjectList(Struct, frozen=True):
    """The object list; `to_mark` of the shown objects can be marked as viewed together."""

    groups: tuple[ObjectGroup, ...]
    branches: tuple[Branch, ...]
    choice: ListChoice
    menus: tuple[Menu, ...]
    url: str
    shown: int
    total: int
    viewed: int
    to_view: int
    to_mark: int = 0

    def find_group(self, key: str) -> ObjectGroup | None:
        """Return the group with a key."""
        groups = (*self.groups, *(group for branch in self.branches for group in branch.groups))
        return next((group for group in groups if group.key == key), None)


def _needs_look(change: ObjectChange, only: str, viewed: frozenset[str]) -> bool:
    if only == ViewFilter.CONFLICTS:
        return change.conflicts > 0
    if only == ViewFilter.RISKS:
        return change.highest_risk not in ("", RiskLevel.INFO)
    if only == ViewFilter.UNSEEN:
        return change.operation != Operation.UNCHANGED and name_object(change) not in viewed
    return True


def _is_wanted(change: ObjectChange, choice: ListChoice, among: Iterable[Collection[int]]) -> bool:
    asked = ((choice.op, change.operation), (choice.kind, change.kind), (choice.ns, change.namespace))
    return all(not wanted or wanted == has for wanted, has in asked) and all(change.position in one for one in among)


def _has_words(change: ObjectChange, words: Iterable[str]) -> bool:
    text = describe_object(change)
    return all(word in text for word in words)


def select_objects(
    changes: Iterable[ObjectChange], choice: ListChoice, where: ObjectIndex, viewed: frozenset[str] = frozenset()
) -> list[ObjectChange]:
    """Return the objects that match the filters."""
    if not choice.is_active:
        return list(changes)
    words, among = choice.q.casefold().split(), []
    if choice.manager:
        among.append(where.managers.get(choice.manager, frozenset()))
    if choice.risk:
        among.append(where.risks.get(find_kind(choice.risk), frozenset()))
    return [
        change
        for change in changes
        if _is_wanted(change, choice, among)
        and _needs_look(change, choice.only, viewed)
        and (not words or change.position in where.by_field or _has_words(change, words))
    ]


def select_group(
    changes: Iterable[ObjectChange], choice: ListChoice, where: ObjectIndex, viewed: frozenset[str] = frozenset()
) -> list[ObjectChange]:
    """Return the objects that match the filters and belong to the group of the choice; without a group, all of them."""
    wanted = select_objects(changes, choice, where, viewed)
    if not choice.group:
        return wanted
    if choice.layout == TREE:
        return [change for change in wanted if name_leaf(change) == choice.group]
    return next((list(one.changes) for one in arrange(wanted, where.same) if one.key == choice.group), [])


def _offer(name: str, label: Promise, every: Promise, chosen: str, words: dict[str, str | Promise]) -> Menu:
    return Menu(name, label, every, tuple(Option(v, w, v == chosen) for v, w in words.items()))


def _present_menus(changes: Sequence[ObjectChange], choice: ListChoice, where: ObjectIndex) -> tuple[Menu, ...]:
    operations = {c.operation for c in changes}
    labels: dict[str, str | Promise] = {o.value: style.word for o, style in OBJECT_STYLES.items() if o in operations}
    kinds: dict[str, str | Promise] = {k: k for k in sorted({c.kind for c in changes})}
    namespaces: dict[str, str | Promise] = {n: n for n in sorted({c.namespace for c in changes} - {""})}
    managers: dict[str, str | Promise] = {name: name for name in where.managers}
    risks: dict[str, str | Promise] = {kind.slug: title_kind(kind) for kind in where.risks}
    found = (
        _offer("op", _("What happens"), _("all changes"), choice.op, labels),
        _offer("kind", _("Kind"), _("all kinds"), choice.kind, kinds),
        _offer("ns", _("Namespace"), _("all namespaces"), choice.ns, namespaces),
        _offer("manager", _("Field manager"), _("all field managers"), choice.manager, managers),
        _offer("risk", _("Risk"), _("any risk"), choice.risk, risks),
        _offer("only", _("Only"), _("viewed and unviewed"), choice.only, {o.value: w for o, w in _ONLY_WORDS.items()}),
    )
    return tuple(menu for menu in found if len(menu.options) > 1 or getattr(choice, menu.name))


def present_list(
    changes: Sequence[ObjectChange],
    selection: SelectedObjects,
    choice: ListChoice,
    *,
    url: str,
    url_of: Callable[[int], str],
    current: int | None,
    viewed: frozenset[str],
    where: ObjectIndex,
    can_mark: bool = False,
) -> ObjectList:
    """Return the list of a plan, whose `selection` matches the filters; `can_mark`: its reader can mark objects."""
    wanted = selection.changes
    to_view = [c for c in changes if c.operation != Operation.UNCHANGED]
    seen = frozenset(c.position for c in to_view if name_object(c) in viewed)
    is_tree = choice.layout == TREE
    has_places = not is_tree and len({c.namespace for c in changes} - {""}) > 1
    drawing = ItemDisplay(url_of, current, seen, choice.group, choice.start, has_places, choice.is_active, can_mark)
    return ObjectList(
        groups=() if is_tree else draw_groups(selection.groups, drawing),
        branches=grow_tree(wanted, drawing) if is_tree else (),
        choice=choice,
        menus=_present_menus(changes, choice, where),
        url=url,
        shown=len(wanted),
        total=len(changes),
        viewed=len(seen),
        to_view=len(to_view),
        to_mark=drawing.count_to_mark(wanted),
    )
