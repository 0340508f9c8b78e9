"""Who proved when that it is them: kept in the session, asked for before what is dangerous."""

from __future__ import annotations

from django.http import HttpRequest

from applyviz.records.models import Plan
from applyviz.web.addresses import find_address
from applyviz.workflow import clock, policies, signing

__all__ = ["find_address", "is_asked_for", "is_fresh", "remember"]
_KEY = "proved_at"


def remember(request: HttpRequest) -> None:
    """Keep that who is signed in has just given their password."""
    request.session[_KEY] = clock.now().timestamp()


def is_fresh(request: HttpRequest) -> bool:
    """Whether they did so within the last five minutes."""
    proved_at = request.session.get(_KEY)
    return signing.is_fresh(proved_at if isinstance(proved_at, float) else None)


def is_asked_for(request: HttpRequest, plan: Plan) -> bool:
    """Whether a plan is dangerous, and the last proof too old for that."""
    return not is_fresh(request) and bool(policies.list_dangers(plan, policies.find_policy(plan)))
