"""History: audit entries with filters, one page per entry and per object, verification, export."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from applyviz.web.frame import streams
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires
from applyviz.web.history.forms import BeforeForm, HistoryForm, TimelineForm, VerificationForm
from applyviz.web.history.pages.entries import present_entry_page, present_history
from applyviz.web.history.pages.object_timeline import present_timeline, read_address
from applyviz.web.history.pages.subjects import SubjectPage, present_cluster_history, present_manager, present_person
from applyviz.web.history.pages.verification import present_verification, verify_slice
from applyviz.workflow.audit import chain
from applyviz.workflow.evidence import history
from applyviz.workflow.evidence.history import ExportFormat
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotVisibleError

CONTENT_TYPES = {ExportFormat.CSV: "text/csv; charset=utf-8", ExportFormat.JSONL: "application/jsonl; charset=utf-8"}


@requires(Action.VIEW)
def list_entries(request: PageRequest) -> HttpResponse:
    """List entries, newest first."""
    form = HistoryForm(request.GET)
    page = present_history(form.chosen, before=BeforeForm.read(request.GET), for_user=request.user)
    is_part = is_fragment(request)
    context = {"form": form, "page": page, "can_audit": access.can(request.user, Action.AUDIT), "is_part": is_part}
    return render(request, "history/_entries.html" if is_part else "history/list.html", context)


@requires(Action.VIEW)
def show_entry(request: PageRequest, number: int) -> HttpResponse:
    """Show one entry with all details."""
    return render(request, "history/entry.html", {"page": present_entry_page(number, for_user=request.user)})


def _show_subject(request: PageRequest, page: SubjectPage) -> HttpResponse:
    name = "history/_entries.html" if is_fragment(request) else "history/subject.html"
    can_audit = access.can(request.user, Action.AUDIT)
    return render(request, name, {"page": page.entries, "subject": page, "can_audit": can_audit})


@requires(Action.VIEW)
def show_person(request: PageRequest, name: str) -> HttpResponse:
    """Show the acts of one person."""
    return _show_subject(request, present_person(name, before=BeforeForm.read(request.GET), for_user=request.user))


@requires(Action.VIEW)
def show_cluster(request: PageRequest, slug: str) -> HttpResponse:
    """Show the history of one cluster."""
    return _show_subject(
        request, present_cluster_history(slug, before=BeforeForm.read(request.GET), for_user=request.user)
    )


@requires(Action.VIEW)
def show_manager(request: PageRequest, name: str) -> HttpResponse:
    """Show the writes as one field manager."""
    return _show_subject(request, present_manager(name, before=BeforeForm.read(request.GET), for_user=request.user))


@requires(Action.VIEW)
def show_object(request: PageRequest, cluster: str, group: str, kind: str, namespace: str, name: str) -> HttpResponse:
    """Show the history of one object."""
    subject = read_address(cluster, group, kind, namespace, name)
    page = present_timeline(subject, before=TimelineForm.read(request.GET), for_user=request.user)
    return render(request, "history/object.html", {"page": page})


@requires(Action.AUDIT)
def export(request: PageRequest, form: str) -> StreamingHttpResponse:
    """Stream the entries of the current filter as a file."""
    if form not in list(ExportFormat):
        raise NotVisibleError(f"there is no export as {form}")
    chosen = HistoryForm(request.GET).chosen
    wanted = ExportFormat(form)
    check = streams.watch_reader(request, Action.AUDIT)
    lines = history.export_for(request.user, chosen, wanted)
    name = f"history-{'selection-' if chosen else ''}{chain.find_checkpoint().sequence}.{form}"
    return streams.send_file(request, lines, name=name, content_type=CONTENT_TYPES[wanted], check=check)


@requires(Action.AUDIT, "GET", "HEAD", "POST")
def verify(request: PageRequest) -> HttpResponse:
    """Show the verification page; a POST verifies one slice of the chain."""
    form = VerificationForm(request.POST if request.method == "POST" else None)
    report, checked, published = None, 0, ()
    if request.method == "POST" and form.is_valid():
        published, checked = form.cleaned_data["head"], form.cleaned_data["checked"] or 0
        report = verify_slice(after=form.cleaned_data["after"] or 0, published=published)
    name = "history/_verification.html" if is_fragment(request) else "history/verify.html"
    page = present_verification(
        chain.find_checkpoint(), report, str(form.data.get("head", "")), before=checked, matched=len(published)
    )
    return render(request, name, {"form": form, "page": page})
