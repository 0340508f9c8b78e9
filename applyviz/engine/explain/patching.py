"""Explain the fields of a patch that a person wrote: it says what changes, and everything else is kept.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/. No record of earlier
writes counts, so no field is removed that the patch does not remove.
"""

from __future__ import annotations

from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.explain.rows import Row
from applyviz.engine.explain.verdict import LeafExplanation, name_operation
from applyviz.engine.explain.versions import ObjectVersions
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.schema.walk import MISSING

PATCH = "patch"
_REASONS = {
    FieldOperation.SET: Reason.PATCH_SETS,
    FieldOperation.CHANGED: Reason.PATCH_SETS,
    FieldOperation.CLEARED: Reason.PATCH_REMOVES,
}

OF_PATCHES = frozenset({*_REASONS.values(), Reason.PATCH_EQUALS_LIVE, Reason.NOT_IN_PATCH})
"""The reasons that only patches have."""


def judge_patch(versions: ObjectVersions, path: FieldPath, row: Row) -> LeafExplanation:
    """Return the explanation of one leaf of a patched object."""
    after, live, manifest, _, _, _, _, _ = row
    operation = name_operation(live, after)
    if operation is not FieldOperation.UNCHANGED:
        return LeafExplanation(operation, _REASONS[operation])
    if manifest is MISSING and versions.manifest.find_above(path) is None:
        return LeafExplanation(FieldOperation.KEPT, Reason.NOT_IN_PATCH)
    return LeafExplanation(operation, Reason.PATCH_EQUALS_LIVE)
