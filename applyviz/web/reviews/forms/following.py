"""The form of following: what to do with it."""

from __future__ import annotations

from enum import StrEnum

from django import forms


class FollowAct(StrEnum):
    """The act of a person on following a branch."""

    START = "start"
    STOP = "stop"
    CHECK = "check"


class FollowForm(forms.Form):
    """One of the acts; `seen` is the number of the plan whose branch is followed."""

    act = forms.ChoiceField(choices=[(one.value, one.value) for one in FollowAct])
    seen = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)
