"""Following a branch by the API: read the state, start, stop, fetch now; and the plan that a client read before."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from applyviz.engine.objects.values import JSONObject
from applyviz.records.models import Plan, Review
from applyviz.web.api.forms import FollowingForm
from applyviz.web.api.guard import check, read_body, requires, show
from applyviz.workflow.following import branches
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.people import commit_people, tokens
from applyviz.workflow.people.tokens import Caller
from applyviz.workflow.plans import planner, reviews


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


def read_seen(review: Review, seen: int | None, caller: Caller) -> Plan | None:
    """Return the latest plan of a review, None without any.

    - `seen`: the number of the plan that the client read; None if it did not say. Raises `NotVisibleError` if there is
      no such plan, `NotPossibleError` if there is a later one: what was chosen on one plan does not change another.
    """
    latest = review.latest_plan
    if latest is None:
        return None
    found = planner.get_plan(seen or latest.number, review_number=review.number, for_user=caller.person)
    if found.pk != latest.pk:
        raise NotPossibleError(_("this plan was superseded by a later plan; open that plan"))
    return found


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
        chosen = check(FollowingForm(read_body(request)))
        act, latest = chosen["act"], read_seen(review, chosen["seen"], caller)
        with tokens.holding(caller):
            if act == "start":
                branches.start_following(review, by=caller.person, seen=latest.number if latest else 0)
            elif act == "stop":
                branches.stop_following(review, by=caller.person)
            else:
                branches.check_now(review, by=caller.person)
    return show(_present(review))
