"""The search input of the guide."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms


class GuideSearchForm(forms.Form):
    """Words that a page contains."""

    q = forms.CharField(required=False, max_length=200)

    @classmethod
    def read(cls, given: Mapping[str, object]) -> str:
        """Return the text, "" for none and for what is no text."""
        form = cls(given)
        return form.cleaned_data["q"].strip() if form.is_valid() else ""
