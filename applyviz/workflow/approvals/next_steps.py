"""The next step of one person on a plan, as one variant with its facts: the first that their rights and the plan allow.

A step that belongs to somebody else is `AwaitOthers`. Pages choose the words and the addresses of each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from applyviz.records.enums import PlanState, ReviewState, RunState
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow.foundation.blockers import (
    AccountChanged,
    AppliedElsewhere,
    ApprovalsMissing,
    ChangesRequested,
    ConflictRulesChanged,
    ConflictsOpen,
    IdentityChanged,
    ManifestProblems,
    ObjectsBroken,
    ObjectsUnviewed,
    PlanBlocker,
    PlanSuperseded,
    PolicyChanged,
    RisksOpen,
)

B = TypeVar("B", bound=PlanBlocker)
_REPLANNED = (PolicyChanged, ConflictRulesChanged, IdentityChanged, AccountChanged)
_UNDONE = (RunState.STALE, RunState.FAILED, RunState.CANCELED)


class Reader(Struct, frozen=True):
    """The rights of one person on one plan, and what they did.

    - `can_edit`: re-plan, resolve, upload, close: of an open review, on its latest plan; so is `can_acknowledge`.
    """

    account: int
    can_edit: bool
    can_acknowledge: bool
    can_start: bool
    has_approved: bool
    has_objected: bool


class StepOwner(StrEnum):
    """Whose step it is."""

    AUTHOR = "author"
    APPROVERS = "approvers"
    STARTERS = "starters"
    TIME = "time"
    NOBODY = "nobody"


class NextStep(Struct, frozen=True):
    """One step."""


class AwaitPlan(NextStep, frozen=True):
    """Planning goes on."""


class AwaitOthers(NextStep, frozen=True):
    """The step is for other people, or for a later moment."""

    whose: StepOwner


class OpenNewerPlan(NextStep, frozen=True):
    """The review has a later plan."""

    number: int


class OpenRun(NextStep, frozen=True):
    """The plan was run."""

    number: int


class VerifyElsewhere(NextStep, frozen=True):
    """Another tool applies the plan; what it did is verified afterwards."""


class Replan(NextStep, frozen=True):
    """Make a new plan of the same manifests."""


class WithdrawRequest(NextStep, frozen=True):
    """Withdraw the request for changes that this person made."""


class UploadManifests(NextStep, frozen=True):
    """Mend the manifests."""


class ResolveConflicts(NextStep, frozen=True):
    """Resolve conflicts, beginning at an object."""

    count: int
    position: int


class AcknowledgeRisks(NextStep, frozen=True):
    """Acknowledge risks."""

    count: int


class ViewObjects(NextStep, frozen=True):
    """View high-risk objects."""

    positions: tuple[int, ...]


class ApprovePlan(NextStep, frozen=True):
    """Approve the plan."""


class ApplyPlan(NextStep, frozen=True):
    """Start the run."""


def _first(found: Iterable[PlanBlocker], kind: type[B]) -> B | None:
    return next((one for one in found if isinstance(one, kind)), None)


def find_next(
    plan: Plan,
    run: ApplyRun | None,
    blockers: Collection[PlanBlocker],
    lacking: Collection[PlanBlocker],
    closed: Collection[PlanBlocker],
    reader: Reader,
) -> NextStep:
    """Return the next step of a reader.

    - `blockers` are those of the plan, `closed` those of a start now; `lacking` are missing approvals, and why this
      person may not give one.
    """
    if run is not None:
        return Replan() if run.state in _UNDONE and reader.can_edit else OpenRun(run.number)
    if (newer := _first(blockers, PlanSuperseded)) is not None:
        return OpenNewerPlan(newer.number)
    if plan.review.state == ReviewState.CLOSED:
        return AwaitOthers(StepOwner.NOBODY)
    if plan.state == PlanState.PLANNING:
        return AwaitPlan()
    if plan.state == PlanState.FAILED:
        return Replan() if reader.can_edit else AwaitOthers(StepOwner.AUTHOR)
    if _first(blockers, AppliedElsewhere) is not None:
        return VerifyElsewhere()
    if reader.has_objected:
        return WithdrawRequest()
    if blockers:
        return _find_unblocking(blockers, reader)
    return _find_consenting(lacking, closed, reader)


def _find_unblocking(blockers: Collection[PlanBlocker], reader: Reader) -> NextStep:
    """Return the step that takes a reader towards a plan that can be approved."""
    if all(isinstance(one, RisksOpen) for one in blockers):
        count = sum(one.count for one in blockers if isinstance(one, RisksOpen))
        return AcknowledgeRisks(count) if reader.can_acknowledge else AwaitOthers(StepOwner.APPROVERS)
    if not reader.can_edit:
        return AwaitOthers(StepOwner.AUTHOR)
    if any(isinstance(one, _REPLANNED) for one in blockers):
        return Replan()
    if any(isinstance(one, ChangesRequested | ManifestProblems) for one in blockers):
        return UploadManifests()
    if (conflicts := _first(blockers, ConflictsOpen)) is not None:
        return ResolveConflicts(conflicts.fields, conflicts.position)
    if _first(blockers, ObjectsBroken) is not None:
        return UploadManifests()
    return AwaitOthers(StepOwner.NOBODY)


def _find_consenting(lacking: Collection[PlanBlocker], closed: Collection[PlanBlocker], reader: Reader) -> NextStep:
    """Return the step of a reader on a plan that nothing blocks."""
    if _first(lacking, ApprovalsMissing) is None:
        if not reader.can_start:
            return AwaitOthers(StepOwner.STARTERS)
        return AwaitOthers(StepOwner.TIME) if closed else ApplyPlan()
    if reader.has_approved:
        return AwaitOthers(StepOwner.APPROVERS)
    if (unviewed := _first(lacking, ObjectsUnviewed)) is not None:
        return ViewObjects(unviewed.positions)
    is_able = all(isinstance(one, ApprovalsMissing) for one in lacking)
    return ApprovePlan() if is_able else AwaitOthers(StepOwner.APPROVERS)
