"""The reasons that a page prints, because values, owners and the three-way strip do not show them."""

from __future__ import annotations

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason

_ALWAYS = frozenset(
    {
        Reason.RETAIN_KEYS,
        Reason.REPLACED_WHOLE,
        Reason.MAKES_ROOM,
        Reason.SHARED_MERGE_KEY,
        Reason.KEPT_UNDER_ANOTHER_KEY,
        Reason.FROM_ANOTHER_ENTRY,
        Reason.MOVED_TO,
        Reason.MOVED_FROM,
        Reason.OWNED_BY_OTHERS,
        Reason.STILL_OWNED_BY_OTHERS,
        Reason.NO_LAST_APPLIED,
        Reason.SERVER_CHANGED,
        Reason.ALLOCATED,
        Reason.CONFLICTS,
        Reason.CONFLICTS_WHILE_EQUAL,
        Reason.TAKEN_OVER,
        Reason.OWNERSHIP_MOVES,
        Reason.RELEASED,
        Reason.ORDER,
        Reason.DIRECTIVE,
        Reason.LAST_APPLIED_REMOVED,
        Reason.OWNERS_CLEARED,
        Reason.GOES_WITH_OLD,
        Reason.SET_AGAIN,
    }
)
_REMOVALS = frozenset({Reason.REMOVED_FROM_MANIFEST, Reason.REMOVED_SOLE_OWNER})


def is_surprising(reason: FieldReason, *, is_live: bool) -> bool:
    """Return whether a page must print the reason of a field.

    - A removal surprises where the rule applied above the field; a default where it replaces a live value (`is_live`).
    """
    if reason.reason is Reason.NULL_CLEARS:
        return reason.operation is not FieldOperation.UNCHANGED
    if reason.operation is FieldOperation.DEFAULTED:
        return is_live
    if reason.reason in _REMOVALS:
        return bool(reason.detail) and reason.operation is not FieldOperation.UNCHANGED
    return reason.reason in _ALWAYS
