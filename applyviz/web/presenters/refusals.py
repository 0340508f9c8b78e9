"""A refused object as a reader needs it: its conflicts stand in their fields, and nothing else happens.

The server refuses the whole object, so what it would have changed by itself is no fact yet and is not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason, Stage
from applyviz.engine.hazards.model import HazardKind
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.planning.plan import ObjectChange, Operation


def _mark(reason: FieldReason, conflicts: Sequence[Conflict]) -> FieldReason:
    managers = ", ".join(dict.fromkeys(c.manager for c in conflicts if c.path == reason.path))
    if not managers:
        return reason
    return replace(
        reason, operation=FieldOperation.CONFLICT, reason=Reason.CONFLICTS, detail=managers, stage=Stage.MERGE
    )


def settle(change: ObjectChange) -> ObjectChange:
    """The change as it is shown; only a refused one differs from what is stored."""
    if change.operation is not Operation.REFUSED:
        return change
    return replace(
        change,
        fields=tuple(_mark(reason, change.conflicts) for reason in change.fields),
        hazards=tuple(h for h in change.hazards if h.kind is not HazardKind.ADMISSION_CHANGED),
    )
