"""Retention: removes the bodies of old entries by policy while the chain stays verifiable.

A hash covers the salted hash of a body, so a body can be removed while its hash stays. In one transaction an entry
first records which policy removes how many bodies, then they are removed; the database refuses any other order.
Entries that verification needs are always kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import AuditAction, RunState
from applyviz.records.full_text import collect_words
from applyviz.records.models import AuditEntry, JournalEntry, RetentionPolicy
from applyviz.records.triggers import KEPT_ACTIONS
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError

SHORTEST_DAYS = 7
_BATCH = 1_000
ALWAYS_KEPT = frozenset({*KEPT_ACTIONS, AuditAction.RETENTION_CHANGED, AuditAction.HISTORY_PUBLISHED})


class PrunedBodies(Struct, frozen=True):
    """The result of applying a policy once."""

    policy: str
    entries: int = 0
    requests: int = 0
    recorded_by: int | None = None

    def __str__(self) -> str:
        return f"{self.entries} bodies were removed by policy {self.policy} (entry {self.recorded_by})"


def list_policies(*, for_user: Visitor) -> QuerySet[RetentionPolicy]:
    """Return all policies, including those that ended."""
    access.require(for_user, Action.VIEW)
    return RetentionPolicy.objects.order_by("-is_active", "name")


def list_active() -> list[RetentionPolicy]:
    """Return the active policies that this installation made."""
    return row_macs.keep_genuine(RetentionPolicy.objects.filter(is_active=True))


def list_removals(removed: Mapping[int, int]) -> list[PrunedBodies]:
    """Return the removals that these entries record, by the global sequence of each entry."""
    found = AuditEntry.objects.filter(chain=trail.GLOBAL, sequence__in=list(removed)).order_by("id")
    return [
        PrunedBodies(str(entry.detail.get("policy", "")), removed[entry.sequence], recorded_by=entry.sequence)
        for entry in found
    ]


def _record_change(policy: RetentionPolicy, by: Person) -> None:
    detail = {
        "name": policy.name,
        "days": policy.days,
        "actions": policy.actions,
        "requests": policy.has_requests,
        "active": policy.is_active,
    }
    trail.record(AuditAction.RETENTION_CHANGED, by=by, about=trail.AuditSubject(), detail=detail)


def add_policy(*, name: str, days: int, actions: Iterable[str] = (), has_requests: bool, by: Person) -> RetentionPolicy:
    """Add a policy that removes bodies after that many days; nothing is removed before the next scheduled prune.

    - Raises `NotValidError` for less than a week, for unknown actions and for actions that are always kept.
    """
    access.require(by, Action.MANAGE)
    chosen = sorted(set(actions))
    if days < SHORTEST_DAYS:
        raise NotValidError(_("details must be kept for at least %(least)s days") % {"least": SHORTEST_DAYS})
    wrong = [action for action in chosen if action not in AuditAction.values or action in ALWAYS_KEPT]
    if wrong:
        raise NotValidError(_("entries of this kind are always kept: %(names)s") % {"names": ", ".join(wrong)})
    with transaction.atomic():
        if RetentionPolicy.objects.filter(name=name).exists():
            raise NotValidError(_("policy %(name)s already exists") % {"name": name})
        policy = RetentionPolicy(
            name=name, days=days, actions=chosen, has_requests=has_requests, created_at=clock.host_now(), created_by=by
        )
        row_macs.vouch(policy)
        policy.save(force_insert=True)
        _record_change(policy, by)
    return policy


def end_policy(policy: RetentionPolicy, *, by: Person) -> None:
    """End a policy: from now on nothing is removed by it."""
    access.require(by, Action.MANAGE)
    with transaction.atomic():
        if not RetentionPolicy.objects.filter(pk=policy.pk, is_active=True).update(is_active=False):
            raise NotPossibleError(_("the policy has already ended"))
        policy.is_active = False
        _record_change(policy, by)


def _find_due(policy: RetentionPolicy, before: datetime) -> QuerySet[AuditEntry]:
    # The oldest entry bounds the scan.
    due = AuditEntry.objects.filter(at__lt=before, pruned_by=None).exclude(action__in=ALWAYS_KEPT)
    due = due.exclude(salt="")
    return due.filter(action__in=policy.actions) if policy.actions else due


def _before(policy: RetentionPolicy, now: datetime) -> datetime:
    return now - timedelta(days=policy.days)


def count_due(policy: RetentionPolicy, *, now: datetime | None = None) -> int:
    """Return how many bodies the policy would remove now."""
    return _find_due(policy, _before(policy, now or clock.host_now())).count()


def _remove_bodies(ids: list[int], entry: AuditEntry) -> None:
    rows = list(AuditEntry.objects.filter(pk__in=ids))
    for row in rows:
        row.detail, row.salt, row.pruned_by = {}, "", entry.sequence
        row.words = collect_words(trail.searched_columns(row), {})
    AuditEntry.objects.bulk_update(rows, ["detail", "salt", "pruned_by", "words"], batch_size=200)


def _remove_requests(before: datetime) -> int:
    """Remove requests and answers of runs that ended before a time; their descriptions and keyed digests stay."""
    due = JournalEntry.objects.filter(
        result__run__finished_at__lt=before, result__run__state__in=set(RunState) - set(RunState.unfinished())
    ).exclude(request=None, sealed_request=None, answer=None, sealed_answer=None)
    ids = list(due.values_list("pk", flat=True)[:_BATCH])
    gone = {"request": None, "sealed_request": None, "answer": None, "sealed_answer": None}
    return JournalEntry.objects.filter(pk__in=ids).update(**gone)


def _prune_once(policy: RetentionPolicy, before: datetime) -> PrunedBodies:
    with transaction.atomic():
        # Locked first: two concurrent prunes would record the same bodies twice.
        trail.lock_chain(trail.GLOBAL)
        ids = list(_find_due(policy, before).order_by("id").values_list("pk", flat=True)[:_BATCH])
        requests = _remove_requests(before) if policy.has_requests else 0
        if not ids and not requests:
            return PrunedBodies(policy.name)
        detail: dict[str, JSONValue] = {
            "policy": policy.name,
            "days": policy.days,
            "actions": policy.actions,
            "before": before.isoformat(),
            "entries": len(ids),
            "requests": requests,
        }
        entry = trail.record(AuditAction.HISTORY_PRUNED, by=None, about=trail.AuditSubject(), detail=detail)
        _remove_bodies(ids, entry)
    return PrunedBodies(policy.name, len(ids), requests, entry.sequence)


def prune(policy: RetentionPolicy, *, now: datetime | None = None) -> PrunedBodies:
    """Remove what the policy no longer keeps, in batches; each batch is recorded by an entry first."""
    before, entries, requests = _before(policy, now or clock.host_now()), 0, 0
    recorded_by = None
    while (removed := _prune_once(policy, before)).recorded_by is not None:
        entries, requests, recorded_by = entries + removed.entries, requests + removed.requests, removed.recorded_by
    return PrunedBodies(policy.name, entries, requests, recorded_by)


def prune_all() -> list[PrunedBodies]:
    """Apply every active policy."""
    return [prune(policy) for policy in list_active()]
