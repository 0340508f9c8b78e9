"""The database, one file per group of rows that live and die together.

Review → Target (one per cluster) → Plan (immutable, numbered) → ObjectChange; Decision and Comment hang on
the Review; Approval on a Plan's digest; ApplyRun → ObjectResult → JournalEntry; AuditEntry tells of all.
A StandingRule hangs on its Cluster. Nothing cascades: what was agreed and done stays. PlaygroundInput stands
alone and goes after some days.
"""

from applyviz.records.models.agreement import Acknowledgement, Approval, Comment, Decision, ViewedObject
from applyviz.records.models.audit import AuditEntry, AuditHead, OutboxMessage
from applyviz.records.models.clusters import Cluster
from applyviz.records.models.plans import ObjectChange, Plan
from applyviz.records.models.playgrounds import PlaygroundInput
from applyviz.records.models.reviews import Review, Target
from applyviz.records.models.runs import ApplyRun, JournalEntry, ObjectResult
from applyviz.records.models.sandboxes import SandboxMeta, SandboxObject, SandboxState
from applyviz.records.models.sources import SourceFile, SourceRevision
from applyviz.records.models.standing import StandingRule

__all__ = [
    "Acknowledgement",
    "ApplyRun",
    "Approval",
    "AuditEntry",
    "AuditHead",
    "Cluster",
    "Comment",
    "Decision",
    "JournalEntry",
    "ObjectChange",
    "ObjectResult",
    "OutboxMessage",
    "Plan",
    "PlaygroundInput",
    "Review",
    "SandboxMeta",
    "SandboxObject",
    "SandboxState",
    "SourceFile",
    "SourceRevision",
    "StandingRule",
    "Target",
    "ViewedObject",
]
