"""The database models, one file per group of rows with a common lifetime.

Team and Grant say what people may do, Policy what a run requires. Review → Target (one per cluster) → Plan (immutable,
numbered) → ObjectChange; Resolution and Comment belong to the Review; Approval to the digest of a Plan; ApplyRun →
ObjectResult → JournalEntry; AuditEntry records all of it. A ConflictRule belongs to its Cluster; an Undo links a Review
to the ApplyRun that it would revert. Nothing cascades: approvals and runs stay. PlaygroundInput and WorkerRequest are
independent rows and are deleted after some days or minutes.
"""

from applyviz.records.models.agreement import (
    Acknowledgment,
    Approval,
    ChangeRequest,
    CollectedComment,
    Comment,
    EmergencyApply,
    Resolution,
    ViewedObject,
)
from applyviz.records.models.audit import AuditEntry, ChainEnd, OutboxMessage, RetentionPolicy
from applyviz.records.models.clusters import Cluster
from applyviz.records.models.conflict_rules import ConflictRule
from applyviz.records.models.external_applies import Verification
from applyviz.records.models.following import (
    BranchPush,
    CommitEditor,
    CommitIdentity,
    CommitRange,
    Following,
    PushDelivery,
    PushWebhook,
)
from applyviz.records.models.heartbeats import Heartbeat
from applyviz.records.models.identities import IdentityMapping
from applyviz.records.models.live_comparisons import LiveComparison
from applyviz.records.models.notices import Delivery, Notification, NotificationChoice, NotificationEvent, Webhook
from applyviz.records.models.people import (
    AccountClaim,
    AccountLink,
    AccountMac,
    Grant,
    OpenSession,
    PendingChange,
    SignInLimit,
    Team,
    TeamMember,
)
from applyviz.records.models.plans import ObjectChange, Plan, PlanDetails
from applyviz.records.models.playgrounds import PlaygroundInput
from applyviz.records.models.policies import Policy, PolicyVersion
from applyviz.records.models.presets import Preset
from applyviz.records.models.renewed_macs import RenewedMac
from applyviz.records.models.repositories import RepositoryCredential
from applyviz.records.models.reverts import Undo
from applyviz.records.models.reviews import Review, ReviewScope, Target
from applyviz.records.models.runs import ApplyRun, JournalEntry, ObjectResult, RolloutSample, RunAttempt
from applyviz.records.models.sandboxes import SandboxChange, SandboxMeta, SandboxObject, SandboxState
from applyviz.records.models.scans import ClusterScan, LiveFinding
from applyviz.records.models.scheduled_starts import ScheduledStart
from applyviz.records.models.secret_values import PlannedSecretValue
from applyviz.records.models.sources import ParsedSource, SourceFile, SourceRevision
from applyviz.records.models.tokens import ApiToken, ServiceAccount
from applyviz.records.models.worker_requests import WorkerRequest

__all__ = [
    "AccountClaim",
    "AccountLink",
    "AccountMac",
    "Acknowledgment",
    "ApiToken",
    "ApplyRun",
    "Approval",
    "AuditEntry",
    "BranchPush",
    "ChainEnd",
    "ChangeRequest",
    "Cluster",
    "ClusterScan",
    "CollectedComment",
    "Comment",
    "CommitEditor",
    "CommitIdentity",
    "CommitRange",
    "ConflictRule",
    "Delivery",
    "EmergencyApply",
    "Following",
    "Grant",
    "Heartbeat",
    "IdentityMapping",
    "JournalEntry",
    "LiveComparison",
    "LiveFinding",
    "Notification",
    "NotificationChoice",
    "NotificationEvent",
    "ObjectChange",
    "ObjectResult",
    "OpenSession",
    "OutboxMessage",
    "ParsedSource",
    "PendingChange",
    "Plan",
    "PlanDetails",
    "PlannedSecretValue",
    "PlaygroundInput",
    "Policy",
    "PolicyVersion",
    "Preset",
    "PushDelivery",
    "PushWebhook",
    "RenewedMac",
    "RepositoryCredential",
    "Resolution",
    "RetentionPolicy",
    "Review",
    "ReviewScope",
    "RolloutSample",
    "RunAttempt",
    "SandboxChange",
    "SandboxMeta",
    "SandboxObject",
    "SandboxState",
    "ScheduledStart",
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
