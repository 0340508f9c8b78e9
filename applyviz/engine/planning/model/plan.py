"""The plan as data: one `PlannedObject` per object, in steps, immutable.

Rule: `docs/architecture.md`, invariants 1 and 2. A plan is what people approve; the runner recomputes each change
against the live object and goes on only if its effect is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.objects.errors import Conflict, SourcePosition
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.conflicts.blocked_removals import Release
from applyviz.engine.planning.conflicts.file_edits import FilePatch
from applyviz.engine.planning.conflicts.resolutions import FieldResolutions, ResolvedField
from applyviz.engine.planning.conflicts.server_errors import ServerError
from applyviz.engine.planning.model.graph import PlanGraph
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import Risk
from applyviz.engine.schema.model import SchemaOrigin


class Operation(StrEnum):
    """What happens to one object."""

    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"
    REPLACE = "replace"
    PRUNE = "prune"
    BLOCKED = "blocked"
    ERROR = "error"
    WITHHELD = "not-shown"
    """Only on pages: what happens depends on live values that the reader may not see."""


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


@dataclass(frozen=True, slots=True)
class Versions:
    """The four versions of one object; a version that does not exist is None.

    Under server-side apply `last_applied` is None; the owners show what the manager applied before. `merged` is the
    result before defaulting and admission, `after` the last stage known. For a blocked object both show the result if
    all conflicting fields keep their live values; none of that is written.
    """

    last_applied: Mapping[str, JSONValue] | None = None
    manifest: Mapping[str, JSONValue] | None = None
    live: Mapping[str, JSONValue] | None = None
    merged: Mapping[str, JSONValue] | None = None
    after: Mapping[str, JSONValue] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The code and the reason of an error answer; its text is in the error of the change."""

    status: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PlannedObject:
    """Everything about one object in a plan.

    `method` names how it was calculated: "strategic merge patch", "JSON merge patch", "server-side
    apply", "create", "delete". `step` counts from 0. `error` is one line for people, "" when none;
    `complaints` are the fields that it names, with their lines; `refusal` is there when a server gave the error.

    - `ways`: what can be decided of its open conflicts; `answers`: what decisions and conflict rules say of the
      others, `patch` the edit of the file for all of them when they are several.
    - `releases`: how fields can be removed that others keep; `ignored`: places that a conflict rule leaves out of
      comparison.
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
    ways: tuple[FieldResolutions, ...] = ()
    answers: tuple[ResolvedField, ...] = ()
    patch: FilePatch | None = None
    releases: tuple[Release, ...] = ()
    ignored: tuple[tuple[str, ...], ...] = ()

    @property
    def has_effect(self) -> bool:
        """Whether the change would write anything."""
        return any(r.is_write for r in self.requests)


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """A part of the source that could not be planned; the other parts are planned."""

    reason: str
    position: SourcePosition = field(default_factory=SourcePosition)


@dataclass(frozen=True, slots=True)
class PlannedSet:
    """All object changes of one source revision against one cluster at one moment."""

    options: ApplyOptions
    changes: tuple[PlannedObject, ...]
    problems: tuple[PlanProblem, ...] = ()
    graph: PlanGraph = field(default_factory=PlanGraph)

    @property
    def steps(self) -> tuple[tuple[PlannedObject, ...], ...]:
        """The changes that may be applied together, in order."""
        by_step: dict[int, list[PlannedObject]] = {}
        for change in self.changes:
            by_step.setdefault(change.step, []).append(change)
        return tuple(tuple(by_step[n]) for n in sorted(by_step))
