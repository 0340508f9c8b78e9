"""The entries of a Secret whose live values the reader may not see: the manifest, and the last applied values.

Nothing here depends on a live value, so a right and a wrong guess give the same rows. Values are masked.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from applyviz.engine.explain.three_way import withhold_three_way
from applyviz.engine.objects.paths import FieldPath, fields, render_path
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import ApplyMode
from applyviz.web.components.field_strip import FieldStrip, present_strip
from applyviz.web.components.values import Shown, show_value

_HOLDERS = ("data", "stringData")


class WithheldRow(Struct, frozen=True):
    """One entry: its path, the masked value of the manifest (None where it has none), and its strip."""

    path: str
    manifest: Shown | None
    strip: FieldStrip


def _list_paths(change: PlannedObject) -> Iterator[FieldPath]:
    versions = change.versions
    for holder in _HOLDERS:
        found = [finder.find(fields(holder)) for finder in (versions.in_manifest, versions.in_last_applied)]
        names = dict.fromkeys(name for entries in found if isinstance(entries, dict) for name in entries)
        yield from (fields(holder, name) for name in names)


def present_withheld(change: PlannedObject, *, mode: ApplyMode) -> tuple[WithheldRow, ...]:
    """Return the rows of an object that is hidden from the reader; none for any other."""
    if change.operation is not Operation.WITHHELD:
        return ()
    rows = []
    for path in _list_paths(change):
        last_applied, manifest = (
            finder.find(path) for finder in (change.versions.in_last_applied, change.versions.in_manifest)
        )
        picture = withhold_three_way(last_applied, manifest, is_known=mode is ApplyMode.CLIENT)
        shown = (show_value(last_applied), show_value(manifest), None, None)
        rows.append(WithheldRow(render_path(path).lstrip("."), shown[1], present_strip(picture, shown, tone="calm")))
    return tuple(rows)
