"""A new object as YAML: every line of it, with what only the server's defaults give it set apart."""

from __future__ import annotations

from msgspec import Struct

from applyviz.engine.diff.text import diff_lines
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.web.reviews.pane.diff_lines import leave_out_server_managed
from applyviz.workflow.plans.changes import find_root

SHOWN, MOST, WIDTH = 12, 400, 500


class CreatedLine(Struct, frozen=True):
    """One line; `is_default` when the manifest does not have it."""

    text: str
    is_default: bool


class CreatedDocument(Struct, frozen=True):
    """The first lines, those that are folded away, and how many come after those."""

    lines: tuple[CreatedLine, ...]
    folded: tuple[CreatedLine, ...]
    hidden: int
    defaults: int
    total: int


def present_created(change: PlannedObject) -> CreatedDocument | None:
    """The object that is created, masked; None for one that exists."""
    after = leave_out_server_managed(change.versions.after)
    if change.versions.live is not None or after is None:
        return None
    manifest = leave_out_server_managed(change.versions.manifest)
    rows = diff_lines(manifest, after, root=find_root(change.ref.gvk), looks_inside=False)
    lines = [
        CreatedLine(f"{'  ' * row.after.line.depth}{row.after.line.text}"[:WIDTH], row.before is None)
        for row in rows
        if row.after is not None
    ]
    return CreatedDocument(
        tuple(lines[:SHOWN]),
        tuple(lines[SHOWN:MOST]),
        len(lines[MOST:]),
        sum(line.is_default for line in lines),
        len(lines),
    )
