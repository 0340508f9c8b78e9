"""Sessions that one click opened as a demo account: they last as long as one click opens nothing but the demo."""

from __future__ import annotations

from django.contrib.auth import BACKEND_SESSION_KEY, login
from django.contrib.auth.backends import BaseBackend
from django.http import HttpRequest

from applyviz.web.frame.account_backend import AccountBackend
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.ops import demo

_PASSWORDS = f"{AccountBackend.__module__}.{AccountBackend.__qualname__}"


class DemoBackend(BaseBackend):
    """Looks up the account of a one-click session for each request; finds none after a live cluster was added."""

    def get_user(self, user_id: int) -> Person | None:
        """Return the demo account, None when one click no longer signs it in."""
        return next((person for person in demo.list_sign_ins() if person.pk == user_id), None)


def open_session(request: HttpRequest, name: str) -> Person:
    """Sign in as a demo account without a password; raises `NotVisibleError` when there is none of that name."""
    person = next((person for person in demo.list_sign_ins() if person.get_username() == name), None)
    if person is None:
        raise NotVisibleError("there is no such demo account")
    login(request, person, backend=f"{DemoBackend.__module__}.{DemoBackend.__qualname__}")
    return person


def keep(request: HttpRequest) -> None:
    """Let this session go on after it added a cluster: it alone holds nothing that it was not given.

    - All other one-click sessions end, because anyone who can reach this port could have opened them.
    """
    if BACKEND_SESSION_KEY in request.session:
        request.session[BACKEND_SESSION_KEY] = _PASSWORDS
