"""The calculation of an object, step by step: what its documents give, and what they merge to.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/ for client-side apply,
https://kubernetes.io/docs/reference/using-api/server-side-apply/ for server-side. Everything comes from the masked
change; the merged patch is the body of the request below, so it is not printed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import FieldReason, Reason, Stage
from applyviz.engine.merge.calculation import PatchSteps
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Request
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.server_steps import OwnerCount, ServerSteps, list_server_steps
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.web.components.phrases import describe_reason
from applyviz.web.reviews.pane.requests import BodyLine, print_lines

Words = str | Promise
_SHOWN = 40
_UNREAD = (Operation.WITHHELD, Operation.LEFT_OUT, Operation.NOT_FOUND)
_NAMES: tuple[tuple[str, Words], ...] = (
    ("last_applied", gettext_lazy("Last applied")),
    ("manifest", gettext_lazy("Manifest")),
    ("live", gettext_lazy("Live")),
)


class InputDocument(Struct, frozen=True):
    """A document that the calculation reads; `url` is its page with all lines, `note` says why it has none."""

    word: Words
    lines: tuple[BodyLine, ...]
    hidden_lines: int
    url: str
    note: str = ""


class StepField(Struct, frozen=True):
    """A field of a step and the rule that put it there."""

    path: str
    rule: str


class CalculationStep(Struct, frozen=True):
    """One step: its title, kubectl's name for its result, its rule, and the result as lines.

    - `fields`: the fields of a map, each with its own rule; `more` of them are not listed.
    - `facts`: single fields or owners instead of a map; `more` of them are not listed.
    - `note`: the result in words, where there is no map to print.
    """

    title: str
    rule: str
    name: str = ""
    lines: tuple[BodyLine, ...] = ()
    hidden_lines: int = 0
    fields: tuple[StepField, ...] = ()
    facts: tuple[str, ...] = ()
    more: int = 0
    note: str = ""


class CalculationSteps(Struct, frozen=True):
    """The calculation of one object: its inputs and its steps in order."""

    method: str
    inputs: tuple[InputDocument, ...]
    steps: tuple[CalculationStep, ...]


def _print_input(obj: JSONObject) -> tuple[tuple[BodyLine, ...], int]:
    """Return an input as lines, without managedFields, which no three-way patch looks at."""
    metadata = obj.get("metadata")
    if isinstance(metadata, Mapping) and "managedFields" in metadata:
        obj = {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}
    return print_lines(obj)


def _list_inputs(change: PlannedObject, url_of: Callable[[str], str] | None) -> Iterator[InputDocument]:
    if change.versions.live is None:
        notes = {"live": _("The object does not exist yet.")}
    else:
        notes = {"last_applied": _("The live object has no last-applied annotation, so nothing is deleted.")}
    for name, word in _NAMES:
        obj = getattr(change.versions, name)
        if obj is None:
            if name in notes:
                yield InputDocument(word, (), 0, "", notes[name])
            continue
        lines, hidden = _print_input(obj)
        yield InputDocument(word, lines, hidden, url_of(name) if url_of is not None else "")


def _is_deletion(change: PlannedObject, one: FieldReason) -> bool:
    """Return whether a field is in last applied and no longer in the manifest."""
    if one.reason in (Reason.REMOVED_FROM_MANIFEST, Reason.SHARED_MERGE_KEY):
        return True
    was_applied = change.versions.in_last_applied.find(one.path) is not ABSENT
    return was_applied and change.versions.in_manifest.find(one.path) is ABSENT


def _list_rules(change: PlannedObject, *, are_deletions: bool) -> tuple[StepField, ...]:
    """Return the fields that one of the two maps is about, each with the rule that decides it."""
    found = []
    for one in change.fields:
        is_deletion = _is_deletion(change, one)
        is_merged = one.operation in CHANGING and one.stage is Stage.MERGE
        if one.reason is not Reason.BOOKKEEPING and is_deletion is are_deletions and (is_deletion or is_merged):
            found.append(StepField(render_path(one.path).lstrip("."), describe_reason(one)))
    return tuple(found)


def _map_step(
    title: str, rule: str, name: str, found: JSONObject, fields: tuple[StepField, ...], note: str
) -> CalculationStep:
    if not found:
        return CalculationStep(title, rule, name, note=note)
    lines, hidden = print_lines(found, is_patch=True)
    return CalculationStep(title, rule, name, lines, hidden, fields[:_SHOWN], more=max(0, len(fields) - _SHOWN))


def _describe_merged(change: PlannedObject, patch: Request | None) -> str:
    if patch is None and change.calculation is None:
        return _("It is empty, so nothing is sent.")
    if patch is None and change.operation is Operation.UNCHANGED:
        return _("The patch changes nothing that the server stores, so it is not sent.")
    if patch is None and change.operation is Operation.REPLACE:
        return _("The server refuses the patch, so the object is deleted and created again.")
    if patch is None:
        return _("The patch is not sent: the server refuses it.")
    bound = " · ".join(placeholder.rule for placeholder in patch.placeholders)
    sent = _("It is the body of the %(method)s request below.") % {"method": patch.method}
    added = _("The plan adds %(fields)s of the live object as preconditions.") % {"fields": bound} if bound else ""
    return " ".join(filter(None, (sent, added)))


def _find_patch_steps(change: PlannedObject) -> PatchSteps | None:
    """Return the steps of a three-way patch; of an object that is as the manifest asks, they are empty."""
    return PatchSteps() if change.operation is Operation.UNCHANGED and not change.calculation else change.calculation


def _list_create_steps() -> Iterator[CalculationStep]:
    yield CalculationStep(
        _("Annotation"),
        _("The last-applied annotation must be the manifest."),
        note=_("It is set to the manifest as one line of JSON."),
    )
    yield CalculationStep(
        _("The manifest as written"),
        _("There is no live object to compare with, so there is no patch."),
        note=_("With the annotation, it is the body of the POST request below."),
    )


def _list_client_steps(change: PlannedObject) -> Iterator[CalculationStep]:
    found = _find_patch_steps(change)
    if found is None:
        return
    yield _map_step(
        _("Deletions"),
        _("Fields in last applied that the manifest no longer has."),
        "deletionsMap",
        found.deletions,
        _list_rules(change, are_deletions=True),
        _("Nothing to delete."),
    )
    yield _map_step(
        _("Additions and settings"),
        _("Fields of the manifest that live does not have, or has with another value."),
        "deltaMap",
        found.additions,
        _list_rules(change, are_deletions=False),
        _("Nothing to add or set."),
    )
    set_to = _("It is set to the manifest as one line of JSON.")
    yield CalculationStep(
        _("Annotation"),
        _("The last-applied annotation must be the manifest."),
        note=set_to if found.sets_annotation else _("It already is; it stays."),
    )
    patch = next((request for request in change.requests if request.purpose == "patch"), None)
    yield CalculationStep(
        _("Merged patch"),
        _("Additions and settings, with the annotation, are merged into the deletions."),
        "patchMap",
        note=_describe_merged(change, patch),
    )


def _list_paths(title: str, rule: str, paths: tuple[str, ...], note: str) -> CalculationStep:
    return CalculationStep(
        title, rule, facts=paths[:_SHOWN], more=max(0, len(paths) - _SHOWN), note="" if paths else note
    )


def _count_owners(owners: tuple[OwnerCount, ...]) -> tuple[str, ...]:
    return tuple(
        ngettext("%(owner)s: %(n)d field", "%(owner)s: %(n)d fields", number) % {"owner": owner, "n": number}
        for owner, number in owners
    )


def _render(paths: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(render_path(path).lstrip(".") for path in paths)


def _list_conflicts(found: ServerSteps) -> Iterator[CalculationStep]:
    if found.conflicts:
        yield _list_paths(
            _("Conflicts"),
            _("Fields of the request that another manager owns with another value."),
            _render(found.conflicts),
            "",
        )


def _list_server_steps(change: PlannedObject, manager: str) -> Iterator[CalculationStep]:
    found = list_server_steps(change.fields, manager=manager, requests=change.requests)
    yield _list_paths(
        _("Field owners before"), _("The live set, from managedFields."), _count_owners(found.before), _("None.")
    )
    if found.moved:
        moved = _("%(manager)s gets them from other field managers first, by the request before the apply.")
        yield _list_paths(_("Fields moved"), moved % {"manager": manager}, _render(found.moved), "")
    yield _list_paths(
        _("Fields sent"), _("The applied set: every field of the manifest."), _render(found.sent), _("None.")
    )
    kept = tuple(
        _("%(path)s stays: owned by %(owners)s")
        % {"path": render_path(one.path).lstrip("."), "owners": ", ".join(one.owners) or _("nobody")}
        for one in found.kept
    )
    yield _list_paths(
        _("Fields given up"),
        _(
            "The removed set: %(manager)s owned them and no longer sends them. They are removed unless another manager "
            "owns them."
        )
        % {"manager": manager},
        (*_render(found.removed), *kept),
        _("None."),
    )
    yield from _list_conflicts(found)
    yield _list_paths(
        _("Fields set"), _("Fields of the request with another value than live."), _render(found.set), _("None.")
    )
    yield _list_paths(
        _("Fields newly owned"),
        _("%(manager)s owns every field that it sends.") % {"manager": manager},
        _render(found.taken),
        _("None."),
    )
    is_blocked = change.operation is Operation.BLOCKED
    then = _("If every field in conflict keeps its live value.") if is_blocked else _("As the server stores them.")
    yield _list_paths(_("Field owners after"), then, _count_owners(found.after), _("None."))


_PATCHED: dict[str, Words] = {
    JSON_PATCH: gettext_lazy("The operations run on live in order; if one fails, nothing is written."),
    MERGE_PATCH: gettext_lazy("Each field replaces the one in live, lists entirely; null removes a field."),
}
_STRATEGIC: Words = gettext_lazy("Maps are merged by key and lists by the rules of the schema; null removes a field.")


def _list_patch_steps(change: PlannedObject) -> Iterator[CalculationStep]:
    patch = next((request for request in change.requests if request.is_write), None)
    if patch is None:
        return
    yield CalculationStep(
        _("The patch as written"),
        _("It is sent unchanged: nothing is calculated."),
        note=_describe_merged(change, patch),
    )
    yield CalculationStep(
        _("Applied to live by the server"),
        str(_PATCHED.get(patch.content_type, _STRATEGIC)),
        note=_("Last applied does not change, so the next apply of a manifest does not know this change."),
    )


def _list_steps(change: PlannedObject, options: ApplyOptions) -> tuple[str, tuple[CalculationStep, ...]]:
    if options.is_patching:
        return _("Patch"), tuple(_list_patch_steps(change))
    if not options.is_applying or change.operation.is_deletion:
        return "", ()
    if options.mode is ApplyMode.SERVER:
        sends = any(request.content_type == APPLY_PATCH for request in change.requests)
        steps = tuple(_list_server_steps(change, options.field_manager)) if sends else ()
        return _("Computed by the server"), steps
    if change.operation is Operation.CREATE:
        return _("Create"), tuple(_list_create_steps())
    is_json = change.method == "JSON merge patch"
    title = _("Three-way JSON merge patch") if is_json else _("Three-way strategic merge patch")
    return title, tuple(_list_client_steps(change))


def present_calculation(
    change: PlannedObject, options: ApplyOptions, *, url_of: Callable[[str], str] | None = None
) -> CalculationSteps | None:
    """Return the calculation of an object; None if nothing is calculated for it, or its reader may not see it.

    - `url_of`: the page of one of its versions.
    """
    is_known = change.versions.live is not None or change.operation is Operation.CREATE
    if change.operation in _UNREAD or not (is_known or options.mode is ApplyMode.SERVER):
        return None
    method, steps = _list_steps(change, options)
    if not steps:
        return None
    has_inputs = options.mode is ApplyMode.CLIENT and options.is_applying and change.versions.manifest is not None
    return CalculationSteps(method, tuple(_list_inputs(change, url_of)) if has_inputs else (), steps)
