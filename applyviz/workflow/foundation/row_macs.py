"""MACs of rows that decide: one that was inserted or changed past the use cases does not count.

They are grants, memberships, policies, acknowledgments, requests for changes, comments, retention policies,
identities of commits, mappings to users of a cluster, the authors of plans, who brought their files, conflict rules,
changes that wait for a second administrator, followed branches with the commits of a plan and who pushed them, and
who may use the credential of a repository, further attempts of runs, worker requests with their answers, who
owns a service account, and that a cluster does not mask plain credentials. A MAC covers what the row says and, of
rights and policies, the audit entry that records it, under `APPLYVIZ_APPROVAL_KEY`, which web processes and workers
hold and the database does not. The end of a right is not covered, because ending takes rights away;
`audit.right_macs` compares it with the audit log. The end of a policy, and that of a request for changes, are covered,
because they let more run, as are those of a followed branch and of a credential, so that neither is revived; that of a
mapping is compared with the audit log where it is used.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.records.enums import AuditAction
from applyviz.records.models import (
    Acknowledgment,
    AuditEntry,
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
    RenewedMac,
    RepositoryCredential,
    RetentionPolicy,
    RunAttempt,
    ServiceAccount,
    SourceRevision,
    TeamMember,
    WorkerRequest,
)
from applyviz.records.sealing import Sealed
from applyviz.workflow.foundation import renewed_macs

RightRow = Grant | TeamMember
RecordedRow = RightRow | PolicyVersion
Statement = Acknowledgment | ChangeRequest | Comment | CommitIdentity | ConflictRule | PendingChange | Plan
OfSource = BranchPush | CommitRange | Following | RepositoryCredential | SourceRevision
OfWorkers = WorkerRequest | RunAttempt
OtherRow = Statement | OfSource | OfWorkers | Policy | RetentionPolicy | IdentityMapping | Cluster | ServiceAccount
VouchedRow = RecordedRow | OtherRow
_Row = TypeVar("_Row", bound=VouchedRow)
_GIVEN = ("since", "by_id", "confirmed_by_id", "is_sole")
_COVERED: dict[type[VouchedRow], tuple[str, ...]] = {
    Grant: ("role", "person_id", "team_id", "cluster_pattern", "namespace_pattern", "is_cluster_scoped", *_GIVEN),
    TeamMember: ("team_id", "team.slug", "person_id", *_GIVEN),
    PolicyVersion: (
        *("policy_id", "number", "cluster_pattern", "namespace_pattern", "is_cluster_scoped", "rules", "note"),
        *("by_id", "confirmed_by_id", "created_at"),
    ),
    Policy: ("slug", "archived_at"),
    Acknowledgment: ("plan_id", "review_id", "effect", "object_key", "risk", "by_id", "note", "created_at"),
    ChangeRequest: ("plan_id", "digest", "by_id", "note", "created_at", "withdrawn_at"),
    CommitIdentity: ("person_id", "kind", "value", "verified_at", "verified_by_id"),
    IdentityMapping: ("cluster_id", "number", "person_id", "team_id", "user", "groups", "since", "by_id"),
    Comment: (
        *("review_id", "plan_id", "by_id", "object_key", "path", "lines", "text", "earlier"),
        *("created_at", "edited_at"),
    ),
    Plan: ("review_id", "number", "revision_id", "requested_by_id", "authors", "followed", "created_at"),
    SourceRevision: ("digest", "salt", "provenance", "created_at", "created_by_id"),
    Following: (
        *("review_id", "by_id", "repository", "location", "branch", "first_commit", "started_at"),
        *("ended_at", "end_reason", "ended_by_id"),
    ),
    CommitRange: (
        *("plan_id", "location", "branch", "base", "base_plan_id", "first_commit", "commits", "graph", "people", "gap"),
    ),
    BranchPush: ("location", "branch", "before", "after", "name", "login", "email", "at"),
    RepositoryCredential: (
        *("prefix", "kind", "username", "public_key", "host_keys", "team_id", "created_at", "created_by_id"),
        *("secret_at", "archived_at"),
    ),
    PendingChange: ("kind", "given", "summary", "asked_by_id", "asked_at", "expires_at"),
    ConflictRule: (
        *("cluster_id", "number", "group", "kind", "namespace", "name", "elements", "manager", "resolution", "plan_id"),
        *("proposed_by_id", "proposed_at", "agreed_by_id", "agreed_at", "ended_at"),
    ),
    RunAttempt: ("run_id", "number", "requested_by_id", "first_epoch", "before", "error", "ended_at", "created_at"),
    Cluster: ("slug", "masks_credentials"),
    ServiceAccount: ("person_id", "owner_id"),
    WorkerRequest: (
        *("pk", "kind", "key", "asked_by_id", "cluster_id", "question", "sealed", "reply_to", "origin"),
        *("created_at", "expires_at", "state", "result", "sealed_result", "reasons", "status", "finished_at"),
    ),
    RetentionPolicy: ("name", "days", "actions", "has_requests", "created_by_id", "created_at"),
}
_ACTIONS = {
    Grant: AuditAction.ROLE_GRANTED,
    TeamMember: AuditAction.TEAM_CHANGED,
    PolicyVersion: AuditAction.POLICY_CHANGED,
}


def _plain(value: JSONValue | datetime | Sealed | bytes | memoryview) -> JSONValue:
    """Return what a MAC covers of a value: a moment as text, and the hash of what is sealed."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, Sealed):
        value = value.token
    return hashlib.sha256(value).hexdigest() if isinstance(value, bytes | memoryview) else value


def _find_entry(row: VouchedRow) -> AuditEntry | None:
    return row.entry if isinstance(row, RecordedRow) else None


def _make(row: VouchedRow, key: str) -> str:
    covered = [_plain(attrgetter(name)(row)) for name in _COVERED[type(row)]]
    entry = _find_entry(row)
    recorded: list[JSONValue] = [entry.pk, entry.hash] if entry is not None else []
    text = f"applyviz {type(row).__name__} {canonical_json([*covered, recorded])}"
    return hmac.digest(key.encode(), text.encode(), "sha256").hex()


def vouch(row: VouchedRow, entry: AuditEntry | None = None) -> None:
    """Set the MAC of a row, and the audit entry of a right or a policy, before it is stored."""
    if not settings.APPLYVIZ_APPROVAL_KEY:
        raise ImproperlyConfigured("APPLYVIZ_APPROVAL_KEY: it is not set here; web processes and workers hold it")
    if isinstance(row, RecordedRow):
        row.entry = entry
    row.mac = _make(row, settings.APPLYVIZ_APPROVAL_KEY)


def list_faults(rows: Iterable[_Row]) -> Iterator[tuple[_Row, str]]:
    """Yield each row of one model with why it is not genuine, "" when it is; rights come with their entry."""
    for row, is_made in renewed_macs.check_macs(rows, _make):
        entry = _find_entry(row)
        if entry is not None and entry.action != _ACTIONS[type(row)]:
            yield row, "its audit entry records something else"
        else:
            yield row, "" if is_made else "it was not made by this installation"


def find_fault(row: VouchedRow) -> str:
    """Return why a row is not genuine; "" when it is."""
    return next(fault for _, fault in list_faults([row]))


def keep_genuine(rows: Iterable[_Row]) -> list[_Row]:
    """Return the rows that this installation made; rights come with their entry (`select_related("entry")`)."""
    return [row for row, fault in list_faults(rows) if not fault]


def list_renewals(rows: Sequence[_Row]) -> list[RenewedMac]:
    """Return the MACs under the current key that genuine rows of one model still need, not yet stored."""
    return renewed_macs.list_renewals(rows, _make)
