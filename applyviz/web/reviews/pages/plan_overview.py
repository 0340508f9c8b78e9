"""The overview of a plan, which needs every change: identical changes, risks, objects by field manager.

A complete plan stores its overview (`engine.planning.model.overview`) and never changes, so what is made of it is
cached. Values are masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct, field

from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.overview import Alike, Overview, OverviewRow
from applyviz.engine.risks.model import RiskKind
from applyviz.records.models import Plan
from applyviz.web.components.values import ABSENT, show_value
from applyviz.web.reviews.pages.object_groups import SameChange
from applyviz.web.reviews.pane.fields import render_short
from applyviz.workflow.plans import plan_details
from applyviz.workflow.plans.live_values import hidden_positions


class PlanOverview(Struct, frozen=True):
    """The overview of a plan; risks and field managers with the positions of their objects."""

    same: tuple[SameChange, ...] = ()
    found: tuple[OverviewRow, ...] = ()
    risks: Mapping[RiskKind, frozenset[int]] = field(default_factory=dict)
    managers: Mapping[str, frozenset[int]] = field(default_factory=dict)


def _show(value: tuple[JSONValue, ...], otherwise: str) -> str:
    shown = show_value(value[0] if value else ABSENT)
    return shown.text if shown else otherwise


def _describe(alike: Alike) -> str:
    text = render_short(alike.path)
    values = [show_value(v) for v in (*alike.before, *alike.after)]
    if alike.is_same and alike.is_short and not any(v is not None and v.is_long for v in values):
        text += f": {_show(alike.before, _('unset'))} → {_show(alike.after, _('removed'))}"
    if alike.more:
        text += ngettext(" and %(count)d more field", " and %(count)d more fields", alike.more) % {"count": alike.more}
    return text


def present_same(overview: Overview) -> tuple[SameChange, ...]:
    """Return groups of updates with the same change."""
    return tuple(
        SameChange(_describe(a), frozenset(a.members), tuple(a.exceptions), is_same=a.is_same) for a in overview.alike
    )


def _gather(risks: Iterable[OverviewRow]) -> dict[RiskKind, frozenset[int]]:
    gathered: dict[RiskKind, frozenset[int]] = {}
    for found in risks:
        gathered[found.kind] = gathered.get(found.kind, frozenset()) | frozenset(found.members)
    return gathered


@lru_cache(maxsize=64)
def read_plan(plan_id: int, digest: str) -> PlanOverview:
    """Read a complete plan once; the digest distinguishes plans of different databases."""
    return _make_reading(plan_details.read_whole_overview(plan_id, digest))


def read_for_reader(plan: Plan) -> PlanOverview:
    """Read a complete plan for its reader: without Secrets that are hidden from them."""
    if not hidden_positions(plan):
        return read_plan(plan.pk, plan.digest)
    return _make_reading(plan_details.read_overview(plan))


def _make_reading(overview: Overview) -> PlanOverview:
    return PlanOverview(
        present_same(overview),
        overview.risks,
        _gather(overview.risks),
        {known.manager: frozenset(known.members) for known in overview.managers},
    )
