"""Requested reviewers by the API: who was asked for a review and where they stand; ask, change, withdraw."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from applyviz.engine.objects.values import JSONObject
from applyviz.records.models import Review
from applyviz.web.api.forms import RequestForm
from applyviz.web.api.guard import check, read_body, requires, show
from applyviz.web.api.problems import ProblemsError, SourceProblem
from applyviz.workflow.approvals import quorum, requested_reviewers
from applyviz.workflow.approvals.requested_reviewers import RequestedReviewer
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.people import tokens
from applyviz.workflow.people.tokens import Caller
from applyviz.workflow.plans import reviews


def present_reviewers(found: Iterable[RequestedReviewer]) -> list[JSONObject]:
    """Return the requested reviewers, by name."""
    return [
        {"name": one.name, "has_approved": one.has_approved, "can_approve": one.has_approved or one.can_approve}
        for one in found
    ]


def _present(review: Review, caller: Caller) -> JSONObject:
    """Return the requested reviewers and, if the reader may request reviews, the candidates."""
    plan = review.latest_plan
    if plan is None:
        return {"requested_reviewers": [], "can_be_asked": []}
    may_ask = access.can(caller.person, Action.WRITE, access.scopes_of(review))
    askable = requested_reviewers.list_askable(plan) if may_ask else ()
    found = requested_reviewers.find_reviewers(plan, quorum.count_quorum(plan))
    return {
        "requested_reviewers": present_reviewers(found),
        "can_be_asked": [person.get_username() for person in askable],
    }


@requires(Action.VIEW, "GET", "POST")
def request_reviewers(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Return who was asked for a review; a POST asks exactly the people that it names."""
    review = reviews.get_review(number, for_user=caller.person)
    if request.method == "POST":
        caller.require(Action.WRITE)
        access.require(caller.person, Action.WRITE, access.scopes_of(review))
        names = check(RequestForm(read_body(request)))["reviewers"]
        try:
            accounts = requested_reviewers.find_accounts(review, names)
        except NotValidError as error:
            raise ProblemsError([SourceProblem(str(error), field="reviewers")]) from error
        with tokens.holding(caller):
            requested_reviewers.request_reviewers(review, by=caller.person, accounts=accounts)
        review = reviews.get_review(number, for_user=caller.person)
    return show(_present(review, caller))
