"""Converts audit entries to notification events, and those to notifications and deliveries.

Entries may become visible out of order on PostgreSQL. Every unprocessed entry of the last day is therefore read,
instead of keeping a high-water mark; the unique key of an event ensures that it is sent once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from msgspec import Struct, field

from applyviz import clock
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.queue import TaskName
from applyviz.records.enums import AuditAction, NotificationKind, Outcome, PlanState, ReviewState, RunState
from applyviz.records.git_enums import FollowEnd
from applyviz.records.models import (
    ApplyRun,
    Approval,
    AuditEntry,
    Delivery,
    Following,
    Notification,
    NotificationEvent,
    Plan,
    ScheduledStart,
    Webhook,
)
from applyviz.workflow.approvals import quorum, requested_reviewers
from applyviz.workflow.approvals.plan_blockers import find_unsafe
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.foundation import access, outbox
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.notifications import recipients
from applyviz.workflow.notifications.choices import find_channels
from applyviz.workflow.plans.live_values import count_outcomes, hidden_positions

_LOOKED_BACK = timedelta(days=1)
_EXPIRING = timedelta(hours=2)
_NOTIFIED = (
    AuditAction.PLAN_COMPLETED,
    AuditAction.REVIEWERS_CHANGED,
    AuditAction.APPROVAL_GIVEN,
    AuditAction.CHANGES_REQUESTED,
    AuditAction.START_CANCELED,
    AuditAction.RUN_STARTED,
    AuditAction.RUN_RETRIED,
    AuditAction.RUN_FINISHED,
    AuditAction.EMERGENCY_APPLIED,
    AuditAction.HISTORY_PUBLISHED,
    AuditAction.FOLLOWING_ENDED,
    AuditAction.FOLLOWING_FAILED,
)
_STARTS: dict[str, NotificationKind] = {
    AuditAction.RUN_STARTED: NotificationKind.RUN_STARTED,
    AuditAction.RUN_RETRIED: NotificationKind.RUN_RETRIED,
}


class _News(Struct, frozen=True):
    """An event before it is stored, and its recipients; `key` identifies it.

    - `plan` None: it is about no plan, and `subject` names what it is about; beside a plan it adds details.
    - `is_quiet`: no notification is sent; `is_personal`: none is sent to webhooks.
    """

    event: NotificationKind
    key: str
    plan: Plan | None
    to: tuple[Person, ...] = ()
    run: ApplyRun | None = None
    by: str = ""
    is_quiet: bool = False
    is_personal: bool = False
    at: datetime = field(default_factory=clock.host_now)
    subject: JSONObject = field(default_factory=dict)

    def facts(self) -> dict[str, JSONValue]:
        """Return the details of a notification: numbers, names, titles; never field values."""
        if self.plan is None:
            return {**self.subject, "by": self.by}
        review = self.plan.review
        subject: dict[str, JSONValue] = {
            "cluster": self.plan.target.cluster.slug,
            "review": {"number": review.number, "title": review.title},
            "plan": {"number": self.plan.number, "digest": self.plan.digest},
            "by": self.by,
            **self.subject,
        }
        if self.run is not None:
            subject["run"] = {"number": self.run.number, "state": self.run.state, "outcomes": count_outcomes(self.run)}
        return subject


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
    if Outcome.DIFFERS in found:
        return NotificationKind.RUN_ATTENTION
    return NotificationKind.RUN_CANCELED if run.state == RunState.CANCELED else NotificationKind.RUN_FINISHED


def _read_plan_made(entry: AuditEntry, plan: Plan) -> Iterator[_News]:
    dropped = quorum.list_dropped(plan)
    if dropped:
        to = recipients.without((*(a.by for a in dropped), plan.review.author), entry.actor_id)
        yield _News(
            NotificationKind.APPROVALS_DROPPED, f"dropped:{entry.pk}", plan, to, by=plan.requested_by.get_username()
        )
    yield from _read_wanted(entry, plan, quorum.count_quorum(plan))


def _name_requested(plan: Plan) -> dict[str, list[str]]:
    asked = requested_reviewers.list_asked(plan.review)
    return {"requested": [person.get_username() for person in asked]} if asked else {}


def _read_wanted(entry: AuditEntry, plan: Plan, found: Quorum) -> Iterator[_News]:
    """Yield that a finished plan waits for approvals: to those who were asked and, unless they are enough, to others.

    - Unacknowledged risks do not hold this back: approvers may acknowledge them themselves. An error of a Secret that
      is compared with live does, but not for webhooks: it would reveal the live value to their readers.
    """
    is_shown = plan.state == PlanState.COMPLETE and not find_unsafe(plan, found.policy, hidden_positions(plan))
    is_told = is_shown and not find_unsafe(plan, found.policy)
    asked, others = recipients.list_requested(plan), recipients.list_others(plan, found)
    by, subject = plan.requested_by.get_username(), _name_requested(plan)
    if is_told and asked:
        key = f"requested:{entry.pk}"
        yield _News(NotificationKind.REVIEW_REQUESTED, key, plan, asked, by=by, is_personal=True, subject=subject)
    is_quiet = not (is_shown and found.missing)
    to = others if is_told else ()
    yield _News(NotificationKind.NEEDS_YOU, f"needs:{entry.pk}", plan, to, by=by, is_quiet=is_quiet, subject=subject)


def _read_reviewers(entry: AuditEntry, plan: Plan) -> Iterator[_News]:
    """Yield the request to those who were asked, and to others that approvals are wanted when too few are asked now.

    - A plan that was not finished yet notifies all of them when it is. The request says nothing about its content.
    """
    made = AuditEntry.objects.filter(review=entry.review, plan=entry.plan, action=AuditAction.PLAN_COMPLETED)
    if plan.review.state != ReviewState.OPEN or not made.filter(pk__lt=entry.pk).exists():
        return
    named, by = entry.detail.get("requested", ()), entry.actor_name
    asked = tuple(one for one in recipients.list_requested(plan) if one.get_username() in named)
    if asked:
        key, subject = f"requested:{entry.pk}", _name_requested(plan)
        yield _News(NotificationKind.REVIEW_REQUESTED, key, plan, asked, by=by, subject=subject)
    found = quorum.count_quorum(plan)
    if not entry.detail.get("withdrawn") or find_unsafe(plan, found.policy):
        return
    known = recipients.list_notified(plan)
    others = tuple(one for one in recipients.list_others(plan, found) if one.pk not in known)
    if others:
        yield _News(NotificationKind.NEEDS_YOU, f"needs:{entry.pk}", plan, others, by=by, is_personal=True)


def _read_run(entry: AuditEntry, plan: Plan) -> Iterator[_News]:
    run = ApplyRun.objects.filter(number=entry.run or 0).select_related("requested_by").first()
    if run is None:
        return
    started = _STARTS.get(entry.action)
    event = _judge_run(run) if started is None else started
    to = recipients.list_concerned(plan, run)
    if started is not None and not entry.detail.get("scheduled"):
        to = recipients.without(to, entry.actor_id)
    by = entry.actor_name if started is NotificationKind.RUN_RETRIED else run.requested_by.get_username()
    yield _News(event, f"run:{event.value}:{entry.pk}", plan, to, run, by=by)


def _read_canceled_start(entry: AuditEntry, plan: Plan) -> _News:
    scheduled = [row.by for row in ScheduledStart.objects.filter(plan=plan).select_related("by")]
    to = recipients.without((*scheduled, plan.review.author, plan.requested_by), entry.actor_id)
    subject = {"why": entry.detail.get("why", "")}
    key = f"unscheduled:{entry.pk}"
    return _News(NotificationKind.START_CANCELED, key, plan, to, by=entry.actor_name, subject=subject)


def _read_following(entry: AuditEntry) -> Iterator[_News]:
    """Yield the news that a followed branch leads to no more plans, unless a person decided so."""
    following = Following.objects.filter(review__number=entry.review or 0).select_related("by", "review__author")
    found = following.order_by("-pk").first()
    plan = None if found is None else Plan.objects.filter(review=found.review).order_by("-number").first()
    ends = {end.value: str(end.label) for end in (FollowEnd.RIGHTS_LOST, FollowEnd.OTHER_MANIFESTS)}
    reason = ends.get(str(entry.detail.get("why")), "")
    if entry.detail.get("paused"):
        reason = str(entry.detail.get("error", ""))
    if found is None or plan is None or not reason:
        return
    author = found.review.author
    sees = access.can(author, Action.VIEW, access.scopes_of(found.review))
    to = recipients.without((found.by, author) if sees else (found.by,), entry.actor_id)
    yield _News(
        NotificationKind.FOLLOWING_ATTENTION,
        f"following:{entry.pk}",
        plan,
        to,
        by=found.by.get_username(),
        subject={"reason": str(reason)[:200]},
    )


def _read_entry(entry: AuditEntry) -> Iterable[_News]:
    if entry.action == AuditAction.HISTORY_PUBLISHED:
        key = f"published:{entry.pk}"
        return (_News(NotificationKind.CHECKPOINT_PUBLISHED, key, None, by=entry.actor_name, subject=entry.detail),)
    if entry.action in (AuditAction.FOLLOWING_ENDED, AuditAction.FOLLOWING_FAILED):
        return _read_following(entry)
    plan = _find_plan(entry)
    if plan is None:
        return ()
    author = recipients.without((plan.review.author, plan.requested_by), entry.actor_id)
    match entry.action:
        case AuditAction.PLAN_COMPLETED:
            return _read_plan_made(entry, plan)
        case AuditAction.REVIEWERS_CHANGED:
            return _read_reviewers(entry, plan)
        case AuditAction.APPROVAL_GIVEN:
            return (_News(NotificationKind.APPROVED, f"approved:{entry.pk}", plan, author, by=entry.actor_name),)
        case AuditAction.CHANGES_REQUESTED:
            return (
                _News(NotificationKind.CHANGES_REQUESTED, f"changes:{entry.pk}", plan, author, by=entry.actor_name),
            )
        case AuditAction.START_CANCELED:
            return (_read_canceled_start(entry, plan),)
        case AuditAction.EMERGENCY_APPLIED:
            to = recipients.without(recipients.list_guardians(plan), entry.actor_id)
            return (_News(NotificationKind.EMERGENCY_APPLIED, f"glass:{entry.pk}", plan, to, by=entry.actor_name),)
        case _:
            return _read_run(entry, plan)


def _list_expiring(now: datetime) -> Iterator[_News]:
    soon = Approval.objects.filter(
        expires_at__gt=now, expires_at__lt=now + _EXPIRING, revoked_at=None, spent_at=None
    ).select_related("by", "plan__review__author", "plan__target__cluster", "plan__requested_by")
    announced = set(
        NotificationEvent.objects.filter(event=NotificationKind.APPROVALS_EXPIRING).values_list("key", flat=True)[:5000]
    )
    for approval in soon:
        key = f"expiring:{approval.pk}"
        if key not in announced:
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
        channels = find_channels(person, news.event)
        if not channels.is_shown and not channels.is_mailed:
            continue
        due = clock.now() if channels.is_mailed else None
        notification = Notification.objects.create(
            notification_event=notification_event, person=person, is_shown=channels.is_shown, mail_due_at=due
        )
        if channels.is_mailed:
            outbox.post(TaskName.SEND_MAIL, notification_id=notification.pk)
    for webhook in () if news.is_personal else webhooks:
        if not webhook.events or news.event.value in webhook.events:
            queue_delivery(webhook, notification_event)


def queue_delivery(webhook: Webhook, notification_event: NotificationEvent) -> Delivery:
    """Queue one webhook delivery of an event, in the surrounding transaction."""
    now = clock.now()
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
    now = clock.host_now()
    sent = Exists(NotificationEvent.objects.filter(entry_id=OuterRef("pk")))
    entries = AuditEntry.objects.filter(~sent, at__gt=now - _LOOKED_BACK, action__in=[a.value for a in _NOTIFIED])
    webhooks = list(Webhook.objects.filter(is_enabled=True, archived_at=None))
    stored = sum(_store_all(list(_read_entry(e)), e, webhooks) for e in entries.order_by("pk")[:500])
    return stored + sum(_store_all([news], None, webhooks) for news in _list_expiring(now))
