"""The strip of a run: how many objects are in each state, the bar of their parts, and one sentence with the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.records.enums import Outcome, OwnerCheck
from applyviz.records.models import ObjectResult, RolloutSample
from applyviz.web.components.badges import Appearance
from applyviz.web.runs.pages.endings import only_deletes
from applyviz.web.runs.pages.object_states import OBJECT_STATE_STYLES, ObjectState, find_object_state
from applyviz.web.runs.pages.time_axis import format_clock
from applyviz.web.runs.pages.timeline import list_outages

# The states of what a run writes, in the order of the bar; of the second kind only those that some object has.
_ALWAYS = (ObjectState.VERIFIED, ObjectState.ROLLING, ObjectState.FAILED, ObjectState.NOT_ATTEMPTED)
COUNTED = (
    ObjectState.VERIFIED,
    ObjectState.ROLLING,
    ObjectState.APPLYING,
    ObjectState.FAILED,
    ObjectState.STALE,
    ObjectState.NOT_ATTEMPTED,
)


class Count(Struct, frozen=True):
    """How many objects are in a state, and their part of the bar."""

    style: Appearance
    number: int
    x: str
    width: str


class RunStrip(Struct, frozen=True):
    """The counts of what the run writes, and one sentence with the rest: together they are all objects."""

    counts: tuple[Count, ...]
    applied: str
    facts: tuple[str, ...]


def _describe_outage(
    results: Sequence[ObjectResult], samples: Mapping[int, Sequence[RolloutSample]], now: datetime
) -> str:
    """The longest time that one workload had no ready pod; "" when there was none."""
    found = [
        (sum(outage.seconds for outage in list_outages(result, samples[result.pk], now)), result.change.name)
        for result in results
        if result.pk in samples
    ]
    seconds, name = max(found, default=(0.0, ""))
    if seconds < 1:
        return ""
    return _("%(name)s was down for %(time)s") % {"name": name, "time": format_clock(seconds)}


def _describe_owners(results: Sequence[ObjectResult]) -> str:
    """How many of the objects whose field owners were compared have those that the plan promised; "" for none."""
    recorded = [result.owners["state"] for result in results if result.owners]
    states = [state for state in recorded if state != OwnerCheck.NOT_STATED]
    found = {"n": states.count(OwnerCheck.VERIFIED), "all": len(states), "none": len(recorded) - len(states)}
    text = ngettext("field owners of %(n)d object verified", "field owners of %(n)d objects verified", found["n"])
    if found["n"] < found["all"]:
        text = ngettext(
            "field owners of %(n)d of %(all)d object verified",
            "field owners of %(n)d of %(all)d objects verified",
            len(states),
        )
    if states and found["none"]:  # an object may have no owned field, such as a new ServiceAccount
        text += f" ({_('%(none)d without field owners')})"
    return text % found if states else ""


def _present_counts(found: Counter[ObjectState], total: int) -> Iterator[Count]:
    x = 0.0
    for counted in COUNTED:
        if not found[counted] and counted not in _ALWAYS:
            continue
        width = found[counted] / total * 100 if total else 0.0
        yield Count(OBJECT_STATE_STYLES[counted], found[counted], f"{x:.2f}%", f"{width:.2f}%")
        x += width


def _describe_rest(found: Counter[ObjectState]) -> Iterator[str]:
    """How many objects are in each state that the bar does not have."""
    unchanged, left_out, hidden = (
        found[state] for state in (ObjectState.UNCHANGED, ObjectState.LEFT_OUT, ObjectState.HIDDEN)
    )
    if unchanged:
        yield ngettext("%(n)d object unchanged", "%(n)d objects unchanged", unchanged) % {"n": unchanged}
    if left_out:
        yield ngettext("%(n)d object left out", "%(n)d objects left out", left_out) % {"n": left_out}
    if hidden:
        yield ngettext("%(n)d object not shown to you", "%(n)d objects not shown to you", hidden) % {"n": hidden}


def _describe_new_pods(results: Sequence[ObjectResult]) -> str:
    watched = [result.pods for result in results if "wanted" in result.pods]
    new, wanted = sum(pods["new"] for pods in watched), sum(pods["wanted"] for pods in watched)
    text = ngettext("%(new)d of %(wanted)d new pod ready", "%(new)d of %(wanted)d new pods ready", wanted)
    return text % {"new": new, "wanted": wanted} if wanted else ""


def present_strip(
    results: Sequence[ObjectResult], samples: Mapping[int, Sequence[RolloutSample]], now: datetime
) -> RunStrip:
    """Return the strip of a run; `results` are as its reader may see them."""
    found = Counter(find_object_state(result) for result in results)
    total = sum(found[counted] for counted in COUNTED)
    written = sum(result.outcome in Outcome.written() for result in results)
    applied = ngettext("%(done)d of %(all)d object applied", "%(done)d of %(all)d objects applied", total)
    if only_deletes(results):
        applied = ngettext("%(done)d of %(all)d object deleted", "%(done)d of %(all)d objects deleted", total)
    facts = (_describe_new_pods(results), _describe_owners(results), _describe_outage(results, samples, now))
    return RunStrip(
        tuple(_present_counts(found, total)),
        applied % {"done": written, "all": total},
        (*filter(None, facts), *_describe_rest(found)),
    )
