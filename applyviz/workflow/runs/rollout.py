"""Optional wait after a write until the object is ready, with a deadline.

Rule: `engine/readiness` evaluates each kind as kstatus does; an object that is ready at once is not waited for.
The deadline counts from the write, or from a retry, so that a worker that takes over waits no longer than the first
one. The database's clock measures it, because host clocks may differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from applyviz import clock as shared_clock
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.readiness.pods import PodCounts, count_pods
from applyviz.engine.readiness.status import ReadinessStatus, State, read_status
from applyviz.records.enums import RolloutState
from applyviz.records.models import ObjectResult, RolloutSample
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.runs.flows import CallCluster, ObjectFlow, Persist, Sleep
from applyviz.workflow.runs.pod_reports import PodReport
from applyviz.workflow.runs.request_sender import StopError

_FIRST_PAUSE = 0.5
LOOK_SECONDS = 5.0
"""The longest pause between two looks; a run in which every object pauses so long gives its worker back."""
# Pods take some seconds to start; those that took longer are asked why, and not at every look.
_PATIENCE, _BETWEEN_REPORTS = 10.0, 30.0
MOST_SAMPLES = 200


class _Seen(Struct, frozen=True):
    """A workload at one moment: how far it is, and its pods; None where it could not be read or counts none."""

    status: ReadinessStatus
    live: JSONObject | None = None
    counts: PodCounts | None = None

    @classmethod
    def of(cls, live: JSONObject | None) -> _Seen:
        return cls(read_status(live), live, count_pods(live) if live is not None else None)


class Rollout:
    """The wait for one object."""

    def __init__(
        self,
        result: ObjectResult,
        read: Callable[[], JSONObject | None],
        report: Callable[[JSONObject], PodReport],
        *,
        seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._result, self._read, self._report, self._clock = result, read, report, clock
        began = result.watched_from or result.finished_at
        since = (shared_clock.now() - began).total_seconds() if began else 0.0
        self._seconds = seconds
        self._deadline = clock() + seconds - since
        self._next_report = clock() + _PATIENCE
        self._told: tuple[str, PodCounts | None] = "", None
        self._reported = PodReport()

    def flow(self, live: JSONObject | None) -> ObjectFlow[tuple[bool, str]]:
        """Return whether the object became ready, with one sentence; every change of its status is recorded.

        - `live`: the object from the answer of the write, None when it must be read.
        """
        pause = _FIRST_PAUSE
        seen = _Seen.of(live) if live is not None else None
        while True:
            if seen is not None:
                state = yield from self._take(seen)
                if state is not RolloutState.WAITING:
                    return state is RolloutState.READY, self._describe(state, seen.status.message)
                yield Sleep(pause, may_park=pause >= LOOK_SECONDS)
                pause = min(pause * 1.5, LOOK_SECONDS)
            seen = yield from self._read_status()

    def look_again(self, *, seconds: float) -> ObjectFlow[RolloutState]:
        """Look once at an object that was looked at some seconds ago, maybe by another worker; return its state."""
        row = self._result
        self._told = row.rollout_detail, msgspec.convert(row.pods, PodCounts) if row.pods else None
        self._reported = msgspec.convert(row.pods, PodReport)
        watched = self._clock() + self._seconds - self._deadline
        is_due = watched // _BETWEEN_REPORTS > (watched - seconds) // _BETWEEN_REPORTS
        self._next_report = self._clock() + (0.0 if is_due else _BETWEEN_REPORTS)
        seen = yield from self._read_status()
        return (yield from self._take(seen))

    def _take(self, seen: _Seen) -> ObjectFlow[RolloutState]:
        """Record what is new, and return the state of the rollout."""
        state = self._judge(seen.status)
        has_news = yield from self._ask_pods(seen, state)
        if state is not RolloutState.WAITING or has_news or (seen.status.message, seen.counts) != self._told:
            yield Persist(partial(self._write, state, seen))
            self._told = seen.status.message, seen.counts
        return state

    def _read_status(self) -> ObjectFlow[_Seen]:
        try:
            live: JSONObject | None = yield CallCluster(self._read)
        except StopError as stop:
            return _Seen(ReadinessStatus(State.UNKNOWN, stop.detail))
        return _Seen.of(live)

    def _ask_pods(self, seen: _Seen, state: RolloutState) -> ObjectFlow[bool]:
        """Read why pods do not start, when they had time to; whether there is news of it."""
        is_due = state is not RolloutState.WAITING or self._clock() >= self._next_report
        if seen.live is None or seen.counts is None or not is_due:
            return False
        if state is RolloutState.READY:
            found = PodReport()
        else:
            self._next_report = self._clock() + _BETWEEN_REPORTS
            found = yield CallCluster(partial(self._report, seen.live))
        has_news, self._reported = found != self._reported, found
        return has_news

    def _judge(self, status: ReadinessStatus) -> RolloutState:
        if status.state is State.CURRENT:
            return RolloutState.READY
        if status.state is State.FAILED:
            return RolloutState.FAILED
        return RolloutState.LATE if self._clock() >= self._deadline else RolloutState.WAITING

    def _describe(self, state: RolloutState, message: str) -> str:
        if state is RolloutState.LATE:
            return f"not ready within {self._seconds:g} s: {message}"
        return message

    def _write(self, state: RolloutState, seen: _Seen) -> None:
        detail, now = self._describe(state, seen.status.message), shared_clock.now()
        row = ObjectResult.objects.filter(pk=self._result.pk)
        row.update(rollout=state, rollout_detail=as_stored(detail), rollout_at=now)
        if seen.counts is None:
            return
        row.update(pods=as_stored({**asdict(seen.counts), **msgspec.to_builtins(self._reported)}))
        if seen.counts != self._told[1]:
            self._keep_sample(seen.counts)

    def _keep_sample(self, counts: PodCounts) -> None:
        """One sample per change; a run keeps so many and no more, so that a pod that flaps fills nothing."""
        kept = RolloutSample.objects.filter(result__run=self._result.run_id)
        if kept.count() < MOST_SAMPLES:
            RolloutSample.objects.create(result=self._result, at=shared_clock.now(), **asdict(counts))
