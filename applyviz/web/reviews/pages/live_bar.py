"""The bar under the tabs of an open review: whether live differs from what was reviewed, and what does."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import LiveComparisonState
from applyviz.records.models import Plan
from applyviz.web.components.badges import Appearance
from applyviz.web.components.object_links import link_change
from applyviz.workflow.clusters import states
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.live import plan_comparison
from applyviz.workflow.live.plan_comparison import LiveState
from applyviz.workflow.plans.live_values import list_rows

_STYLES = {
    LiveComparisonState.NOT_YET: Appearance("·", LiveComparisonState.NOT_YET.label, "calm"),
    LiveComparisonState.SAME: Appearance("=", LiveComparisonState.SAME.label, "calm"),
    LiveComparisonState.DIFFERS: Appearance("≠", LiveComparisonState.DIFFERS.label, "warn"),
    LiveComparisonState.FAILED: Appearance("!", LiveComparisonState.FAILED.label, "warn"),
}
_SHOWN, _FIELDS = 20, 5
SOON, LATER = 2, 60
"""Seconds until the open page asks again: while a worker compares, and to compare again."""


class DifferingObject(Struct, frozen=True):
    """One object that differs from what was reviewed; values are masked."""

    name: str
    kind: str
    namespace: str
    url: str
    how: str
    fields: tuple[tuple[str, str, str], ...]
    more: str


class LiveBar(Struct, frozen=True):
    """The comparison with live as this person may see it; `is_busy` while a worker compares."""

    style: Appearance
    text: str
    at: datetime | None
    is_busy: bool
    objects: tuple[DifferingObject, ...]
    more: str
    hidden: str
    error: str
    url: str
    seconds: int
    replan_url: str
    advice: str
    is_first: bool = True


def _describe(state: LiveState) -> str:
    match state.state:
        case LiveComparisonState.DIFFERS:
            count = len(state.objects)
            text = ngettext(
                "Live differs: %(n)d object changed since this plan.",
                "Live differs: %(n)d objects changed since this plan.",
                count,
            )
            return text % {"n": count}
        case LiveComparisonState.SAME:
            return _("Live is as reviewed.")
        case LiveComparisonState.FAILED:
            return _("Live could not be compared.")
        case _:
            return _("Not compared with live yet.")


def _show(value: JSONValue) -> str:
    return _("nothing") if value is None else str(value)


def _present_objects(plan: Plan, state: LiveState) -> tuple[DifferingObject, ...]:
    chosen = {one["position"]: one for one in state.objects[:_SHOWN]}
    rows = list_rows(plan, Q(position__in=list(chosen)))
    found = []
    for row in rows:
        differing = chosen[row.position]
        fields = differing["fields"]
        left = len(fields) - _FIELDS
        more = ngettext("%(n)d more field", "%(n)d more fields", left) % {"n": left} if left > 0 else ""
        shown = tuple((str(f["path"]), _show(f.get("reviewed")), _show(f.get("live"))) for f in fields[:_FIELDS])
        url = link_change(plan, row.position)
        found.append(DifferingObject(row.name, row.kind, row.namespace, url, differing["how"], shown, more))
    return tuple(found)


def present_live_bar(plan: Plan, *, for_user: Person, is_first: bool = True) -> LiveBar | None:
    """Return the bar of an open plan; None where live is not compared.

    - `is_first`: the page was just opened, and asks for a comparison at once.
    """
    state = plan_comparison.read_state(plan)
    if state is None:
        return None
    is_stopped = bool(states.find_stop(plan.target.cluster))
    may_plan = access.can(for_user, Action.WRITE, access.scopes_of(plan.review)) and not is_stopped
    differs = state.state is LiveComparisonState.DIFFERS
    left, hidden = len(state.objects) - _SHOWN, state.hidden
    address = [plan.review.number, plan.number]
    return LiveBar(
        style=_STYLES[state.state],
        text=_describe(state),
        at=state.at,
        is_busy=state.is_running,
        objects=_present_objects(plan, state) if differs else (),
        more=ngettext("%(n)d more object", "%(n)d more objects", left) % {"n": left} if left > 0 else "",
        hidden=ngettext("%(n)d object is not shown to you", "%(n)d objects are not shown to you", hidden)
        % {"n": hidden}
        if hidden
        else "",
        error=state.error,
        url=reverse("reviews:live-comparison", args=address),
        seconds=SOON if state.is_running or state.state is LiveComparisonState.NOT_YET else LATER,
        replan_url=reverse("reviews:replan", args=address) if may_plan else "",
        advice="" if may_plan or is_stopped or not differs else _("A run would stop there. An author can re-plan."),
        is_first=is_first,
    )
