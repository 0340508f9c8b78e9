"""The manifest edit as a unified patch to copy or download, or a sentence instead of it."""

from __future__ import annotations

from msgspec import Struct

from applyviz.engine.planning.conflicts.file_edits import FilePatch

_TONES = {"+": "add", "-": "remove", "@": "place"}
_HEAD = 2


class PatchLine(Struct, frozen=True):
    """One line of a patch; `tone` is empty for context."""

    text: str
    tone: str = ""


class PatchView(Struct, frozen=True):
    """A displayed patch; without `lines`, `reason` says why there are none and what to change.

    - `edited_url`: the whole edited document, "" if it is not kept; `is_whole`: it is all of its file.
    """

    where: str
    lines: tuple[PatchLine, ...]
    text: str
    reason: str
    url: str
    edited_url: str = ""
    is_whole: bool = False


def present_patch(patch: FilePatch | None, *, url: str, edited_url: str = "") -> PatchView | None:
    """Return a patch as lines; None stays None."""
    if patch is None:
        return None
    shown = patch.text.split("\n")[_HEAD:] if patch.text else []
    if shown and not shown[-1]:
        shown.pop()
    lines = tuple(PatchLine(line.rstrip("\r"), _TONES.get(line[:1], "")) for line in shown)
    edited_url = edited_url if patch.edited else ""
    link = url if patch.text else ""
    return PatchView(str(patch.position), lines, patch.text, patch.reason, link, edited_url, patch.is_whole)
