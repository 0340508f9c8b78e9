"""The options of a set that forms and the API share: which objects may be replaced, and how objects are deleted."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _text
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import (
    ApplyMode,
    ApplyOptions,
    ClearPatch,
    Propagation,
    Prune,
    Replacement,
    SetAction,
)
from applyviz.engine.requests.replacement import choose_names, find_odd_names, is_object, read_names
from applyviz.web.components.forms import Cleaned
from applyviz.web.components.propagations import PROPAGATIONS

LONGEST_DELETION = 3_600


ACTIONS = [
    (SetAction.APPLY.value, _("Apply")),
    (SetAction.DELETE.value, _("Delete")),
    (SetAction.PATCH.value, _("Patch")),
    (SetAction.SET_LAST_APPLIED.value, _("Set last-applied")),
    (SetAction.CLEAR_OWNERSHIP.value, _("Clear managedFields")),
]
CLEAR_PATCHES = [
    (ClearPatch.MERGE.value, _("JSON merge patch")),
    (ClearPatch.JSON.value, _("JSON patch")),
]


class ActionForm(forms.Form):
    """The action on the objects of the manifests."""

    operation = forms.ChoiceField(
        label=_("What to do with these objects"), choices=ACTIONS, initial=SetAction.APPLY.value, required=False
    )

    clear_patch = forms.ChoiceField(label=_("Patch that clears them"), choices=CLEAR_PATCHES, required=False)

    @property
    def action(self) -> SetAction:
        """Return what was chosen; by default, the objects are applied."""
        return SetAction(self.cleaned_data["operation"] or SetAction.APPLY)

    def add_action(self, options: ApplyOptions) -> ApplyOptions:
        """Return the options with the action; any other than apply drops every choice that only an apply has."""
        if self.action is SetAction.APPLY:
            return options
        chosen = ClearPatch(self.cleaned_data["clear_patch"] or ClearPatch.MERGE)
        patch = chosen if self.action is SetAction.CLEAR_OWNERSHIP else ClearPatch.MERGE
        changed = replace(
            options, action=self.action, clear_patch=patch, selector="", prune=Prune(), replacement=Replacement()
        )
        return replace(changed, mode=ApplyMode.CLIENT) if changed.is_patching else changed


class LeftOutForm(forms.Form):
    """Which objects of the set are left out, and why; for programs, which name them."""

    leave_out = forms.CharField(required=False, max_length=40_000)
    leave_out_reason = forms.CharField(required=False, max_length=400)

    def clean_leave_out(self) -> tuple[str, ...]:
        """Return the objects that the text names."""
        names = read_names(self.cleaned_data["leave_out"])
        odd = [name for name in names if not is_object(name)]
        if odd:
            raise ValidationError(
                _text("%(name)s is no object such as batch/Job/default/migrate or core/Node//main") % {"name": odd[0]}
            )
        return names

    def clean(self) -> Cleaned:
        """Require the reason, which reviewers read beside each object."""
        given = super().clean() or self.cleaned_data
        if given.get("leave_out") and not given.get("leave_out_reason", "").strip():
            self.add_error("leave_out_reason", _text("say why these objects are left out"))
        return given

    def add_left_out(self, options: ApplyOptions) -> ApplyOptions:
        """Return the options with the named objects left out; without the field, nothing changes."""
        if "leave_out" not in self.data:
            return options
        names = self.cleaned_data["leave_out"]
        reason = self.cleaned_data["leave_out_reason"].strip() if names else ""
        return replace(options, left_out=names, left_out_reason=reason)


class AddonForm(forms.Form):
    """The addons of a kOps channel that are planned although kOps skips them, or mark nodes; for programs."""

    addons_anyway = forms.CharField(required=False, max_length=20_000)
    marking_addons = forms.CharField(required=False, max_length=20_000)

    def add_addons(self, options: ApplyOptions) -> ApplyOptions:
        """Return the options with the named addons; without a field, its choice stays."""
        anyway, marking = options.addons_anyway, options.marking_addons
        if "addons_anyway" in self.data:
            anyway = read_names(self.cleaned_data["addons_anyway"])
        if "marking_addons" in self.data:
            marking = read_names(self.cleaned_data["marking_addons"])
        return replace(options, addons_anyway=anyway, marking_addons=marking)


class DeletionForm(forms.Form):
    """Which objects may be deleted and created again, and how objects are deleted."""

    replace = forms.CharField(label=_("Replace if immutable fields change"), required=False, max_length=4_000)
    propagation = forms.ChoiceField(label=_("Dependents of deleted objects"), choices=PROPAGATIONS, required=False)
    deletion_seconds = forms.IntegerField(
        label=_("Wait for a deletion (seconds)"), required=False, min_value=1, max_value=LONGEST_DELETION
    )

    def clean_replace(self) -> tuple[str, ...]:
        """Return the kinds and objects that the text names."""
        names = read_names(self.cleaned_data["replace"])
        odd = find_odd_names(names)
        if odd:
            raise ValidationError(
                _text(
                    "%(name)s is no kind such as batch/Job, and no object such as batch/Job/default/migrate or "
                    "core/Node//main"
                )
                % {"name": odd[0]}
            )
        return names

    def add_deletion(self, options: ApplyOptions) -> ApplyOptions:
        """Return the options with what this form chooses; without the field of replacements, their choice stays."""
        chosen = self.cleaned_data
        if "replace" in self.data:
            options = choose_names(options, chosen["replace"])
        return replace(
            options,
            propagation=Propagation(chosen["propagation"] or options.propagation),
            deletion_seconds=chosen["deletion_seconds"] or options.deletion_seconds,
        )
