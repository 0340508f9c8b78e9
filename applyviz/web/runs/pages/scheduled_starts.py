"""Read model of scheduled starts: the form that makes one, the line of the header, and the notice on the Overview."""

from __future__ import annotations

from datetime import date, datetime

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import get_current_timezone_name, localtime
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.risks.model import RiskLevel
from applyviz.records.enums import ScheduledStartState, StartEnd
from applyviz.records.models import ApplyRun, Plan, ScheduledStart
from applyviz.web.components.badges import LEVEL_STYLES
from applyviz.web.components.notices import Notice, PostAction
from applyviz.workflow import policies, runs
from applyviz.workflow.approvals import quorum
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.live_values import hidden_positions

SCHEDULED = "scheduled-start"
_DASH = "\N{EN DASH}"


class SchedulePage(Struct, frozen=True):
    """The page that schedules a run: what it waits for now, and why it cannot be scheduled."""

    plan: Plan
    waits_for: tuple[str, ...]
    blockers: tuple[str, ...]
    scheduled: tuple[Notice, ...]
    must_wait: bool
    zone: str
    back_url: str


def present_schedule(plan: Plan, *, for_user: Person) -> SchedulePage:
    """Return the page."""
    hidden = hidden_positions(plan)
    blockers = sentences.describe_all(runs.find_schedule_blockers(plan, for_user=for_user, hidden=hidden))
    is_scheduled = runs.find_waiting(plan) is not None
    return SchedulePage(
        plan,
        waits_for=()
        if blockers
        else sentences.describe_all(runs.find_run_blockers(plan, for_user=for_user, hidden=hidden)),
        blockers=blockers,
        scheduled=present_scheduled(plan, for_user=for_user) if is_scheduled else (),
        must_wait=policies.find_policy(plan).waits_for_rollout,
        zone=get_current_timezone_name(),
        back_url=reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
    )


class WaitingStart(Struct, frozen=True):
    """A scheduled start that waits, in the header of its review.

    - `url`: "" for people who cannot cancel it, and where the page itself has the button to cancel.
    - `latest`: when it is canceled, if it only waits for approvals; else "".
    - `approvals`: how many approvals are missing.
    """

    times: str
    by: str
    url: str
    latest: str = ""
    approvals: int = 0

    @property
    def starts_on_approval(self) -> bool:
        """Return whether the next approval starts the run."""
        return bool(self.latest) and self.approvals == 1

    @property
    def text(self) -> str:
        """Return the line beside the button."""
        if self.latest:
            facts = {"latest": self.latest, "name": self.by}
            return _("Starts on approval, at the latest %(latest)s, scheduled by %(name)s") % facts
        return _("Starts %(times)s, scheduled by %(name)s") % {"times": self.times, "name": self.by}


def _name_day(at: datetime, today: date) -> str:
    return "" if at.date() == today else date_format(at, "j M") + " "


def _name_end(last: datetime) -> str:
    at = localtime(last)
    return _name_day(at, localtime(clock.now()).date()) + date_format(at, "H:i T")


def describe_times(first: datetime, last: datetime) -> str:
    """Return when a run starts, as "14:00-15:00 UTC"; a day is named unless it is today."""
    now = localtime(clock.now())
    first, last = localtime(first), localtime(last)
    end = _name_end(last)
    if first <= now:
        return _("before %(end)s") % {"end": end}
    begin = _name_day(first, now.date()) + date_format(first, "H:i")
    if first.date() == last.date():
        return f"{begin}{_DASH}{date_format(last, 'H:i T')}"
    return f"{begin} {_DASH} {end}"


def describe_start(run: ApplyRun) -> str:
    """Return between which times a run was scheduled to start; "" for one that a person started."""
    row = ScheduledStart.objects.filter(run=run).first()
    if row is None:
        return ""
    times = {"first": _render_moment(row.not_before), "last": _render_moment(row.expires_at)}
    return _("scheduled for %(first)s to %(last)s") % times


def present_waiting(plan: Plan, *, for_user: Person) -> WaitingStart | None:
    """Return the scheduled start that waits for a plan; None without one."""
    row = runs.find_waiting(plan)
    if row is None:
        return None
    url = f"{reverse('reviews:show-overview', args=[plan.review.number, plan.number])}#{SCHEDULED}"
    needs = quorum.count_quorum(plan).lacking
    is_due = row.not_before <= clock.now()
    awaits = is_due and runs.find_run_blockers(plan, for_user=row.by) == needs
    return WaitingStart(
        times=_("on approval") if awaits and needs else describe_times(row.not_before, row.expires_at),
        by=row.by_name,
        url=url if runs.can_cancel(row, for_user) else "",
        latest=_name_end(row.expires_at) if awaits and needs else "",
        approvals=sum(need.count for need in needs),
    )


def _render_moment(at: datetime) -> str:
    return date_format(localtime(at), "j M Y H:i T")


def present_scheduled(plan: Plan, *, for_user: Person) -> tuple[Notice, ...]:
    """Return the notice of the last scheduled start of a plan; () without one, and once it has started a run."""
    row = runs.find_last_start(plan)
    if row is None or row.state == ScheduledStartState.STARTED:
        return ()
    end = runs.find_end(row)
    if end is not None:
        return (_present_canceled(row, end),) if end is not StartEnd.STARTED_BY_HAND else ()
    times = {"first": _render_moment(row.not_before), "last": _render_moment(row.expires_at)}
    text = _("The run starts as soon as nothing blocks it, not before %(first)s and not after %(last)s.") % times
    cancel = PostAction(
        _("Cancel scheduled start"), reverse("reviews:cancel-start", args=[plan.review.number, plan.number])
    )
    return (
        Notice(
            LEVEL_STYLES[RiskLevel.INFO],
            _("%(name)s scheduled the run of this plan") % {"name": row.by_name},
            text,
            lines=sentences.describe_all(runs.find_run_blockers(plan, for_user=row.by, hidden=hidden_positions(plan))),
            anchor=SCHEDULED,
            posts=(cancel,) if runs.can_cancel(row, for_user) else (),
        ),
    )


def _present_canceled(row: ScheduledStart, end: StartEnd) -> Notice:
    text = _("Scheduled by %(name)s.") % {"name": row.by_name}
    if end is StartEnd.BY_PERSON and row.ended_by is not None:
        title = _("%(name)s canceled the scheduled start") % {"name": row.ended_by.get_username()}
    else:
        title = _("The scheduled start was canceled: %(why)s") % {"why": end.label}
    return Notice(LEVEL_STYLES[RiskLevel.MEDIUM], title, text, anchor=SCHEDULED)
