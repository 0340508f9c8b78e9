"""Show how one field gets its value: last applied, file, live and after apply, and which of them decided.

No value is needed: each station only says whether it equals the value after apply, so this also works for fields of
Secrets. Under server-side apply no annotation keeps what was applied last: it is the live value if this field manager
owns the field, and unknown otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason, Stage
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.values import JSONValue

_APPLY = "Apply"
_KEPT = frozenset({FieldOperation.KEPT, FieldOperation.NOT_REMOVED})


class Station(StrEnum):
    """The content of one version: the value after apply, another value, none, or withheld."""

    SAME = "same"
    OTHER = "other"
    UNSET = "unset"
    UNKNOWN = "unknown"


class MergeOutcome(StrEnum):
    """The result: a value, nothing as before, a removal, an open conflict, or withheld."""

    SET = "set"
    UNSET = "unset"
    REMOVED = "removed"
    UNRESOLVED = "unresolved"
    UNKNOWN = "unknown"


class Winner(StrEnum):
    """The version that gave the field its value after apply; NONE if there was nothing to decide."""

    MANIFEST = "manifest"
    LIVE = "live"
    SERVER = "server"
    CONFLICT = "conflict"
    NONE = "none"


class FourValues(NamedTuple):
    """One field in the four versions; `ABSENT` if a version does not have it."""

    last_applied: JSONValue
    manifest: JSONValue
    live: JSONValue
    after: JSONValue


class ThreeWay(Struct, frozen=True):
    """The stations of one field and the one that won."""

    last_applied: Station
    manifest: Station
    live: Station
    outcome: MergeOutcome
    winner: Winner


Equality = Callable[[JSONValue, JSONValue], bool]


def knows_last_applied(reason: FieldReason, *, manager: str, is_new: bool) -> bool:
    """Return whether the live value of a field is what server-side apply last applied to it.

    - `is_new`: the object does not exist yet, so nothing was applied.
    """
    return is_new or any(o.manager == manager and o.operation == _APPLY for o in reason.owners_before)


def read_three_way(reason: FieldReason, values: FourValues, *, is_known: bool, is_equal: Equality) -> ThreeWay:
    """Compare the four versions of a field with its value after apply, and name the one that wins.

    - `is_known`: whether `values.last_applied` is known; `is_equal` compares two values of this field.
    """
    winner = _find_winner(reason, values)

    def classify(value: JSONValue) -> Station:
        if value is ABSENT:
            return Station.UNSET
        is_same = winner is not Winner.CONFLICT and values.after is not ABSENT and is_equal(value, values.after)
        return Station.SAME if is_same else Station.OTHER

    return ThreeWay(
        last_applied=classify(values.last_applied) if is_known else Station.UNKNOWN,
        manifest=classify(values.manifest),
        live=classify(values.live),
        outcome=_find_outcome(winner, values),
        winner=winner,
    )


def withhold_three_way(last_applied: JSONValue, manifest: JSONValue, *, is_known: bool) -> ThreeWay:
    """Return the stations of a field whose live value is withheld, without anything that follows from it."""

    def classify(value: JSONValue) -> Station:
        return Station.UNSET if value is ABSENT else Station.OTHER

    known = classify(last_applied) if is_known else Station.UNKNOWN
    return ThreeWay(known, classify(manifest), Station.UNKNOWN, MergeOutcome.UNKNOWN, Winner.NONE)


def _find_winner(reason: FieldReason, values: FourValues) -> Winner:
    if reason.operation is FieldOperation.CONFLICT:
        return Winner.CONFLICT
    if reason.stage is not Stage.MERGE or reason.reason is Reason.BOOKKEEPING:
        return Winner.NONE if values.live is ABSENT and values.after is ABSENT else Winner.SERVER
    if reason.operation in _KEPT:
        return Winner.LIVE
    return Winner.NONE if reason.operation is FieldOperation.UNCHANGED else Winner.MANIFEST


def _find_outcome(winner: Winner, values: FourValues) -> MergeOutcome:
    if winner is Winner.CONFLICT:
        return MergeOutcome.UNRESOLVED
    if values.after is not ABSENT:
        return MergeOutcome.SET
    return MergeOutcome.UNSET if values.live is ABSENT else MergeOutcome.REMOVED
