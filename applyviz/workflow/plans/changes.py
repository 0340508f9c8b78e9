"""Conversion of object changes between engine and database: masked for display, encrypted for the sender."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from applyviz.engine.diff import masking
from applyviz.engine.diff.masking import MaskPolicy
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json
from applyviz.engine.planning.digest.serialize import change_from_json, change_to_json, core_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.schema.walk import MISSING
from applyviz.records.models import ObjectChange, Plan
from applyviz.records.sealing import Sealed
from applyviz.workflow.foundation.digests import digest_effect

_LOUDNESS = [RiskLevel.HIGH, RiskLevel.MEDIUM, RiskLevel.INFO]


def _worst(change: engine.PlannedObject) -> str:
    found = {risk.level for risk in change.risks}
    return next((level.value for level in _LOUDNESS if level in found), "")


def _list_kinds(change: engine.PlannedObject) -> list[list[str]]:
    """Return kind and level of each risk, as `workflow.policies.risks` gathers them for a plan."""
    return [list(one) for one in dict.fromkeys((h.kind.value, h.level.value) for h in change.risks)]


def count_open(change: engine.PlannedObject) -> int:
    """Return how many conflicts have neither a resolution nor a rule."""
    answered = {(answer.path, answer.manager) for answer in change.answers}
    return sum((conflict.path, conflict.manager) not in answered for conflict in change.conflicts)


def derive_columns(change: engine.PlannedObject, masked: engine.PlannedObject) -> dict[str, Any]:
    """Return every column of a row that is derived from the change; `masked` is its masked version."""
    gvk = change.ref.gvk
    return {
        "step": change.step,
        "group": gvk.group,
        "version": gvk.version,
        "kind": gvk.kind,
        "namespace": change.ref.namespace,
        "name": change.ref.name,
        "operation": change.operation.value,
        "method": change.method,
        "certainty": change.certainty.value,
        "has_effect": change.has_effect,
        "conflicts": count_open(change),
        "risks": len(change.risks),
        "highest_risk": _worst(change),
        "high_risks": [
            [kind, level] for kind, level in dict.fromkeys((h.kind.value, h.level.value) for h in masked.risks)
        ],
        "error": masked.error,
        "effect": digest_effect(change),
        "document": change_to_json(masked),
    }


def make_row(change: engine.PlannedObject, masked: engine.PlannedObject, *, plan: Plan, position: int) -> ObjectChange:
    """Return the unsaved row of a change; `masked` is its masked version."""
    sealed = Sealed.of_json(change_to_json(change))
    return ObjectChange(plan=plan, position=position, sealed=sealed, **derive_columns(change, masked))


def refresh_row(row: ObjectChange, change: engine.PlannedObject, masked: engine.PlannedObject) -> None:
    """Set everything of a row that follows from its change; nothing is saved."""
    row.sealed = Sealed.of_json(change_to_json(change))
    for name, value in derive_columns(change, masked).items():
        setattr(row, name, value)


def mask_object(obj: JSONObject, ref: ObjectRef, *, tag_key: bytes, policy: MaskPolicy) -> JSONObject:
    """Mask an object with the tags of its masked change, so that equal values have equal tags."""
    return masking.mask(obj, gvk=ref.gvk, tag_key=tag_key, scope="/".join(ref.key), policy=policy)


def ref_of(row: ObjectChange) -> ObjectRef:
    """Return the object that a row describes."""
    return ObjectRef(GroupVersionKind(row.group, row.version, row.kind), row.namespace, row.name)


def read_masked(row: ObjectChange) -> engine.PlannedObject:
    """Return the change for display: every Secret value is masked."""
    return replace(change_from_json(row.document), step=row.step)


def open_sealed(row: ObjectChange) -> engine.PlannedObject:
    """Return the whole change, Secret values included; for the sender only."""
    return replace(change_from_json(row.sealed.open_json()), step=row.step)


def read_masked_core(row: ObjectChange) -> engine.PlannedObject:
    """Return the change as `read_masked` does, with only what a run journals."""
    return core_from_json(row.document)


def open_sealed_core(row: ObjectChange) -> engine.PlannedObject:
    """Return the change as `open_sealed` does, with only what is sent and verified."""
    return core_from_json(row.sealed.open_json())


def place_rows(rows: Iterable[ObjectChange], ordered: Iterable[engine.PlannedObject]) -> list[ObjectChange]:
    """Give rows the step and position of the finished plan; return the rows that moved.

    - An object that the source names twice has two rows; they keep their order.
    """
    waiting: dict[tuple[str, str, str, str], list[ObjectChange]] = {}
    for row in rows:
        waiting.setdefault(ref_of(row).key, []).append(row)
    moved = []
    for position, change in enumerate(ordered):
        same = waiting.get(change.ref.key)
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
