"""Executes the objects of one step in parallel, up to a limit.

The calling thread drives every flow: it starts objects in order, persists the pending records of several flows in one
transaction that also renews the lease, and only then lets threads call the cluster. A started flow is always finished;
no flow is started once the run must stop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from django.conf import settings
from django.db import transaction

from applyviz.workflow.runs.flows import CallCluster, ObjectFlow, OutcomeRecorded, Persist, Sleep, Step
from applyviz.workflow.runs.lease import Claim

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Member(Generic[T]):
    """One unfinished flow, the step that it waits for, and until when it sleeps."""

    flow: ObjectFlow[T]
    step: Step | None = None
    future: Future[Any] | None = None
    until: float = 0.0
    is_concluded: bool = False
    held: list[Callable[[], Any]] = field(default_factory=list)
    ended: list[T] = field(default_factory=list)

    def advance(self, value: object = None, error: Exception | None = None) -> None:
        """Send the flow the result of its step, and take the next step."""
        self.future = None
        try:
            self.step = self.flow.throw(error) if error is not None else self.flow.send(value)
            while isinstance(self.step, OutcomeRecorded) or (isinstance(self.step, Persist) and self.step.can_wait):
                if isinstance(self.step, Persist):
                    self.held.append(self.step.do)
                else:
                    self.is_concluded = True
                self.step = self.flow.send(None)
        except StopIteration as stop:
            self.step = None
            self.ended.append(stop.value)

    def persist(self) -> object:
        """Persist what was deferred, then the current step."""
        for do in self.held:
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
        self._kept = clock()
        self._members: list[_Member[T]] = []
        self.has_given_up = False
        self._pool = ThreadPoolExecutor(self._width, thread_name_prefix="run") if self._width > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def execute(
        self, flows: Iterator[ObjectFlow[T]], *, may_start: Callable[[], bool], may_wait: Callable[[], bool]
    ) -> Iterator[T]:
        """Drive flows; yield the result of each as soon as it ends.

        - `may_start()` is called before each start; `may_wait()` says whether objects with an outcome are waited for.
        - Raises `LeaseLostError` at the first write after the run was lost.
        """
        is_more = True
        while is_more or self._members:
            while is_more and self._count_busy() < self._width and (is_more := may_start()):
                is_more = self._start(flows)
            self._persist_pending()
            self._ask()
            ended = self._take_ended()
            yield from ended
            if not (ended and is_more):  # else a slot is free: fill it first
                self._go_on_waiting(may_wait)

    def _start(self, flows: Iterator[ObjectFlow[T]]) -> bool:
        flow = next(flows, None)
        if flow is None:
            return False
        member = _Member(flow)
        self._members.append(member)
        member.advance()
        return True

    def _count_busy(self) -> int:
        return sum(not member.is_concluded for member in self._members)

    def _take_ended(self) -> list[T]:
        ended = [found for member in self._members for found in member.ended]
        self._members = [member for member in self._members if not member.ended]
        return ended

    def _persist_pending(self) -> None:
        """Persist all pending records in one transaction that renews the lease; raise when the lease is lost."""
        while told := [m for m in self._members if isinstance(m.step, Persist) or m.held]:
            with transaction.atomic():
                self._claim.keep()
                values = [member.persist() for member in told]
            self._kept = self._clock()
            for member, value in zip(told, values, strict=True):
                member.held.clear()
                if isinstance(member.step, Persist):
                    member.advance(value)

    def _ask(self) -> None:
        for member in self._members:
            step = member.step
            if not isinstance(step, CallCluster) or member.future is not None:
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
        self._begin_pauses()
        asking = [m.future for m in self._members if m.future is not None]
        pausing = [m for m in self._members if isinstance(m.step, Sleep)]
        if any(m.step is not None and not isinstance(m.step, Sleep) and m.future is None for m in self._members):
            return
        if pausing and all(m.is_concluded for m in self._members) and not may_wait():
            self._give_up_waiting()
            return
        self._keep_lease()
        rest = min((m.until for m in pausing), default=self._clock() + self._beat) - self._clock()
        if asking:
            wait(asking, timeout=max(0.0, min(rest, self._beat)), return_when=FIRST_COMPLETED)
        elif pausing:
            self._sleep(max(0.0, min(rest, self._beat)))
            if rest <= self._beat:
                first = min(pausing, key=lambda m: m.until)
                first.until = self._clock()
        self._take_answers()

    def _begin_pauses(self) -> None:
        for member in self._members:
            if isinstance(member.step, Sleep) and not member.until:
                member.until = self._clock() + member.step.seconds

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
            elif isinstance(member.step, Sleep) and member.until and member.until <= self._clock():
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
