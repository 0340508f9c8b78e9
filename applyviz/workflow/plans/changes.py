"""Conversion of object changes between engine and database: masked for display, encrypted for the sender."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import Any

from applyviz.engine.diff import masking
from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.masking import Beside, MaskPolicy
from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.json_text import write_json
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json
from applyviz.engine.planning.digest.serialize import (
    CORE,
    change_from_json,
    change_to_json,
    core_from_json,
    from_json,
    paths_from_json,
    requests_from_json,
    to_json,
)
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.objects.live_values import withhold_live
from applyviz.engine.planning.objects.operation_masking import MaskedPatch
from applyviz.engine.risks.model import LEVELS, Risk
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING
from applyviz.records.models import ObjectChange, Plan
from applyviz.records.sealing import Sealed, Unsealed
from applyviz.workflow.foundation.digests import digest_effect
from applyviz.workflow.foundation.stored_json import as_stored, may_be_changed

_WRITTEN = re.compile(r"[0-9]{1,20}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def find_root(gvk: GroupVersionKind) -> Node | None:
    """Return the schema of the objects of a built-in kind, None for any other kind."""
    kind = bundled().find_kind(gvk)
    return kind.root if kind else None


def _worst(change: engine.PlannedObject) -> str:
    found = {risk.level for risk in change.risks}
    return next((level.value for level in LEVELS if level in found), "")


def _name_risks(risks: Iterable[Risk]) -> list[list[str]]:
    """Return kind and level of each risk, as `workflow.policies.risks` gathers them for a plan."""
    return [list(one) for one in dict.fromkeys((risk.kind.slug, risk.level.value) for risk in risks)]


def count_open(change: engine.PlannedObject) -> int:
    """Return how many conflicts have neither a resolution nor a rule."""
    answered = {(answer.path, answer.manager) for answer in change.answers}
    return sum((conflict.path, conflict.manager) not in answered for conflict in change.conflicts)


def derive_columns(change: engine.PlannedObject, masked: engine.PlannedObject, shown: JSONObject) -> dict[str, Any]:
    """Return every column of a row that is derived from the change.

    - `masked`: its masked version, and `shown` the document of that, as it is stored.
    """
    gvk = change.ref.gvk
    return {
        "step": change.step,
        "group": gvk.group,
        "version": gvk.version,
        "kind": gvk.kind,
        "namespace": change.ref.namespace,
        "name": change.ref.name,
        "file": as_stored(change.position.file),
        "operation": change.operation.value,
        "method": change.method,
        "certainty": change.certainty.value,
        "has_effect": change.has_effect,
        "conflicts": count_open(change),
        "risks": len(change.risks),
        "highest_risk": _worst(change),
        "risk_levels": _name_risks(masked.risks),
        "error": as_stored(masked.error),
        "effect": digest_effect(change),
        "document": shown,
        "found_risks": as_stored(to_json(masked.risks)),
    }


def write_document(change: engine.PlannedObject) -> JSONObject:
    """Return a change as JSON without its risks, which have a column of their own: the whole set may add some later."""
    return change_to_json(replace(change, risks=()))


def make_row(change: engine.PlannedObject, masked: engine.PlannedObject, *, plan: Plan, position: int) -> ObjectChange:
    """Return the unsaved row of a change; `masked` is its masked version."""
    shown = write_document(masked)
    # Where nothing is masked, the document is the change, so its size may say what is in it. Masking adds no NUL and no
    # number, so one search finds those of both.
    is_public = masked == change
    content = write_json(shown if is_public else write_document(change))
    columns = derive_columns(change, masked, as_stored(shown) if may_be_changed(content) else shown)
    sealed = Unsealed.of_public_json(content) if is_public else Unsealed.of_bytes(content)
    return ObjectChange(plan=plan, position=position, sealed=sealed, **columns)


def refresh_risks(row: ObjectChange, change: engine.PlannedObject, risks: tuple[Risk, ...]) -> None:
    """Set what follows from the risks of a change, of which nothing else is new; nothing is saved.

    - `risks`: those of its masked version.
    """
    row.risks, row.highest_risk, row.risk_levels = len(change.risks), _worst(change), _name_risks(risks)
    row.found_risks = as_stored(to_json(risks))


_NAMING = ("addon", "is_record")


def forget_content(row: ObjectChange) -> None:
    """Drop the content of a stored row from memory; what names its object stays."""
    row.document = {name: row.document[name] for name in _NAMING if name in row.document}
    row.found_risks, row.sealed = [], Sealed(b"")


def mask_object(
    obj: JSONObject, ref: ObjectRef, *, tag_key: bytes, policy: MaskPolicy, shown: engine.Versions | None = None
) -> JSONObject:
    """Mask an object of the cluster with the tags of its masked change, so that equal values have equal tags.

    - `shown`: the masked versions that the object is compared with; annotations of a Secret that they show stay.
    """
    versions = (
        (shown.manifest, shown.last_applied, shown.after, shown.live) if shown and names_secret(ref.gvk.kind) else ()
    )
    beside = [Beside(one, one) for one in versions if one is not None]
    scope = "/".join(ref.key)
    return masking.mask(obj, gvk=ref.gvk, tag_key=tag_key, scope=scope, policy=policy, beside=beside, is_live=True)


def is_shown_by(obj: JSONObject, after: JSONObject | None, ref: ObjectRef, policy: MaskPolicy) -> bool:
    """Return whether an answer is the planned result, but for what the server writes each time: masking keeps it whole.

    - `after`: the planned result, in which masking found nothing to mask.
    - What it writes each time are its version and the times of owners; a policy that names fields may name these.
    """
    if after is None or names_secret(ref.gvk.kind) or policy.names or policy.paths:
        return False
    return without_written(obj) == without_written(after)


def without_written(obj: JSONObject) -> JSONObject:
    """Return an object without the numbers and times that each write sets; one with another value there keeps it."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    owners = metadata.get("managedFields")
    found = _drop(metadata, "resourceVersion")
    if isinstance(owners, list):
        found = {**found, "managedFields": [_drop(one, "time") if isinstance(one, dict) else one for one in owners]}
    return {**obj, "metadata": found}


def _drop(obj: JSONObject, name: str) -> JSONObject:
    value = obj.get(name)
    is_written = isinstance(value, str) and _WRITTEN.fullmatch(value) is not None
    return {key: kept for key, kept in obj.items() if key != name} if is_written else obj


def hide_written(
    obj: JSONObject, shown: JSONObject, written: JSONObject, ref: ObjectRef, *, tag_key: bytes
) -> JSONObject | None:
    """Return what is shown of an object, masked also where a JSON patch wrote something masked.

    - `written`: what is shown of the result of the patch, whose text alone does not say that it is a copy.
    """
    masker = masking.make_masker({}, ref.gvk, tag_key, "/".join(ref.key), masking.DEFAULT_POLICY, None, None)
    return MaskedPatch((), written).hide(obj, shown, masker)


def ref_of(row: ObjectChange) -> ObjectRef:
    """Return the object that a row describes."""
    return ObjectRef(GroupVersionKind(row.group, row.version, row.kind), row.namespace, row.name)


def find_addon(row: ObjectChange) -> str:
    """Return the addon of a kOps channel that a change belongs to; "" for none."""
    return str(row.document.get("addon", ""))


def find_record(row: ObjectChange) -> str:
    """Return the addon whose record a change writes; "" for every other change."""
    return find_addon(row) if row.document.get("is_record") else ""


def read_masked(row: ObjectChange) -> engine.PlannedObject:
    """Return the change for display: every Secret value is masked, and for a withheld row also what live has."""
    return _complete(row, change_from_json(row.document))


def read_masked_without_fields(row: ObjectChange) -> engine.PlannedObject:
    """Return the change as `read_masked` does, with its versions and risks, but without its fields and notices."""
    return _complete(row, core_from_json(row.document))


def _complete(row: ObjectChange, change: engine.PlannedObject) -> engine.PlannedObject:
    found = replace(change, step=row.step, risks=read_risks(row))
    return withhold_live(found) if row.operation == engine.Operation.WITHHELD else found


def read_risks(row: ObjectChange) -> tuple[Risk, ...]:
    """Return the risks of a change for display."""
    return tuple(from_json(Risk, risk) for risk in row.found_risks)


def open_sealed(row: ObjectChange) -> engine.PlannedObject:
    """Return the change, Secret values included, without its risks; for the sender only."""
    return replace(change_from_json(row.sealed.open_json()), step=row.step)


def list_paths(row: ObjectChange, operations: Container[FieldOperation]) -> list[FieldPath]:
    """Return the paths of the fields to which one of these operations happens."""
    return paths_from_json(row.document, operations)


def read_masked_core(row: ObjectChange) -> engine.PlannedObject:
    """Return the change as `read_masked` does, with only what a run journals."""
    return core_from_json(row.document)


def read_masked_requests(row: ObjectChange) -> tuple[Request, ...]:
    """Return the requests of the change as `read_masked` does, and nothing else of it."""
    return requests_from_json(row.document)


def open_sealed_core(row: ObjectChange) -> engine.PlannedObject:
    """Return the change as `open_sealed` does, with only what is sent and verified."""
    return core_from_json(row.sealed.open_members(CORE))


def open_cores(row: ObjectChange) -> tuple[engine.PlannedObject, engine.PlannedObject]:
    """Return what `open_sealed_core` and `read_masked_core` do; it is one change where nothing is masked."""
    sealed = row.sealed.open_members(CORE)
    change = core_from_json(sealed)
    shown = {name: value for name, value in row.document.items() if name in CORE}
    return change, change if shown == sealed else core_from_json(shown)


def place_rows(rows: Iterable[ObjectChange], ordered: Iterable[engine.PlannedObject]) -> list[ObjectChange]:
    """Give rows the step and position of the finished plan; return the rows that moved.

    - An object that the source names twice has two rows; they keep their order.
    """
    waiting: dict[tuple[str, ...], list[ObjectChange]] = {}
    for row in rows:
        waiting.setdefault((*ref_of(row).key, find_record(row)), []).append(row)
    moved = []
    for position, change in enumerate(ordered):
        same = waiting.get((*change.ref.key, change.addon if change.is_record else ""))
        if not same:
            continue
        row = same.pop(0)
        if (row.step, row.position) != (change.step, position):
            row.step, row.position = change.step, position
            moved.append(row)
    return moved


def show_value(value: JSONValue) -> str:
    """Return a masked value as text; "" where there is none."""
    return "" if value is MISSING else canonical_json(value) if isinstance(value, (dict, list)) else str(value)
