"""Answers that take their time: events told while they happen, JSON that waits for something new, long files.

Rule: https://html.spec.whatwg.org/multipage/server-sent-events.html. A stream lives for seconds, not for good: the
browser comes again by itself and names the last event it had. Between looks it waits in the event loop and holds
no connection to the database; its looks share one thread, which it has as every request has. A process tells a
bounded number of streams; who gets none, and who sits behind a server that cannot stream, asks from time to time.
A file is drawn line by line as fast as it is taken: Django would gather the whole of it first.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from applyviz.engine.objects.errors import ApplyVizError

LIFETIME, PAUSE, SILENCE = 25.0, 0.2, 5.0
RETRY_MILLISECONDS = 500
WAITING_PAUSE = 0.7
PIECE = 128 * 1024
STREAM_SLOTS = threading.BoundedSemaphore(64)


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event: what it is called, one line of data, and the place that a later look goes on from.

    - `is_last` ends the stream; the page does not come again.
    """

    name: str
    data: str
    place: str
    is_last: bool = False

    def __str__(self) -> str:
        return f"id: {self.place}\nevent: {self.name}\ndata: {self.data}\n\n"


Poll = Callable[[str], "StreamEvent | None"]
"""Given the place of the last event ("" for none), what moved since, or None; reads the database."""


@dataclass(frozen=True, slots=True)
class StreamClock:
    """The clock of a stream; tests put their own in its place."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    lifetime: float = LIFETIME
    pause: float = PAUSE
    silence: float = SILENCE


T = TypeVar("T")


def do_and_let_go(do: Callable[[], T]) -> T:
    """Do something and close the connections to the database that it opened.

    Also a connection that is young enough to be kept: whoever waits next has a thread of their own.
    """
    try:
        return do()
    finally:
        for connection in connections.all(initialized_only=True):
            if not connection.in_atomic_block:
                connection.close()


async def _stream_events(look: Poll, place: str, pace: StreamClock) -> AsyncIterator[str]:
    if not STREAM_SLOTS.acquire(blocking=False):
        return
    try:
        yield f"retry: {RETRY_MILLISECONDS}\n\n"
        spoke = began = pace.now()
        while pace.now() - began < pace.lifetime:
            event = await sync_to_async(do_and_let_go)(partial(look, place))
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
        STREAM_SLOTS.release()


def stream_events(request: HttpRequest, look: Poll, *, pace: StreamClock | None = None) -> HttpResponseBase:
    """Answer with a stream of events, or with 204, on which a browser comes no more, where none can be told."""
    if not isinstance(request, ASGIRequest):
        return HttpResponse(status=204)
    place = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    response = StreamingHttpResponse(
        _stream_events(look, place[:200], pace or StreamClock()), content_type="text/event-stream"
    )
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"  # packed, events would wait for one another
    return response


Document = Mapping[str, Any]


async def _wait(
    look: Callable[[], Document],
    is_enough: Callable[[Document], bool],
    finish: Callable[[Document], Document],
    pace: StreamClock,
) -> AsyncIterator[bytes]:
    has_seat = STREAM_SLOTS.acquire(blocking=False)
    try:
        began = spoke = pace.now()
        document = await sync_to_async(do_and_let_go)(look)
        while has_seat and not is_enough(document) and pace.now() - began < pace.lifetime:
            if pace.now() - spoke >= pace.silence:
                spoke = pace.now()
                yield b"\n"  # JSON may begin with it; a connection that broke is noticed by writing to it
            await pace.sleep(pace.pause)
            document = await sync_to_async(do_and_let_go)(look)
        yield json.dumps(await sync_to_async(do_and_let_go)(partial(finish, document))).encode()
    except ApplyVizError as error:  # what may no longer be seen; the status went out long ago
        yield json.dumps({"error": {"code": "forbidden", "message": str(error)}}).encode()
    finally:
        if has_seat:
            STREAM_SLOTS.release()


def answer_when(
    request: HttpRequest,
    look: Callable[[], Document],
    *,
    is_enough: Callable[[Document], bool],
    finish: Callable[[Document], Document],
    seconds: float,
    pace: StreamClock | None = None,
) -> HttpResponseBase:
    """Answer with JSON as soon as it says something new, at the latest after some seconds.

    - What is refused is refused at once: the first look is taken before anything is answered.
    - At once as well where the server cannot wait without a thread, and while too many wait already.
    """
    document = look()
    if not seconds or is_enough(document) or not isinstance(request, ASGIRequest):
        return JsonResponse(dict(finish(document)))
    chosen = pace or StreamClock(lifetime=min(seconds, LIFETIME), pause=WAITING_PAUSE)
    response = StreamingHttpResponse(_wait(look, is_enough, finish, chosen), content_type="application/json")
    response["Content-Encoding"] = "identity"
    return response


Lines = Generator[str, None, None]
"""Must be able to go on with a connection other than the one it began with: no cursor stays open between lines."""


def _take_piece(lines: Lines) -> bytes:
    """Some of the lines that are left; nothing at the end."""
    taken, size = [], 0
    for line in lines:
        taken.append(line.encode())
        size += len(taken[-1])
        if size >= PIECE:
            break
    return b"".join(taken)


async def _draw(lines: Lines) -> AsyncIterator[bytes]:
    try:
        while piece := await sync_to_async(do_and_let_go)(partial(_take_piece, lines)):
            yield piece
    finally:
        lines.close()


def send_file(request: HttpRequest, lines: Lines, *, name: str, content_type: str) -> StreamingHttpResponse:
    """Answer with a file of any length, never more of it in memory than a piece."""
    is_async = isinstance(request, ASGIRequest)
    pieces = _draw(lines) if is_async else iter(partial(_take_piece, lines), b"")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(pieces, content_type=content_type, headers=headers)
