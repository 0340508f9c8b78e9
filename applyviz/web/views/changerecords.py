"""The change record of a plan: one page to print or to keep as PDF."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.web.presenters.changerecords import present_record
from applyviz.web.views.doors import PageRequest, needs
from applyviz.workflow import plans
from applyviz.workflow.access import Action


@needs(Action.LOOK)
def show_record(request: PageRequest, number: int, plan: int) -> HttpResponse:
    """Everything about one plan on one page."""
    found = plans.get_plan(plan, review_number=number, for_user=request.user)
    return render(request, "reviews/record.html", {"record": present_record(found)})
