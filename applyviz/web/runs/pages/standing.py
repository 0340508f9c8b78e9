"""Where one object of a run stands: verified, rolling out, failed or not attempted, and the pods of its rollout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz.records.enums import Outcome, RolloutState
from applyviz.records.models import ObjectResult, RolloutSample
from applyviz.web.components.badges import Appearance
from applyviz.workflow.plans.live_values import WITHHELD

BAD = (Outcome.FAILED, Outcome.STALE, Outcome.REFUSED, Outcome.UNKNOWN, Outcome.DIFFERS)
NOT_READY = (RolloutState.FAILED, RolloutState.LATE)


class Standing(StrEnum):
    """The groups that the page counts and sorts by, in their order."""

    FAILED = "failed"
    ROLLING = "rolling"
    NOT_ATTEMPTED = "not-attempted"
    VERIFIED = "verified"
    UNCHANGED = "unchanged"
    HIDDEN = "hidden"


STANDING_STYLES: dict[Standing, Appearance] = {
    Standing.VERIFIED: Appearance("✓", gettext_lazy("verified"), "add"),
    Standing.ROLLING: Appearance("◔", gettext_lazy("rolling out"), "change"),
    Standing.FAILED: Appearance("×", gettext_lazy("failed"), "remove"),  # noqa: RUF001 the cross is drawn
    Standing.NOT_ATTEMPTED: Appearance("○", gettext_lazy("not attempted"), "calm"),
    Standing.UNCHANGED: Appearance("=", gettext_lazy("unchanged"), "calm"),
    Standing.HIDDEN: Appearance("?", gettext_lazy("not shown"), "calm"),
}
_ORDER = list(Standing)


def find_standing(result: ObjectResult) -> Standing:
    """Return the group of an object."""
    if result.outcome == WITHHELD:
        return Standing.HIDDEN
    if result.outcome in BAD or result.rollout in NOT_READY:
        return Standing.FAILED
    if result.outcome == Outcome.APPLYING or result.rollout == RolloutState.WAITING:
        return Standing.ROLLING
    if result.outcome in (Outcome.WAITING, Outcome.SKIPPED, Outcome.LEFT_OUT):
        return Standing.NOT_ATTEMPTED
    return Standing.UNCHANGED if result.outcome == Outcome.UNCHANGED else Standing.VERIFIED


def rank_standing(result: ObjectResult) -> tuple[int, int, int]:
    """Return what the list of a run is sorted by: failures first, then what moves, as the run went."""
    return _ORDER.index(find_standing(result)), result.step, result.position


def say_pods(result: ObjectResult) -> str:
    """Return the pods of a workload in a few words; "" when they were not watched."""
    pods = result.pods
    if "wanted" not in pods:
        return ""
    facts = {"new": pods["new"], "wanted": pods["wanted"], "old": pods["ready"] - pods["new"]}
    text = _("%(new)d/%(wanted)d new") % facts if facts["old"] else f"{facts['new']}/{facts['wanted']}"
    return f"{text} · {_('%(old)d old serve') % facts}" if facts["old"] else text


@dataclass(frozen=True, slots=True)
class Outage:
    """A time without a ready pod."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """How long it was."""
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
