"""A watch of a sandbox over HTTP: a connection that stays open for minutes and sends events.

Between two polls it waits in the event loop without a database connection. A poll asks whether the resource changed,
which needs no decryption; only then a part of the watch is read, by a worker where this process has no key. A process
keeps a bounded number of watches, and fewer per sandbox; further clients get 429 and retry later.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from msgspec import Struct

from applyviz.sandbox.api.http import WatchPart, WatchPosition, refuse_watch, render_status
from applyviz.web.frame.streams import do_and_let_go
from applyviz.workflow import worker_requests
from applyviz.workflow.clusters import sandboxes

MOST, MOST_OF_ONE = 64, 16
_POLLS: Final = threading.BoundedSemaphore(4)
"""How many watches of this process may use the database at the same moment."""


class WatchClock(Struct, frozen=True):
    """The clock of a watch; tests replace it."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    pause: float = 0.25
    bookmark_every: float = 60.0


class WatchSlots:
    """The watches in progress: a bounded number in total, and per sandbox."""

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._lock, self._watches = threading.Lock(), Counter[str]()
        self._most, self._most_of_one = most, most_of_one

    def take(self, slug: str) -> WatchSlot | None:
        """Take a slot; None when all are taken."""
        with self._lock:
            if self._watches.total() >= self._most or self._watches[slug] >= self._most_of_one:
                return None
            self._watches[slug] += 1
        return WatchSlot(self, slug)

    def release(self, slug: str) -> None:
        """Release a slot."""
        with self._lock:
            self._watches[slug] -= 1

    @property
    def taken(self) -> int:
        """Return how many slots are taken."""
        with self._lock:
            return self._watches.total()


class WatchSlot:
    """One slot, released once: at the end of the watch, or when it is garbage collected."""

    def __init__(self, slots: WatchSlots, slug: str) -> None:
        self._slots, self._slug, self._is_watches = slots, slug, True

    def release(self) -> None:
        """Release the slot."""
        if self._is_watches:
            self._is_watches = False
            self._slots.release(self._slug)

    def __del__(self) -> None:
        self.release()  # a response that is never sent is only garbage collected


SLOTS: Final = WatchSlots()
_FULL: Final = render_status(
    429, "TooManyRequests", "this server keeps as many watches as it can; please try again later"
)


@dataclass(frozen=True, slots=True)
class WatchQuestion:
    """The watch that one client requested."""

    slug: str
    path: str
    query: str
    headers: Mapping[str, str] = field(repr=False)

    def read(self, position: WatchPosition | None = None, *, has_bookmark: bool = False) -> WatchPart:
        """Return the part after a position; looks up sandbox and token each time, because both may change meanwhile."""
        cluster = sandboxes.find_sandbox(self.slug)
        if cluster is None:
            return refuse_watch(sandboxes.STRANGER)
        return worker_requests.answer_watch(
            cluster,
            path=self.path,
            query=self.query,
            headers=self.headers,
            position=position,
            has_bookmark=has_bookmark,
        )

    def read_news(self, position: WatchPosition) -> WatchPart | WatchPosition:
        """Return the part after a position if there may be one, else the position up to which nothing happened."""
        has_news, revision = sandboxes.find_news(
            self.slug, path=self.path, headers=self.headers, revision=position.revision
        )
        return self.read(position) if has_news else position._replace(revision=revision)


def _poll(do: Callable[[], WatchPart | WatchPosition]) -> WatchPart | WatchPosition:
    with _POLLS:
        return do_and_let_go(do)


async def _follow(question: WatchQuestion, first: WatchPart, clock: WatchClock, end: float) -> AsyncIterator[bytes]:
    """Yield the lines after the first part, until the deadline or until the sandbox ends the watch."""
    poll, position, bookmarked = sync_to_async(_poll), first.position, clock.now()
    while clock.now() < end:
        await clock.sleep(min(clock.pause, max(end - clock.now(), 0.0)))
        is_due = clock.now() >= min(bookmarked + clock.bookmark_every, end)
        bookmarked = clock.now() if is_due else bookmarked
        read = partial(question.read, has_bookmark=True) if is_due else question.read_news
        found = await poll(partial(read, position))
        if isinstance(found, WatchPosition):
            position = found
        elif found.response.status == HTTPStatus.OK:
            if found.response.body:
                yield found.response.body
            if found.is_ended:
                return
            position = found.position
        elif found.response.status != sandboxes.NO_WORKER.status:
            return  # without a worker nothing is lost: the next poll starts at the same position


async def _feed(
    question: WatchQuestion, first: WatchPart, slot: WatchSlot, clock: WatchClock, end: float
) -> AsyncIterator[bytes]:
    try:
        if first.response.body:
            yield first.response.body
        async for lines in _follow(question, first, clock, end):
            yield lines
    finally:
        slot.release()


def watch(
    request: HttpRequest, question: WatchQuestion, *, slots: WatchSlots = SLOTS, clock: WatchClock | None = None
) -> HttpResponseBase:
    """Answer with the lines of a watch as they arrive; at once with the known ones where the server cannot stream.

    - Answers 429 for too many watches, and with the sandbox's refusal, before the stream starts.
    """
    clock = clock or WatchClock()
    slot = slots.take(question.slug)
    if slot is None:
        full = HttpResponse(_FULL.body, status=_FULL.status, content_type="application/json")
        full["Retry-After"] = "5"
        return full
    began, is_async = clock.now(), isinstance(request, ASGIRequest)
    part = question.read(has_bookmark=not is_async)
    if not is_async or part.is_ended:
        slot.release()
        return HttpResponse(part.response.body, status=part.response.status, headers=dict(part.response.headers))
    response = StreamingHttpResponse(
        _feed(question, part, slot, clock, began + part.seconds), headers=dict(part.response.headers)
    )
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"  # compression would delay events
    return response
