"""Preview the request for an object if its open conflicts were resolved in a given way.

The preview uses the options that planning computed. Rule: force is a property of a request and not of a field, so
giving up or sharing a field edits the body, and force is only for overwritten fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind, ResolutionOption, edit_manifest
from applyviz.engine.planning.model.plan import PlannedObject


@dataclass(frozen=True, slots=True)
class FieldPreview:
    """One field after its chosen resolution, with its value and owners."""

    path: FieldPath
    way: ResolutionOption


@dataclass(frozen=True, slots=True)
class Preview:
    """The request to send; `request` is None while conflicts are open, and then nothing is sent for the object.

    - `is_edited`: whether the body differs from the manifest; `takes_over`: whether it is sent with force.
    """

    fields: tuple[FieldPreview, ...]
    still_open: tuple[FieldPath, ...]
    request: Request | None
    is_edited: bool
    takes_over: bool


def find_resolution(change: PlannedObject, path: FieldPath, way: ResolutionKind) -> ResolutionOption | None:
    """Return one resolution of one open conflict, None if it is not open (any more) or not possible."""
    found = (w for ways in change.ways if ways.path == path for w in ways.ways if w.way is way)
    return next((w for w in found if w.is_possible), None)


def preview(change: PlannedObject, chosen: Mapping[FieldPath, ResolutionKind]) -> Preview:
    """Return the preview of a blocked object with these resolutions added to the earlier ones."""
    found = {path: way for path, choice in chosen.items() if (way := find_resolution(change, path, choice)) is not None}
    still_open = tuple(ways.path for ways in change.ways if ways.path not in found)
    edits = [way.edit for way in found.values() if way.edit] + [a.edit for a in change.answers if a.edit]
    ways = [way.way for way in found.values()] + [a.way for a in change.answers]
    takes_over = ResolutionKind.OVERWRITE in ways
    request = next((r for r in reversed(change.requests) if r.is_write), None)
    if request is not None:
        body = request.body or {}
        for edit in edits:
            body = edit_manifest(body, edit)
        query = {**request.query, "force": "true" if takes_over else "false"}
        request = replace(request, body=body, query=query)
    fields = tuple(FieldPreview(path, way) for path, way in found.items())
    return Preview(fields, still_open, None if still_open else request, bool(edits), takes_over)
