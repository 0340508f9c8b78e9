"""Commit identities as the account page and the settings show them, and the form that names one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.records.git_enums import IdentityKind
from applyviz.records.models import CommitIdentity
from applyviz.web.components.badges import Appearance

_VERIFIED = Appearance("✓", _("verified"), "add")
_CLAIMED = Appearance("!", _("not verified"), "warn")


class IdentityForm(forms.Form):
    """One email address, or one account at a git host."""

    kind = forms.ChoiceField(label=_("Kind"), choices=IdentityKind.choices)
    value = forms.CharField(
        label=_("Address or account"),
        max_length=300,
        widget=forms.TextInput({"spellcheck": "false", "autocomplete": "off", "class": "code"}),
        help_text=_("For example alice@example.org, or github.com/alice."),
    )


class IdentityRow(Struct, frozen=True):
    """One identity or claim."""

    pk: int
    kind: str | Promise
    value: str
    style: Appearance
    is_verified: bool
    since: datetime
    person: str


def present_identities(found: Iterable[CommitIdentity]) -> list[IdentityRow]:
    """Return the rows of identities and claims."""
    return [
        IdentityRow(
            pk=one.pk,
            kind=IdentityKind(one.kind).label,
            value=one.value,
            style=_VERIFIED if one.verified_at else _CLAIMED,
            is_verified=one.verified_at is not None,
            since=one.verified_at or one.since,
            person=one.person.get_username(),
        )
        for one in found
    ]
