"""The strip below the header: changed objects by operation, restarts, and risks.

The numbers come from the plan and its one list of risks, so that no other part of the page counts differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.risks.model import RiskLevel
from applyviz.records.enums import PlanState
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.web.reviews.pages.plan_summary import present_impact, present_sentence

_WORDS: dict[Operation, str | Promise] = {
    Operation.CREATE: gettext_lazy("create"),
    Operation.UPDATE: gettext_lazy("update"),
    Operation.REPLACE: gettext_lazy("replace"),
    Operation.PRUNE: gettext_lazy("delete"),
    Operation.DELETE: gettext_lazy("delete"),
    Operation.NOT_FOUND: gettext_lazy("not found"),
    Operation.BLOCKED: gettext_lazy("blocked"),
    Operation.ERROR: gettext_lazy("error"),
    Operation.LEFT_OUT: gettext_lazy("left out"),
    Operation.WITHHELD: gettext_lazy("hidden"),
    Operation.UNCHANGED: gettext_lazy("unchanged"),
}
_FIRST_LINES = 3


class CountLink(Struct, frozen=True):
    """The number of objects with one operation, linked to them."""

    style: Appearance
    number: int
    word: str | Promise
    url: str


class RiskCounts(Struct, frozen=True):
    """The risks of a plan by level, each kind once; `acknowledged`: those of the high ones, which all need it."""

    high: int = 0
    medium: int = 0
    info: int = 0
    acknowledged: int = 0

    @property
    def total(self) -> int:
        """Return the number of all risks."""
        return self.high + self.medium + self.info

    @property
    def is_open(self) -> bool:
        """Return whether a high risk is not acknowledged yet."""
        return self.acknowledged < self.high

    @property
    def last_named(self) -> int:
        """Return the number before the word: that of medium risks, or of high ones without any."""
        return self.medium or self.high

    @property
    def text(self) -> str:
        """Return the high and medium risks in words."""
        parts = []
        if self.high:
            parts.append(ngettext("%(n)d high", "%(n)d high", self.high) % {"n": self.high})
        if self.medium:
            parts.append(ngettext("%(n)d medium", "%(n)d medium", self.medium) % {"n": self.medium})
        if self.info:
            parts.append(_("%(n)d info") % {"n": self.info})
        return " · ".join(parts) or _("none")

    @property
    def note(self) -> str:
        """Return the line below the counts: what is acknowledged, or that nothing needs to be."""
        parts = []
        if self.high:
            parts.append(_("%(n)d of %(total)d acknowledged") % {"n": self.acknowledged, "total": self.high})
        if self.info and (self.high or self.medium):
            parts.append(_("%(n)d info") % {"n": self.info})
        return " · ".join(parts) or (_("None to acknowledge") if self.medium else "")


class Strip(Struct, frozen=True):
    """The strip.

    - `has_unplanned`: some objects have errors, so that their risks do not count and may be more.
    """

    counts: tuple[CountLink, ...]
    sentence: str
    impact: tuple[str, ...]
    detail: str
    risks: RiskCounts
    risks_url: str
    error: str = ""
    is_complete: bool = True
    has_unplanned: bool = False

    @property
    def impact_text(self) -> str:
        """The impact in one text, for where its line is cut."""
        return " · ".join(map(str, self.impact))


_CERTAINTIES: Mapping[Certainty, str | Promise] = {
    Certainty.CONFIRMED: gettext_lazy("%(n)d confirmed"),
    Certainty.ESTIMATED: gettext_lazy("%(n)d estimated"),
    Certainty.NONE: gettext_lazy("%(n)d without a result"),
    Certainty.UNKNOWN: gettext_lazy("%(n)d unknown"),
}


def describe_certainty(changes: Iterable[ObjectChange]) -> str:
    """Return how many results are confirmed, and how many are estimated or missing."""
    counts = Counter(Certainty(change.certainty) for change in changes)
    return ", ".join(_CERTAINTIES[certainty] % {"n": number} for certainty, number in counts.most_common())


def count_risks(context: PlanContext) -> RiskCounts:
    """Return the counts of risks; a conflict that blocks objects is one medium risk, because it can be resolved."""
    levels = [risk.level for risk in context.risks]
    needed = {risk.kind for risk in context.risks if risk.needs_acknowledgment}
    is_blocked = context.is_complete and bool(context.plan.counts.get(Operation.BLOCKED))
    return RiskCounts(
        high=levels.count(RiskLevel.HIGH),
        medium=levels.count(RiskLevel.MEDIUM) + is_blocked,
        info=levels.count(RiskLevel.INFO),
        acknowledged=len(needed - {risk.kind for risk in context.state.facts.risks}),
    )


def _count_operations(context: PlanContext) -> tuple[CountLink, ...]:
    counts = context.plan.counts
    base = reverse("reviews:show-changes", args=context.address)
    return tuple(
        CountLink(OBJECT_STYLES[operation], counts[operation], word, f"{base}?op={operation.value.replace(' ', '+')}")
        for operation, word in _WORDS.items()
        if counts.get(operation)
    )


def _describe_impact(context: PlanContext) -> tuple[str, ...]:
    lines = present_impact(context.plan)
    if lines:
        more = (_("%(n)d more") % {"n": len(lines) - _FIRST_LINES},) if len(lines) > _FIRST_LINES else ()
        return (*lines[:_FIRST_LINES], *more)
    return (_("No pods restart"),) if context.is_complete and context.plan.counts else ()


def present_strip(context: PlanContext) -> Strip:
    """Return the strip."""
    plan = context.plan
    certainty = _("Results: %(counts)s") % {"counts": describe_certainty(context.changes)} if context.changes else ""
    return Strip(
        counts=_count_operations(context),
        sentence=present_sentence(plan),
        impact=_describe_impact(context),
        detail=" · ".join(filter(None, (plan.review.reason, certainty))),
        risks=count_risks(context),
        risks_url=reverse("reviews:show-risks", args=context.address),
        error=plan.error if plan.state == PlanState.FAILED else "",
        is_complete=context.is_complete,
        has_unplanned=bool(plan.counts.get(Operation.ERROR)),
    )
