"""Why a plan cannot be approved, run or retried now: one frozen class per reason, with facts and without words.

Use cases, pages, the API, notifications and runs read the same values; `sentences.py` writes the sentence of each.
A new reason is a class here, the condition that makes it, and its sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from applyviz.engine.risks.model import RiskKind
from applyviz.records.enums import Applier, ReviewState
from applyviz.records.git_enums import EditorRole, HistoryGap


@dataclass(frozen=True, slots=True)
class PlanBlocker:
    """One reason."""


# The plan and its review.


@dataclass(frozen=True, slots=True)
class PlanUnfinished(PlanBlocker):
    """Planning goes on."""


@dataclass(frozen=True, slots=True)
class PlanFailed(PlanBlocker):
    """Planning stopped with an error."""

    error: str


@dataclass(frozen=True, slots=True)
class AppliedElsewhere(PlanBlocker):
    """Another tool applies the manifests."""

    tool: Applier


@dataclass(frozen=True, slots=True)
class PlanSuperseded(PlanBlocker):
    """The review has a later plan."""

    number: int


@dataclass(frozen=True, slots=True)
class ReviewNotOpen(PlanBlocker):
    """The review is being applied, was applied, or is closed."""

    state: ReviewState


@dataclass(frozen=True, slots=True)
class AuthorsForged(PlanBlocker):
    """The authors of the plan are unknown: its row was not stored, or was changed, by this installation."""


# What the plan was made for has changed, or does not allow it.


@dataclass(frozen=True, slots=True)
class PolicyChanged(PlanBlocker):
    """Another version of the policy is in force."""


@dataclass(frozen=True, slots=True)
class PolicyForged(PlanBlocker):
    """Policies in force were not published by this installation."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyMissing(PlanBlocker):
    """Versions of policies that the audit log records as in force are not there."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConflictRulesChanged(PlanBlocker):
    """Conflict rules that reach objects of the plan were approved or ended."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IdentitiesClash(PlanBlocker):
    """A person belongs to teams that are mapped to different identities on a cluster."""

    name: str
    cluster: str
    teams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MappingInvalid(PlanBlocker):
    """A mapping gives a person an identity that Kubernetes does not accept."""

    number: int
    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class MappingForged(PlanBlocker):
    """The mappings of a cluster are not those that this installation stored."""

    cluster: str


@dataclass(frozen=True, slots=True)
class IdentityUnclear(PlanBlocker):
    """The requester has no identity any more."""

    why: IdentitiesClash | MappingInvalid | MappingForged


@dataclass(frozen=True, slots=True)
class IdentityChanged(PlanBlocker):
    """The requester has another identity on the cluster."""

    name: str
    cluster: str


@dataclass(frozen=True, slots=True)
class AccountChanged(PlanBlocker):
    """The credential of the cluster belongs to another account; `account` "" is not known."""

    cluster: str
    account: str


@dataclass(frozen=True, slots=True)
class AccessDenied(PlanBlocker):
    """The cluster does not allow requests of the plan; `identity` "" is the credential of the cluster."""

    identity: str
    acts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequesterNotAllowed(PlanBlocker):
    """The policy only allows the members of one of these teams to request plans."""

    teams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectsKept(PlanBlocker):
    """The plan would delete objects that a policy keeps; `position` is the first of them, as in the classes below."""

    policy: str
    names: tuple[str, ...]
    position: int


@dataclass(frozen=True, slots=True)
class TooManyDeletions(PlanBlocker):
    """The plan deletes more objects than a policy allows."""

    policy: str
    count: int
    limit: int
    position: int


@dataclass(frozen=True, slots=True)
class TooMuchPruned(PlanBlocker):
    """Prune would delete more of the live objects of the set than a policy allows; `percent` is the limit."""

    policy: str
    count: int
    live: int
    percent: int
    position: int


# Who edited the commits of the plan.


@dataclass(frozen=True, slots=True)
class EditorUnmatched(PlanBlocker):
    """No account matches a person behind commits."""

    name: str
    roles: tuple[EditorRole, ...]
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PushersUnknown(PlanBlocker):
    """No delivery of the git host names the pusher of these commits."""

    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommitsUnknown(PlanBlocker):
    """Not all commits since the last approved plan are known."""

    gap: HistoryGap


# The manifests and the objects of the plan.


@dataclass(frozen=True, slots=True)
class ManifestProblems(PlanBlocker):
    """Manifests could not be read or planned: an incomplete set cannot be approved."""

    count: int


@dataclass(frozen=True, slots=True)
class ConflictsOpen(PlanBlocker):
    """Objects have unresolved conflicts; `fields` counts the conflicts."""

    count: int
    fields: int
    position: int


@dataclass(frozen=True, slots=True)
class ObjectsBroken(PlanBlocker):
    """Objects could not be planned, or the server rejected them."""

    count: int
    position: int


@dataclass(frozen=True, slots=True)
class LiveUnknown(PlanBlocker):
    """The live state of objects is unknown."""

    count: int
    position: int


@dataclass(frozen=True, slots=True)
class OnlyEstimated(PlanBlocker):
    """Objects are only estimated, and the policy requires a dry run."""

    count: int
    position: int


@dataclass(frozen=True, slots=True)
class NothingToApply(PlanBlocker):
    """The plan changes nothing."""


# What people still have to do.


@dataclass(frozen=True, slots=True)
class OpenRisk:
    """One kind of risk of one object (its `position` in the plan) or of the plan that needs an acknowledgment."""

    position: int
    object_key: str
    effect: str
    kind: RiskKind

    @property
    def identity(self) -> tuple[str, str, str]:
        """Return the key that an acknowledgment must carry to cover this risk."""
        return self.object_key, self.effect, self.kind.slug


@dataclass(frozen=True, slots=True)
class RisksOpen(PlanBlocker):
    """Risks are not acknowledged."""

    risks: tuple[OpenRisk, ...]

    @property
    def count(self) -> int:
        """Return the number of risks; those of one kind count once, as pages show them."""
        return len({risk.kind for risk in self.risks})


@dataclass(frozen=True, slots=True)
class ChangesRequested(PlanBlocker):
    """An approver requests changes."""

    name: str


@dataclass(frozen=True, slots=True)
class ApprovalsMissing(PlanBlocker):
    """The policy requires more approvals; `team` "" counts everyone who may approve."""

    count: int
    team: str


@dataclass(frozen=True, slots=True)
class ApprovalNotCounted(PlanBlocker):
    """An approval of the person would meet none of the demands that are not met."""

    lacking: tuple[ApprovalsMissing, ...]


# Whether a run may start at this moment.


@dataclass(frozen=True, slots=True)
class ClusterArchived(PlanBlocker):
    """The cluster is history only."""

    name: str


@dataclass(frozen=True, slots=True)
class ClusterPaused(PlanBlocker):
    """An administrator paused the cluster."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChangesFrozen(PlanBlocker):
    """A freeze is active; `until` is its end in its own zone."""

    until: datetime
    zone: str
    reason: str


@dataclass(frozen=True, slots=True)
class WindowClosed(PlanBlocker):
    """None of these change windows is open."""

    windows: tuple[str, ...]


# The person.


@dataclass(frozen=True, slots=True)
class NotApprover(PlanBlocker):
    """The person does not have the role."""


@dataclass(frozen=True, slots=True)
class RoleNotCounted(PlanBlocker):
    """The role rests on a grant by the sole administrator, and the policy does not count that."""


@dataclass(frozen=True, slots=True)
class OwnChanges(PlanBlocker):
    """The person was involved in the plan; `is_commit`: by commits."""

    is_commit: bool = False


@dataclass(frozen=True, slots=True)
class ObjectsUnviewed(PlanBlocker):
    """The approver has not viewed high-risk objects."""

    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NotStarter(PlanBlocker):
    """The person may not start runs; `is_retry`: may not retry them."""

    is_retry: bool = False


@dataclass(frozen=True, slots=True)
class StartScheduled(PlanBlocker):
    """A start of the plan waits already."""

    name: str
