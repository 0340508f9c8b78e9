"""Server-sent events: what moved since the last look, told while it happens.

Rule: https://html.spec.whatwg.org/multipage/server-sent-events.html. A stream lives for seconds, not for good: the
browser comes again by itself and names the last event it had. Between looks it waits in the event loop and holds
no connection to the database; its looks share one thread, which it has as every request has. A process tells a
bounded number of streams; who gets none, and who sits behind a server that cannot stream, asks from time to time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

LIFETIME, PAUSE, SILENCE = 25.0, 0.2, 5.0
RETRY_MILLISECONDS = 500
SEATS = threading.BoundedSemaphore(64)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: what it is called, one line of data, and the place that a later look goes on from.

    - `is_last` ends the stream; the page does not come again.
    """

    name: str
    data: str
    place: str
    is_last: bool = False

    def __str__(self) -> str:
        return f"id: {self.place}\nevent: {self.name}\ndata: {self.data}\n\n"


Look = Callable[[str], "Event | None"]
"""Given the place of the last event ("" for none), what moved since, or None; reads the database."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The clock of a stream; tests put their own in its place."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    lifetime: float = LIFETIME
    pause: float = PAUSE
    silence: float = SILENCE


def _look_and_let_go(look: Look, place: str) -> Event | None:
    try:
        return look(place)
    finally:
        close_old_connections()


async def _tell(look: Look, place: str, pace: Pace) -> AsyncIterator[str]:
    if not SEATS.acquire(blocking=False):
        return
    try:
        yield f"retry: {RETRY_MILLISECONDS}\n\n"
        spoke = began = pace.now()
        while pace.now() - began < pace.lifetime:
            event = await sync_to_async(_look_and_let_go)(look, place)
            if event is not None:
                place, spoke = event.place, pace.now()
                yield str(event)
                if event.is_last:
                    return
            elif pace.now() - spoke >= pace.silence:
                spoke = pace.now()
                yield ": still here\n\n"  # a connection that broke is noticed by writing to it
            await pace.sleep(pace.pause)
    finally:
        SEATS.release()


def tell(request: HttpRequest, look: Look, *, pace: Pace | None = None) -> HttpResponseBase:
    """Answer with a stream of events, or with 204, on which a browser comes no more, where none can be told."""
    if not isinstance(request, ASGIRequest):
        return HttpResponse(status=204)
    place = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    response = StreamingHttpResponse(_tell(look, place[:200], pace or Pace()), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"  # packed, events would wait for one another
    return response
