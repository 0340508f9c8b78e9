"""How large the body of a request may be, by its address and by whether its sender is signed in.

It stands before Django, which writes every body to a temporary file before it looks at the request. A body that is too
large is refused by its `Content-Length`, or as soon as more arrives than may: with 413, and nothing of it is kept.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import Final, cast

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import close_old_connections

from applyviz.engine.objects.golang import is_digits
from applyviz.workflow.people import tokens

Scope = dict[str, object]
Message = Mapping[str, object]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_KIB, _MIB = 1024, 1024 * 1024
STRANGERS: Final = 64 * _KIB
"""The limit for people who are not signed in, at any address: a sign-in form, a choice of theme."""
SIGNED_IN: Final = 32 * _MIB
"""The limit for signed-in people and programs: the files of a review, 20 MiB, as a form or as text in JSON."""
_OF_ADDRESSES: Final = (
    (re.compile(r"/push/[^/]+/"), 2 * _MIB + 1),  # verified by its signature; the page itself refuses what is larger
    (re.compile(r"/sandboxes/.+"), 2 * _MIB + 1),  # kubectl sends a sandbox token; etcd takes 1.5 MiB
    (re.compile(r"/playground/(sets/)?"), 512 * _KIB),  # the question of a visitor, which a form triples at most
)
_REFUSAL = b"The body is larger than what this address takes.\n"


def find_limit(path: str) -> int:
    """Return how many bytes anybody may send to an address."""
    return next((most for pattern, most in _OF_ADDRESSES if pattern.fullmatch(path)), STRANGERS)


def _read_header(scope: Scope, name: bytes) -> str:
    headers = cast("Iterable[tuple[bytes, bytes]]", scope["headers"])
    found = next((value for key, value in headers if key.lower() == name), b"")
    return bytes(found).decode("latin-1")


def _is_known(cookies: str, authorization: str) -> bool:
    """Return whether a session of a person, or the token of a program, comes with a request."""
    try:
        return _opens(cookies, authorization)
    finally:
        close_old_connections()  # no request ends here that would give it back


def _opens(cookies: str, authorization: str) -> bool:
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return tokens.is_valid(token.strip())
    try:
        morsel = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return False
    if morsel is None:
        return False
    store = import_module(settings.SESSION_ENGINE).SessionStore
    return SESSION_KEY in store(morsel.value).load()


class BodyLimits:
    """An ASGI application that refuses bodies that are too large, in front of another one."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is small enough."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        counter = _BodyCounter(scope, receive)
        length = _read_header(scope, b"content-length")
        if not is_digits(length) or await counter.may_take(int(length[:20])):
            await self._application(scope, counter.receive, send)
        if counter.is_refused:
            await _refuse(send)


class _BodyCounter:
    """Counts what arrives; who sends it is looked up only where it matters, and once.

    Once too much has arrived, the application hears that the sender has gone, so that it lets go of what it has.
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope, self._receive = scope, receive
        self._taken, self._most, self._is_asked = 0, find_limit(str(scope["path"])), False
        self.is_refused = False

    async def may_take(self, size: int) -> bool:
        """Return whether the sender may send so many bytes."""
        if size > self._most and not self._is_asked and size <= SIGNED_IN:
            self._is_asked = True
            given = (_read_header(self._scope, name) for name in (b"cookie", b"authorization"))
            if await sync_to_async(_is_known)(*given):
                self._most = SIGNED_IN
        self.is_refused = self.is_refused or size > self._most
        return not self.is_refused

    async def receive(self) -> Message:
        """Return the next message, if it is not too much."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._taken += len(cast("bytes", message.get("body", b"")))
            if not await self.may_take(self._taken):
                return {"type": "http.disconnect"}
        return message


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(_REFUSAL)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": _REFUSAL})
