"""Preview the request for an object if its open conflicts were resolved in a given option.

The preview uses the options that planning computed. Rule: force is a property of a request and not of a field, so
giving up or sharing a field edits the body, and force is only for overwritten fields.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind, ResolutionOption, edit_manifest
from applyviz.engine.planning.model.plan import PlannedObject


class FieldPreview(Struct, frozen=True):
    """One field after its chosen resolution, with its value and owners."""

    path: FieldPath
    option: ResolutionOption


class Preview(Struct, frozen=True):
    """The request to send; `request` is None while conflicts are open, and then nothing is sent for the object.

    - `is_edited`: whether the body differs from the manifest; `takes_over`: whether it is sent with force.
    """

    fields: tuple[FieldPreview, ...]
    still_open: tuple[FieldPath, ...]
    request: Request | None
    is_edited: bool
    takes_over: bool


def find_resolution(change: PlannedObject, path: FieldPath, resolution: ResolutionKind) -> ResolutionOption | None:
    """Return one resolution of one open conflict, None if it is not open (any more) or not possible."""
    found = (o for f in change.open_fields if f.path == path for o in f.options if o.resolution is resolution)
    return next((o for o in found if o.is_possible), None)


def preview(change: PlannedObject, chosen: Mapping[FieldPath, ResolutionKind]) -> Preview:
    """Return the preview of a blocked object with these resolutions added to the earlier ones."""
    found = {path: one for path, kind in chosen.items() if (one := find_resolution(change, path, kind)) is not None}
    still_open = tuple(f.path for f in change.open_fields if f.path not in found)
    edits = [option.edit for option in found.values() if option.edit] + [a.edit for a in change.answers if a.edit]
    resolutions = [o.resolution for o in found.values()] + [a.resolution for a in change.answers]
    takes_over = ResolutionKind.OVERWRITE in resolutions
    request = next((r for r in reversed(change.requests) if r.is_write), None)
    if request is not None:
        body = edit_manifest(request.body or {}, edits)
        query = {**request.query, "force": "true" if takes_over else "false"}
        request = replace(request, body=body, query=query)
    fields = tuple(FieldPreview(path, option) for path, option in found.items())
    return Preview(fields, still_open, None if still_open else request, bool(edits), takes_over)
