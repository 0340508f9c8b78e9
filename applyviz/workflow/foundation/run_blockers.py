"""Why a run that was started may not write, or cannot be retried, besides what blocks its plan (`blockers.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from applyviz.workflow.foundation.blockers import PlanBlocker


@dataclass(frozen=True, slots=True)
class RequesterLost(PlanBlocker):
    """The requester of the plan may no longer request it."""

    name: str


@dataclass(frozen=True, slots=True)
class StarterLost(PlanBlocker):
    """The person who started the run may no longer start runs."""

    name: str


@dataclass(frozen=True, slots=True)
class ApproverLost(PlanBlocker):
    """A person who approved may no longer approve."""

    name: str


@dataclass(frozen=True, slots=True)
class ApprovalForged(PlanBlocker):
    """An approval is not genuine (`audit/approval_macs.py`)."""

    name: str
    fault: str


@dataclass(frozen=True, slots=True)
class ApprovalExpired(PlanBlocker):
    """An approval that was spent on the run has expired."""

    name: str


@dataclass(frozen=True, slots=True)
class ApprovalsTooFew(PlanBlocker):
    """The approvals that were spent on the run no longer meet the policy."""


@dataclass(frozen=True, slots=True)
class AttemptForged(PlanBlocker):
    """A further attempt of the run is not genuine."""

    number: int
    fault: str


@dataclass(frozen=True, slots=True)
class EmergencyForged(PlanBlocker):
    """The emergency apply is not genuine."""

    name: str
    fault: str


@dataclass(frozen=True, slots=True)
class EmergencyRightLost(PlanBlocker):
    """The person behind the emergency apply may no longer run plans without approval."""

    name: str


@dataclass(frozen=True, slots=True)
class RunNotFailed(PlanBlocker):
    """Only a failed run can be retried."""


@dataclass(frozen=True, slots=True)
class EmergencyNotRetried(PlanBlocker):
    """An emergency apply has no approval that a retry could use."""


@dataclass(frozen=True, slots=True)
class RunOverlaps(PlanBlocker):
    """Another run changes the same objects."""

    number: int
