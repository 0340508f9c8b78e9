"""What a plan would send for an object if its open conflicts were decided so: the request, and what becomes of it.

Put together from the ways out that were worked out when the object was planned. Rule: force is a property of a
request and not of a field, so fields that are left or kept edit the body, and force is for those that are taken over.
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
    """One field as it would be: the way chosen for it, with its value and owners."""

    path: FieldPath
    way: ResolutionOption


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be sent; `request` is None while fields stay open, and then nothing of the object is.

    - `is_edited`: whether the body is another than the manifest; `takes_over`: whether it is sent with force.
    """

    fields: tuple[FieldPreview, ...]
    still_open: tuple[FieldPath, ...]
    request: Request | None
    is_edited: bool
    takes_over: bool


def find_resolution(change: PlannedObject, path: FieldPath, way: ResolutionKind) -> ResolutionOption | None:
    """Return one way out of one open conflict, None when it is not open (any more) or not possible."""
    found = (w for ways in change.ways if ways.path == path for w in ways.ways if w.way is way)
    return next((w for w in found if w.is_possible), None)


def preview(change: PlannedObject, chosen: Mapping[FieldPath, ResolutionKind]) -> Preview:
    """What becomes of a refused object by these decisions, on top of what was decided before."""
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
