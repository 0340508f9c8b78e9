"""Notifications of people and other programs: events, recipients, and webhooks.

An event is created once for each entry of the history that is worth a notification; it contains numbers, names and
titles, and no value of any field. A webhook's secret is sealed and never shown again.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import DeliveryState, NotificationKind
from applyviz.records.fields import SealedField
from applyviz.records.models.audit import AuditEntry


class NotificationEvent(models.Model):
    """One event to notify people and webhooks of.

    - `key` identifies its subject, so that it is created only once; `is_quiet`: the event has no recipients.
    - `facts` are the fields that a webhook gets: review, plan, run, cluster, by.
    """

    key = models.CharField(max_length=80, unique=True)
    event = models.CharField(max_length=40, choices=NotificationKind.choices)
    entry = models.ForeignKey(AuditEntry, on_delete=models.PROTECT, null=True, related_name="happenings")
    facts = models.JSONField(default=dict)
    is_quiet = models.BooleanField(default=False)
    at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.key


class Notification(models.Model):
    """The notification of one person of one event: in the product, by email, or both.

    - `mail_due_at` is when to send the email (next), None if there is none or it was sent.
    """

    notification_event = models.ForeignKey(NotificationEvent, on_delete=models.PROTECT, related_name="notifications")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="notifications")
    is_shown = models.BooleanField(default=True)
    read_at = models.DateTimeField(null=True)
    mail_due_at = models.DateTimeField(null=True)
    mail_attempts = models.PositiveSmallIntegerField(default=0)
    mailed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["notification_event", "person"], name="told_once")]
        indexes = [
            models.Index(fields=["person", "is_shown", "read_at"], name="notification_unread"),
            models.Index(fields=["mail_due_at"], name="notification_mail_due"),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} of {self.notification_event_id}"


class NotificationChoice(models.Model):
    """How one person is notified of one kind of event; without a row the default applies."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    event = models.CharField(max_length=40, choices=NotificationKind.choices)
    is_shown = models.BooleanField()
    is_mailed = models.BooleanField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["person", "event"], name="one_choice_per_event")]

    def __str__(self) -> str:
        return f"{self.person_id} {self.event}"


class Webhook(models.Model):
    """An address to notify; `events` are the kinds that it subscribes to, [] for all."""

    name = models.CharField(max_length=80)
    url = models.CharField(max_length=1000)
    secret = SealedField(bound_to=("created_by_id", "created_at"))
    events = models.JSONField(default=list)
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    archived_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """The delivery of one event to one webhook, retried until it is accepted or given up.

    - `identifier` is the id that the receiver sees, the same at every attempt.
    - `due_at` is the time of the (next) attempt; an attempt moves it ahead first, so that two workers never try at
      once.
    """

    webhook = models.ForeignKey(Webhook, on_delete=models.PROTECT, related_name="deliveries")
    notification_event = models.ForeignKey(NotificationEvent, on_delete=models.PROTECT, related_name="deliveries")
    identifier = models.UUIDField(unique=True)
    state = models.CharField(max_length=16, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["webhook", "notification_event"], name="delivered_once")]
        indexes = [models.Index(fields=["state", "due_at"], name="delivery_due")]

    def __str__(self) -> str:
        return f"{self.identifier} {self.state}"
