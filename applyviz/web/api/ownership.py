"""The fields of API requests that move field ownership."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby

from django import forms

from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import HANDOVER_MANAGER, ApplyOptions, Handover
from applyviz.records.models import Plan
from applyviz.web.api.problems import ProblemsError, SourceProblem
from applyviz.workflow.plans import handovers
from applyviz.workflow.plans.field_names import FieldHolder, FieldNamesError, find_fields, hold_changes

MOST_TEXT = 100_000


class OwnershipForm(forms.Form):
    """Fields to hand over, one `OBJECT FIELD` per line, their next manager, and managers that give up their fields."""

    hand_over = forms.CharField(required=False, max_length=MOST_TEXT)
    hand_over_to = forms.RegexField(r"^[!-~]+$", required=False, max_length=128)
    take_from = forms.RegexField(r"^[ -~]*$", required=False, max_length=1000)

    def add_ownership(self, options: ApplyOptions, hold: Callable[[], Mapping[str, FieldHolder]]) -> ApplyOptions:
        """Return the options with what this form chooses; fields that are not given change nothing.

        - `hold` returns the objects whose fields may be named.
        """
        chosen = self.cleaned_data
        if "take_from" in self.data:
            names = tuple(dict.fromkeys(chosen["take_from"].replace(",", " ").split()))
            options = replace(options, takes_from=names)
        if "hand_over" not in self.data:
            return options
        manager = chosen["hand_over_to"] or HANDOVER_MANAGER
        if manager == options.field_manager:
            raise ProblemsError([SourceProblem("name a field manager other than that of the plan", "hand_over_to")])
        found = _find(chosen["hand_over"], "hand_over", hold)
        return replace(options, handovers=tuple(Handover(one.ref.key, path, manager) for one, path in found))


class TakeForm(forms.Form):
    """Fields whose live values the manifests take, one `OBJECT FIELD` per line; they are those of the latest plan."""

    take_fields = forms.CharField(required=False, max_length=MOST_TEXT)

    def add_taken(self, options: ApplyOptions, latest: Plan) -> ApplyOptions:
        """Return the options with the named fields taken; without the field, nothing changes."""
        if "take_fields" not in self.data:
            return options
        options = replace(options, taken_fields=())
        found = _find(self.cleaned_data["take_fields"], "take_fields", lambda: hold_changes(latest))
        for change, group in groupby(sorted(found, key=lambda one: one[0].ref), key=lambda one: one[0].change):
            paths = [path for _, path in group]
            if change is not None:
                options = _take(latest, options, change, paths)
        return options


def _take(latest: Plan, options: ApplyOptions, change: PlannedObject, paths: list[FieldPath]) -> ApplyOptions:
    """Return the options with fields of one object taken; raises `ProblemsError` for one that cannot be."""
    offered = {one.path for one in handovers.list_live_fields(latest, change)}
    offered |= {one.path for one in handovers.list_taken(latest, change.ref)}
    odd = [render_path(path) for path in paths if path not in offered]
    if odd:
        text = f"{change.ref}: {odd[0]} is not a live field that another manager set to another value"
        raise ProblemsError([SourceProblem(text, "take_fields")])
    return handovers.take_live(options, change, paths)


def _find(
    text: str, field: str, hold: Callable[[], Mapping[str, FieldHolder]]
) -> tuple[tuple[FieldHolder, FieldPath], ...]:
    if not text.strip():
        return ()
    try:
        return find_fields(text, hold())
    except FieldNamesError as error:
        raise ProblemsError([SourceProblem(problem, field) for problem in error.problems]) from error
