"""Why a plan cannot be approved, run or retried now: one frozen class per reason, with facts and without words.

Use cases, pages, the API, notifications and runs read the same values; `sentences.py` writes the sentence of each.
A new reason is a class here, the condition that makes it, and its sentence.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from applyviz.engine.risks.model import RiskKind
from applyviz.records.enums import Applier, ReviewState
from applyviz.records.git_enums import EditorRole, HistoryGap


class PlanBlocker(Struct, frozen=True):
    """One reason."""


# The plan and its review.


class PlanUnfinished(PlanBlocker, frozen=True):
    """Planning goes on."""


class PlanFailed(PlanBlocker, frozen=True):
    """Planning stopped with an error."""

    error: str


class AppliedElsewhere(PlanBlocker, frozen=True):
    """Another tool applies the manifests."""

    tool: Applier


class PlanSuperseded(PlanBlocker, frozen=True):
    """The review has a later plan."""

    number: int


class ReviewNotOpen(PlanBlocker, frozen=True):
    """The review is being applied, was applied, or is closed."""

    state: ReviewState


class AuthorsForged(PlanBlocker, frozen=True):
    """The authors of the plan are unknown: its row was not stored, or was changed, by this installation."""


# What the plan was made for has changed, or does not allow it.


class PolicyChanged(PlanBlocker, frozen=True):
    """Another version of the policy is in force."""


class PolicyForged(PlanBlocker, frozen=True):
    """Policies in force were not published by this installation."""

    names: tuple[str, ...]


class PolicyMissing(PlanBlocker, frozen=True):
    """Versions of policies that the audit log records as in force are not there."""

    names: tuple[str, ...]


class ConflictRulesChanged(PlanBlocker, frozen=True):
    """Conflict rules that reach objects of the plan were approved or ended."""

    numbers: tuple[int, ...]


class IdentitiesClash(PlanBlocker, frozen=True):
    """A person belongs to teams that are mapped to different identities on a cluster."""

    name: str
    cluster: str
    teams: tuple[str, ...]


class MappingInvalid(PlanBlocker, frozen=True):
    """A mapping gives a person an identity that Kubernetes does not accept."""

    number: int
    name: str
    problem: str


class MappingForged(PlanBlocker, frozen=True):
    """The mappings of a cluster are not those that this installation stored."""

    cluster: str


class IdentityUnclear(PlanBlocker, frozen=True):
    """The requester has no identity any more."""

    why: IdentitiesClash | MappingInvalid | MappingForged


class IdentityChanged(PlanBlocker, frozen=True):
    """The requester has another identity on the cluster."""

    name: str
    cluster: str


class AccountChanged(PlanBlocker, frozen=True):
    """The credential of the cluster belongs to another account; `account` "" is not known."""

    cluster: str
    account: str


class AccessDenied(PlanBlocker, frozen=True):
    """The cluster does not allow requests of the plan; `identity` "" is the credential of the cluster."""

    identity: str
    acts: tuple[str, ...]


class RequesterNotAllowed(PlanBlocker, frozen=True):
    """The policy only allows the members of one of these teams to request plans."""

    teams: tuple[str, ...]


class ObjectsKept(PlanBlocker, frozen=True):
    """The plan would delete objects that a policy keeps; `position` is the first of them, as in the classes below."""

    policy: str
    names: tuple[str, ...]
    position: int


class TooManyDeletions(PlanBlocker, frozen=True):
    """The plan deletes more objects than a policy allows."""

    policy: str
    count: int
    limit: int
    position: int


class TooMuchPruned(PlanBlocker, frozen=True):
    """Prune would delete more of the live objects of the set than a policy allows; `percent` is the limit."""

    policy: str
    count: int
    live: int
    percent: int
    position: int


# Who edited the commits of the plan.


class EditorUnmatched(PlanBlocker, frozen=True):
    """No account matches a person behind commits."""

    name: str
    roles: tuple[EditorRole, ...]
    commits: tuple[str, ...]


class PushersUnknown(PlanBlocker, frozen=True):
    """No delivery of the git host names the pusher of these commits."""

    commits: tuple[str, ...]


class CommitsUnknown(PlanBlocker, frozen=True):
    """Not all commits since the last approved plan are known."""

    gap: HistoryGap


# The manifests and the objects of the plan.


class ManifestProblems(PlanBlocker, frozen=True):
    """Manifests could not be read or planned: an incomplete set cannot be approved."""

    count: int


class ConflictsOpen(PlanBlocker, frozen=True):
    """Objects have unresolved conflicts; `fields` counts the conflicts."""

    count: int
    fields: int
    position: int


class ObjectsBroken(PlanBlocker, frozen=True):
    """Objects could not be planned, or the server rejected them."""

    count: int
    position: int


class LiveUnknown(PlanBlocker, frozen=True):
    """The live state of objects is unknown."""

    count: int
    position: int


class OnlyEstimated(PlanBlocker, frozen=True):
    """Objects are only estimated, and the policy requires a dry run."""

    count: int
    position: int


class NothingToApply(PlanBlocker, frozen=True):
    """The plan changes nothing."""


# What people still have to do.


class OpenRisk(Struct, frozen=True):
    """One kind of risk of one object (its `position` in the plan) or of the plan that needs an acknowledgment."""

    position: int
    object_key: str
    effect: str
    kind: RiskKind

    @property
    def identity(self) -> tuple[str, str, str]:
        """Return the key that an acknowledgment must carry to cover this risk."""
        return self.object_key, self.effect, self.kind.slug


class RisksOpen(PlanBlocker, frozen=True):
    """Risks are not acknowledged."""

    risks: tuple[OpenRisk, ...]

    @property
    def count(self) -> int:
        """Return the number of risks; those of one kind count once, as pages show them."""
        return len({risk.kind for risk in self.risks})


class ChangesRequested(PlanBlocker, frozen=True):
    """An approver requests changes."""

    name: str


class ApprovalsMissing(PlanBlocker, frozen=True):
    """The policy requires more approvals; `team` "" counts everyone who may approve."""

    count: int
    team: str


class ApprovalNotCounted(PlanBlocker, frozen=True):
    """An approval of the person would meet none of the demands that are not met."""

    lacking: tuple[ApprovalsMissing, ...]


# Whether a run may start at this moment.


class ClusterArchived(PlanBlocker, frozen=True):
    """The cluster is history only."""

    name: str


class ClusterPaused(PlanBlocker, frozen=True):
    """An administrator paused the cluster."""

    name: str
    reason: str


class ChangesFrozen(PlanBlocker, frozen=True):
    """A freeze is active; `until` is its end in its own zone."""

    until: datetime
    zone: str
    reason: str


class WindowClosed(PlanBlocker, frozen=True):
    """None of these change windows is open."""

    windows: tuple[str, ...]


# The person.


class NotApprover(PlanBlocker, frozen=True):
    """The person does not have the role."""


class RoleNotCounted(PlanBlocker, frozen=True):
    """The role rests on a grant by the sole administrator, and the policy does not count that."""


class OwnChanges(PlanBlocker, frozen=True):
    """The person was involved in the plan; `is_commit`: by commits."""

    is_commit: bool = False


class ObjectsUnviewed(PlanBlocker, frozen=True):
    """The approver has not viewed high-risk objects."""

    positions: tuple[int, ...]


class NotStarter(PlanBlocker, frozen=True):
    """The person may not start runs; `is_retry`: may not retry them."""

    is_retry: bool = False


class StartScheduled(PlanBlocker, frozen=True):
    """A start of the plan waits already."""

    name: str
