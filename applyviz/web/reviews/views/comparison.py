"""Comparison of two plans of one review."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.web.frame.view_guard import PageRequest, requires, visible_worker_request
from applyviz.web.reviews.forms.reviews import CompareForm
from applyviz.web.reviews.pages.comparison import present_comparison
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
