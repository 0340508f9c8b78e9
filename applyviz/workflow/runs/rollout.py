"""Optional wait after a write until the object is ready, with a deadline.

Rule: `engine/readiness` evaluates each kind as kstatus does; an object that is ready at once is not waited for.
The deadline counts from the write, so that a worker that takes over waits no longer than the first one. The database's
clock measures it, because host clocks may differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.readiness.status import ReadinessStatus, State, read_status
from applyviz.records.enums import RolloutState
from applyviz.records.models import ObjectResult
from applyviz.workflow.foundation import clock as shared_clock
from applyviz.workflow.runs.flows import CallCluster, ObjectFlow, Persist, Sleep
from applyviz.workflow.runs.request_sender import StopError

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0


class Rollout:
    """The wait for one object."""

    def __init__(
        self,
        result: ObjectResult,
        read: Callable[[], JSONObject | None],
        *,
        seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._result, self._read, self._clock = result, read, clock
        since = (shared_clock.now() - result.finished_at).total_seconds() if result.finished_at else 0.0
        self._seconds = seconds
        self._deadline = clock() + seconds - since

    def flow(self, live: JSONObject | None) -> ObjectFlow[tuple[bool, str]]:
        """Return whether the object became ready, with one sentence; every change of its status is recorded.

        - `live`: the object from the answer of the write, None when it must be read.
        """
        message, pause = "", _FIRST_PAUSE
        status = read_status(live) if live is not None else None
        while True:
            if status is not None:
                state = self._judge(status)
                if state is not RolloutState.WAITING or status.message != message:
                    message = status.message
                    yield Persist(partial(self._write, state, message))
                if state is not RolloutState.WAITING:
                    return state is RolloutState.READY, self._describe(state, message)
                yield Sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
            status = yield from self._read_status()

    def _read_status(self) -> ObjectFlow[ReadinessStatus]:
        try:
            live: JSONObject | None = yield CallCluster(self._read)
        except StopError as stop:
            return ReadinessStatus(State.UNKNOWN, stop.detail)
        return read_status(live)

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

    def _write(self, state: RolloutState, message: str) -> None:
        ObjectResult.objects.filter(pk=self._result.pk).update(
            rollout=state, rollout_detail=self._describe(state, message), rollout_at=shared_clock.now()
        )
