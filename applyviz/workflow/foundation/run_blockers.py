"""Why a run that was started may not write, or cannot be retried, besides what blocks its plan (`blockers.py`)."""

from __future__ import annotations

from applyviz.workflow.foundation.blockers import PlanBlocker


class RequesterLost(PlanBlocker, frozen=True):
    """The requester of the plan may no longer request it."""

    name: str


class StarterLost(PlanBlocker, frozen=True):
    """The person who started the run may no longer start runs."""

    name: str


class ApproverLost(PlanBlocker, frozen=True):
    """A person who approved may no longer approve."""

    name: str


class ApprovalForged(PlanBlocker, frozen=True):
    """An approval is not genuine (`audit/approval_macs.py`)."""

    name: str
    fault: str


class ApprovalExpired(PlanBlocker, frozen=True):
    """An approval that was spent on the run has expired."""

    name: str


class ApprovalsTooFew(PlanBlocker, frozen=True):
    """The approvals that were spent on the run no longer meet the policy."""


class AttemptForged(PlanBlocker, frozen=True):
    """A further attempt of the run is not genuine."""

    number: int
    fault: str


class EmergencyForged(PlanBlocker, frozen=True):
    """The emergency apply is not genuine."""

    name: str
    fault: str


class EmergencyRightLost(PlanBlocker, frozen=True):
    """The person behind the emergency apply may no longer run plans without approval."""

    name: str


class RunNotFailed(PlanBlocker, frozen=True):
    """Only a failed run can be retried."""


class EmergencyNotRetried(PlanBlocker, frozen=True):
    """An emergency apply has no approval that a retry could use."""


class RunOverlaps(PlanBlocker, frozen=True):
    """Another run changes the same objects."""

    number: int
