"""Find rows that the audit log says were ended, and that somebody restored in the database.

A restored row has the valid MAC of its earlier state. Rule: the audit log records each revocation, withdrawal,
cancellation and closing; a row that an entry ended and that is in force without a later entry is reported. Approvals
are also checked where they are used (`approval_macs`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from django.db.models import Count, F

from applyviz.engine.objects.accessors import map_or_empty
from applyviz.records.enums import AuditAction, ReviewState, RunState, ScheduledStartState
from applyviz.records.models import (
    AccountClaim,
    Acknowledgment,
    ApiToken,
    ApplyRun,
    Approval,
    AuditEntry,
    Cluster,
    ObjectChange,
    Review,
    ScheduledStart,
    Team,
)
from applyviz.workflow.audit import approval_macs
from applyviz.workflow.audit.entries import list_entries, stream_entries
from applyviz.workflow.audit.right_macs import BadRight


def _list_revived_approvals() -> Iterator[BadRight]:
    revoked = approval_macs.read_revocations(AuditAction.APPROVAL_REVOKED)
    for row in Approval.objects.filter(revoked_at=None).select_related("entry").order_by("pk").iterator(2_000):
        fault = approval_macs.find_revocation(row, revoked)
        if fault:
            yield BadRight("approval", row.pk, str(row), fault)
    spent = ApplyRun.objects.annotate(given=Count("approvals")).filter(given__lt=F("needed"))
    for run in spent.order_by("pk"):
        yield BadRight("run", run.number, run.state, f"{run.needed - run.given} approvals are no longer spent on it")


_SHOWN = ("by_id", "object_key", "risk", "effect", "created_at")


class _Effects:
    """The effects that plans have on their objects; of the last plan of a review they are kept."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[int, dict[str, str]]] = {}

    def find(self, entry: AuditEntry, key: str) -> str | None:
        """Return what was acknowledged of an object, or of the whole plan; None for what is not stored."""
        if not key:
            return entry.plan_digest
        review, plan = entry.review or 0, entry.plan or 0
        if self._last.get(review, (0, {}))[0] != plan:
            rows = ObjectChange.objects.filter(plan__review__number=review, plan__number=plan)
            named = rows.values_list("group", "kind", "namespace", "name", "effect")
            self._last[review] = plan, {"/".join(parts): effect for *parts, effect in named}
        return self._last[review][1].get(key)


def _list_revived_acknowledgments() -> Iterator[BadRight]:
    in_force: dict[tuple[object, ...], dict[str, Acknowledgment]] = defaultdict(dict)
    rows_in_force = Acknowledgment.objects.filter(withdrawn_at=None).select_related("review", "plan")
    for row in rows_in_force.only(*_SHOWN, "review__number", "plan__number").order_by("pk").iterator(2_000):
        in_force[row.review.number, row.by_id, row.object_key, row.risk][row.effect] = row
    effects = _Effects()
    for entry in stream_entries(AuditAction.ACKNOWLEDGMENT_WITHDRAWN):
        key = "/".join((entry.group, entry.kind, entry.namespace, entry.name)) if entry.kind else ""
        risk = str(map_or_empty(entry.detail).get("risk", ""))
        rows = in_force.get((entry.review, entry.actor_id, key, risk))
        if not rows or entry.pruned_by is not None:
            continue
        effect = effects.find(entry, key)
        for found in rows.values() if effect is None else filter(None, (rows.get(effect),)):
            if found.plan.number <= (entry.plan or 0) and found.created_at < entry.at:
                yield BadRight("acknowledgment", found.pk, str(found), f"audit entry {entry.sequence} withdrew it")


def _list_revived_starts() -> Iterator[BadRight]:
    canceled = approval_macs.read_revocations(AuditAction.START_CANCELED)
    ended = ScheduledStart.objects.exclude(state=ScheduledStartState.CANCELED)
    for row in ended.select_related("entry").order_by("pk"):
        fault = approval_macs.find_revocation(row, canceled)
        if fault:
            yield BadRight("scheduled start", row.pk, str(row), fault)


def _list_revived_access() -> Iterator[BadRight]:
    """Yield tokens that work again, and links of accounts that were used and are not any more."""
    of_hint: dict[tuple[str, str], list[ApiToken]] = defaultdict(list)
    for row in ApiToken.objects.filter(revoked_at=None):
        of_hint[row.hint, row.expires_at.isoformat()].append(row)
    for entry in stream_entries(AuditAction.TOKEN_REVOKED):
        detail = map_or_empty(entry.detail)
        named = str(detail.get("token", "")).rstrip("…"), str(detail.get("until", ""))
        for token in of_hint.get(named, ()):
            if token.created_at < entry.at:
                yield BadRight("token", token.pk, str(token), f"audit entry {entry.sequence} revoked it")
    claimed = Counter(list_entries(AuditAction.ACCOUNT_CLAIMED).order_by().values_list("actor_id", flat=True))
    used = Counter(AccountClaim.objects.exclude(used_at=None).order_by().values_list("person_id", flat=True))
    for person, count in claimed.items():
        if count > used[person]:
            yield BadRight("link of account", person or 0, "", "the audit log says that it was used")


def _list_teams_not_as_recorded() -> Iterator[BadRight]:
    known = dict(Team.objects.values_list("slug", "archived_at"))
    for entry in stream_entries(AuditAction.TEAM_CHANGED):
        detail = map_or_empty(entry.detail)
        slug = str(detail.get("team", ""))
        if "made" in detail and slug not in known:
            yield BadRight("team of audit entry", entry.sequence, slug, "it is missing")
        elif detail.get("retired") and slug in known and known[slug] is None:
            yield BadRight("team", 0, slug, f"audit entry {entry.sequence} archived it")


_STOPS = {"paused": ("paused_at", True), "resumed": ("paused_at", False)}
_STOPS |= {"archived": ("archived_at", True), "restored": ("archived_at", False)}


def _list_clusters_not_as_recorded() -> Iterator[BadRight]:
    """Yield clusters that are paused or archived, or are not, other than their last entry says."""
    rows = {row.slug: row for row in Cluster.objects.defer("credential")}
    last: dict[tuple[str, str], tuple[int, bool]] = {}
    for entry in stream_entries(AuditAction.CLUSTER_CHANGED):
        name, is_stopped = _STOPS.get(str(map_or_empty(entry.detail).get("change", "")), ("", False))
        if name:
            last[entry.cluster, name] = (entry.sequence, is_stopped)
    for (slug, name), (sequence, is_stopped) in last.items():
        row = rows.get(slug)
        if row is not None and (getattr(row, name) is not None) != is_stopped:
            yield BadRight("cluster", row.pk, slug, f"audit entry {sequence} says otherwise about {name}")


def _list_other_clusters() -> Iterator[BadRight]:
    """Yield the clusters whose name, kind or server differs from their last audit entry."""
    last: dict[str, dict[str, tuple[int, str]]] = defaultdict(dict)
    for entry in stream_entries(AuditAction.CLUSTER_ADDED, AuditAction.CLUSTER_CHANGED):
        if entry.pruned_by is not None:
            last[entry.cluster].clear()
        for name in ("name", "kind", "server"):
            value = map_or_empty(entry.detail).get(name)
            found = value[-1] if isinstance(value, list) and value else value  # a change has both
            if isinstance(found, str):
                last[entry.cluster][name] = (entry.sequence, found)
    for row in Cluster.objects.defer("credential").order_by("pk"):
        for name, (sequence, found) in last[row.slug].items():
            if getattr(row, name) != found:
                yield BadRight("cluster", row.pk, row.slug, f"audit entry {sequence} has another {name}")


def _list_reviews_not_as_recorded() -> Iterator[BadRight]:
    """Yield reviews that were closed and are open, and those whose title is not the one that they were made with."""
    rows = {row.number: row for row in Review.objects.only("number", "state", "title", "ticket")}
    for entry in stream_entries(AuditAction.REVIEW_CREATED, AuditAction.REVIEW_CLOSED):
        row, detail = rows.get(entry.review or 0), map_or_empty(entry.detail)
        if row is None:
            yield BadRight("review", entry.review or 0, "", "it is missing")
        elif entry.action == AuditAction.REVIEW_CLOSED and row.state != ReviewState.CLOSED:
            yield BadRight("review", row.number, row.title, f"audit entry {entry.sequence} closed it")
        elif any(detail.get(name, value) != value for name, value in (("title", row.title), ("ticket", row.ticket))):
            yield BadRight("review", row.number, row.title, f"audit entry {entry.sequence} has another title or ticket")


def _list_resumed_runs() -> Iterator[BadRight]:
    """Yield runs that ended or were canceled, and went on without a retry.

    - Runs without a row are not judged here.
    """
    rows = {row.number: row for row in ApplyRun.objects.only("number", "state", "cancel_requested_at")}
    last: dict[int, tuple[AuditAction, int]] = {}
    seen = (AuditAction.RUN_CANCELED, AuditAction.RUN_RETRIED, AuditAction.RUN_FINISHED)
    for entry in stream_entries(*seen):
        row, action = rows.get(entry.run or 0), AuditAction(entry.action)
        if row is None:
            continue
        before = last.get(row.number)
        last[row.number] = (action, entry.sequence)
        if before is None or action == AuditAction.RUN_RETRIED:
            continue
        if before[0] == action == AuditAction.RUN_FINISHED:
            yield BadRight("run", row.number, "", f"it ended by audit entry {before[1]}, and again by {entry.sequence}")
        elif before[0] == AuditAction.RUN_CANCELED and row.cancel_requested_at is None:
            yield BadRight("run", row.number, row.state, f"audit entry {before[1]} canceled it")
    for number, (action, sequence) in last.items():
        row = rows[number]
        if action == AuditAction.RUN_FINISHED and row.state in RunState.unfinished():
            yield BadRight("run", number, row.state, f"audit entry {sequence} records its end")
        elif action == AuditAction.RUN_CANCELED and row.cancel_requested_at is None:
            yield BadRight("run", number, row.state, f"audit entry {sequence} canceled it")


def check_taken_back() -> tuple[BadRight, ...]:
    """Return every row that is in force although the audit log says that it was ended."""
    return (
        *_list_revived_approvals(),
        *_list_revived_acknowledgments(),
        *_list_revived_starts(),
        *_list_revived_access(),
        *_list_teams_not_as_recorded(),
        *_list_clusters_not_as_recorded(),
        *_list_other_clusters(),
        *_list_reviews_not_as_recorded(),
        *_list_resumed_runs(),
    )
