"""The risks of a plan as chips: the one list (`workflow.policies.risks`), each with the objects that have it.

The review page, the page of approval and the change record print this very list, so that none of them counts
otherwise. Nothing of a blocked object is written before its conflicts are resolved: it is a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel
from applyviz.engine.risks.rules import needs_acknowledgment
from applyviz.engine.risks.sentences import title
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import LEVEL_STYLES, Appearance
from applyviz.workflow.policies.risks import PlanRisk

NAMED = 12


class RiskState(StrEnum):
    """The state of a risk for those who prepare a plan."""

    NONE = "none"
    TO_ACKNOWLEDGE = "to-acknowledge"
    ACKNOWLEDGED = "acknowledged"
    TO_RESOLVE = "to-resolve"


class LinkedObject(Struct, frozen=True):
    """An object of a plan and the address of its changes."""

    name: str
    kind: str
    url: str


class HighRisk(Struct, frozen=True):
    """One risk and its objects, in the order of the plan."""

    style: Appearance
    title: str | Promise
    objects: tuple[LinkedObject, ...]
    slug: str = ""
    state: RiskState = RiskState.NONE

    @property
    def is_high(self) -> bool:
        """Whether it is a high risk."""
        return self.style is LEVEL_STYLES[RiskLevel.HIGH]

    @property
    def named(self) -> tuple[LinkedObject, ...]:
        """The first objects, which lines name."""
        return self.objects[:NAMED]

    @property
    def more(self) -> int:
        """The number of objects that are not named; the list of risks has them."""
        return len(self.objects[NAMED:])

    @property
    def text(self) -> str:
        """The risk and its first objects as one line."""
        return f"{self.title}: {', '.join(one.name for one in self.named)}"


def name_place(kind: RiskKind, level: RiskLevel) -> str:
    """Return the anchor of a risk in the list, which may hold one kind at two levels."""
    return kind.slug if needs_acknowledgment(Risk(kind, level)) else f"{kind.slug}-{level.value}"


def _find_state(risk: PlanRisk, open_kinds: Collection[RiskKind]) -> RiskState:
    if not risk.needs_acknowledgment:
        return RiskState.NONE
    return RiskState.TO_ACKNOWLEDGE if risk.kind in open_kinds else RiskState.ACKNOWLEDGED


def list_high_risks(
    changes: Sequence[ObjectChange],
    risks: Iterable[PlanRisk],
    *,
    url_of: Callable[[int], str],
    open_kinds: Collection[RiskKind] = (),
) -> tuple[HighRisk, ...]:
    """The high and medium risks of a complete plan, the worst first, and the objects that are blocked.

    - `open_kinds`: the kinds that are still to be acknowledged for some object.
    """
    by_position = {change.position: change for change in changes}

    def present(positions: Iterable[int]) -> tuple[LinkedObject, ...]:
        return tuple(LinkedObject(c.name, c.kind, url_of(c.position)) for c in (by_position[p] for p in positions))

    rows = [
        HighRisk(
            LEVEL_STYLES[risk.level],
            _(title(risk.kind, risk.level)),
            present(risk.positions),
            name_place(risk.kind, risk.level),
            _find_state(risk, open_kinds),
        )
        for risk in risks
        if risk.level is not RiskLevel.INFO
    ]
    blocked = tuple(c.position for c in changes if c.operation == Operation.BLOCKED)
    if blocked:
        style = LEVEL_STYLES[RiskLevel.MEDIUM]
        rows.append(HighRisk(style, _("Blocked by conflict"), present(blocked), "conflict", RiskState.TO_RESOLVE))
    return tuple(sorted(rows, key=lambda row: not row.is_high))
