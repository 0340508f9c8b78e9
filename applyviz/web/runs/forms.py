"""What an open page of a run says of itself when it asks for news."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms


class ShownForm(forms.Form):
    """Which object the page shows, and the mark of what it shows of it."""

    shows = forms.IntegerField(required=False, min_value=0, max_value=1_000_000)
    seen = forms.CharField(required=False, max_length=80)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> tuple[int | None, str]:
        """The object (None for all of them) and the mark."""
        form = cls(given)
        if not form.is_valid():
            return None, ""
        return form.cleaned_data["shows"], form.cleaned_data["seen"]
