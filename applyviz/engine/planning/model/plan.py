"""The plan as data: one `PlannedObject` per object, in steps, immutable.

Rule: `docs/architecture.md`, invariants 1 and 2. A plan is what people approve; the runner recomputes each change
against the live object and goes on only if its effect is the same.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, field

from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.merge.calculation import PatchSteps
from applyviz.engine.objects.errors import Conflict, SourcePosition
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.lookups import FieldFinder
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.conflicts.blocked_removals import BlockedRemoval
from applyviz.engine.planning.conflicts.file_edits import FilePatch
from applyviz.engine.planning.conflicts.resolutions import FieldResolutions, ResolvedField
from applyviz.engine.planning.conflicts.server_errors import ServerError
from applyviz.engine.planning.model.graph import PlanGraph
from applyviz.engine.planning.model.quota_lines import QuotaLine
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import Risk
from applyviz.engine.schema.model import SchemaOrigin


class Operation(StrEnum):
    """What happens to one object.

    - PRUNE: it is deleted because its set no longer contains it; DELETE: because its deletion was asked for, by this
      plan or before it: then a write removes the last finalizer.
    - NOT_FOUND: it was to be deleted and does not exist, as with `kubectl delete --ignore-not-found`.
    """

    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"
    REPLACE = "replace"
    PRUNE = "prune"
    DELETE = "delete"
    NOT_FOUND = "not-found"
    BLOCKED = "blocked"
    ERROR = "error"
    LEFT_OUT = "left-out"
    WITHHELD = "not-shown"
    """Only on pages: what happens depends on live values that the reader may not see."""

    @property
    def is_deletion(self) -> bool:
        """Return whether the object is deleted and not created again."""
        return self in DELETIONS


DELETIONS = (Operation.PRUNE, Operation.DELETE)
"""The operations that delete an object and do not create it again."""
APPLIED = (Operation.CREATE, Operation.UPDATE, Operation.UNCHANGED, Operation.REPLACE)
"""The operations after which an object is as its manifest says."""
UNPLANNED = (Operation.ERROR, Operation.BLOCKED)
"""The operations that stand for an object which the plan cannot change."""


class Certainty(StrEnum):
    """How the result for one object is known.

    - CONFIRMED: a dry run of the API server gave this result, or nothing needs to be sent.
    - ESTIMATED: the engine calculated it.
    - NONE: there is no result, because the API server rejected the object or it could not be planned.
    - UNKNOWN: the live object could not be read.
    """

    CONFIRMED = "confirmed"
    ESTIMATED = "estimated"
    NONE = "none"
    UNKNOWN = "unknown"


class Versions(Struct, frozen=True, dict=True):  # the dict holds cached properties
    """The four versions of one object; a version that does not exist is None.

    Under server-side apply `last_applied` is None; the owners show what the manager applied before. `merged` is the
    result before defaulting and admission, `after` the last stage known. For a blocked object both show the result if
    all conflicting fields keep their live values; none of that is written.

    - `in_manifest` and the like find fields by their path: many fields of one version in linear time.
    """

    last_applied: JSONObject | None = None
    manifest: JSONObject | None = None
    live: JSONObject | None = None
    merged: JSONObject | None = None
    after: JSONObject | None = None

    @cached_property
    def in_last_applied(self) -> FieldFinder:
        """Return what finds the fields of the last applied version."""
        return FieldFinder(self.last_applied)

    @cached_property
    def in_manifest(self) -> FieldFinder:
        """Return what finds the fields of the manifest."""
        return FieldFinder(self.manifest)

    @cached_property
    def in_live(self) -> FieldFinder:
        """Return what finds the fields of the live object."""
        return FieldFinder(self.live)

    @cached_property
    def in_after(self) -> FieldFinder:
        """Return what finds the fields of the result."""
        return FieldFinder(self.after)


class Refusal(Struct, frozen=True):
    """The code and the reason of an error answer; its text is in the error of the change."""

    status: int = 0
    reason: str = ""


class LeftOut(Struct, frozen=True):
    """Why people left an object out of a plan, and whether it exists in the cluster (None: it could not be read)."""

    reason: str = ""
    exists: bool | None = None


class PlannedObject(Struct, frozen=True):
    """Everything about one object in a plan.

    `method` names how it was calculated: "strategic merge patch", "JSON merge patch", "server-side
    apply", "create", "delete". `step` counts from 0. `error` is one line for people, "" when none;
    `server_errors` are the fields that it names, with their lines; `refusal` is there when a server gave the error.

    - `open_fields`: the fields with open conflicts and their options; `answers`: the conflicts that resolutions and
      conflict rules resolve, `patch` the edit of the file for all of them when they are several.
    - `refused_fields`: the fields whose change the server refuses; set for an object that is replaced because of them,
      and for one that `can_be_replaced` but was not chosen.
    - `blocked_removals`: how fields can be removed that others keep; `ignored`: paths that a conflict rule leaves out
      of comparison.
    - `left_out`: set for an object that is not applied by choice; nothing else of it is planned.
    - `subresource`: what a patch is sent to besides the object itself: "status" or "scale".
    - `calculation`: the steps of the three-way patch of a client-side apply; None without a patch.
    - `addon`: the addon of a kOps channel that it belongs to; `is_record`: it writes the annotation that records it, or
      the one that marks a node for its rolling update.
    """

    ref: ObjectRef
    operation: Operation
    versions: Versions
    requests: tuple[Request, ...] = ()
    fields: tuple[FieldReason, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    risks: tuple[Risk, ...] = ()
    certainty: Certainty = Certainty.ESTIMATED
    certainty_reason: str = ""
    schema_origin: SchemaOrigin = SchemaOrigin.NONE
    method: str = ""
    warnings: tuple[str, ...] = ()
    error: str = ""
    server_errors: tuple[ServerError, ...] = ()
    refusal: Refusal | None = None
    position: SourcePosition = field(default_factory=SourcePosition)
    end_line: int = 0
    step: int = 0
    open_fields: tuple[FieldResolutions, ...] = ()
    answers: tuple[ResolvedField, ...] = ()
    patch: FilePatch | None = None
    blocked_removals: tuple[BlockedRemoval, ...] = ()
    ignored: tuple[tuple[str, ...], ...] = ()
    refused_fields: tuple[str, ...] = ()
    can_be_replaced: bool = False
    left_out: LeftOut | None = None
    addon: str = ""
    is_record: bool = False
    subresource: str = ""
    calculation: PatchSteps | None = None

    @property
    def writes_status(self) -> bool:
        """Whether the status of the object is what the change writes; else it belongs to controllers."""
        return self.subresource == "status"

    @property
    def is_ended(self) -> bool:
        """Whether a write ends a deletion that began before, so that the object goes without a DELETE."""
        return self.operation is Operation.DELETE and not any(r.method == "DELETE" for r in self.requests)

    @property
    def has_effect(self) -> bool:
        """Whether the change would write anything."""
        return any(r.is_write for r in self.requests)


class StayReason(StrEnum):
    """Why prune does not delete an object that exists and that the files do not name."""

    NOT_APPLIED = "not-applied"
    KIND = "kind"
    NAMESPACE = "namespace"
    SELECTOR = "selector"
    NO_MEMBER = "no-member"
    EXCEPTED = "excepted"


class Staying(NamedTuple):
    """One object that prune does not delete although one could expect it."""

    ref: ObjectRef
    why: StayReason


class PlanProblem(Struct, frozen=True):
    """A part of the source that could not be planned; the other parts are planned."""

    reason: str
    position: SourcePosition = field(default_factory=SourcePosition)


class PlannedSet(Struct, frozen=True):
    """All object changes of one source revision against one cluster at one moment.

    - `staying`: the objects that prune does not delete although one could expect it.
    """

    options: ApplyOptions
    changes: tuple[PlannedObject, ...]
    problems: tuple[PlanProblem, ...] = ()
    graph: PlanGraph = field(default_factory=PlanGraph)
    quotas: tuple[QuotaLine, ...] = ()
    staying: tuple[Staying, ...] = ()

    @property
    def steps(self) -> tuple[tuple[PlannedObject, ...], ...]:
        """The changes that may be applied together, in order."""
        by_step: dict[int, list[PlannedObject]] = {}
        for change in self.changes:
            by_step.setdefault(change.step, []).append(change)
        return tuple(tuple(by_step[n]) for n in sorted(by_step))
