"""Explain what server-side apply does to one leaf.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/. Fields of the manifest are set and owned;
fields that this field manager owned and no longer applies are removed unless others own them too; other fields are
kept. One unresolved conflict blocks the whole object. Fields that client-side apply owned belong to this manager first:
those in the manifest move, the others are removed, and a server default comes back without an owner.
"""

from __future__ import annotations

from applyviz.engine.diff.structural import is_same_at
from applyviz.engine.explain.client_side import name_owners
from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.explain.rows import Row
from applyviz.engine.explain.verdict import (
    AS_IT_IS,
    GONE_ALREADY,
    NOBODYS,
    NULL_AGAIN,
    UNCHANGED,
    LeafExplanation,
    find_null,
    is_empty_section,
    is_filled,
    judge_set,
    makes_room,
    name_operation,
    render_above,
)
from applyviz.engine.explain.versions import ObjectVersions
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.owners import Owner, name_owner
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.schema.walk import MISSING

APPLY = "Apply"


def judge_apply(
    versions: ObjectVersions,
    path: FieldPath,
    row: Row,
    conflicts: tuple[Conflict, ...],
    *,
    manager: str,
    subresource: str,
) -> LeafExplanation:
    """Return the rule of server-side apply that decides a leaf.

    - `conflicts`: the unresolved conflicts that touch the leaf.
    """
    after, live, wanted, _, _, owners_before, owners_after, _ = row
    operation = name_operation(live, after)
    if conflicts and operation is UNCHANGED:
        named = (name_owner(c.manager, c.subresource, operation=c.operation, you=manager) for c in conflicts)
        names = ", ".join(dict.fromkeys(named))
        is_equal = _is_equal(versions, path, wanted, live)
        return LeafExplanation(
            FieldOperation.CONFLICT, Reason.CONFLICTS_WHILE_EQUAL if is_equal else Reason.CONFLICTS, names
        )
    others = [o for o in owners_before if o.manager != manager or o.operation != APPLY or o.subresource != subresource]
    was_own = len(others) < len(owners_before)
    losers = [o for o in others if o not in owners_after]
    if operation is UNCHANGED:
        found = _explain_moved(row, losers, manager) or _judge_unchanged(
            row, [o for o in others if o not in losers], was_own, manager
        )
        return AS_IT_IS if found is NOBODYS and is_empty_section(versions, path) else found
    if operation is FieldOperation.CLEARED:
        return LeafExplanation(operation, *_judge_cleared(versions, path, was_own, losers))
    return _judge_written(versions, path, operation, losers, manager)


def _is_equal(versions: ObjectVersions, path: FieldPath, wanted: JSONValue, live: JSONValue) -> bool:
    """Return whether a conflict is about equal values: two spellings, or an empty value that the server leaves out."""
    if wanted is MISSING or live is MISSING:
        return wanted is not MISSING and not wanted
    return is_same_at(versions.root, path, wanted, live)


def _explain_moved(row: Row, losers: list[Owner], manager: str) -> LeafExplanation | None:
    """Explain an unchanged field that loses its other owners; None for any other field.

    - Applying an empty list of a set owns nothing, so nothing moves to the manager then.
    """
    _, live, wanted, _, _, _, owners_after, _ = row
    if not losers or live is MISSING:
        return None
    if wanted is not MISSING:
        is_own = any(owner.manager == manager for owner in owners_after)
        return LeafExplanation(UNCHANGED, Reason.OWNERSHIP_MOVES, name_owners(losers, manager)) if is_own else None
    return None if owners_after else LeafExplanation(FieldOperation.KEPT, Reason.RELEASED, name_owners(losers, manager))


def _judge_written(
    versions: ObjectVersions, path: FieldPath, operation: FieldOperation, losers: list[Owner], manager: str
) -> LeafExplanation:
    verdict = judge_set(versions, path, operation)
    is_wanted = path in versions.manifest
    if operation is FieldOperation.CHANGED and is_wanted and losers:
        return LeafExplanation(operation, Reason.TAKEN_OVER, name_owners(losers, manager))
    return verdict


def _judge_unchanged(row: Row, others: list[Owner], was_own: bool, manager: str) -> LeafExplanation:
    _, live, wanted, _, _, _, _, _ = row
    if wanted is not MISSING:
        if wanted is None and live is MISSING:
            return NULL_AGAIN
        if live is not MISSING and others:
            return LeafExplanation(UNCHANGED, Reason.SHARED, name_owners(others, manager))
        return AS_IT_IS
    if live is MISSING:
        return GONE_ALREADY
    if others:
        if was_own:
            return LeafExplanation(
                FieldOperation.NOT_REMOVED, Reason.STILL_OWNED_BY_OTHERS, name_owners(others, manager)
            )
        return LeafExplanation(FieldOperation.KEPT, Reason.OWNED_BY_OTHERS, name_owners(others, manager))
    return NOBODYS


def _judge_cleared(versions: ObjectVersions, path: FieldPath, was_own: bool, losers: list[Owner]) -> tuple[Reason, str]:
    null = find_null(versions, path)
    if null is not None:
        return Reason.NULL_CLEARS, render_above(path, null)
    if path in versions.manifest:
        return Reason.MANIFEST_SETS, ""
    if makes_room(versions, path):
        return Reason.REPLACED_WHOLE, ""
    if is_filled(versions, path):
        return Reason.MAKES_ROOM, ""
    if was_own:
        return Reason.REMOVED_SOLE_OWNER, ""
    if losers:
        return Reason.REMOVED_FROM_MANIFEST, ""
    above = versions.manifest.find_above(path)
    if above is not None:
        return Reason.REPLACED_WHOLE, render_path(above)
    # The leaf itself had no owner: it went with the entry or map above it, whose ownership was given up.
    for length in range(len(path) - 1, 0, -1):
        if versions.after.has_path(path[:length]):
            return Reason.REMOVED_SOLE_OWNER, render_path(path[: length + 1]) if length + 1 < len(path) else ""
    return Reason.REMOVED_SOLE_OWNER, ""
