"""Presets in the settings: the list, a new one (also from the form of a review), changing and archiving one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.web.components.forms import refuse_field, show_refusal
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.reviews.forms import manifests, patches, prune
from applyviz.web.reviews.forms import presets as forms
from applyviz.web.reviews.forms.presets import PresetForm
from applyviz.web.reviews.pages.sources.presets import present_row
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import FieldRefusedError, NotPossibleError
from applyviz.workflow.plans import presets

_HELP = manifests.HELP | prune.HELP | patches.HELP | forms.HELP
FROM_REVIEW = "from_review"


@requires(Action.MANAGE)
def list_presets(request: PageRequest) -> HttpResponse:
    """List the presets in force."""
    found = presets.list_presets(for_user=request.user)
    counts = presets.count_reviews(found)
    rows = [present_row(one, counts[one.pk]) for one in found]
    return render_settings(request, "presets", {"rows": rows})


@requires(Action.MANAGE, "GET", "POST")
def add_preset(request: PageRequest) -> HttpResponse:
    """Save a preset; the form of a review that was filled in comes as a POST with `from_review`."""
    if FROM_REVIEW in request.POST:
        form = PresetForm(for_user=request.user, initial=forms.take_options(request.POST.dict()))
        return render_settings(request, "add_preset", {"form": form, **_HELP})
    form = PresetForm(request.POST or None, for_user=request.user)
    if request.method == "POST" and form.is_valid():
        try:
            made = presets.add_preset(form.draft, by=request.user)
        except FieldRefusedError as error:
            refuse_field(form, error)
        else:
            messages.success(request, _("Preset saved. Authors can choose it in a new review."))
            return redirect("settings:show-preset", made.slug)
    return render_settings(request, "add_preset", {"form": form, **_HELP}, status=422 if form.errors else 200)


@requires(Action.MANAGE, "GET", "POST")
def show_preset(request: PageRequest, slug: str) -> HttpResponse:
    """Show one preset; a POST changes it."""
    preset = presets.get_preset(slug, for_user=request.user)
    form = PresetForm(request.POST or None, for_user=request.user, initial=forms.read_initial(preset))
    if request.method == "POST" and form.is_valid():
        with show_refusal(form, only=NotPossibleError):
            version = form.cleaned_data["version"] or 0
            presets.edit_preset(preset, form.draft, version=version, by=request.user)
            messages.success(request, _("Preset saved as version %(number)d.") % {"number": preset.version})
            return redirect("settings:show-preset", slug)
    context = {"row": present_row(preset, preset.reviews.count()), "form": form, **_HELP}
    return render_settings(request, "preset", context, status=422 if form.errors else 200)


@requires(Action.MANAGE, "POST")
def archive_preset(request: PageRequest, slug: str) -> HttpResponse:
    """Archive a preset."""
    presets.archive_preset(presets.get_preset(slug, for_user=request.user), by=request.user)
    messages.warning(request, _("Preset archived. Reviews that it filled still name it."))
    return redirect("settings:list-presets")
