"""Resolving conflicts of one object or of many at once; previews, undoing, manifest edits."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _

from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_change
from applyviz.web.frame.view_guard import PageRequest
from applyviz.web.reviews.forms.resolutions import EverywhereForm, MixedForm
from applyviz.web.reviews.pages.resolution_preview import present_preview, present_unresolved
from applyviz.web.reviews.pane.object_files import find_patch
from applyviz.web.reviews.pane.resolutions import present_conflicts
from applyviz.web.reviews.views.plan_guard import require_latest, requires_plan
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.plans import live_values, resolutions, reviews
from applyviz.workflow.plans.resolutions import Choice

_MOST_NOTE = 2000


def _require_choices(choices: list[Choice]) -> list[Choice]:
    if not choices:
        raise NotPossibleError(_("choose a resolution for at least one open conflict"))
    return choices


def _ask_again(request: PageRequest, plan: Plan, position: int, change: PlannedObject) -> HttpResponse:
    """Show the open conflicts of one object with their resolutions and the reason that was typed."""
    resolution = present_conflicts(plan, request.user, position, change)
    if not resolution.conflict_rows:
        raise NotPossibleError(_("this object has no open conflict"))
    back = link_change(plan, position)
    context = {"resolution": resolution, "name": str(change.ref), "back_url": back}
    context["note"] = request.POST.get("note", "")[:_MOST_NOTE]
    return render(request, "reviews/choose_resolution.html", context, status=422)


@requires_plan(Action.RESOLVE, "POST")
def resolve(request: PageRequest, plan: Plan, position: int) -> HttpResponse:
    """Resolve conflicts of one object, each separately; creates the next plan."""
    require_latest(plan)
    form = MixedForm(request.POST)
    change = live_values.read_change(plan, position)
    choices = form.read_choices(change) if form.is_valid() else []
    if not choices:
        return _ask_again(request, plan, position, change)
    note = form.cleaned_data["note"]
    if form.cleaned_data["then"] == "preview":
        resolutions.check_choices(plan, choices)
        address = reverse("reviews:resolve-conflict", args=[plan.review.number, plan.number, position])
        page = present_preview(plan, choices, form_url=address, hidden=tuple(form.keep_hidden()), note=note)
        return render(request, "reviews/resolution_preview.html", {"page": page})
    following = reviews.replan_review(plan.review, by=request.user, choices=choices, note=note, seen=plan)
    return redirect("reviews:show-plan", plan.review.number, following.number)


@requires_plan(Action.RESOLVE, "GET", "POST")
def resolve_everywhere(request: PageRequest, plan: Plan) -> HttpResponse:
    """Resolve every open conflict of a scope with the same option; a GET previews the result."""
    require_latest(plan)
    form = EverywhereForm(request.POST if request.method == "POST" else request.GET)
    resolution = ResolutionKind(form.cleaned_data["resolution"]) if form.is_valid() else None
    scope = form.read_scope() if resolution else None
    choices = resolutions.choose_everywhere(plan, resolution, scope=scope) if resolution else []
    if resolution and not choices and resolutions.choose_everywhere(plan, ResolutionKind.OVERWRITE, scope=scope):
        raise NotPossibleError(_("none of these conflicts can be resolved this way; choose another resolution"))
    _require_choices(choices)
    note = form.cleaned_data["note"]
    if request.method == "POST":
        following = reviews.replan_review(plan.review, by=request.user, choices=choices, note=note, seen=plan)
        return redirect("reviews:show-plan", plan.review.number, following.number)
    hidden = tuple((name, form.cleaned_data[name]) for name in ("resolution", "scope", "manager"))
    address = reverse("reviews:resolve-everywhere", args=[plan.review.number, plan.number])
    unresolved = present_unresolved(plan, resolution, scope=scope) if resolution else ()
    page = present_preview(plan, choices, form_url=address, hidden=hidden, note=note, unresolved=unresolved)
    return render(request, "reviews/resolution_preview.html", {"page": page})


@requires_plan(Action.RESOLVE, "POST")
def undo(request: PageRequest, plan: Plan, index: int) -> HttpResponse:
    """Create a plan without one resolution."""
    require_latest(plan)
    following = reviews.replan_review(plan.review, by=request.user, undone=index, seen=plan)
    return redirect("reviews:show-plan", plan.review.number, following.number)


@requires_plan(Action.VIEW)
def show_patch(request: PageRequest, plan: Plan, position: int, of: str, index: int, option: int) -> HttpResponse:
    """Download the manifest edit of a resolution as a patch."""
    patch = find_patch(live_values.read_change(plan, position), of, index, option)
    if patch is None or not patch.text:
        raise NotVisibleError(_("patch not found"))
    answer = HttpResponse(patch.text, content_type="text/x-diff; charset=utf-8")
    name = f"review-{plan.review.number}-plan-{plan.number}-{position}.patch"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


@requires_plan(Action.VIEW)
def show_edited(request: PageRequest, plan: Plan, position: int, of: str, index: int) -> HttpResponse:
    """Download the manifest with its edits: the whole file, or the document of the object in it."""
    change = live_values.read_change(plan, position)
    patch = find_patch(change, of, index, 0)
    if patch is None or not patch.edited:
        raise NotVisibleError(_("patch not found"))
    name = f"{change.ref.gvk.kind.lower()}-{change.ref.name}.yaml"
    name = patch.position.file.rpartition("/")[2] if patch.is_whole else name
    answer = HttpResponse(patch.edited, content_type="text/plain; charset=utf-8")
    answer.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    return answer
