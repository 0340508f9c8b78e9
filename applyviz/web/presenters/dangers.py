"""The dangers of a plan as one list: classes that policies know and hazards, each with the objects that have it.

The review page, the page of consent and the change record print this very list, so that none of them counts
otherwise. Nothing of a refused object is written before it is decided: it stands as a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz.engine.hazards.model import HazardKind, Severity
from applyviz.engine.hazards.sentences import title
from applyviz.engine.planning.dangers import DangerClass
from applyviz.engine.planning.overview import Found
from applyviz.engine.planning.plan import Operation
from applyviz.records.models import ObjectChange
from applyviz.web.presenters.operations import OBJECT_LOOKS, SEVERITY_LOOKS, Look

NAMED = 2
CLASS_WORDS: dict[DangerClass, str | Promise] = {
    DangerClass.PRUNE: gettext_lazy("Deleted by prune"),
    DangerClass.RECREATE: gettext_lazy("Deleted and created anew"),
    DangerClass.TAKE_OVER: gettext_lazy("Fields taken over"),
    DangerClass.RBAC: gettext_lazy("Rights change"),
    DangerClass.CRD: gettext_lazy("Definition of a kind changes"),
    DangerClass.WEBHOOK: gettext_lazy("Admission changes"),
    DangerClass.NAMESPACE: gettext_lazy("Namespace changes"),
    DangerClass.CLUSTER_SCOPED: gettext_lazy("Belongs to the whole cluster"),
    DangerClass.SYSTEM: gettext_lazy("In a system namespace"),
    DangerClass.MANY: gettext_lazy("Many objects"),
}
# Whoever reads one of these knows already that it is a matter of the whole cluster.
_TELLING = frozenset({DangerClass.RBAC, DangerClass.CRD, DangerClass.WEBHOOK, DangerClass.NAMESPACE})


@dataclass(frozen=True, slots=True)
class DangerObject:
    """One object that has a danger."""

    name: str
    kind: str
    url: str


@dataclass(frozen=True, slots=True)
class Danger:
    """One danger and its objects, in the order of the plan."""

    look: Look
    title: str | Promise
    objects: tuple[DangerObject, ...]

    @property
    def url(self) -> str:
        """Where the first of them is."""
        return self.objects[0].url

    @property
    def names(self) -> str:
        """The first of them by name."""
        return ", ".join(one.name for one in self.objects[:NAMED])

    @property
    def more(self) -> int:
        """How many are not named."""
        return len(self.objects[NAMED:])

    @property
    def text(self) -> str:
        """The danger and all of its objects as one line."""
        return f"{self.title}: {', '.join(one.name for one in self.objects)}"


def _classify(changes: Sequence[ObjectChange]) -> dict[DangerClass, list[ObjectChange]]:
    """The written objects of each class; what a class tells already is not said again."""
    found: dict[DangerClass, list[ObjectChange]] = {}
    for change in changes:
        classes = {DangerClass(name) for name in change.dangers} if change.has_effect else set()
        if classes & _TELLING:
            classes.discard(DangerClass.CLUSTER_SCOPED)
        for danger in sorted(classes, key=list(DangerClass).index):
            found.setdefault(danger, []).append(change)
    return {danger: found[danger] for danger in DangerClass if danger in found}


def _is_told_by_class(kind: HazardKind, position: int, told: dict[DangerClass, list[ObjectChange]]) -> bool:
    reach = (*_TELLING, DangerClass.CLUSTER_SCOPED)
    return kind is HazardKind.CLUSTER_SCOPED and any(c.position == position for d in reach for c in told.get(d, ()))


def _list_hazards(
    hazards: Iterable[Found], written: dict[int, ObjectChange], told: dict[DangerClass, list[ObjectChange]]
) -> Iterator[tuple[Severity, str, list[ObjectChange]]]:
    for found in hazards:
        members = [written[n] for n in found.members if n in written and not _is_told_by_class(found.kind, n, told)]
        if members and found.severity is not Severity.INFO:
            yield found.severity, _(title(found.kind, found.severity)), members


def list_dangers(
    changes: Sequence[ObjectChange], hazards: Iterable[Found], *, url_of: Callable[[int], str], many: int = 0
) -> tuple[Danger, ...]:
    """What is dangerous about a complete plan, the loudest first.

    - `hazards` are those of its overview; `many` the number from which many objects are a danger, 0 for never.
    """
    refused = [c for c in changes if c.operation == Operation.REFUSED]
    written = {c.position: c for c in changes if c.operation not in (Operation.REFUSED, Operation.ERROR)}
    told = _classify(list(written.values()))
    effective = [c for c in written.values() if c.has_effect]
    if many and len(effective) > many:
        told[DangerClass.MANY] = effective
    loud = SEVERITY_LOOKS[Severity.DANGER]
    rows: list[tuple[Look, str | Promise, list[ObjectChange]]] = []
    if refused:
        rows.append((OBJECT_LOOKS[Operation.REFUSED], _("Refused until decided"), refused))
    rows += [(loud, CLASS_WORDS[danger], members) for danger, members in told.items()]
    rows += [(SEVERITY_LOOKS[s], words, members) for s, words, members in _list_hazards(hazards, written, told)]
    rows.sort(key=lambda row: row[0] is not loud)
    return tuple(
        Danger(look, words, tuple(DangerObject(c.name, c.kind, url_of(c.position)) for c in members))
        for look, words, members in rows
    )
