"""The forms of ownership moves: fields of one object by number, and field managers by tick."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django import forms
from django.core.validators import RegexValidator
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.requests.options import HANDOVER_MANAGER, TakenManager


class FieldsForm(forms.Form):
    """Fields of one object."""

    fields_given = forms.MultipleChoiceField(label=_("Fields"), required=False, widget=forms.CheckboxSelectMultiple())

    def __init__(
        self,
        data: QueryDict | None,
        *,
        paths: Sequence[FieldPath],
        managers: Mapping[FieldPath, str] | None = None,
        initial: Mapping[str, object] | None = None,
    ) -> None:
        """Offer these fields; `managers`: those that go to another manager than the form names."""
        super().__init__(data, initial=dict(initial or {}))
        self._paths = paths
        names = {path: render_path(path) for path in paths}
        for path, manager in (managers or {}).items():
            names[path] = _("%(path)s (to %(manager)s)") % {"path": names[path], "manager": manager}
        field = self.fields["fields_given"]
        if isinstance(field, forms.MultipleChoiceField):
            field.choices = [(str(number), names[path]) for number, path in enumerate(paths)]

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
    singles = forms.MultipleChoiceField(required=False)

    def __init__(self, data: QueryDict | None, *, names: Collection[str], singles: Sequence[TakenManager]) -> None:
        """Offer these field managers, and by number those that are named for single objects."""
        super().__init__(data)
        self._singles = singles
        for name, values in (("managers", names), ("singles", [str(number) for number in range(len(singles))])):
            field = self.fields[name]
            if isinstance(field, forms.MultipleChoiceField):
                field.choices = [(value, value) for value in values]

    @property
    def kept(self) -> tuple[TakenManager, ...]:
        """Return the managers of single objects that a valid form keeps."""
        return tuple(self._singles[int(number)] for number in self.cleaned_data["singles"])


class LastAppliedForm(forms.Form):
    """The text of last-applied, as YAML or JSON."""

    text = forms.CharField(
        label=_("Last-applied, as YAML or JSON"),
        max_length=1_000_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 20, "spellcheck": "false", "class": "mono"}),
    )
