"""Whether the installation does its work: what waits for a worker, for how long, and what is wrong.

Everything comes from the database, so that a web process answers it without asking the broker or a worker.
"""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Min, Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz import clock
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, Heartbeat, OutboxMessage, Plan, WorkerRequest
from applyviz.records.worker_enums import WorkerRequestState
from applyviz.workflow.foundation.access import Action, Person, require

PATIENCE = timedelta(seconds=60)
"""How long work may wait for a worker before people are warned: long enough for a worker that restarts."""
LEAST_FREE_BYTES = 500 * 1024 * 1024
_RECOVERY = "recovery"


class Queue(Struct, frozen=True):
    """One kind of work: how much of it waits and since when, and how much workers have in hand."""

    name: str
    title: Promise
    waiting: int
    since: datetime | None
    in_hand: int

    def is_stuck(self, now: datetime) -> bool:
        """Return whether work waits although no worker has anything of this kind in hand."""
        return self.since is not None and not self.in_hand and now - self.since > PATIENCE


class Problem(Struct, frozen=True):
    """A problem, its start, and the action for an administrator."""

    title: Promise
    advice: Promise
    since: datetime | None = None


class InstallationHealth(Struct, frozen=True):
    """The queues and what is wrong; `free_bytes` is None where the data is on another machine."""

    queues: tuple[Queue, ...]
    problems: tuple[Problem, ...]
    free_bytes: int | None


_NO_WORKER: dict[str, tuple[Promise, Promise]] = {
    "runs": (_("No worker is picking up apply runs."), _("Start or restart worker-runs, and check its log.")),
    "plans": (_("No worker is picking up plans."), _("Start or restart worker-plans, and check its log.")),
    "short": (_("No worker is handling requests from pages."), _("Start or restart worker-short, and check its log.")),
}
_RESTART = _("Stop applyviz and start it again. Nothing is lost.")


def _describe_stuck(queue: Queue) -> Problem:
    title, advice = _NO_WORKER[queue.name]
    return Problem(title, _RESTART if settings.APPLYVIZ_IS_PERSONAL else advice, queue.since)


def _measure(
    name: str, title: Promise, waiting: QuerySet[Plan] | QuerySet[ApplyRun] | QuerySet[WorkerRequest], in_hand: int
) -> Queue:
    oldest = waiting.aggregate(since=Min("created_at"))["since"]
    return Queue(name, title, waiting.count(), oldest, in_hand)


def _measure_queues(now: datetime) -> tuple[Queue, ...]:
    leased = Q(lease_until__gt=now)
    runs = ApplyRun.objects.filter(state=RunState.QUEUED, plan__target__cluster__paused_at=None)
    plans = Plan.objects.filter(~leased | Q(lease_until=None), state=PlanState.PLANNING)
    asked = WorkerRequest.objects.filter(state=WorkerRequestState.WAITING, expires_at__gt=now)
    return (
        _measure("runs", _("Apply runs"), runs, ApplyRun.objects.filter(leased, state=RunState.APPLYING).count()),
        _measure("plans", _("Plans"), plans, Plan.objects.filter(leased, state=PlanState.PLANNING).count()),
        _measure("short", _("Short tasks"), asked.filter(~leased | Q(lease_until=None)), asked.filter(leased).count()),
    )


def _find_unsent(now: datetime) -> list[Problem]:
    since = OutboxMessage.objects.filter(sent_at=None).aggregate(since=Min("created_at"))["since"]
    if since is None or now - since <= PATIENCE:
        return []
    advice = _("Check that Redis runs and that beat and worker-short are started.")
    return [Problem(_("Messages are waiting to be sent."), advice, since)]


def note_recovery(now: datetime) -> None:
    """Store that the recovery task ran, at most once in a quarter of a minute."""
    row, is_new = Heartbeat.objects.get_or_create(part=_RECOVERY, defaults={"at": now})
    if not is_new and now - row.at > PATIENCE / 4:
        Heartbeat.objects.filter(part=_RECOVERY, at__lt=now).update(at=now)


def _find_stopped_clock(now: datetime, installed_at: datetime) -> list[Problem]:
    """Beat asks for the recovery task every few seconds: when it did not run for a minute, beat or its worker does not.

    - `installed_at`: when the installation has certainly been there, if the task never ran.
    """
    last = Heartbeat.objects.filter(part=_RECOVERY).values_list("at", flat=True).first() or installed_at
    if now - last <= PATIENCE:
        return []
    advice = _("Check that beat and worker-short are started and that Redis runs.")
    return [Problem(_("Scheduled work has stopped."), _RESTART if settings.APPLYVIZ_IS_PERSONAL else advice, last)]


def _find_full_disk(free: int | None) -> list[Problem]:
    if free is None or free >= LEAST_FREE_BYTES:
        return []
    return [Problem(_("The disk of the data folder is almost full."), _("Free some space, or move the data folder."))]


def _read_free_bytes() -> int | None:
    if not settings.APPLYVIZ_IS_PERSONAL:
        return None
    try:
        return shutil.disk_usage(settings.APPLYVIZ_HOME).free
    except OSError:
        return None


def read_health(*, for_user: Person) -> InstallationHealth:
    """Return the state of the queues and every problem, for administrators; five queries."""
    require(for_user, Action.MANAGE)
    now, free = clock.now(), _read_free_bytes()
    queues = _measure_queues(now)
    stuck = [_describe_stuck(queue) for queue in queues if queue.is_stuck(now)]
    problems = (*stuck, *_find_unsent(now), *_find_stopped_clock(now, for_user.date_joined), *_find_full_disk(free))
    return InstallationHealth(queues, problems, free)
