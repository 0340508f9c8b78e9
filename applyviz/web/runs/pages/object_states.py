"""The state of one object of a run: verified, applying, rolling out, failed or not attempted, and its pods."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Outcome, RolloutState
from applyviz.records.models import ObjectResult, RolloutSample
from applyviz.web.components.badges import Appearance
from applyviz.workflow.plans.live_values import WITHHELD
from applyviz.workflow.plans.object_choices import is_left_out
from applyviz.workflow.runs.attempts import NOT_READY

BAD = (Outcome.FAILED, Outcome.STALE, Outcome.REFUSED, Outcome.UNKNOWN, Outcome.DIFFERS)


class ObjectState(StrEnum):
    """The groups that the page counts and sorts by, in their order."""

    FAILED = "failed"
    STALE = "stale"
    APPLYING = "applying"
    ROLLING = "rolling"
    NOT_ATTEMPTED = "not-attempted"
    VERIFIED = "verified"
    LEFT_OUT = "left-out"
    UNCHANGED = "unchanged"
    HIDDEN = "hidden"


OBJECT_STATE_STYLES: dict[ObjectState, Appearance] = {
    ObjectState.VERIFIED: Appearance("✓", gettext_lazy("verified"), "add"),
    ObjectState.APPLYING: Appearance("▸", gettext_lazy("applying"), "change"),
    ObjectState.ROLLING: Appearance("◔", gettext_lazy("rolling out"), "change"),
    ObjectState.FAILED: Appearance("×", gettext_lazy("failed"), "remove"),  # noqa: RUF001 the cross is drawn
    ObjectState.STALE: Appearance("!", gettext_lazy("stale"), "warn"),
    ObjectState.NOT_ATTEMPTED: Appearance("○", gettext_lazy("not attempted"), "calm"),
    ObjectState.LEFT_OUT: Appearance("○", gettext_lazy("left out"), "calm"),
    ObjectState.UNCHANGED: Appearance("=", gettext_lazy("unchanged"), "calm"),
    ObjectState.HIDDEN: Appearance("?", gettext_lazy("not shown"), "calm"),
}
_ORDER = list(ObjectState)
# What is not as it was approved.
NOT_AS_APPROVED = (ObjectState.FAILED, ObjectState.STALE)
# What changes without a further request.
MOVING = (ObjectState.APPLYING, ObjectState.ROLLING)


# The plan writes nothing to these objects, so the run owes them nothing before their turn, or without one.
_UNWRITTEN = (Operation.UNCHANGED, Operation.NOT_FOUND)


def find_object_state(result: ObjectResult) -> ObjectState:
    """Return the group of an object."""
    if result.outcome == WITHHELD:
        return ObjectState.HIDDEN
    if is_left_out(result.change):
        return ObjectState.LEFT_OUT
    if result.outcome == Outcome.STALE:
        return ObjectState.STALE
    if result.outcome in BAD or result.rollout in NOT_READY:
        return ObjectState.FAILED
    if result.outcome == Outcome.APPLYING:
        return ObjectState.APPLYING
    if result.rollout == RolloutState.WAITING:
        return ObjectState.ROLLING
    if result.outcome in (Outcome.WAITING, Outcome.SKIPPED) and result.change.operation in _UNWRITTEN:
        return ObjectState.UNCHANGED
    if result.outcome in (Outcome.WAITING, Outcome.SKIPPED, Outcome.LEFT_OUT):
        return ObjectState.NOT_ATTEMPTED
    return ObjectState.UNCHANGED if result.outcome == Outcome.UNCHANGED else ObjectState.VERIFIED


def rank_by_state(result: ObjectResult) -> tuple[int, int, int]:
    """Return what the list of a run is sorted by: failures first, then what moves, as the run went."""
    return _ORDER.index(find_object_state(result)), result.step, result.position


def describe_pods(result: ObjectResult) -> str:
    """Return the pods of a workload in a few words; "" when they were not watched."""
    pods = result.pods
    if "wanted" not in pods:
        return ""
    facts = {"new": pods["new"], "wanted": pods["wanted"], "old": pods["ready"] - pods["new"]}
    text = _("%(new)d/%(wanted)d new") % facts if facts["old"] else f"{facts['new']}/{facts['wanted']}"
    return f"{text} · {_('%(old)d old serving') % facts}" if facts["old"] else text


class Outage(Struct, frozen=True):
    """A time without a ready pod."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return (self.end - self.start).total_seconds()


def find_outages(samples: Sequence[RolloutSample], until: datetime, *, is_new: bool) -> tuple[Outage, ...]:
    """Return when a workload that had pods before had none that was ready; a new one is not missed."""
    if is_new or not samples:
        return ()
    ends = [*(sample.at for sample in samples[1:]), until]
    return tuple(
        Outage(sample.at, end)
        for sample, end in zip(samples, ends, strict=True)
        if sample.wanted and not sample.ready and end > sample.at
    )
