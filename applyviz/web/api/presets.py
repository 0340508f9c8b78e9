"""A preset in the body of a request: it fills the fields that the body does not have."""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.records.models import Preset
from applyviz.web.api.problems import ProblemsError, SourceProblem
from applyviz.web.reviews.forms.prune import KEEP
from applyviz.web.reviews.forms.reviews import OptionFields, write_text
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.plans import presets
from applyviz.workflow.plans.presets import CLUSTER, FIELDS, UsedPreset

_NAMES = {"takes_client_side": "client_side_ownership", "takes_from": "take_from"}
_TICKS = {
    "takes_client_side": {"on": "move", "": "keep"},
    "prune_all": {"on": "true", "": "false"},
    "follow": {"on": "true", "": "false"},
    "chart_hooks": {"on": "apply", "": "leave-out"},
}
_OF_PRUNE = ("selector", "prune_all", "prune_allowlist", "applyset", "prune_except")
_OF_PATCH = ("patch_objects", "patch_type", "patch_subresource")
# A body with one of these fields answers what the others ask: those of the preset do not fit it.
_GROUPS = {
    "git_repository": ("git_ref", "git_path", "follow"),
    "chart": ("chart_repository", "chart_version", "chart_release", "chart_values_files"),
    "prune": ("selector", "prune_all", "prune_allowlist", "applyset"),
    "operation": ("prune", *_OF_PRUNE, "replace", "takes_from", "clear_patch", *_OF_PATCH),
}


def _default(name: str) -> str:
    """Return the text of an empty field."""
    return write_text(OptionFields.base_fields[name].initial)


def _write(name: str, text: str) -> str | list[str]:
    """Return the value of a field of the API for the text of the form."""
    if name == "links":
        return text.splitlines()
    return _TICKS[name][text] if name in _TICKS else text


def _read(name: str, value: object) -> str:
    """Return the text of the form for a value of the API."""
    if isinstance(value, list):
        return "\n".join(map(str, value))
    text = str(value or "")
    if name in _TICKS:
        return next((ours for ours, theirs in _TICKS[name].items() if theirs == text), _default(name))
    if name in ("replace", "patch_objects"):
        return "\n".join(text.replace(",", " ").split())
    return text


def _list_answered(given: JSONObject) -> frozenset[str]:
    """Return the fields of the form that a body fills itself, directly or by the group that they belong to."""
    named = {name for name in FIELDS if _NAMES.get(name, name) in given}
    if "prune" in given and given["prune"] in (None, "", KEEP):
        named.add("prune_except")  # what a preset never prunes stays so with another selector, but needs a prune
    return frozenset(named.union(*(names for head, names in _GROUPS.items() if head in given)))


def _fill(preset: Preset, given: JSONObject) -> MutableObject:
    answered = _list_answered(given)
    filled: MutableObject = {"title": preset.title or preset.name}
    if preset.cluster is not None:
        filled[CLUSTER] = preset.cluster.slug
    for name in FIELDS:
        text = preset.options.get(name, _default(name))
        if text != _default(name) and name not in answered:
            filled[_NAMES.get(name, name)] = _write(name, text)
    return {**filled, **given}


def _read_texts(body: JSONObject) -> Mapping[str, str]:
    """Return the text of each option of a body, as a preset holds it."""
    texts = {}
    for name in FIELDS:
        value = body.get(_NAMES.get(name, name))
        texts[name] = _default(name) if value in (None, "") else _read(name, value)
    return {CLUSTER: str(body.get(CLUSTER, "")), **texts}


def _find(slug: object, by: Person) -> Preset:
    try:
        found = presets.get_usable(str(slug), for_user=by)
    except NotVisibleError as error:
        raise ProblemsError([SourceProblem(str(error), field="preset")]) from None
    if found.options.get("applied_by"):
        text = "reviews of this preset are applied by another tool: open them on the page"
        raise ProblemsError([SourceProblem(text, field="preset")])
    return found


def fill_body(given: JSONObject, *, by: Person) -> tuple[JSONObject, UsedPreset | None]:
    """Return a body without its preset, filled by it, and what the body changes; raises `ProblemsError`."""
    if "preset" not in given:
        return given, None
    preset = _find(given["preset"], by)
    body = _fill(preset, {name: value for name, value in given.items() if name != "preset"})
    return body, UsedPreset(preset, presets.find_changes(preset, _read_texts(body)))
