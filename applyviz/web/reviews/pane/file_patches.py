"""The patch of an object that an address names: of a resolution option, of an answer, or of all answers together."""

from __future__ import annotations

from applyviz.engine.planning.conflicts.file_edits import FilePatch
from applyviz.engine.planning.model.plan import PlannedObject


def find_patch(change: PlannedObject, of: str, index: int, option: int) -> FilePatch | None:
    """Return the patch or None; `option` counts the options of an open field from 1."""
    if of == "all":
        return change.patch
    if of == "answers" and index < len(change.answers):
        return change.answers[index].patch
    if of == "open" and index < len(change.open_fields) and 0 < option <= len(change.open_fields[index].options):
        return change.open_fields[index].options[option - 1].patch
    return None
