"""The guard of the views of one plan: none of them sees a plan that its reader may not see."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import planner

PlanView = Callable[Concatenate[PageRequest, Plan, ...], HttpResponseBase]
"""A view of a plan: it receives the plan instead of the numbers in its address."""


def requires_plan(action: Action, *methods: str) -> Callable[[PlanView], Callable[..., HttpResponseBase]]:
    """Declare the right that a view of a plan needs and the methods it accepts (only GET by default)."""

    def decorate(view: PlanView) -> Callable[..., HttpResponseBase]:
        @requires(action, *methods)
        @wraps(view)
        def guarded(request: PageRequest, /, number: int, plan: int, **parts: int | str) -> HttpResponseBase:
            return view(request, planner.get_plan(plan, review_number=number, for_user=request.user), **parts)

        return guarded

    return decorate


def require_latest(plan: Plan) -> None:
    """Raise `NotPossibleError` for a plan that a later one superseded."""
    latest = plan.review.latest_plan
    if latest is None or latest.pk != plan.pk:
        raise NotPossibleError(_("this plan was superseded by a later plan; open that plan"))
