"""Reauthentication: its time is stored in the session and checked before high-risk actions."""

from __future__ import annotations

from django.contrib.auth import logout
from django.http import HttpRequest
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.records.models import Plan
from applyviz.web.frame.client_address import find_address
from applyviz.workflow import policies
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotAllowedError
from applyviz.workflow.people import sign_in
from applyviz.workflow.policies import risks

__all__ = ["find_address", "is_asked_for", "is_fresh", "reauthenticate", "remember"]
_KEY = "proved_at"


def remember(request: HttpRequest) -> None:
    """Record that the signed-in person has just given their password."""
    request.session[_KEY] = clock.now().timestamp()


def reauthenticate(request: HttpRequest, password: str) -> str:
    """Check a password that was given again; return an error sentence, "" when it is right.

    - Raises `NotAllowedError` after ten wrong ones, which end the session; `TooOftenError` for an early attempt.
    """
    key = request.session.session_key or ""
    if not isinstance(request.user, Person):
        raise NotAllowedError(_("you are not signed in"))
    found = sign_in.reauthenticate(request.user, password, find_address(request), session=key)
    if found is sign_in.Proof.RIGHT:
        remember(request)
        return ""
    if found is sign_in.Proof.SESSION_ENDS:
        logout(request)
        raise NotAllowedError(
            _(
                "This session ended after %(count)d wrong passwords. Your other sessions are still active. Sign in "
                "again."
            )
            % {"count": sign_in.PROOFS_OF_SESSION}
        )
    return _("Wrong password.")


def is_fresh(request: HttpRequest) -> bool:
    """Return whether the person reauthenticated within the last five minutes."""
    proved_at = request.session.get(_KEY)
    return sign_in.is_fresh(proved_at if isinstance(proved_at, float) else None)


def is_asked_for(request: HttpRequest, plan: Plan) -> bool:
    """Return whether a plan has a high risk, and the last reauthentication is too old for it."""
    if is_fresh(request):
        return False
    many = policies.find_policy(plan).many_objects
    return any(risk.needs_acknowledgment for risk in risks.list_risks(plan, many=many))
