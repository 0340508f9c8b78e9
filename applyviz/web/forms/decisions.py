"""Decisions that reach over a whole plan."""

from __future__ import annotations

from django import forms

from applyviz.engine.planning.decisions import Way


class EverywhereForm(forms.Form):
    """One way out for every open conflict of a plan, or for those with one field manager."""

    way = forms.ChoiceField(choices=[(way.value, way.value) for way in Way])
    manager = forms.CharField(required=False, max_length=128, strip=False)
    note = forms.CharField(required=False, max_length=2000)
