"""The rows whose MAC is verified by `manage.py audit verify` and renewed by `manage.py keys re-sign`.

Some rows need no MAC: policies in force, unverified commit identities, and clusters that mask plain credentials. Worker
requests have one, but end within minutes, and are asked again.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from applyviz.records.models import (
    Acknowledgment,
    BranchPush,
    ChangeRequest,
    Cluster,
    Comment,
    CommitIdentity,
    CommitRange,
    ConflictRule,
    Following,
    Grant,
    IdentityMapping,
    PendingChange,
    Plan,
    Policy,
    PolicyVersion,
    RepositoryCredential,
    RetentionPolicy,
    RunAttempt,
    ServiceAccount,
    SourceRevision,
    TeamMember,
)
from applyviz.workflow.foundation.row_macs import VouchedRow

_ALL: tuple[tuple[str, type[VouchedRow]], ...] = (
    ("acknowledgment", Acknowledgment),
    ("request for changes", ChangeRequest),
    ("plan", Plan),
    ("conflict rule", ConflictRule),
    ("change that waits for an administrator", PendingChange),
    ("mapping", IdentityMapping),
    ("service account", ServiceAccount),
    ("attempt", RunAttempt),
    ("retention policy", RetentionPolicy),
    ("source of manifests", SourceRevision),
    ("followed branch", Following),
    ("commits of plan", CommitRange),
    ("push", BranchPush),
    ("credential", RepositoryCredential),
    ("comment", Comment),
)


def list_vouched() -> Iterator[tuple[str, QuerySet[VouchedRow]]]:
    """Yield the rows of each model that need a MAC, with what a row is called, by primary key."""
    yield "grant", Grant.objects.select_related("entry").order_by("pk")
    yield "membership", TeamMember.objects.select_related("entry", "team").order_by("pk")
    yield "policy version", PolicyVersion.objects.select_related("entry").order_by("pk")
    yield "policy", Policy.objects.exclude(archived_at=None).order_by("pk")
    yield "commit identity", CommitIdentity.objects.exclude(verified_at=None).order_by("pk")
    yield "masking of cluster", Cluster.objects.filter(masks_credentials=False).defer("credential").order_by("pk")
    for what, model in _ALL:
        yield what, model._default_manager.order_by("pk")
