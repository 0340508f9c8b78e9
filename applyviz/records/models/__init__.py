"""The database, one file per group of rows that live and die together.

Team and Grant say who may do what, Policy what must hold first. Review → Target (one per cluster) → Plan (immutable,
numbered) → ObjectChange; Decision and Comment hang on the Review; Approval on a Plan's digest; ApplyRun → ObjectResult
→ JournalEntry; AuditEntry tells of all. A StandingRule hangs on its Cluster; an Undo ties a Review to the ApplyRun that
it would undo. Nothing cascades: what was agreed and done stays. PlaygroundInput and Worker request stand alone and go
after some days or minutes.
"""

from applyviz.records.models.agreement import (
    Acknowledgement,
    Approval,
    ChangeRequest,
    Comment,
    EmergencyApply,
    Resolution,
    ViewedObject,
)
from applyviz.records.models.audit import AuditEntry, ChainEnd, OutboxMessage, RetentionPolicy
from applyviz.records.models.clusters import Cluster
from applyviz.records.models.conflict_rules import ConflictRule
from applyviz.records.models.external_applies import Verification
from applyviz.records.models.identities import IdentityMapping
from applyviz.records.models.notices import Delivery, Notification, NotificationChoice, NotificationEvent, Webhook
from applyviz.records.models.people import (
    AccountClaim,
    AccountLink,
    Grant,
    OpenSession,
    PendingChange,
    SignInLimit,
    Team,
    TeamMember,
)
from applyviz.records.models.plans import ObjectChange, Plan
from applyviz.records.models.playgrounds import PlaygroundInput
from applyviz.records.models.policies import Policy, PolicyVersion
from applyviz.records.models.reverts import Undo
from applyviz.records.models.reviews import Review, ReviewScope, Target
from applyviz.records.models.runs import ApplyRun, JournalEntry, ObjectResult, RolloutSample
from applyviz.records.models.sandboxes import SandboxChange, SandboxMeta, SandboxObject, SandboxState
from applyviz.records.models.scans import ClusterScan, LiveFinding
from applyviz.records.models.secret_values import PlannedSecretValue
from applyviz.records.models.sources import SourceFile, SourceRevision
from applyviz.records.models.tokens import ApiToken, ServiceAccount
from applyviz.records.models.worker_requests import WorkerRequest

__all__ = [
    "AccountClaim",
    "AccountLink",
    "Acknowledgement",
    "ApiToken",
    "ApplyRun",
    "Approval",
    "AuditEntry",
    "ChainEnd",
    "ChangeRequest",
    "Cluster",
    "ClusterScan",
    "Comment",
    "ConflictRule",
    "Delivery",
    "EmergencyApply",
    "Grant",
    "IdentityMapping",
    "JournalEntry",
    "LiveFinding",
    "Notification",
    "NotificationChoice",
    "NotificationEvent",
    "ObjectChange",
    "ObjectResult",
    "OpenSession",
    "OutboxMessage",
    "PendingChange",
    "Plan",
    "PlannedSecretValue",
    "PlaygroundInput",
    "Policy",
    "PolicyVersion",
    "Resolution",
    "RetentionPolicy",
    "Review",
    "ReviewScope",
    "RolloutSample",
    "SandboxChange",
    "SandboxMeta",
    "SandboxObject",
    "SandboxState",
    "ServiceAccount",
    "SignInLimit",
    "SourceFile",
    "SourceRevision",
    "Target",
    "Team",
    "TeamMember",
    "Undo",
    "Verification",
    "ViewedObject",
    "Webhook",
    "WorkerRequest",
]
