"""Long answers: server-sent events, JSON that waits for a change, large files.

Rule: https://html.spec.whatwg.org/multipage/server-sent-events.html. A stream lives for seconds: the browser reconnects
and names the last event. Between polls it waits in the event loop without a database connection; its polls share one
thread, as every request has one. A process serves a bounded number of streams, at most a quarter of them to one person,
and ends all when it must stop; other pages, and pages behind a server that cannot stream, poll instead. A file is
produced line by line at the pace of its reader: Django would collect all of it first.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from functools import partial
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import stopping
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONObject
from applyviz.web.frame import shares
from applyviz.web.frame.shares import Seats
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Visitor
from applyviz.workflow.foundation.errors import NotAllowedError, WorkflowError

LIFETIME, PAUSE, SILENCE = 25.0, 0.2, 5.0
RETRY_MILLISECONDS = 500
WAITING_PAUSE = 0.7
PIECE = 128 * 1024
STREAM_SEATS = Seats(64, each=16)


class StreamEvent(Struct, frozen=True):
    """One event: its name, one line of data, and the position from which a later poll continues.

    - `is_last` ends the stream; the page does not reconnect.
    """

    name: str
    data: str
    cursor: str
    is_last: bool = False

    def __str__(self) -> str:
        return f"id: {self.cursor}\nevent: {self.name}\ndata: {self.data}\n\n"


Poll = Callable[[str], "StreamEvent | None"]
"""Returns the changes since the position of the last event ("" for none), or None; reads the database.

Raises a `WorkflowError` when its reader lost the right to them (`find_reader`), which ends the stream.
"""


def find_reader(request: HttpRequest) -> Visitor:
    """Return who reads a stream now: a visitor once the session ended, the password changed or the account left."""
    key = request.session.session_key
    return get_user(request) if key and request.session.exists(key) else AnonymousUser()


class StreamClock(Struct, frozen=True):
    """The clock of a stream; tests replace it."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    lifetime: float = LIFETIME
    pause: float = PAUSE
    silence: float = SILENCE


T = TypeVar("T")


def do_and_let_go(do: Callable[[], T]) -> T:
    """Call a function and close the database connections that it opened.

    Closes young connections as well: the next waiting stream uses another thread.
    """
    try:
        return do()
    finally:
        for connection in connections.all(initialized_only=True):
            if not connection.in_atomic_block:
                connection.close()


async def _stream_events(poll: Poll, cursor: str, pace: StreamClock, reader: str = "") -> AsyncIterator[str]:
    if not STREAM_SEATS.take(reader):
        return
    try:
        yield f"retry: {RETRY_MILLISECONDS}\n\n"
        spoke = began = pace.now()
        while pace.now() - began < pace.lifetime and not stopping.is_requested():
            event = await sync_to_async(do_and_let_go)(partial(poll, cursor))
            if event is not None:
                cursor, spoke = event.cursor, pace.now()
                yield str(event)
                if event.is_last:
                    return
            elif pace.now() - spoke >= pace.silence:
                spoke = pace.now()
                yield ": still here\n\n"  # a broken connection is noticed by writing to it
            await pace.sleep(pace.pause)
    except WorkflowError:  # the browser asks again and reads the refusal
        return
    finally:
        STREAM_SEATS.leave(reader)


def stream_events(request: HttpRequest, poll: Poll) -> HttpResponseBase:
    """Answer with a stream of events, or with 204, after which a browser does not reconnect, if none is possible."""
    if not isinstance(request, ASGIRequest):
        return HttpResponse(status=204)
    cursor = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    events = _stream_events(poll, cursor[:200], StreamClock(), shares.name_asker(request))
    response = StreamingHttpResponse(events, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"  # compression would delay events
    return response


Document = JSONObject


async def _wait(
    poll: Callable[[], Document],
    is_enough: Callable[[Document], bool],
    finish: Callable[[Document], Document],
    pace: StreamClock,
    reader: str = "",
) -> AsyncIterator[bytes]:
    has_seat = STREAM_SEATS.take(reader)
    try:
        began = spoke = pace.now()
        document = await sync_to_async(do_and_let_go)(poll)
        while has_seat and not is_enough(document) and not stopping.is_requested():
            if pace.now() - began >= pace.lifetime:
                break
            if pace.now() - spoke >= pace.silence:
                spoke = pace.now()
                yield b"\n"  # JSON may start with it; a broken connection is noticed by writing to it
            await pace.sleep(pace.pause)
            document = await sync_to_async(do_and_let_go)(poll)
        yield json.dumps(await sync_to_async(do_and_let_go)(partial(finish, document))).encode()
    except ApplyVizError as error:  # access was lost after the status was sent
        yield json.dumps({"error": {"code": "forbidden", "message": str(error)}}).encode()
    finally:
        if has_seat:
            STREAM_SEATS.leave(reader)


def answer_when(
    request: HttpRequest,
    poll: Callable[[], Document],
    *,
    is_enough: Callable[[Document], bool],
    finish: Callable[[Document], Document],
    seconds: float,
    pace: StreamClock | None = None,
) -> HttpResponseBase:
    """Answer with JSON as soon as it changes, at the latest after some seconds.

    - A refusal is sent at once: the first poll happens before the answer starts.
    - Also answers at once where the server cannot wait without a thread, and while too many requests wait.
    """
    document = poll()
    if not seconds or is_enough(document) or not isinstance(request, ASGIRequest):
        return JsonResponse(dict(finish(document)))
    chosen = pace or StreamClock(lifetime=min(seconds, LIFETIME), pause=WAITING_PAUSE)
    pieces = _wait(poll, is_enough, finish, chosen, shares.name_asker(request))
    response = StreamingHttpResponse(pieces, content_type="application/json")
    response["Content-Encoding"] = "identity"
    return response


Lines = Generator[str, None, None]
"""Must work with another connection than its first one: no cursor stays open between lines."""


def watch_reader(request: HttpRequest, action: Action) -> Callable[[], None]:
    """Return what raises a `WorkflowError` once a reader has lost the session, the account or a grant that they had."""
    before = {grant.pk for grant in access.list_grants(request.user)}

    def check() -> None:
        reader = find_reader(request)
        access.require(reader, action)
        if not before <= {grant.pk for grant in access.list_grants(reader)}:
            raise NotAllowedError(_("your rights changed while the file was read"))

    return check


def _take_piece(lines: Lines, check: Callable[[], None]) -> bytes:
    """Return some of the remaining lines; nothing at the end."""
    check()
    taken, size = [], 0
    for line in lines:
        taken.append(line.encode())
        size += len(taken[-1])
        if size >= PIECE:
            break
    return b"".join(taken)


async def _draw(lines: Lines, check: Callable[[], None]) -> AsyncIterator[bytes]:
    try:
        while piece := await sync_to_async(do_and_let_go)(partial(_take_piece, lines, check)):
            yield piece
    finally:
        lines.close()


def send_file(
    request: HttpRequest, lines: Lines, *, name: str, content_type: str, check: Callable[[], None]
) -> StreamingHttpResponse:
    """Answer with a file of any length, with at most one piece of it in memory.

    - `check()` raises where the reader may read no further piece: the file breaks off.
    """
    is_async = isinstance(request, ASGIRequest)
    pieces = _draw(lines, check) if is_async else iter(partial(_take_piece, lines, check), b"")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(pieces, content_type=content_type, headers=headers)
