"""Why server-side apply does what it does to one leaf.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/. What the manifest names is set and
owned; what this field manager owned and no longer names is removed, unless others own it too; the rest is
kept. An undecided conflict stops the whole object.
"""

from __future__ import annotations

from dataclasses import dataclass

from applyviz.engine.explain.clientside import name_owners
from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.explain.verdict import Verdict, find_null, judge_set, name_operation, render_above
from applyviz.engine.explain.versions import ObjectVersions
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.schema.walk import MISSING

APPLY = "Apply"


@dataclass(frozen=True, slots=True)
class Standing:
    """Who owns a leaf before and after, and which undecided conflicts touch it."""

    before: tuple[Owner, ...]
    after: tuple[Owner, ...]
    conflicts: tuple[Conflict, ...]


def judge_apply(
    versions: ObjectVersions, path: FieldPath, standing: Standing, *, manager: str, subresource: str
) -> Verdict:
    """The rule of server-side apply for a leaf that the merge decided."""
    row = versions.rows[path]
    operation = name_operation(row.live, row.after)
    if standing.conflicts and operation is FieldOperation.UNCHANGED:
        names = ", ".join(dict.fromkeys(c.manager for c in standing.conflicts))
        return Verdict(FieldOperation.CONFLICT, Reason.CONFLICTS, names)

    def is_own(owner: Owner) -> bool:
        return (owner.manager, owner.operation, owner.subresource) == (manager, APPLY, subresource)

    others = [o for o in standing.before if not is_own(o)]
    was_own = len(others) < len(standing.before)
    if operation is FieldOperation.CLEARED:
        return Verdict(operation, *_judge_cleared(versions, path, was_own))
    if operation is not FieldOperation.UNCHANGED:
        return _judge_written(versions, path, operation, [o for o in others if o not in standing.after])
    return _judge_unchanged(versions, path, others, was_own)


def _judge_written(
    versions: ObjectVersions, path: FieldPath, operation: FieldOperation, losers: list[Owner]
) -> Verdict:
    verdict = judge_set(versions, path, operation)
    is_wanted = path in versions.manifest
    if operation is FieldOperation.CHANGED and is_wanted and losers:
        return Verdict(operation, Reason.TAKEN_OVER, name_owners(losers))
    return verdict


def _judge_unchanged(versions: ObjectVersions, path: FieldPath, others: list[Owner], was_own: bool) -> Verdict:
    live, wanted = versions.live.get(path), versions.manifest.get(path)
    unchanged = FieldOperation.UNCHANGED
    if wanted is not MISSING:
        if wanted is None and live is MISSING:
            return Verdict(unchanged, Reason.NULL_CLEARS)
        if live is not MISSING and others:
            return Verdict(unchanged, Reason.SHARED, name_owners(others))
        return Verdict(unchanged, Reason.MANIFEST_EQUALS_LIVE)
    if live is MISSING:
        return Verdict(unchanged, Reason.REMOVED_FROM_MANIFEST)
    if others:
        if was_own:
            return Verdict(FieldOperation.NOT_REMOVED, Reason.STILL_OWNED_BY_OTHERS, name_owners(others))
        return Verdict(FieldOperation.KEPT, Reason.OWNED_BY_OTHERS, name_owners(others))
    return Verdict(FieldOperation.KEPT, Reason.LIVE_ONLY)


def _judge_cleared(versions: ObjectVersions, path: FieldPath, was_own: bool) -> tuple[Reason, str]:
    null = find_null(versions, path)
    if null is not None:
        return Reason.NULL_CLEARS, render_above(path, null)
    if was_own:
        return Reason.REMOVED_SOLE_OWNER, ""
    above = versions.manifest.find_above(path)
    if above is not None:
        return Reason.REPLACED_WHOLE, render_path(above)
    # Nobody owned the leaf itself: it went with the entry or map that was given up above it.
    for length in range(len(path) - 1, 0, -1):
        if versions.after.has_place(path[:length]):
            return Reason.REMOVED_SOLE_OWNER, render_path(path[: length + 1]) if length + 1 < len(path) else ""
    return Reason.REMOVED_SOLE_OWNER, ""
