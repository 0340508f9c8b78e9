"""The change record of a plan: one page to print or to save as PDF."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from applyviz.records.models import Plan
from applyviz.web.frame.view_guard import PageRequest
from applyviz.web.reviews.forms.manifests import CompareFileForm
from applyviz.web.reviews.pages.change_record import present_record
from applyviz.web.reviews.views.plan_guard import requires_plan
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotValidError, TooOftenError
from applyviz.workflow.plans import source_digests


@requires_plan(Action.VIEW)
def show_record(request: PageRequest, plan: Plan) -> HttpResponse:
    """Show the change record of a plan."""
    context = {"record": present_record(plan, for_user=request.user), "form": CompareFileForm()}
    return render(request, "reviews/change_record.html", context)


@requires_plan(Action.VIEW, "POST")
def compare_file(request: PageRequest, plan: Plan) -> HttpResponse:
    """Compare an uploaded file with the source of the plan; the file is not stored."""
    form, compared, status = CompareFileForm(request.POST, request.FILES), None, 422
    if form.is_valid():
        given = form.cleaned_data["file"]
        try:
            data = given.read(source_digests.MOST_BYTES + 1)
            compared = source_digests.compare_file(plan, by=request.user, name=given.name, data=data)
            status = 200
        except (NotValidError, TooOftenError) as error:
            form.add_error("file", str(error))
            status = error.status
    context = {"record": present_record(plan, for_user=request.user), "form": form, "compared": compared}
    return render(request, "reviews/change_record.html", context, status=status)
