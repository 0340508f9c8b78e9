"""The state that an open page of a run sends when it polls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms


class ShownForm(forms.Form):
    """The object that the page shows, and the mark of its displayed state."""

    shows = forms.IntegerField(required=False, min_value=0, max_value=1_000_000)
    seen = forms.CharField(required=False, max_length=80)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> tuple[int | None, str]:
        """Return the object (None for all) and the mark."""
        form = cls(given)
        if not form.is_valid():
            return None, ""
        return form.cleaned_data["shows"], form.cleaned_data["seen"]


class RowsForm(forms.Form):
    """How much of a run's list is asked for, and which page of its requests."""

    rows = forms.ChoiceField(required=False, choices=[("all", "all")])
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    @classmethod
    def is_whole(cls, given: Mapping[str, Any]) -> bool:
        """Whether every row is asked for."""
        form = cls(given)
        return form.is_valid() and form.cleaned_data["rows"] == "all"

    @classmethod
    def read_page(cls, given: Mapping[str, Any]) -> int:
        """Return the page, 1 for none."""
        form = cls(given)
        return form.cleaned_data["page"] or 1 if form.is_valid() else 1
