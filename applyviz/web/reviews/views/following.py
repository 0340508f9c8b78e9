"""Following a branch: the page about it, and its switches."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.records.models import Review
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires
from applyviz.web.reviews.forms.following import FollowAct, FollowForm
from applyviz.web.reviews.pages.sources.following import present_page
from applyviz.workflow.following import branches
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import reviews as use_cases


@requires(Action.VIEW, "GET", "POST")
def follow_branch(request: PageRequest, number: int) -> HttpResponse:
    """Show whether a review follows a branch; a POST starts or stops that, or fetches the branch now."""
    review = use_cases.get_review(number, for_user=request.user)
    if request.method == "POST":
        access.require(request.user, Action.WRITE, access.scopes_of(review))
        _act(request, review)
        return redirect("reviews:follow-branch", number)
    context = {"review": review, "page": present_page(review, for_user=request.user)}
    return render(request, "reviews/_following.html" if is_fragment(request) else "reviews/following.html", context)


def _act(request: PageRequest, review: Review) -> None:
    form = FollowForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose what to do."))
        return
    try:
        match FollowAct(form.cleaned_data["act"]):
            case FollowAct.START:
                made = branches.start_following(review, by=request.user, seen=form.cleaned_data["seen"] or 0)
                messages.success(request, _("This review now follows %(branch)s.") % {"branch": made.branch})
            case FollowAct.STOP:
                branches.stop_following(review, by=request.user)
                messages.success(request, _("This review no longer follows its branch."))
            case FollowAct.CHECK:
                branches.check_now(review, by=request.user)
                messages.info(request, _("The branch is about to be fetched."))
    except NotPossibleError as error:
        messages.error(request, str(error))
