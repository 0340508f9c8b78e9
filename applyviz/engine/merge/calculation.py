"""The steps of a three-way patch as data: deletions, additions and settings, the annotation, and what they merge to.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/ (how apply calculates differences
and merges changes): fields in last-applied and not in the manifest are deleted; fields of the manifest whose live value
differs are set; last-applied is set to the manifest. kubectl's source calls the results deletionsMap, deltaMap and
patchMap.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.values import JSONObject, MutableObject


class MergedPatch(Struct, frozen=True):
    """A three-way patch with the two differences that it is merged from, both patches of the same kind.

    - `deletions`: last applied → manifest; `additions`: live → manifest.
    """

    body: MutableObject
    deletions: MutableObject
    additions: MutableObject


class PatchSteps(Struct, frozen=True):
    """The steps of client-side apply for one object.

    - `additions` has no last-applied annotation; `sets_annotation` says whether the last step sets that.
    """

    deletions: JSONObject = field(default_factory=dict)
    additions: JSONObject = field(default_factory=dict)
    sets_annotation: bool = False


def explain_steps(merged: MergedPatch) -> PatchSteps:
    """Return the steps of a patch, with the annotation apart from the other additions."""
    metadata = merged.additions.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(metadata, Mapping) or not isinstance(annotations, Mapping) or LAST_APPLIED not in annotations:
        return PatchSteps(merged.deletions, merged.additions)
    kept = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
    others = {name: value for name, value in metadata.items() if name != "annotations"}
    left = {**others, "annotations": kept} if kept else others
    additions = {name: value for name, value in merged.additions.items() if name != "metadata"}
    return PatchSteps(merged.deletions, {**additions, "metadata": left} if left else additions, sets_annotation=True)
