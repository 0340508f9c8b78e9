"""The last-applied annotation of a live object: view it, and edit it by a review of its own."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render

from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_alone
from applyviz.web.frame.view_guard import PageRequest
from applyviz.web.reviews.forms.ownership import LastAppliedForm
from applyviz.web.reviews.pages import last_applied as pages
from applyviz.web.reviews.pages.sources.found_objects import read_source
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.plans import last_applied, live_values
from applyviz.workflow.plans.intake import ReviewInput


@requires_plan(Action.WRITE, "GET", "POST")
def edit_last_applied(request: PageRequest, plan: Plan, position: int) -> HttpResponse:
    """Show what was last applied; an edited text opens a review that sets it."""
    access.require(request.user, Action.WRITE, access.scopes_of(plan.review))
    change = live_values.read_change(plan, position)
    page = pages.present_last_applied(change)
    form = LastAppliedForm(request.POST or None, initial={"text": page.text})
    context: dict[str, object] = {"form": form, "page": page, "back_url": link_alone(plan, position)}
    if request.method == "POST" and not page.why and form.is_valid():
        source = read_source(ReviewInput(text=form.cleaned_data["text"]), by=request.user)
        if source.can_be_planned:
            try:
                review = last_applied.open_review(plan, change, source.bundle, source.files, by=request.user)
            except NotValidError as error:
                form.add_error("text", str(error))
            else:
                return redirect("reviews:show-review", review.number)
        context["problems"] = source.problems
    return render(request, "reviews/last_applied.html", context, status=422 if request.method == "POST" else 200)
