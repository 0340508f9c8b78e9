"""Forms of runs: what an open page sends when it polls, retry and revert, and when a run starts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django import forms
from django.utils.translation import gettext_lazy as _

from applyviz import clock
from applyviz.engine.objects.values import JSONValue
from applyviz.web.components.forms import PageForm

# How long a scheduled start may wait for what it misses, in hours.
DURATIONS = ((4, _("4 hours")), (24, _("1 day")), (72, _("3 days")), (168, _("1 week")))
DAY = 24


class ShownForm(forms.Form):
    """The object that the page shows, and the mark of its displayed state."""

    shows = forms.IntegerField(required=False, min_value=0, max_value=1_000_000)
    seen = forms.CharField(required=False, max_length=80)

    @classmethod
    def read(cls, given: Mapping[str, object]) -> tuple[int | None, str]:
        """Return the object (None for all) and the mark."""
        form = cls(given)
        if not form.is_valid():
            return None, ""
        return form.cleaned_data["shows"], form.cleaned_data["seen"]


class RetryForm(forms.Form):
    """The attempt that the page showed, and the one object to retry; without it, all that can be."""

    attempt = forms.IntegerField(min_value=1, max_value=10_000)
    object = forms.IntegerField(required=False, min_value=0, max_value=1_000_000)

    @classmethod
    def read(cls, given: Mapping[str, JSONValue]) -> tuple[int, tuple[int, ...]]:
        """Return the attempt (0 for none, which is never current) and the chosen positions."""
        form = cls(given)
        if not form.is_valid():
            return 0, ()
        chosen = form.cleaned_data["object"]
        return form.cleaned_data["attempt"], () if chosen is None else (chosen,)


class RowsForm(PageForm):
    """How much of a run's list is asked for, and which page of its requests."""

    rows = forms.ChoiceField(required=False, choices=[("all", "all")])

    @classmethod
    def is_whole(cls, given: Mapping[str, object]) -> bool:
        """Whether every row is asked for."""
        form = cls(given)
        return form.is_valid() and form.cleaned_data["rows"] == "all"


class UndoForm(forms.Form):
    """The part of a run that is reverted: everything, or only objects that were deleted and not created again."""

    only_lost = forms.BooleanField(required=False)

    @classmethod
    def restores_deleted(cls, given: Mapping[str, object]) -> bool:
        """Return whether only lost objects are to be created again."""
        form = cls(given)
        return form.is_valid() and bool(form.cleaned_data["only_lost"])


class ScheduleForm(forms.Form):
    """When a run of the plan with this digest may start."""

    digest = forms.CharField(max_length=80, widget=forms.HiddenInput)
    not_before = forms.DateTimeField(
        label=_("Not before"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"],
    )
    lasts = forms.TypedChoiceField(label=_("Give up after"), choices=DURATIONS, coerce=int, initial=DAY)
    waits = forms.BooleanField(label=_("Wait until workloads are ready"), required=False)
    password = forms.CharField(
        label=_("Your password"), required=False, max_length=400, strip=False, widget=forms.PasswordInput
    )

    @property
    def times(self) -> tuple[datetime, datetime]:
        """Return the first and the last moment at which the run may start."""
        first = self.cleaned_data["not_before"] or clock.now()
        return first, first + timedelta(hours=self.cleaned_data["lasts"])
