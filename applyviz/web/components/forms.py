"""What forms of several areas share: choices that depend on the person, set when the form is created."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from django import forms
from django.db.models import QuerySet
from django.utils.functional import Promise

Label: TypeAlias = str | Promise
Choice: TypeAlias = tuple[Any, Label | Iterable[tuple[Any, Label]]]


def offer_choices(form: forms.BaseForm, name: str, choices: Iterable[Choice]) -> None:
    """Offer these values; a choice is a value with its label, or a group with its choices."""
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"{name} offers no choices")
    field.choices = list(choices)


def offer_rows(form: forms.BaseForm, name: str, rows: QuerySet[Any]) -> None:
    """Offer the rows of a query."""
    field = form.fields[name]
    if not isinstance(field, forms.ModelChoiceField):
        raise TypeError(f"{name} offers no rows")
    field.queryset = rows
