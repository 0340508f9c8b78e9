"""Forms of resolutions: for the fields of one object, for many conflicts, conflict rules, and acknowledgments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from django import forms
from django.core.validators import RegexValidator
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.golang import is_digits
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.risks.model import KINDS, RiskKind, find_kind
from applyviz.workflow.approvals.acknowledgments import PLAN_ITSELF
from applyviz.workflow.plans.resolutions import Choice, ResolutionScope

_RESOLUTIONS = [(one.value, one.value) for one in ResolutionKind]
_INDEX_OF = re.compile(r"resolution-([0-9]{1,5})\Z")


class MixedForm(forms.Form):
    """The resolutions of open fields of one object, each named by its index: `resolution-0`, `resolution-1` …"""

    note = forms.CharField(required=False, max_length=2000)
    then = forms.ChoiceField(choices=[("decide", "decide"), ("preview", "preview")], required=False)

    def read_resolutions(self) -> dict[int, ResolutionKind]:
        """Return the resolution of each index; ignore invalid ones."""
        data: Mapping[str, str] = self.data
        known = {one.value for one in ResolutionKind}
        named = ((_INDEX_OF.match(name), str(value)) for name, value in data.items())
        return {int(found[1]): ResolutionKind(value) for found, value in named if found and value in known}

    def read_choices(self, change: PlannedObject) -> list[Choice]:
        """Return the resolutions, one for each conflicting field manager; none for an index that is not open."""
        return [
            Choice(change.ref, change.open_fields[index].path, manager, resolution)
            for index, resolution in self.read_resolutions().items()
            if index < len(change.open_fields)
            for manager in change.open_fields[index].managers
        ]

    def keep_hidden(self) -> Iterator[tuple[str, str]]:
        """Return the fields that a confirmation page submits again."""
        yield from ((f"resolution-{index}", resolution.value) for index, resolution in self.read_resolutions().items())


class EverywhereForm(forms.Form):
    """One resolution for every open conflict within a scope.

    - `scope` is a query in itself (`manager=…`, `position=…`, `kind=group/Kind`), so that a single choice names it.
    """

    resolution = forms.ChoiceField(choices=_RESOLUTIONS)
    scope = forms.CharField(required=False, max_length=1000)
    manager = forms.CharField(required=False, max_length=128, strip=False)
    note = forms.CharField(required=False, max_length=2000)

    def read_scope(self) -> ResolutionScope:
        """Return the selected conflicts."""
        given = QueryDict(self.cleaned_data["scope"])
        group, slash, kind = given.get("kind", "").partition("/")
        position = given.get("position", "")
        return ResolutionScope(
            manager=given.get("manager", "") or self.cleaned_data["manager"],
            position=int(position) if is_digits(position) and len(position) < 7 else None,
            kind=(group, kind) if slash else None,
        )


class RuleForm(forms.Form):
    """A conflict rule: its objects, its field manager, and the reason."""

    name = forms.CharField(
        label=_("Names"),
        max_length=253,
        validators=[RegexValidator(r"^[A-Za-z0-9*._:-]+\Z", _("A name, or a pattern with *."))],
        help_text=_("A name or a pattern, for example web-* for all names that begin with web-."),
    )
    namespace = forms.CharField(
        label=_("Namespace"),
        max_length=253,
        required=False,
        validators=[
            RegexValidator(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z", _("Use lowercase letters, digits and dashes."))
        ],
        help_text=_("Leave empty for all namespaces."),
    )
    is_for_all = forms.BooleanField(
        label=_("Any field manager"),
        required=False,
        help_text=_("Otherwise the rule only applies to this field manager."),
    )
    reason = forms.CharField(
        label=_("Why"),
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Shown to approvers and kept for later."),
    )


class RuleNoteForm(forms.Form):
    """A note on an approval, a refusal or an end."""

    note = forms.CharField(required=False, max_length=2000)


class RiskForm(forms.Form):
    """The acknowledged risk, of one object or of the plan; `shown` are the other objects that were listed."""

    kind = forms.ChoiceField(choices=[(slug, slug) for slug in KINDS])
    position = forms.IntegerField(min_value=PLAN_ITSELF)
    note = forms.CharField(required=False, max_length=2000)
    back = forms.ChoiceField(choices=[("risks", "risks")], required=False)

    @property
    def positions(self) -> tuple[int, ...]:
        """Return the objects whose risk was listed and is acknowledged."""
        data = self.data
        shown = data.getlist("shown") if isinstance(data, QueryDict) and "all" in data else []
        return (self.cleaned_data["position"], *(int(one) for one in shown if re.fullmatch("[0-9]{1,6}", one)))


class RiskPairsForm(forms.Form):
    """The risks that a list named, each as its kind and the positions of its objects: `pods-restart:0,2`."""

    note = forms.CharField(required=False, max_length=2000)

    @property
    def shown(self) -> dict[RiskKind, list[int]]:
        """Return the positions by kind; ignore what names no risk."""
        found: dict[RiskKind, list[int]] = {}
        given = self.data.getlist("risk") if isinstance(self.data, QueryDict) else []
        for text in given:
            kind, _colon, positions = text.partition(":")
            if kind in KINDS and re.fullmatch("-1|[0-9]{1,6}(?:,[0-9]{1,6})*", positions):
                found.setdefault(find_kind(kind), []).extend(map(int, positions.split(",")))
        return found
