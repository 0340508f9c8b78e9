"""Parts that forms of several areas share: the text of a search, choices that depend on the person, a refused field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from django import forms
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.text import capfirst

from applyviz.records.models import Cluster
from applyviz.workflow.foundation.errors import FieldRefusedError, WorkflowError

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise

    FieldLabel: TypeAlias = _StrOrPromise
else:  # the type checker alone knows texts that are translated when they are shown
    FieldLabel = str | Promise

Cleaned: TypeAlias = dict[str, Any]
"""The values of a checked form, by field; the field says of which type its value is."""
Label: TypeAlias = str | Promise
Choice: TypeAlias = tuple[Any, Label | Iterable[tuple[Any, Label]]]


class SearchForm(forms.Form):
    """One text in the parameter `q` of an address."""

    q = forms.CharField(required=False, max_length=200)

    @classmethod
    def read(cls, given: Mapping[str, object]) -> str:
        """Return the text, "" for none and for what is no text."""
        form = cls(given)
        return str(form.cleaned_data["q"]) if form.is_valid() else ""


class PageForm(forms.Form):
    """The page of a list."""

    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    @classmethod
    def read_page(cls, given: Mapping[str, object]) -> int:
        """Return the page, 1 for none."""
        form = cls(given)
        return form.cleaned_data["page"] or 1 if form.is_valid() else 1


def offer_choices(form: forms.BaseForm, name: str, choices: Iterable[Choice]) -> None:
    """Offer these values; a choice is a value with its label, or a group with its choices."""
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"{name} offers no choices")
    field.choices = list(choices)


def offer_clusters(form: forms.BaseForm, clusters: QuerySet[Cluster]) -> None:
    """Offer these clusters in the field `cluster`."""
    field = form.fields["cluster"]
    if not isinstance(field, forms.ModelChoiceField):
        raise TypeError("cluster offers no rows")
    field.queryset = clusters


@dataclass
class FormRefusal:
    """How the page that shows a refused form again is answered: the status of the last refusal."""

    status: int = 422


@contextmanager
def show_refusal(
    form: forms.BaseForm, field: str | None = None, *, only: type[WorkflowError] = WorkflowError
) -> Iterator[FormRefusal]:
    """Show the refusal of a use case at its field, at `field`, or above the form; what comes after it is skipped."""
    refusal = FormRefusal()
    try:
        yield refusal
    except only as error:
        refusal.status = error.status
        if isinstance(error, FieldRefusedError) and field is None:
            refuse_field(form, error)
        else:
            form.add_error(field, capfirst(str(error)))


def refuse_field(form: forms.BaseForm, error: FieldRefusedError) -> None:
    """Show a refusal at its field, or above the form that does not show the field."""
    form.add_error(error.field if error.field in form.fields else None, capfirst(str(error)))
