"""The object list as the reader narrowed it: by text, operation, kind, namespace, and what still needs a look.

The server alone decides what matches, so that the list is the same with and without script. Long groups are cut
and say by how much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from applyviz.engine.hazards.model import Severity
from applyviz.engine.planning.plan import Operation
from applyviz.records.models import ObjectChange
from applyviz.web.presenters.objects import ObjectGroup, SameChange, group_objects
from applyviz.web.presenters.operations import OBJECT_LOOKS
from applyviz.workflow.viewing import name_object


class Only(StrEnum):
    """What still needs a look."""

    CONFLICTS = "conflicts"
    RISKS = "risks"
    UNSEEN = "unseen"


_ONLY_WORDS: dict[Only, Promise] = {
    Only.CONFLICTS: _("with conflicts"),
    Only.RISKS: _("with risks"),
    Only.UNSEEN: _("not viewed yet"),
}


@dataclass(frozen=True, slots=True)
class ListChoice:
    """What the address asks for; empty means all."""

    q: str = ""
    op: str = ""
    kind: str = ""
    ns: str = ""
    only: str = ""
    whole: bool = False

    @property
    def is_active(self) -> bool:
        """Whether it leaves anything out."""
        return any((self.q, self.op, self.kind, self.ns, self.only))

    @property
    def query(self) -> str:
        """The same as the query of an address; empty when it asks for nothing."""
        asked = {name: getattr(self, name) for name in ("q", "op", "kind", "ns", "only")}
        return urlencode({name: value for name, value in asked.items() if value} | ({"whole": 1} if self.whole else {}))


@dataclass(frozen=True, slots=True)
class Option:
    """One entry of a menu."""

    value: str
    word: str | Promise
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """One menu of the filter."""

    name: str
    label: str | Promise
    every: str | Promise
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class ObjectList:
    """Everything that the list prints."""

    groups: tuple[ObjectGroup, ...]
    choice: ListChoice
    menus: tuple[Menu, ...]
    url: str
    whole_url: str
    shown: int
    total: int
    viewed: int
    to_view: int

    @property
    def is_all_viewed(self) -> bool:
        """Whether nothing is left to look at."""
        return self.viewed >= self.to_view


def _is_wanted(change: ObjectChange, choice: ListChoice, viewed: frozenset[str]) -> bool:
    if choice.op and change.operation != choice.op:
        return False
    if (choice.kind and change.kind != choice.kind) or (choice.ns and change.namespace != choice.ns):
        return False
    if choice.only == Only.CONFLICTS and not change.conflicts:
        return False
    if choice.only == Only.RISKS and change.worst_hazard in ("", Severity.INFO):
        return False
    if choice.only == Only.UNSEEN and (change.operation == Operation.UNCHANGED or name_object(change) in viewed):
        return False
    text = f"{change.kind} {change.namespace} {change.name} {change.operation}".lower()
    return all(word in text for word in choice.q.lower().split())


def select_objects(
    changes: Iterable[ObjectChange], choice: ListChoice, viewed: frozenset[str] = frozenset()
) -> list[ObjectChange]:
    """The objects that the choice leaves."""
    return [c for c in changes if _is_wanted(c, choice, viewed)] if choice.is_active else list(changes)


def _offer(name: str, label: Promise, every: Promise, chosen: str, words: dict[str, str | Promise]) -> Menu:
    return Menu(name, label, every, tuple(Option(v, w, v == chosen) for v, w in words.items()))


def _present_menus(changes: Sequence[ObjectChange], choice: ListChoice) -> tuple[Menu, ...]:
    operations = {c.operation for c in changes}
    looks: dict[str, str | Promise] = {o.value: look.word for o, look in OBJECT_LOOKS.items() if o in operations}
    kinds: dict[str, str | Promise] = {k: k for k in sorted({c.kind for c in changes})}
    namespaces: dict[str, str | Promise] = {n: n for n in sorted({c.namespace for c in changes} - {""})}
    found = (
        _offer("op", _("What happens"), _("whatever happens"), choice.op, looks),
        _offer("kind", _("Kind"), _("all kinds"), choice.kind, kinds),
        _offer("ns", _("Namespace"), _("all namespaces"), choice.ns, namespaces),
        _offer("only", _("Only"), _("read or not"), choice.only, {o.value: w for o, w in _ONLY_WORDS.items()}),
    )
    return tuple(menu for menu in found if len(menu.options) > 1)


def present_list(
    changes: Sequence[ObjectChange],
    choice: ListChoice,
    *,
    url: str,
    url_of: Callable[[int], str],
    current: int | None,
    viewed: frozenset[str],
    same: Iterable[SameChange] = (),
) -> ObjectList:
    """The list of a plan."""
    wanted = select_objects(changes, choice, viewed)
    query = f"?{choice.query}" if choice.query else ""
    to_view = [c for c in changes if c.operation != Operation.UNCHANGED]
    return ObjectList(
        groups=group_objects(
            wanted,
            url_of=lambda n: url_of(n) + query,
            current=current,
            same=same,
            viewed=frozenset(c.position for c in to_view if name_object(c) in viewed),
            is_whole=choice.whole,
        ),
        choice=choice,
        menus=_present_menus(changes, choice),
        url=url,
        whole_url=f"{url}?{choice.query}{'&' if choice.query else ''}whole=1",
        shown=len(wanted),
        total=len(changes),
        viewed=sum(name_object(c) in viewed for c in to_view),
        to_view=len(to_view),
    )
