"""Converts audit entries to notification events, and those to notifications and deliveries.

Entries may become visible out of order on PostgreSQL. Every unprocessed entry of the last day is therefore read,
instead of keeping a high-water mark; the unique key of an event ensures that it is sent once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from applyviz.queue import TaskName
from applyviz.records.enums import AuditAction, NotificationKind, Outcome, PlanState, RunState
from applyviz.records.models import (
    ApplyRun,
    Approval,
    AuditEntry,
    Delivery,
    Notification,
    NotificationEvent,
    Plan,
    Webhook,
)
from applyviz.workflow.approvals import quorum
from applyviz.workflow.approvals.approving import find_unsafe
from applyviz.workflow.foundation import outbox
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.notifications import recipients
from applyviz.workflow.notifications.choices import find_channels
from applyviz.workflow.plans.live_values import count_outcomes

_LOOKED_BACK = timedelta(days=1)
_EXPIRING = timedelta(hours=2)
_TOLD = (
    AuditAction.PLAN_COMPLETED,
    AuditAction.APPROVAL_GIVEN,
    AuditAction.CHANGES_REQUESTED,
    AuditAction.RUN_STARTED,
    AuditAction.RUN_FINISHED,
    AuditAction.EMERGENCY_APPLIED,
    AuditAction.HISTORY_PUBLISHED,
)


@dataclass(frozen=True, slots=True)
class _News:
    """An event before it is stored, and its recipients; `key` identifies it.

    - `plan` None: it is about no plan, and `told` names its subject.
    """

    event: NotificationKind
    key: str
    plan: Plan | None
    to: tuple[Person, ...] = ()
    run: ApplyRun | None = None
    by: str = ""
    is_quiet: bool = False
    at: datetime = field(default_factory=timezone.now)
    told: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """Return the details of a notification: numbers, names, titles; never field values."""
        if self.plan is None:
            return {**self.told, "by": self.by}
        review = self.plan.review
        told: dict[str, Any] = {
            "cluster": self.plan.target.cluster.slug,
            "review": {"number": review.number, "title": review.title},
            "plan": {"number": self.plan.number, "digest": self.plan.digest},
            "by": self.by,
        }
        if self.run is not None:
            told["run"] = {"number": self.run.number, "state": self.run.state, "outcomes": count_outcomes(self.run)}
        return told


def _find_plan(entry: AuditEntry) -> Plan | None:
    rows = Plan.objects.select_related("review__author", "target__cluster", "requested_by")
    return rows.filter(review__number=entry.review or 0, number=entry.plan or 0).first()


def _judge_run(run: ApplyRun) -> NotificationKind:
    found = set(run.results.values_list("outcome", flat=True))
    if run.state == RunState.STALE:
        return NotificationKind.RUN_STALE
    if Outcome.UNKNOWN in found:
        return NotificationKind.RUN_ATTENTION
    if run.state == RunState.FAILED:
        return NotificationKind.RUN_FAILED
    return NotificationKind.RUN_ATTENTION if Outcome.DIFFERS in found else NotificationKind.RUN_FINISHED


def _read_plan_made(entry: AuditEntry, plan: Plan) -> Iterator[_News]:
    dropped = quorum.list_dropped(plan)
    if dropped:
        to = recipients.without((*(a.by for a in dropped), plan.review.author), entry.actor_id)
        yield _News(
            NotificationKind.APPROVALS_DROPPED, f"dropped:{entry.pk}", plan, to, by=plan.requested_by.get_username()
        )
    # Unacknowledged risks do not hold back the notification: approvers may acknowledge them themselves.
    found = quorum.count_quorum(plan)
    is_open = plan.state == PlanState.COMPLETE and not find_unsafe(plan, found.policy) and bool(found.missing)
    to = recipients.list_approvers(plan) if is_open else ()
    by = plan.requested_by.get_username()
    yield _News(NotificationKind.NEEDS_YOU, f"needs:{entry.pk}", plan, to, by=by, is_quiet=not is_open)


def _read_run(entry: AuditEntry, plan: Plan) -> Iterator[_News]:
    run = ApplyRun.objects.filter(number=entry.run or 0).select_related("requested_by").first()
    if run is None:
        return
    is_start = entry.action == AuditAction.RUN_STARTED
    event = NotificationKind.RUN_STARTED if is_start else _judge_run(run)
    to = recipients.list_concerned(plan, run)
    if is_start:
        to = recipients.without(to, entry.actor_id)
    yield _News(event, f"run:{event.value}:{entry.pk}", plan, to, run, by=run.requested_by.get_username())


def _read_entry(entry: AuditEntry) -> Iterable[_News]:
    if entry.action == AuditAction.HISTORY_PUBLISHED:
        key = f"published:{entry.pk}"
        return (_News(NotificationKind.CHECKPOINT_PUBLISHED, key, None, by=entry.actor_name, told=entry.detail),)
    plan = _find_plan(entry)
    if plan is None:
        return ()
    author = recipients.without((plan.review.author, plan.requested_by), entry.actor_id)
    match entry.action:
        case AuditAction.PLAN_COMPLETED:
            return _read_plan_made(entry, plan)
        case AuditAction.APPROVAL_GIVEN:
            return (_News(NotificationKind.APPROVED, f"approved:{entry.pk}", plan, author, by=entry.actor_name),)
        case AuditAction.CHANGES_REQUESTED:
            return (
                _News(NotificationKind.CHANGES_REQUESTED, f"changes:{entry.pk}", plan, author, by=entry.actor_name),
            )
        case AuditAction.EMERGENCY_APPLIED:
            to = recipients.without(recipients.list_guardians(plan), entry.actor_id)
            return (_News(NotificationKind.EMERGENCY_APPLIED, f"glass:{entry.pk}", plan, to, by=entry.actor_name),)
        case _:
            return _read_run(entry, plan)


def _list_expiring(now: datetime) -> Iterator[_News]:
    soon = Approval.objects.filter(
        expires_at__gt=now, expires_at__lt=now + _EXPIRING, revoked_at=None, spent_at=None
    ).select_related("by", "plan__review__author", "plan__target__cluster", "plan__requested_by")
    told = set(
        NotificationEvent.objects.filter(event=NotificationKind.APPROVALS_EXPIRING).values_list("key", flat=True)[:5000]
    )
    for approval in soon:
        key = f"expiring:{approval.pk}"
        if key not in told:
            to = tuple(dict.fromkeys((approval.plan.review.author, approval.by)))
            yield _News(NotificationKind.APPROVALS_EXPIRING, key, approval.plan, to, by=approval.by_name)


def _store(news: _News, entry: AuditEntry | None, webhooks: list[Webhook]) -> None:
    notification_event = NotificationEvent.objects.create(
        key=news.key,
        event=news.event,
        entry=entry,
        facts=news.facts(),
        is_quiet=news.is_quiet,
        at=entry.at if entry else news.at,
    )
    if news.is_quiet:
        return
    for person in news.to:
        ways = find_channels(person, news.event)
        if not ways.is_shown and not ways.is_mailed:
            continue
        due = timezone.now() if ways.is_mailed else None
        told = Notification.objects.create(
            notification_event=notification_event, person=person, is_shown=ways.is_shown, mail_due_at=due
        )
        if ways.is_mailed:
            outbox.post(TaskName.SEND_MAIL, notification_id=told.pk)
    for webhook in webhooks:
        if not webhook.events or news.event.value in webhook.events:
            queue_delivery(webhook, notification_event)


def queue_delivery(webhook: Webhook, notification_event: NotificationEvent) -> Delivery:
    """Queue one webhook delivery of an event, in the surrounding transaction."""
    now = timezone.now()
    delivery = Delivery.objects.create(
        webhook=webhook, notification_event=notification_event, identifier=uuid.uuid4(), due_at=now, created_at=now
    )
    outbox.post(TaskName.DELIVER, delivery_id=delivery.pk)
    return delivery


def _store_all(found: list[_News], entry: AuditEntry | None, webhooks: list[Webhook]) -> int:
    """Store all events of one entry in one transaction; return 0 when another worker was faster."""
    try:
        with transaction.atomic():
            for news in found:
                _store(news, entry, webhooks)
            if not found and entry is not None:
                NotificationEvent.objects.create(
                    key=f"nothing:{entry.pk}", event=NotificationKind.APPROVED, entry=entry, is_quiet=True, at=entry.at
                )
    except IntegrityError:
        return 0
    return len(found)


def send_pending() -> int:
    """Send all pending notifications; return the number of events. Two workers may run this at once."""
    now = timezone.now()
    told = Exists(NotificationEvent.objects.filter(entry_id=OuterRef("pk")))
    entries = AuditEntry.objects.filter(~told, at__gt=now - _LOOKED_BACK, action__in=[a.value for a in _TOLD])
    webhooks = list(Webhook.objects.filter(is_enabled=True, archived_at=None))
    stored = sum(_store_all(list(_read_entry(e)), e, webhooks) for e in entries.order_by("pk")[:500])
    return stored + sum(_store_all([news], None, webhooks) for news in _list_expiring(now))
