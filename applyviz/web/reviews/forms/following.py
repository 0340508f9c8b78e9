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
    """One of the acts."""

    act = forms.ChoiceField(choices=[(one.value, one.value) for one in FollowAct])
