"""Name the managers that conflict, as every page does."""

from __future__ import annotations

from applyviz.engine.objects.owners import name_owner
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.planning.model import plan as engine


def name_conflicting(change: engine.PlannedObject) -> dict[FieldPath, list[str]]:
    """Return the conflicting managers of each field, with the subresource that they wrote it through."""
    named: dict[FieldPath, list[str]] = {}
    for conflict in change.conflicts:
        named.setdefault(conflict.path, []).append(name_owner(conflict.manager, conflict.subresource))
    return named
