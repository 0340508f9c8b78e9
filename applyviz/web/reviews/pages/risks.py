"""The risks of a plan as chips: the one list (`workflow.policies.risks`), each with the objects that have it.

The review page, the page of approval and the change record print this very list, so that none of them counts
otherwise. Nothing of a blocked object is written before its conflicts are resolved: it is a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.sentences import title
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import LEVEL_STYLES, OBJECT_STYLES, Appearance
from applyviz.workflow.policies.risks import PlanRisk

NAMED = 2


@dataclass(frozen=True, slots=True)
class RiskObject:
    """One object that has a risk."""

    name: str
    kind: str
    url: str


@dataclass(frozen=True, slots=True)
class HighRisk:
    """One risk and its objects, in the order of the plan."""

    look: Appearance
    title: str | Promise
    objects: tuple[RiskObject, ...]

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
        """The risk and all of its objects as one line."""
        return f"{self.title}: {', '.join(one.name for one in self.objects)}"


def list_high_risks(
    changes: Sequence[ObjectChange], risks: Iterable[PlanRisk], *, url_of: Callable[[int], str]
) -> tuple[HighRisk, ...]:
    """The high and medium risks of a complete plan, the worst first, and the objects that are blocked."""
    by_position = {change.position: change for change in changes}
    blocked = tuple(c.position for c in changes if c.operation == Operation.BLOCKED)
    rows: list[tuple[Appearance, str, tuple[int, ...]]] = [
        (LEVEL_STYLES[risk.level], _(title(risk.kind, risk.level)), risk.positions)
        for risk in risks
        if risk.level is not RiskLevel.INFO
    ]
    if blocked:
        rows.append((OBJECT_STYLES[Operation.BLOCKED], _("Blocked by conflict"), blocked))
    loud = LEVEL_STYLES[RiskLevel.HIGH]
    rows.sort(key=lambda row: row[0] is not loud)
    return tuple(
        HighRisk(
            look,
            words,
            tuple(RiskObject(c.name, c.kind, url_of(c.position)) for c in (by_position[p] for p in positions)),
        )
        for look, words, positions in rows
    )
