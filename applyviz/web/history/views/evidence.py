"""Evidence for a period, for auditors; and retention policies, for administrators."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.records.models import RetentionPolicy
from applyviz.web.components.forms import show_refusal
from applyviz.web.frame import streams
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.history.forms import EvidenceForm, RetentionForm
from applyviz.web.history.pages.evidence import present_evidence
from applyviz.web.history.pages.retention import present_retention
from applyviz.web.history.views.entries import CONTENT_TYPES
from applyviz.workflow.audit import retention
from applyviz.workflow.evidence import report
from applyviz.workflow.evidence.history import ExportFormat
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotValidError, NotVisibleError
from applyviz.workflow.foundation.visible_rows import get_visible


@requires(Action.AUDIT)
def show_evidence(request: PageRequest) -> HttpResponse:
    """Show evidence for a period, ready to print."""
    form = EvidenceForm.read(request.GET)
    period = form.period
    page = present_evidence(period, for_user=request.user) if period else None
    return render(request, "history/evidence.html", {"form": form, "page": page}, status=200 if page else 422)


@requires(Action.AUDIT)
def export(request: PageRequest, form: str) -> StreamingHttpResponse:
    """Stream the evidence as a file."""
    period = EvidenceForm.read(request.GET).period
    if form not in list(ExportFormat) or period is None:
        raise NotVisibleError(f"there is no such evidence as {form}")
    wanted = ExportFormat(form)
    check = streams.watch_reader(request, Action.AUDIT)
    lines = report.export_for(request.user, period, wanted)
    name = f"evidence-{period.since}-{period.until}{'-' + period.cluster if period.cluster else ''}.{form}"
    return streams.send_file(request, lines, name=name, content_type=CONTENT_TYPES[wanted], check=check)


@requires(Action.VIEW, "GET", "HEAD", "POST")
def list_retention(request: PageRequest) -> HttpResponse:
    """Show retention policies and removals, and add a policy."""
    form = RetentionForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        access.require(request.user, Action.MANAGE)
        if form.is_valid():
            with show_refusal(form, only=NotValidError):
                policy = retention.add_policy(**form.cleaned_data, by=request.user)
                messages.success(request, _("Policy %(name)s is active.") % {"name": policy.name})
                return redirect("history:list-retention")
    page = present_retention(for_user=request.user)
    return render(request, "history/retention.html", {"form": form, "page": page}, status=422 if form.errors else 200)


@requires(Action.MANAGE, "POST")
def end_retention(request: PageRequest, pk: int) -> HttpResponse:
    """End a retention policy."""
    policy = get_visible(RetentionPolicy.objects, "there is no such policy", pk=pk)
    retention.end_policy(policy, by=request.user)
    return redirect("history:list-retention")
