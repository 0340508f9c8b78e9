"""The tamper-evident history, and the outbox of messages that must not get lost.

Entries are only ever added, each to the chain of its run or to the global chain; triggers refuse every change except
the removal of a body that a retention policy requires.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models


class AuditEntry(models.Model):
    """One entry of the history; the actor's name and roles are copied, so that they stay as they were then.

    - `chain` is 0 for the global chain, else the number of the apply run; `sequence` counts within it.
    - `hash` covers `detail_hash`, so that a body can be removed.
    - `detail_hash` is sha256 over `salt` and the detail; `pruned_by` is the global sequence of the entry of the
      retention policy that removed detail and salt.
    - `words` is the full text for search (`records/full_text.py`); it is derived, and verified against the hashed
      fields.
    """

    chain = models.PositiveBigIntegerField(default=0)
    sequence = models.PositiveBigIntegerField()
    at = models.DateTimeField(db_index=True)
    action = models.CharField(max_length=40)  # an `AuditAction`; actions of older or newer versions stay readable
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    actor_name = models.CharField(max_length=150)
    roles = models.CharField(max_length=400, blank=True)
    session = models.CharField(max_length=20, blank=True)
    address = models.CharField(max_length=45, blank=True)
    agent = models.CharField(max_length=120, blank=True)
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
    salt = models.CharField(max_length=32, blank=True)
    detail_hash = models.CharField(max_length=64, blank=True)
    words = models.TextField(blank=True)
    pruned_by = models.PositiveBigIntegerField(null=True)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["chain", "sequence"], name="audit_one_per_place")]
        indexes = [
            models.Index(fields=["kind", "namespace", "name", "-id"], name="audit_by_object"),
            models.Index(fields=["namespace", "-id"], name="audit_by_namespace"),
            models.Index(fields=["name", "-id"], name="audit_by_name"),
            models.Index(fields=["actor_name", "-id"], name="audit_by_person"),
            models.Index(fields=["field_manager", "-id"], name="audit_by_manager"),
            models.Index(fields=["action", "-id"], name="audit_by_action"),
            models.Index(fields=["cluster", "-id"], name="audit_by_cluster"),
            models.Index(fields=["review"], name="audit_by_review"),
            models.Index(fields=["run"], name="audit_by_run"),
            models.Index(fields=["pruned_by"], name="audit_by_pruning", condition=models.Q(pruned_by__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.chain}:{self.sequence} {self.actor_name} {self.action}"


class ChainEnd(models.Model):
    """The end of one chain: one row, locked while an entry is added; `anchored` is what the global chain names."""

    chain = models.PositiveBigIntegerField(primary_key=True, default=0)
    sequence = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="0" * 64)
    anchored = models.PositiveBigIntegerField(default=0)
    anchored_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.chain} {self.sequence} {self.hash[:12]}"


class RetentionPolicy(models.Model):
    """How long bodies of audit entries are kept; hashes stay forever.

    - `actions` are the kinds of entries that it applies to, [] means all but those that verification needs.
    - `has_requests`: also remove requests and answers from the journals of finished runs.
    - Without a valid `mac` it removes nothing (`workflow/foundation/row_macs.py`).
    """

    name = models.CharField(max_length=80, unique=True)
    days = models.PositiveIntegerField()
    actions = models.JSONField(default=list, blank=True)
    has_requests = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class OutboxMessage(models.Model):
    """A task to enqueue; written in the transaction that needs it, sent after the commit."""

    task = models.CharField(max_length=60)
    ids = models.JSONField()
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, db_index=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.task} {self.ids}"
