"""The share of one person in the requests that a process answers at once.

Who asks is known before the database is read: each answer shows whose session or token it was. What is not known yet
counts for its address, so that new sessions or invented tokens give nobody a second share.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from applyviz.web.frame import client_address

PERSON = "applyviz.person"
"""Where the guard of the API notes which account a token acts as; no client can set a name without `HTTP_`."""
_MOST_KNOWN = 10_000


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _find_credential(request: HttpRequest) -> str:
    """Return the hash of the token or the session of a request; "" without one."""
    token, session = request.headers.get("Authorization", ""), request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return _hash(f"token {token}") if token else _hash(f"session {session}") if session else ""


def name_asker(request: HttpRequest) -> str:
    """Return whom a request counts for, once it is known: a person under all sessions and tokens, else an address."""
    person = request.META.get(PERSON) or getattr(getattr(request, "user", None), "pk", None)
    return f"address {client_address.find_address(request)}" if person is None else f"person {person}"


class Seats:
    """A limited number of seats, of which each person gets a share; a request without a seat is refused at once."""

    def __init__(self, most: int, *, each: int) -> None:
        self._most, self._each = most, each
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    def take(self, name: str) -> bool:
        """Take a seat; False if all are taken, or all of this name."""
        with self._lock:
            is_free = self._taken.total() < self._most and self._taken[name] < self._each
            if is_free:
                self._taken[name] += 1
            return is_free

    def leave(self, name: str) -> None:
        """Give back a seat that was taken."""
        with self._lock:
            self._taken[name] -= 1
            self._taken += Counter()  # only names with a seat are kept


class Shares:
    """Counts the requests of each person that are being answered."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()
        self._known: OrderedDict[str, str] = OrderedDict()

    @contextmanager
    def hold(self, request: HttpRequest, seconds: float) -> Iterator[bool]:
        """Hold one request of a person's share, after waiting so long at most; yields False if there was none."""
        with self._changed:
            known = self._known.get(_find_credential(request))
            name = known or f"address {client_address.find_address(request)}"
            has_share = self._changed.wait_for(lambda: self._taken[name] < self._most, seconds)
            self._taken[name] += has_share
        try:
            yield has_share
        finally:
            with self._changed:
                self._taken[name] -= has_share
                if not self._taken[name]:
                    del self._taken[name]
                self._changed.notify_all()

    def learn(self, request: HttpRequest, response: HttpResponse) -> None:
        """Remember whose session or token a request came with, and whose session an answer starts."""
        name = name_asker(request)
        if not name.startswith("person "):
            return
        found = {_find_credential(request)}
        cookie = response.cookies.get(settings.SESSION_COOKIE_NAME)
        if cookie is not None:
            found.add(_hash(f"session {cookie.value}"))
        with self._changed:
            for credential in found - {""}:
                self._known[credential] = name
                self._known.move_to_end(credential)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
