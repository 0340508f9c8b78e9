"""The closed set of reasons, and the record of what happens to one field.

A `FieldReason` contains no values: pages look them up in the (masked) versions by `path`, so that no explanation can
leak a secret. Together, the reasons cover exactly the difference live → after.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath


class FieldOperation(StrEnum):
    """What happens to a field."""

    SET = "set"
    CHANGED = "changed"
    CLEARED = "cleared"
    KEPT = "kept"
    DEFAULTED = "defaulted"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"
    NOT_REMOVED = "not-removed"
    ALLOCATED = "allocated"


class Stage(StrEnum):
    """The stage of apply that gave the field its value."""

    MERGE = "merge"
    DEFAULTS = "defaults"
    SERVER = "server"


class Reason(StrEnum):
    """The rule that decided a field; `explain/sentences.py` has a sentence for each."""

    MANIFEST_SETS = "manifest-sets"
    MANIFEST_EQUALS_LIVE = "manifest-equals-live"
    NEW_ENTRY = "new-entry"
    NEW_BY_KEY = "new-by-key"
    REMOVED_FROM_MANIFEST = "removed-from-manifest"
    REMOVED_SOLE_OWNER = "removed-sole-owner"
    NULL_CLEARS = "null-clears"
    RETAIN_KEYS = "retain-keys"
    REPLACED_WHOLE = "replaced-whole"
    MAKES_ROOM = "makes-room"
    SHARED_MERGE_KEY = "shared-merge-key"
    KEPT_UNDER_ANOTHER_KEY = "kept-under-another-key"
    FROM_ANOTHER_ENTRY = "from-another-entry"
    MOVED_TO = "moved-to"
    MOVED_FROM = "moved-from"
    LIVE_ONLY = "live-only"
    OWNED_BY_OTHERS = "owned-by-others"
    STILL_OWNED_BY_OTHERS = "still-owned-by-others"
    NO_LAST_APPLIED = "no-last-applied"
    SERVER_DEFAULT = "server-default"
    SERVER_CHANGED = "server-changed"
    ALLOCATED = "allocated"
    CONFLICTS = "conflicts"
    CONFLICTS_WHILE_EQUAL = "conflicts-while-equal"
    TAKEN_OVER = "taken-over"
    OWNERSHIP_MOVES = "ownership-moves"
    RELEASED = "released"
    SHARED = "shared"
    ORDER = "order"
    DIRECTIVE = "directive"
    LAST_APPLIED_REMOVED = "last-applied-removed"
    OWNERS_CLEARED = "owners-cleared"
    GOES_WITH_OLD = "goes-with-old"
    SET_AGAIN = "set-again"
    BOOKKEEPING = "bookkeeping"
    PATCH_SETS = "patch-sets"
    PATCH_REMOVES = "patch-removes"
    PATCH_EQUALS_LIVE = "patch-equals-live"
    NOT_IN_PATCH = "not-in-patch"


class FieldReason(Struct, frozen=True):
    """The operation on one field, and its reason.

    `position` is the source line of the manifest's value (line 0 if the manifest has none). `detail` holds the facts of
    the rule: the merge key, the strategy, the other manager.
    """

    path: FieldPath
    operation: FieldOperation
    reason: Reason
    detail: str = ""
    owners_before: tuple[Owner, ...] = ()
    owners_after: tuple[Owner, ...] = ()
    position: SourcePosition = field(default_factory=SourcePosition)
    stage: Stage = Stage.MERGE
