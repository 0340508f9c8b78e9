"""The overview of changes that are all there."""

from __future__ import annotations

from collections.abc import Iterable

from applyviz.engine.planning.model.overview import Overview, Overviewer
from applyviz.engine.planning.model.plan import PlannedObject


def read_overview(changes: Iterable[PlannedObject]) -> Overview:
    """Read all changes in the order of the plan."""
    overviewer = Overviewer()
    for change in changes:
        overviewer.add(change)
    return overviewer.find()
