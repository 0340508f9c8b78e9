"""Compute and apply the three-way strategic merge patch of client-side apply.

Additions and changes are the difference live → manifest, deletions the difference last applied → manifest; the first is
merged into the second. Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/ (merging
changes). Left out: the choice of a schema, and preconditions (kubectl has none for this kind of patch).
"""

from __future__ import annotations

from applyviz.engine.merge.application import merge_maps
from applyviz.engine.merge.calculation import MergedPatch
from applyviz.engine.merge.differences import Purpose, diff_maps
from applyviz.engine.merge.disagreements import DisagreementError, reconcile
from applyviz.engine.merge.shapes import PatchShape
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.values import JSONObject, MutableObject, canonical_json


def compute_strategic(
    last_applied: JSONObject, manifest: JSONObject, live: JSONObject, shape: PatchShape, *, is_overwriting: bool
) -> MergedPatch:
    """Return the strategic merge patch that turns the live object into the manifest.

    - Raises `PatchError` when a list or field cannot be merged by this shape.
    - Raises `MergeError` when others changed a field of the patch and it may not be overwritten.
    """
    additions = diff_maps(live, manifest, shape, Purpose.ADDITIONS)
    deletions = diff_maps(last_applied, manifest, shape, Purpose.DELETIONS)
    patch = merge_maps(deletions, additions, shape, is_object=False)
    body = patch if is_overwriting else _refuse_overwriting(patch, last_applied, live, shape)
    return MergedPatch(body, deletions, additions)


def _refuse_overwriting(
    patch: MutableObject, last_applied: JSONObject, live: JSONObject, shape: PatchShape
) -> MutableObject:
    changed = diff_maps(last_applied, live, shape, Purpose.EVERYTHING)
    try:
        return reconcile(patch, changed, shape)
    except DisagreementError:
        raise MergeError(
            f"patch:\n{canonical_json(patch)}\nconflicts with changes made from original to current:\n"
            f"{canonical_json(changed)}\n"
        ) from None


def apply_strategic(live: JSONObject, patch: JSONObject, shape: PatchShape) -> MutableObject:
    """Apply a strategic merge patch to the live object, before defaulting and admission."""
    return merge_maps(live, patch, shape, is_object=True)
