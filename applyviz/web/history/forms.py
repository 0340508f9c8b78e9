"""The filters of the history."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Self

from django import forms
from django.http import QueryDict
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_aware
from django.utils.translation import gettext_lazy as _

from applyviz import clock
from applyviz.records.enums import AuditAction
from applyviz.web.components.forms import Cleaned, offer_choices
from applyviz.workflow.audit.chain import Checkpoint
from applyviz.workflow.audit.checkpoints import read_pasted
from applyviz.workflow.audit.retention import ALWAYS_KEPT, SHORTEST_DAYS
from applyviz.workflow.evidence.name_filters import HistoryFilter
from applyviz.workflow.evidence.report import Period
from applyviz.workflow.foundation.errors import NotValidError


class HistoryForm(forms.Form):
    """All filters; an empty field filters nothing."""

    text = forms.CharField(
        label=_("Text"), required=False, max_length=200, widget=forms.TextInput(attrs={"type": "search"})
    )
    field = forms.CharField(label=_("Changed field"), required=False, max_length=200)
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
    def chosen(self) -> HistoryFilter:
        """Return the filters without empty or invalid ones."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}


class BeforeForm(forms.Form):
    """The entry before which older ones are shown."""

    before = forms.IntegerField(required=False, min_value=1)

    @classmethod
    def read(cls, given: Mapping[str, object]) -> int | None:
        """Return the sequence in an address, None for the newest."""
        form = cls(given)
        return form.cleaned_data["before"] if form.is_valid() else None


class VerificationForm(forms.Form):
    """Where verification continues, and the published checkpoints to compare with, one per line."""

    head = forms.CharField(
        label=_("Published checkpoints, one per line"),
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"class": "mono", "rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    after = forms.IntegerField(required=False, min_value=0, max_value=2**62, widget=forms.HiddenInput)
    checked = forms.IntegerField(required=False, min_value=0, max_value=2**62, widget=forms.HiddenInput)

    def clean_head(self) -> tuple[Checkpoint, ...]:
        """Return the checkpoints; checks the signature of signed ones."""
        try:
            return read_pasted(self.cleaned_data["head"])
        except NotValidError as error:
            raise forms.ValidationError(str(error)) from error


class TimelineForm(forms.Form):
    """The time before which an object's history is shown."""

    before = forms.CharField(required=False, max_length=40)

    @classmethod
    def read(cls, given: Mapping[str, object]) -> datetime | None:
        """Return the time in an address, None for now."""
        form = cls(given)
        try:
            found = parse_datetime(form.cleaned_data["before"]) if form.is_valid() else None
        except ValueError:
            return None
        return found if found is None or is_aware(found) else None


class EvidenceForm(forms.Form):
    """The period of evidence: the current month by default."""

    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    cluster = forms.CharField(label=_("Cluster"), required=False, max_length=63)

    def clean(self) -> Cleaned:
        """Fill in the defaults."""
        given = super().clean() or {}
        today = clock.host_today()
        given["until"] = given.get("until") or today
        given["since"] = given.get("since") or given["until"].replace(day=1)
        if given["until"] < given["since"]:
            raise forms.ValidationError(_("The end of the period must be after its start."))
        return given

    @classmethod
    def read(cls, given: QueryDict) -> Self:
        """Return the form filled from an address; without days, with the current month."""
        today = clock.host_today()
        days = {"until": today, "since": today.replace(day=1)}
        return cls({**{name: day.isoformat() for name, day in days.items()}, **given.dict()})

    @property
    def period(self) -> Period | None:
        """Return the period, None for invalid input."""
        if not self.is_valid():
            return None
        return Period(self.cleaned_data["since"], self.cleaned_data["until"], self.cleaned_data["cluster"])


class RetentionForm(forms.Form):
    """A new retention policy."""

    name = forms.CharField(label=_("Name"), max_length=80)
    days = forms.IntegerField(label=_("Keep details for (days)"), min_value=SHORTEST_DAYS, max_value=36_500)
    actions = forms.MultipleChoiceField(
        label=_("Entry types"),
        required=False,
        choices=[],
        widget=forms.SelectMultiple(attrs={"size": 8}),
    )
    has_requests = forms.BooleanField(label=_("Include requests and responses of finished runs"), required=False)

    def __init__(self, data: QueryDict | None) -> None:
        super().__init__(data)
        chosen = [choice for choice in AuditAction.choices if choice[0] not in ALWAYS_KEPT]
        offer_choices(self, "actions", chosen)
