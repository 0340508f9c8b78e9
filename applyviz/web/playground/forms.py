"""The form of the playground: the versions of one object as text, and the apply options."""

from __future__ import annotations

from typing import Generic, Self, TypeVar

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError
from applyviz.guide.given_channels import ChannelQuery
from applyviz.guide.given_sets import SetQuery
from applyviz.web.components.forms import FieldLabel
from applyviz.web.reviews.forms.reviews import MODES

MOST_CHARACTERS = 250_000
_Query = TypeVar("_Query", PlaygroundQuery, SetQuery, ChannelQuery)


def make_text(label: FieldLabel, rows: int, *, required: bool = False) -> forms.CharField:
    """Return a field for one text."""
    widget = forms.Textarea(attrs={"rows": rows, "class": "code", "spellcheck": "false"})
    return forms.CharField(label=label, required=required, strip=False, max_length=MOST_CHARACTERS, widget=widget)


class QuestionForm(forms.Form, Generic[_Query]):
    """A form of the playground, which shows each problem of a text at its field."""

    @classmethod
    def of(cls, given: _Query) -> Self:
        """Return the form filled with an input."""
        return cls(initial=dict(given.to_json()))

    @property
    def given(self) -> _Query:
        """Return the input for the calculation."""
        raise NotImplementedError

    def refuse(self, error: PlaygroundQueryError) -> None:
        """Add each problem to its field."""
        for problem in error.problems:
            self.add_error(problem.part if problem.part in self.fields else None, problem.reason)
        if not error.problems:
            self.add_error(None, _now("This cannot be calculated."))


class PlaygroundForm(QuestionForm[PlaygroundQuery]):
    """One playground input."""

    manifest = make_text(_("Manifest"), 18, required=True)
    live = make_text(_("Live object"), 18)
    last_applied = make_text(_("Last applied"), 8)
    owners = make_text(_("Field owners of live"), 6)
    crds = make_text(_("CustomResourceDefinitions"), 8)
    mode = forms.ChoiceField(label=_("How to apply"), choices=MODES, initial=ApplyMode.SERVER.value)
    field_manager = forms.CharField(
        label=_("Field manager"),
        required=False,
        max_length=128,
        validators=[RegexValidator(r"^[!-~]+$", _("Use printable characters without spaces."))],
    )
    takes_client_side = forms.BooleanField(
        label=_("Migrate field ownership from client-side apply first"), required=False, initial=True
    )
    is_forced = forms.BooleanField(label=_("Force conflicts"), required=False)

    @property
    def given(self) -> PlaygroundQuery:
        """Return the input for the calculation; the field manager is kubectl's by default."""
        mode = ApplyMode(self.cleaned_data["mode"])
        usual = SERVER_SIDE_MANAGER if mode is ApplyMode.SERVER else CLIENT_SIDE_MANAGER
        texts = {name: self.cleaned_data[name].replace("\r\n", "\n") for name in _TEXTS}
        return PlaygroundQuery(
            **texts,
            mode=mode,
            field_manager=self.cleaned_data["field_manager"] or usual,
            takes_client_side=self.cleaned_data["takes_client_side"],
            is_forced=self.cleaned_data["is_forced"] and mode is ApplyMode.SERVER,
        )


_TEXTS = ("manifest", "live", "last_applied", "owners", "crds")
