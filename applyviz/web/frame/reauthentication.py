"""Who proved when that it is them: kept in the session, asked for before what has a high risk."""

from __future__ import annotations

from django.contrib.auth import logout
from django.http import HttpRequest
from django.utils.translation import gettext as _

from applyviz.records.models import Plan
from applyviz.web.frame.client_address import find_address
from applyviz.workflow import policies
from applyviz.workflow.foundation import clock
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotAllowedError
from applyviz.workflow.people import sign_in
from applyviz.workflow.policies import risks

__all__ = ["find_address", "is_asked_for", "is_fresh", "reauthenticate", "remember"]
_KEY = "proved_at"


def remember(request: HttpRequest) -> None:
    """Keep that who is signed in has just given their password."""
    request.session[_KEY] = clock.now().timestamp()


def reauthenticate(request: HttpRequest, password: str) -> str:
    """Take a password that was given once more; gives the sentence of an error, "" when it is right.

    - Raises `NotAllowedError` after ten wrong ones: this session has ended. Raises `TooOftenError` for one too early.
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
    """Whether they did so within the last five minutes."""
    proved_at = request.session.get(_KEY)
    return sign_in.is_fresh(proved_at if isinstance(proved_at, float) else None)


def is_asked_for(request: HttpRequest, plan: Plan) -> bool:
    """Whether a plan has a high risk, and the last proof is too old for that."""
    if is_fresh(request):
        return False
    many = policies.find_policy(plan).many_objects
    return any(risk.needs_acknowledgement for risk in risks.list_risks(plan, many=many))
