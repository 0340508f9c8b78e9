"""Forecast of another tool's apply: its conflicts, and the fields of other managers that it resets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.records.models import Plan

_MOVED = (FieldOperation.CHANGED, FieldOperation.CLEARED)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Conflicts that stop the tool, and fields of other managers that it resets."""

    conflicts: int = 0
    conflicting: int = 0
    reverted: int = 0
    managers: tuple[str, ...] = ()


def make_forecast(plan: Plan, found: Iterable[PlannedObject]) -> dict[str, Any]:
    """Return the forecast of a plan of another tool for its summary; {} for a plan that applyviz applies itself."""
    if not plan.review.applied_by:
        return {}
    manager = options_from_json(plan.options).field_manager
    conflicts = conflicting = reverted = 0
    managers: set[str] = set()
    for change in found:
        conflicts += len(change.conflicts)
        conflicting += bool(change.conflicts)
        managers.update(conflict.manager for conflict in change.conflicts)
        theirs = [
            reason
            for reason in change.fields
            if reason.operation in _MOVED
            and reason.owners_before
            and all(owner.manager != manager for owner in reason.owners_before)
        ]
        reverted += len(theirs)
        managers.update(owner.manager for reason in theirs for owner in reason.owners_before)
    return {"forecast": asdict(Forecast(conflicts, conflicting, reverted, tuple(sorted(managers))))}


def read_forecast(plan: Plan) -> Forecast | None:
    """Return the stored forecast of a plan; None for a plan that applyviz applies itself."""
    kept = plan.summary.get("forecast")
    return Forecast(**{**kept, "managers": tuple(kept["managers"])}) if kept else None
