"""Compute the patch that reverts a patch: it sets what the patch changed to the values before, and nothing else.

Rule: the patch is the difference from the object after to the object before, by the merge keys of the kind, so entries
of lists that others added since stay. Field ownership does not return: the field manager of the patch keeps the fields.
"""

from __future__ import annotations

from msgspec import Struct

from applyviz.engine.manifests.documents import ObjectPatch, PatchType
from applyviz.engine.manifests.patch_documents import KIND
from applyviz.engine.merge import patches
from applyviz.engine.objects.exchange import STRATEGIC_MERGE_PATCH
from applyviz.engine.objects.known_names import SERVER_WRITTEN
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.scaling import find_replicas_path


class PatchRevert(Struct, frozen=True):
    """The patch document that reverts a change, None if it changed nothing; `notes`: what does not return."""

    document: JSONObject | None = None
    notes: tuple[str, ...] = ()


def _take_written(obj: JSONObject, *, is_status: bool) -> JSONObject:
    """Return the half of an object that a patch writes: the status, or everything else that people write."""
    if is_status:
        return {"status": obj.get("status") or {}}
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in SERVER_WRITTEN}
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": metadata}


def _find_patch(change: PlannedObject, kind: KindSchema | None) -> ObjectPatch:
    before, after = change.versions.live or {}, change.versions.after or change.versions.merged or {}
    if change.subresource == "scale" and kind is not None:
        count = get_at(before, find_replicas_path(kind)) or 0
        return ObjectPatch(PatchType.MERGE, {"spec": {"replicas": count}}, change.subresource)
    old, new = (_take_written(obj, is_status=change.writes_status) for obj in (before, after))
    found = patches.compute(new, old, new, kind=kind)
    patch_type = PatchType.STRATEGIC if found.content_type == STRATEGIC_MERGE_PATCH else PatchType.MERGE
    return ObjectPatch(patch_type, found.body, "status" if change.writes_status else "")


def revert_patch(change: PlannedObject, *, manager: str, kind: KindSchema | None) -> PatchRevert:
    """Return the patch that reverts a patched object; the change must be unmasked.

    - `kind`: None if no schema is known; lists are then replaced as a whole.
    - Raises `MergeError` if the difference cannot be computed.
    """
    if change.operation is not Operation.UPDATE:
        return PatchRevert()
    patch = _find_patch(change, kind)
    if not patch.body:
        return PatchRevert()
    ref = change.ref
    target = {"apiVersion": ref.gvk.api_version, "kind": ref.gvk.kind, "name": ref.name}
    target |= {"namespace": ref.namespace} if ref.namespace else {}
    document = {"kind": KIND, "target": target, "type": patch.type.value, "patch": patch.body}
    document |= {"subresource": patch.subresource} if patch.subresource else {}
    return PatchRevert(document, (f"{ref}: {manager} keeps the ownership of the fields that it changed",))
