"""The forms of ownership moves: fields of one object by number, and field managers by tick."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.requests.options import HANDOVER_MANAGER


class FieldsForm(forms.Form):
    """Fields of one object."""

    fields_given = forms.MultipleChoiceField(label=_("Fields"), required=False, widget=forms.CheckboxSelectMultiple())

    def __init__(self, *args: Any, paths: Sequence[FieldPath], **kwargs: Any) -> None:
        """Offer these fields."""
        super().__init__(*args, **kwargs)
        self._paths = paths
        field = self.fields["fields_given"]
        if isinstance(field, forms.MultipleChoiceField):
            field.choices = [(str(number), render_path(path)) for number, path in enumerate(paths)]

    @property
    def chosen(self) -> tuple[FieldPath, ...]:
        """Return the chosen fields of a valid form."""
        return tuple(self._paths[int(number)] for number in self.cleaned_data["fields_given"])


class HandOverForm(FieldsForm):
    """The fields that a manifest gives up, and the manager that keeps their values."""

    manager = forms.CharField(
        label=_("Next field manager"),
        max_length=128,
        initial=HANDOVER_MANAGER,
        validators=[RegexValidator(r"^[!-~]+$", _("Use printable characters without spaces."))],
    )


class ManagersForm(forms.Form):
    """The field managers whose fields the next plan moves."""

    moves_own = forms.BooleanField(required=False)
    managers = forms.MultipleChoiceField(required=False)

    def __init__(self, *args: Any, names: Collection[str], **kwargs: Any) -> None:
        """Offer these field managers."""
        super().__init__(*args, **kwargs)
        field = self.fields["managers"]
        if isinstance(field, forms.MultipleChoiceField):
            field.choices = [(name, name) for name in names]


class LastAppliedForm(forms.Form):
    """The text of last-applied, as YAML or JSON."""

    text = forms.CharField(
        label=_("Last-applied, as YAML or JSON"),
        max_length=1_000_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 20, "spellcheck": "false", "class": "mono"}),
    )
