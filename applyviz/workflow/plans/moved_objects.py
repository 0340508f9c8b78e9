"""Changes of an object since its plan was made: compared by effect, described by masked fields."""

from __future__ import annotations

from applyviz.engine.diff.masking import MaskPolicy
from applyviz.engine.diff.structural import diff_objects
from applyviz.engine.objects.controller_fields import is_controller_written
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.schema.model import KindSchema
from applyviz.records.models import ObjectChange
from applyviz.workflow.foundation.digests import digest_effect
from applyviz.workflow.plans import changes

_SHOWN, _NAMED = 50, 5
OF_SERVER = (".metadata.managedFields", ".metadata.resourceVersion", ".metadata.generation", ".status")


def is_unreadable(now: PlannedObject) -> bool:
    """Return whether the live object could not be read: then nothing is known to have changed."""
    return now.operation is Operation.ERROR and now.certainty is Certainty.UNKNOWN


def _is_leaving(live: JSONObject | None) -> bool:
    return bool(get_at(live, ("metadata", "deletionTimestamp")))


def is_going(row: ObjectChange, now: PlannedObject) -> bool:
    """Return whether what a reviewed deletion wants has happened meanwhile: the object is gone, or being deleted.

    - An object that was created again under the same name is another one.
    - Where a write ends the deletion, only an object that is gone needs it no more. An apply would create that one
      now, and a patch finds nothing.
    """
    if row.operation != Operation.DELETE:
        return False
    live, change = now.versions.live, changes.read_masked_core(row)
    if live is None and change.is_ended:
        return now.operation is Operation.CREATE or (now.refusal is not None and now.refusal.status == 404)
    if live is None:
        return now.operation is Operation.NOT_FOUND
    reviewed = change.versions.live
    is_same = not change.is_ended and get_at(live, ("metadata", "uid")) == get_at(reviewed, ("metadata", "uid"))
    return is_same and _is_leaving(live)


def find_moved(
    row: ObjectChange, now: PlannedObject, *, tag_key: bytes, policy: MaskPolicy, kind: KindSchema | None
) -> list[dict[str, JSONValue]] | None:
    """Return the fields that changed since the review, masked; None when the effect is the reviewed one.

    - An object that was created or deleted meanwhile has none: `describe_move` says what happened to it.
    """
    if digest_effect(now) == row.effect or is_going(row, now):
        return None
    reviewed = changes.read_masked_core(row).versions.live
    present = mask_change(now, tag_key=tag_key, policy=policy).versions.live
    if reviewed is None or present is None:
        return []
    root = kind.root if kind else None
    found = [
        difference
        for difference in diff_objects(reviewed, present, root=root)
        if not render_path(difference.path).startswith(OF_SERVER)
        and not is_controller_written(difference.path, present)
    ]
    return [
        {"path": render_path(d.path), "reviewed": changes.show_value(d.before), "live": changes.show_value(d.after)}
        for d in found[:_SHOWN]
    ]


def _describe_obstacle(now: PlannedObject) -> str:
    """Return why a masked change cannot be applied any more, "" for one that can."""
    if now.operation is Operation.ERROR:
        return f"{'the API server now refuses it' if now.refusal else 'it can no longer be applied'}: {now.error}"
    if now.operation is Operation.BLOCKED and now.conflicts:
        paths = ", ".join(dict.fromkeys(render_path(one.path) for one in now.conflicts[:_NAMED]))
        return f"it now has a conflict with {now.conflicts[0].manager}: {paths}"
    return ""


def describe_move(
    row: ObjectChange, now: PlannedObject, moved: list[dict[str, JSONValue]], *, tag_key: bytes, policy: MaskPolicy
) -> str:
    """Return what happened to an object since it was reviewed, masked, in one sentence.

    - What the API server refuses now, and what conflicts now, is said before the fields that changed.
    """
    reviewed, live = changes.read_masked_core(row).versions.live, now.versions.live
    if reviewed is not None and live is None:
        return "it was deleted since it was reviewed"
    if reviewed is None and live is not None:
        return "it was created since it was reviewed"
    if _is_leaving(live) and not _is_leaving(reviewed):
        return "its deletion began since it was reviewed: no apply keeps it"
    addon = changes.find_record(row)
    if addon:
        return f"the record of addon {addon} changed since it was reviewed: plan the channel again"
    obstacle = _describe_obstacle(mask_change(now, tag_key=tag_key, policy=policy))
    if obstacle:
        return obstacle
    if not moved:
        return "its values are as reviewed, but applying it would have another result now, or other field owners"
    return f"it changed since it was reviewed: {', '.join(str(m['path']) for m in moved[:_NAMED])}"
