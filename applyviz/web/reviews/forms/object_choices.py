"""The forms of a choice about one object or addon of a plan: replace it, plan it anyway, or no longer."""

from __future__ import annotations

from collections.abc import Collection

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from applyviz.engine.requests.options import Propagation
from applyviz.web.components.propagations import PROPAGATIONS
from applyviz.workflow.plans.object_choices import AddonChoice, ObjectChoice


class _PropagationForm(forms.Form):
    """How objects are deleted."""

    propagation = forms.ChoiceField(choices=PROPAGATIONS, required=False)

    @property
    def propagation_chosen(self) -> Propagation | None:
        """Return how objects are deleted; None if the form does not say so."""
        given = self.cleaned_data["propagation"]
        return Propagation(given) if given else None


class ObjectChoiceForm(_PropagationForm):
    """The choice for the object in the next plan, and how objects are deleted."""

    choice = forms.ChoiceField(choices=[(choice.value, choice.value) for choice in ObjectChoice])

    @property
    def chosen(self) -> ObjectChoice:
        """Return the choice."""
        return ObjectChoice(self.cleaned_data["choice"])


class _ObjectsForm(forms.Form):
    """Objects of a plan, by position."""

    objects = forms.TypedMultipleChoiceField(coerce=int, required=False)

    def __init__(
        self, data: QueryDict | None, *, positions: Collection[int], initial: dict[str, object] | None = None
    ) -> None:
        """Offer these objects of the plan."""
        super().__init__(data, initial=initial)
        field = self.fields["objects"]
        if isinstance(field, forms.TypedMultipleChoiceField):
            field.choices = [(str(position), position) for position in positions]


class ReplaceObjectsForm(_ObjectsForm, _PropagationForm):
    """The refused objects that the next plan replaces, at least one, and how objects are deleted."""

    objects = forms.TypedMultipleChoiceField(coerce=int)


class AddonChoiceForm(forms.Form):
    """What the next plan does with an addon: apply it although kOps skips it, skip it again, mark nodes, or not."""

    addon = forms.CharField(max_length=400)
    choice = forms.ChoiceField(choices=[(choice.value, choice.value) for choice in AddonChoice])

    @property
    def chosen(self) -> AddonChoice:
        """Return the choice."""
        return AddonChoice(self.cleaned_data["choice"])


class LeaveOutForm(_ObjectsForm):
    """The objects that the next plan leaves out, and why."""

    reason = forms.CharField(label=_("Why are they left out?"), max_length=400, required=False)
