"""The patch of an object that an address names: of a resolution option, of an answer, or of all answers together."""

from __future__ import annotations

from applyviz.engine.planning.conflicts.file_edits import FilePatch
from applyviz.engine.planning.model.plan import PlannedObject


def find_patch(change: PlannedObject, of: str, place: int, way: int) -> FilePatch | None:
    """Return the patch or None; `way` counts the options of an open field from 1."""
    if of == "all":
        return change.patch
    if of == "answers" and place < len(change.answers):
        return change.answers[place].patch
    if of == "ways" and place < len(change.ways) and 0 < way <= len(change.ways[place].ways):
        return change.ways[place].ways[way - 1].patch
    return None
