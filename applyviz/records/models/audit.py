"""The tamper-evident history, and the outbox of messages that must not get lost.

Entries are only ever added: triggers refuse every change, and each entry's hash covers the one before.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import AuditAction


class AuditEntry(models.Model):
    """One line of the history; the actor's name is copied, so that it stays when the person goes."""

    sequence = models.PositiveBigIntegerField(unique=True)
    at = models.DateTimeField(db_index=True)
    action = models.CharField(max_length=40, choices=AuditAction.choices)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    actor_name = models.CharField(max_length=150)
    request_id = models.CharField(max_length=64, blank=True)
    cluster = models.CharField(max_length=63, blank=True)
    review = models.PositiveIntegerField(null=True)
    plan = models.PositiveIntegerField(null=True)
    run = models.PositiveIntegerField(null=True)
    group = models.CharField(max_length=253, blank=True)
    kind = models.CharField(max_length=253, blank=True)
    namespace = models.CharField(max_length=253, blank=True)
    name = models.CharField(max_length=253, blank=True)
    field_manager = models.CharField(max_length=128, blank=True)
    plan_digest = models.CharField(max_length=80, blank=True)
    detail = models.JSONField(default=dict)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["-sequence"]
        indexes = [
            models.Index(fields=["kind", "namespace", "name", "-sequence"], name="audit_by_object"),
            models.Index(fields=["namespace", "-sequence"], name="audit_by_namespace"),
            models.Index(fields=["actor_name", "-sequence"], name="audit_by_person"),
            models.Index(fields=["field_manager", "-sequence"], name="audit_by_manager"),
            models.Index(fields=["action", "-sequence"], name="audit_by_action"),
            models.Index(fields=["cluster", "-sequence"], name="audit_by_cluster"),
            models.Index(fields=["review"], name="audit_by_review"),
            models.Index(fields=["run"], name="audit_by_run"),
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.actor_name} {self.action}"


class AuditHead(models.Model):
    """The end of the chain: one row, locked while an entry is added."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    sequence = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="0" * 64)

    def __str__(self) -> str:
        return f"{self.sequence} {self.hash[:12]}"


class OutboxMessage(models.Model):
    """A task to be asked for; written in the transaction that needs it, sent after the commit."""

    task = models.CharField(max_length=60)
    ids = models.JSONField()
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, db_index=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.task} {self.ids}"
