"""The closed set of reasons, and the record that says what happens to one field.

A `FieldReason` holds no values: pages look them up in the (masked) versions by `path`, so that no
explanation can carry a secret. The union of the reasons is exactly the difference live → after.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

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
    NOT_REMOVED = "not removed"


class Stage(StrEnum):
    """Which stage gave the field its value after apply."""

    MERGE = "merge"
    DEFAULTS = "defaults"
    SERVER = "server"


class Reason(StrEnum):
    """The rule that decided about a field; each has a sentence for people (`explain/sentences.py`)."""

    MANIFEST_SETS = "manifest-sets"
    MANIFEST_EQUALS_LIVE = "manifest-equals-live"
    NEW_ENTRY = "new-entry"
    REMOVED_FROM_MANIFEST = "removed-from-manifest"
    REMOVED_SOLE_OWNER = "removed-sole-owner"
    NULL_CLEARS = "null-clears"
    RETAIN_KEYS = "retain-keys"
    REPLACED_WHOLE = "replaced-whole"
    LIVE_ONLY = "live-only"
    OWNED_BY_OTHERS = "owned-by-others"
    STILL_OWNED_BY_OTHERS = "still-owned-by-others"
    NO_LAST_APPLIED = "no-last-applied"
    SERVER_DEFAULT = "server-default"
    SERVER_CHANGED = "server-changed"
    CONFLICTS = "conflicts"
    TAKEN_OVER = "taken-over"
    OWNERSHIP_MOVES = "ownership-moves"
    RELEASED = "released"
    SHARED = "shared"
    ORDER = "order"
    DIRECTIVE = "directive"
    BOOKKEEPING = "bookkeeping"


@dataclass(frozen=True, slots=True)
class FieldReason:
    """What happens to one field and why.

    `position` is the source line of the manifest's value (line 0 when the manifest has none).
    `detail` names what the rule needs in words: the merge key, the strategy, the other manager.
    """

    path: FieldPath
    operation: FieldOperation
    reason: Reason
    detail: str = ""
    owners_before: tuple[Owner, ...] = ()
    owners_after: tuple[Owner, ...] = ()
    position: SourcePosition = field(default_factory=SourcePosition)
    stage: Stage = Stage.MERGE
