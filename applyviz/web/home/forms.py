"""Settings of one person."""

from __future__ import annotations

from django import forms


class ThemeForm(forms.Form):
    """Light or dark, and the page to return to."""

    theme = forms.ChoiceField(choices=[("light", "light"), ("dark", "dark")])
    next = forms.CharField(required=False, max_length=2000)
