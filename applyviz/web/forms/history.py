"""The filters of the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from applyviz.records.enums import AuditAction


class HistoryForm(forms.Form):
    """Everything one may look for; empty fields filter nothing."""

    cluster = forms.CharField(label=_("Cluster"), required=False, max_length=63)
    namespace = forms.CharField(label=_("Namespace"), required=False, max_length=253)
    kind = forms.CharField(label=_("Kind"), required=False, max_length=253)
    name = forms.CharField(label=_("Name"), required=False, max_length=253)
    person = forms.CharField(label=_("Person"), required=False, max_length=150)
    action = forms.ChoiceField(label=_("Action"), required=False, choices=[("", _("any")), *AuditAction.choices])
    manager = forms.CharField(label=_("Field manager"), required=False, max_length=128)
    review = forms.IntegerField(label=_("Review"), required=False, min_value=1)
    run = forms.IntegerField(label=_("Apply run"), required=False, min_value=1)
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput(attrs={"type": "date"}))

    @property
    def chosen(self) -> Mapping[str, Any]:
        """What is filtered by, without what is empty or unreadable."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}


class BeforeForm(forms.Form):
    """From which entry on older ones are shown."""

    before = forms.IntegerField(required=False, min_value=1)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> int | None:
        """The sequence that an address names, None for the newest."""
        form = cls(given)
        return form.cleaned_data["before"] if form.is_valid() else None
