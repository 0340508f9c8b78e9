"""Requested reviewers: the page and the sheet on which an author asks people for a review."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from applyviz.web.frame.view_guard import PageRequest, is_fragment, lead, requires
from applyviz.web.reviews.forms.reviewers import ReviewersForm
from applyviz.web.reviews.pages.approvals.reviewers import ReviewersPage, present_reviewers
from applyviz.workflow.approvals import requested_reviewers
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.plans import reviews as use_cases


@requires(Action.WRITE, "GET", "POST")
def request_reviewers(request: PageRequest, number: int) -> HttpResponse:
    """Show who can be asked for a review; a POST asks exactly the people that it names."""
    review = use_cases.get_review(number, for_user=request.user)
    access.require(request.user, Action.WRITE, access.scopes_of(review))
    page = present_reviewers(review, for_user=request.user)
    form = ReviewersForm(request.POST if request.method == "POST" else None, page.accounts, page.asked)
    if form.is_bound and not form.is_search and form.is_valid():
        chosen = form.cleaned_data["reviewers"]
        try:
            requested_reviewers.request_reviewers(review, by=request.user, accounts=chosen)
        except WorkflowError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, _describe(page, chosen))
            return lead(request, page.back_url)
    is_sheet = is_fragment(request)
    context = {"form": form, "page": page, "list": page.select(form.wanted, form.checked), "is_sheet": is_sheet}
    status = 422 if form.is_bound and not form.is_search else 200
    if is_sheet and form.is_search:
        return render(request, "reviews/_reviewer_list.html", context)
    return render(
        request, "reviews/_reviewers_form.html" if is_sheet else "reviews/reviewers.html", context, status=status
    )


def _describe(page: ReviewersPage, chosen: list[int]) -> str:
    names = [one.name for one in page.options if one.account in chosen]
    if not names:
        return _("No reviewers are requested.")
    return _("Review requested from %(names)s.") % {"names": ", ".join(names)}
