"""Following a branch by the API: read the state, start, stop, fetch now."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from applyviz.engine.objects.values import JSONObject
from applyviz.records.models import Review
from applyviz.web.api.forms import FollowingForm
from applyviz.web.api.guard import check, read_body, requires, show
from applyviz.workflow.following import branches
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.people import commit_people, tokens
from applyviz.workflow.people.tokens import Caller
from applyviz.workflow.plans import reviews


def present_following(review: Review) -> JSONObject | None:
    """Return whether a review follows a branch, and what the last push led to; None if it never did."""
    found = branches.find_following(review)
    if found is None:
        return None
    return {
        "is_active": found.ended_at is None,
        "branch": found.branch,
        "repository": found.repository,
        "requested_by": found.by.get_username(),
        "is_waiting": found.due_at is not None,
        "last_push": found.pushed_at.isoformat() if found.pushed_at else None,
        "last_fetch": found.checked_at.isoformat() if found.checked_at else None,
        "outcome": found.outcome,
        "commit": found.commit,
        "error": found.detail,
        "ended": found.end_reason,
        "next_review": found.successor.number if found.successor else None,
    }


def _present(review: Review) -> JSONObject:
    latest = review.latest_plan
    unknown = () if latest is None else sentences.describe_all(commit_people.find_unknown(latest))
    return {"following": present_following(review), "unknown_editors": list(unknown)}


@requires(Action.VIEW, "GET", "POST")
def follow_branch(request: HttpRequest, caller: Caller, number: int) -> HttpResponseBase:
    """Return whether a review follows its branch; a POST starts, stops, or fetches now."""
    review = reviews.get_review(number, for_user=caller.person)
    if request.method == "POST":
        caller.require(Action.WRITE)
        act = check(FollowingForm(read_body(request)))["act"]
        latest = review.latest_plan
        with tokens.holding(caller):
            if act == "start":
                branches.start_following(review, by=caller.person, seen=latest.number if latest else 0)
            elif act == "stop":
                branches.stop_following(review, by=caller.person)
            else:
                branches.check_now(review, by=caller.person)
    return show(_present(review))
