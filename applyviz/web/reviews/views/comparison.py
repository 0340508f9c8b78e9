"""Comparison of two plans of one review, and of a source with what its last run applied."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires, visible_worker_request
from applyviz.web.reviews.forms.reviews import ComparedSourceForm, CompareForm
from applyviz.web.reviews.pages.comparison import present_comparison
from applyviz.web.reviews.pages.sources.source_diff import present_source_diff
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.plans import comparisons, reviews


@requires(Action.VIEW)
def compare_plans(request: PageRequest, number: int) -> HttpResponse:
    """Show how the second of two plans differs; by default the latest from the previous one."""
    review = reviews.get_review(number, for_user=request.user)
    form = CompareForm(request.GET)
    form.is_valid()
    first, second = comparisons.choose_plans(
        review, first=form.cleaned_data.get("from"), second=form.cleaned_data.get("to"), for_user=request.user
    )
    page = present_comparison(first, second, after=visible_worker_request(request))
    return render(request, "reviews/compare.html", {"page": page})


@requires_plan(Action.VIEW)
def show_source_changes(request: PageRequest, plan: Plan) -> HttpResponse:
    """Show the manifests of one source that changed since its last run, as a page or for the Overview."""
    source = ComparedSourceForm.read_source(request.GET)
    name = "reviews/_source_diff.html" if is_fragment(request) else "reviews/source_diff.html"
    return render(request, name, {"page": present_source_diff(plan, source, for_user=request.user)})
