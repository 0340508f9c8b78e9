"""One plain sentence per reason: a template with named facts, so that a page can translate it.

Facts are only names: field managers, paths, lists and their keys. Every reason has a sentence for each operation that
it can explain.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects.paths import FieldPath, element_value, render_path


class Sentence(Struct, frozen=True):
    """A sentence with its facts apart: `template.format(**facts)`."""

    template: str
    facts: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.template.format(**self.facts)


_BY_REASON: dict[Reason, str] = {
    Reason.MANIFEST_SETS: "set in your manifest",
    Reason.MANIFEST_EQUALS_LIVE: "your manifest matches the live object",
    Reason.REMOVED_FROM_MANIFEST: "Removed: no longer in the manifest",
    Reason.REMOVED_SOLE_OWNER: "Removed: no longer in the manifest and no other owner",
    Reason.NULL_CLEARS: "Removed: set to null in the manifest",
    Reason.RETAIN_KEYS: "Removed: `{path}` keeps only what your manifest sets",
    Reason.REPLACED_WHOLE: "Atomic field: replaced as a whole",
    Reason.NEW_BY_KEY: "no live entry has the same `{path}`: this entry is new",
    Reason.MAKES_ROOM: "Replaced by what your manifest sets there",
    Reason.SHARED_MERGE_KEY: "Removed although your manifest contains it: another entry with the same `{path}` goes",
    Reason.KEPT_UNDER_ANOTHER_KEY: "the merge keeps it from the live entry with the same `{path}`",
    Reason.FROM_ANOTHER_ENTRY: "set by another entry of your manifest with the same `{path}`",
    Reason.MOVED_TO: "Moved: `{path}` gets this node port",
    Reason.MOVED_FROM: "the server moves this node port here from `{path}`",
    Reason.LIVE_ONLY: "live only: kept",
    Reason.OWNED_BY_OTHERS: "live only, kept: {owners} owns it",
    Reason.STILL_OWNED_BY_OTHERS: "Not removed: {owners} still owns it",
    Reason.NO_LAST_APPLIED: "Not removed: the object has no last-applied annotation",
    Reason.SERVER_DEFAULT: "server default",
    Reason.SERVER_CHANGED: "the server changes it after the merge",
    Reason.ALLOCATED: "left empty: the server chooses the value",
    Reason.CONFLICTS: "conflict: {owners} owns it with a different value",
    Reason.CONFLICTS_WHILE_EQUAL: "conflict: {owners} owns it, although the values are equal",
    Reason.TAKEN_OVER: "overwritten: {owners} loses the field",
    Reason.OWNERSHIP_MOVES: "your manifest matches the live object; ownership moves from {owners} to you",
    Reason.RELEASED: "not in your manifest: kept, and {owners} no longer owns it",
    Reason.SHARED: "you and {owners} own it with the same value",
    Reason.ORDER: "the order of its entries changes",
    Reason.DIRECTIVE: "Removed by a directive in your manifest",
    Reason.LAST_APPLIED_REMOVED: (
        "Removed with the ownership of client-side apply: a later client-side apply keeps the fields that it drops"
    ),
    Reason.OWNERS_CLEARED: "Removed: your manifest clears all field owners",
    Reason.GOES_WITH_OLD: "Lost with the deleted object: your manifest does not set it",
    Reason.SET_AGAIN: "Lost with the deleted object: a Kubernetes controller sets it again",
    Reason.BOOKKEEPING: "managed by the server and kubectl",
    Reason.PATCH_SETS: "set by the patch",
    Reason.PATCH_REMOVES: "removed by the patch",
    Reason.PATCH_EQUALS_LIVE: "the patch matches the live object",
    Reason.NOT_IN_PATCH: "not in the patch: kept",
}
_BY_OPERATION: dict[tuple[Reason, FieldOperation], str] = {
    (Reason.MANIFEST_SETS, FieldOperation.CHANGED): "your manifest changes it",
    (Reason.MANIFEST_SETS, FieldOperation.CLEARED): (
        "Removed: your manifest sets it to false, 0 or an empty value, which the server leaves out"
    ),
    (Reason.REMOVED_FROM_MANIFEST, FieldOperation.DEFAULTED): "No longer in the manifest: the server sets its default",
    (Reason.REMOVED_SOLE_OWNER, FieldOperation.DEFAULTED): (
        "No longer in the manifest and no other owner: the server sets its default"
    ),
    (Reason.NULL_CLEARS, FieldOperation.DEFAULTED): "Null in the manifest: the server sets its default",
    (Reason.RETAIN_KEYS, FieldOperation.DEFAULTED): (
        "`{path}` keeps only what your manifest sets: the server sets its default"
    ),
    (Reason.PATCH_REMOVES, FieldOperation.DEFAULTED): "removed by the patch: the server sets its default",
    (Reason.FROM_ANOTHER_ENTRY, FieldOperation.CLEARED): (
        "Removed although your manifest contains it: another entry with the same `{path}` drops it"
    ),
    (Reason.FROM_ANOTHER_ENTRY, FieldOperation.UNCHANGED): (
        "not set: the merge treats entries with the same `{path}` as one"
    ),
    (Reason.DIRECTIVE, FieldOperation.UNCHANGED): "a patch directive, not a field: the object does not get it",
    (Reason.FROM_ANOTHER_ENTRY, FieldOperation.KEPT): "matches another entry of your manifest with the same `{path}`",
    (Reason.PATCH_SETS, FieldOperation.CHANGED): "changed by the patch",
    (Reason.REMOVED_FROM_MANIFEST, FieldOperation.UNCHANGED): "no longer in the manifest; already removed",
    (Reason.NULL_CLEARS, FieldOperation.UNCHANGED): "null in the manifest; already absent",
    (Reason.SERVER_DEFAULT, FieldOperation.UNCHANGED): "removed, and set to the server's default again",
    (Reason.SERVER_DEFAULT, FieldOperation.CLEARED): "the server removes it after the merge",
    (Reason.SERVER_CHANGED, FieldOperation.SET): "the server adds it after the merge",
    (Reason.SERVER_CHANGED, FieldOperation.CLEARED): "the server removes it after the merge",
    (Reason.SERVER_CHANGED, FieldOperation.UNCHANGED): "the server keeps the value",
}
# The rule applied above the field: the detail names the path.
_BY_PATH: dict[Reason, str] = {
    Reason.REMOVED_FROM_MANIFEST: "Removed: you dropped `{path}` and everything in it",
    Reason.REMOVED_SOLE_OWNER: "Removed: you dropped `{path}` and no other manager owns it",
    Reason.NULL_CLEARS: "Removed: your manifest sets `{path}` to null",
    Reason.REPLACED_WHOLE: "`{path}` is replaced as a whole",
    Reason.DIRECTIVE: "not set: kubectl does not send it because of `{path}`",
}
# The same, where the server sets its default instead.
_BY_PATH_DEFAULTED: dict[Reason, str] = {
    Reason.REMOVED_FROM_MANIFEST: "You dropped `{path}` and everything in it: the server sets its default",
    Reason.REMOVED_SOLE_OWNER: "You dropped `{path}` and no other manager owns it: the server sets its default",
    Reason.NULL_CLEARS: "Your manifest sets `{path}` to null: the server sets its default",
    Reason.REPLACED_WHOLE: "`{path}` is replaced as a whole: the server sets its default",
}
# The verb agrees with the number of field managers.
_BY_MANY: dict[Reason, str] = {
    Reason.OWNED_BY_OTHERS: "live only, kept: {owners} own it",
    Reason.STILL_OWNED_BY_OTHERS: "Not removed: {owners} still own it",
    Reason.TAKEN_OVER: "overwritten: {owners} lose the field",
    Reason.RELEASED: "not in your manifest: kept, and {owners} no longer own it",
    Reason.CONFLICTS: "conflict: {owners} own it with a different value",
    Reason.CONFLICTS_WHILE_EQUAL: "conflict: {owners} own it, although the values are equal",
}
_BY_KEY = "`{list}` merges by {keys}: this entry is new"
_BY_VALUE = "`{list}` is a set: this value is new"


def find_sentence(reason: FieldReason) -> Sentence:
    """Return the sentence of a reason, with the facts that it needs."""
    if reason.reason is Reason.NEW_ENTRY:
        return _describe_entry(reason)
    by_path = _BY_PATH_DEFAULTED if reason.operation is FieldOperation.DEFAULTED else _BY_PATH
    if reason.detail and reason.reason in by_path:
        return Sentence(by_path[reason.reason], {"path": reason.detail.lstrip(".")})
    template = _BY_OPERATION.get((reason.reason, reason.operation)) or _BY_REASON[reason.reason]
    if ", " in reason.detail:
        template = _BY_MANY.get(reason.reason, template)
    if "{path}" in template:
        return Sentence(template, {"path": reason.detail.lstrip(".")})
    return Sentence(template, {"owners": _join(reason.detail)} if "{owners}" in template else {})


def render_reason(reason: FieldReason) -> str:
    """Return the sentence of a reason in English."""
    return str(find_sentence(reason))


def _join(names: str) -> str:
    """Return a list of names as English writes it: `a, b and c`."""
    first, comma, last = names.rpartition(", ")
    return f"{first} and {last}" if comma else last


def _describe_entry(reason: FieldReason) -> Sentence:
    path = _find_entry(reason)
    name = next((str(element_value(e)) for e in reversed(path[:-1]) if e[0] == "f"), "")
    if path[-1][0] == "v":
        return Sentence(_BY_VALUE, {"list": name})
    return Sentence(_BY_KEY, {"list": name, "keys": _join(", ".join(element_value(path[-1])))})


def _find_entry(reason: FieldReason) -> FieldPath:
    """Return the path of the new entry, which the detail names."""
    for length in range(1, len(reason.path)):
        if render_path(reason.path[:length]) == reason.detail:
            return reason.path[:length]
    return reason.path
