"""Executes the objects of one step in parallel, up to a limit.

The calling thread drives every flow: it starts objects in order, persists the pending records of several flows in one
transaction that also renews the lease, and only then lets threads call the cluster. A started flow is always finished;
no flow is started once the run must stop. Only a worker that must stop abandons flows: those that pause, and at the end
of its grace those whose request has no answer; the next worker determines their outcome by reading live.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, Self, TypeVar

from django.conf import settings
from django.db import transaction

from applyviz import stopping
from applyviz.workflow.foundation.gathering import gather
from applyviz.workflow.runs.flows import CallCluster, ObjectFlow, OutcomeRecorded, Persist, Sleep, Step
from applyviz.workflow.runs.lease import Claim

T = TypeVar("T")
_TOGETHER = 8  # how many objects start together at most
_LOOK_SECONDS = 0.5  # how late a cancellation or a stop is noticed at most


@dataclass(eq=False, slots=True)
class _Member(Generic[T]):
    """One unfinished flow, the step that it waits for, and until when it sleeps."""

    flow: ObjectFlow[T]
    step: Step | None = None
    future: Future[object] | None = None
    until: float = 0.0
    is_concluded: bool = False
    deferred: list[Callable[[], object]] = field(default_factory=list)
    ended: list[T] = field(default_factory=list)

    def advance(self, value: object = None, error: Exception | None = None) -> None:
        """Send the flow the result of its step, and take the next step."""
        self.future = None
        try:
            self.step = self.flow.throw(error) if error is not None else self.flow.send(value)
            while isinstance(self.step, OutcomeRecorded) or (isinstance(self.step, Persist) and self.step.can_wait):
                if isinstance(self.step, Persist):
                    self.deferred.append(self.step.do)
                else:
                    self.is_concluded = True
                self.step = self.flow.send(None)
        except StopIteration as stop:
            self.step = None
            self.ended.append(stop.value)

    def persist(self) -> object:
        """Persist what was deferred, then the current step."""
        for do in self.deferred:
            do()
        return self.step.do() if isinstance(self.step, Persist) else None


class FlowExecutor(Generic[T]):
    """Drives flows; use it as a context manager.

    - `width`: how many objects are in progress at once; 1 calls the cluster in the calling thread.
    """

    def __init__(
        self,
        claim: Claim,
        *,
        width: int,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._claim, self._width = claim, max(1, width)
        self._sleep, self._clock = sleep, clock
        self._beat = settings.APPLYVIZ_LEASE_SECONDS / 4
        self._skipped = 0.0
        self._kept = clock()
        self._members: list[_Member[T]] = []
        self.has_given_up = self.is_parked = False
        self._pool = ThreadPoolExecutor(self._width, thread_name_prefix="run") if self._width > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=not stopping.is_overdue(), cancel_futures=True)

    def execute(
        self, flows: Iterator[ObjectFlow[T]], *, may_start: Callable[[], bool], may_wait: Callable[[], bool]
    ) -> Iterator[T]:
        """Drive flows; yield the result of each as soon as it ends.

        - `may_start()` is called before some objects start together; `may_wait()` says whether objects with an outcome
          are waited for.
        - Ends early when every unfinished object only waits for a long time (`is_parked`).
        - Raises `LeaseLostError` at the first write after the run was lost.
        """
        is_more = True
        while is_more or self._members:
            is_more = is_more and self._start_some(flows, may_start)
            self._persist_pending()
            self._ask()
            yield from self._take_ended()
            if is_more and self._count_free():  # fill the free slots first
                self._take_answers()
            else:
                self._go_on_waiting(may_wait)

    def _start_some(self, flows: Iterator[ObjectFlow[T]], may_start: Callable[[], bool]) -> bool:
        """Start objects in free slots; return whether more may follow.

        - Only some at a time: the requests of these are on their way while the next ones are prepared.
        """
        free = min(self._count_free(), _TOGETHER)
        return not free or (may_start() and all(self._start(flows) for _ in range(free)))

    def _start(self, flows: Iterator[ObjectFlow[T]]) -> bool:
        flow = next(flows, None)
        if flow is None:
            return False
        member = _Member(flow)
        self._members.append(member)
        member.advance()
        return True

    def _count_free(self) -> int:
        return self._width - sum(not member.is_concluded for member in self._members)

    def _take_ended(self) -> list[T]:
        ended = [found for member in self._members for found in member.ended]
        self._members = [member for member in self._members if not member.ended]
        return ended

    def _persist_pending(self) -> None:
        """Persist all pending records in one transaction that renews the lease; raise when the lease is lost."""
        while pending := [m for m in self._members if isinstance(m.step, Persist) or m.deferred]:
            with transaction.atomic():
                self._claim.keep()
                with gather():
                    values = [member.persist() for member in pending]
            self._kept = self._clock()
            for member, value in zip(pending, values, strict=True):
                member.deferred.clear()
                if isinstance(member.step, Persist):
                    member.advance(value)

    def _ask(self) -> None:
        for member in self._members:
            step = member.step
            if not isinstance(step, CallCluster) or member.future is not None or stopping.is_overdue():
                continue
            if self._pool is not None:
                member.future = self._pool.submit(step.do)
                continue
            try:
                value = step.do()
            except Exception as error:  # the flow knows which errors it can handle
                member.advance(error=error)
            else:
                member.advance(value)

    def _go_on_waiting(self, may_wait: Callable[[], bool]) -> None:
        """Wait for the first answer or the end of a pause, and take everything that has arrived by then."""
        self._abandon_for_stop()
        self._begin_pauses()
        asking = [m.future for m in self._members if m.future is not None]
        pausing = [m for m in self._members if isinstance(m.step, Sleep)]
        if any(m.step is not None and not isinstance(m.step, Sleep) and m.future is None for m in self._members):
            return
        if pausing and all(m.is_concluded for m in self._members) and not may_wait():
            self._give_up_waiting()
            return
        if self._members and all(isinstance(m.step, Sleep) and m.step.may_park for m in self._members):
            self._give_up_waiting()
            self.is_parked = True
            return
        self._keep_lease()
        rest = min((m.until for m in pausing), default=self._now() + self._beat) - self._now()
        seconds = max(0.0, min(rest, self._beat, _LOOK_SECONDS))
        if asking:
            wait(asking, timeout=min(seconds, stopping.seconds_left()), return_when=FIRST_COMPLETED)
        elif pausing:
            self._pause(seconds)
        self._take_answers()

    def _now(self) -> float:
        return self._clock() + self._skipped

    def _pause(self, seconds: float) -> None:
        """Sleep; time that the given function did not sleep counts as slept."""
        began = self._clock()
        self._sleep(seconds)
        self._skipped += max(0.0, began + seconds - self._clock())

    def _abandon_for_stop(self) -> None:
        """Drop the flows that a worker which must stop waits for no longer."""
        if not stopping.is_requested():
            return
        is_over = stopping.is_overdue()
        left = [m for m in self._members if m.step is not None and (is_over or isinstance(m.step, Sleep))]
        for member in left:
            member.flow.close()
            self.has_given_up = True
        self._members = [m for m in self._members if m not in left]

    def _begin_pauses(self) -> None:
        for member in self._members:
            if isinstance(member.step, Sleep) and not member.until:
                member.until = self._now() + member.step.seconds

    def _take_answers(self) -> None:
        for member in list(self._members):
            if member.future is not None and member.future.done():
                error = member.future.exception()
                if error is not None and not isinstance(error, Exception):
                    raise error
                if error is not None:
                    member.advance(error=error)
                else:
                    member.advance(member.future.result())
            elif isinstance(member.step, Sleep) and member.until and member.until <= self._now():
                member.until = 0.0
                member.advance()

    def _give_up_waiting(self) -> None:
        for member in self._members:
            member.flow.close()
        self._members, self.has_given_up = [], True

    def _keep_lease(self) -> None:
        if self._clock() - self._kept > self._beat:
            self._claim.keep()
            self._kept = self._clock()
