"""Reviewing: resolutions, acknowledged risks, comments, viewed objects, approvals of one plan digest.

The database itself refuses an approval by a person who wrote, edited, resolved or requested the plan, under any of
their accounts, a second approval by the same person, and any change to a spent one (`records/trigger_rules.py`).
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.models.audit import AuditEntry
from applyviz.records.models.plans import Plan
from applyviz.records.models.reviews import Review


class Resolution(models.Model):
    """The resolution of one conflict: object, field (`path` for people, `elements` for the engine), choice.

    The latest one for a field counts; plans contain those that they apply. A withdrawn resolution stays in the table.
    """

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="decisions")
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    object_key = models.CharField(max_length=1100)
    path = models.TextField(blank=True)
    elements = models.JSONField(default=list)
    manager = models.CharField(max_length=128, blank=True)
    choice = models.CharField(max_length=40)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField()
    undone_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    undone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.choice} {self.object_key}"


class Acknowledgment(models.Model):
    """The acknowledgment of one kind of risk of one object, or (without an `object_key`) of a whole plan.

    It holds in its review while `effect`, the keyed hash of what happens to the object, stays the same; for a plan that
    is its digest. Without a valid `mac` it does not count (`workflow/foundation/row_macs.py`).
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="+")
    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="acknowledgments")
    effect = models.CharField(max_length=80)
    object_key = models.CharField(max_length=1100)
    risk = models.CharField(max_length=40)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    note = models.TextField(blank=True)
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["review", "effect", "object_key", "risk", "by"],
                condition=models.Q(withdrawn_at=None),
                name="one_acknowledgment_per_person",
            )
        ]

    def __str__(self) -> str:
        return f"{self.by_id} acknowledged {self.risk} of {self.object_key}"


class Comment(models.Model):
    """A comment on a review, an object or a field; `earlier` keeps each text before it was edited: [{at, text}].

    - `lines`: the lines of the object that it is about (`workflow/approvals/commented_lines.py`), "" for none.
    - `mac` confirms all of it but whether it is resolved (`workflow/foundation/row_macs.py`).
    """

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="comments")
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, null=True, related_name="comments")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    object_key = models.CharField(max_length=1100, blank=True)
    path = models.TextField(blank=True)
    lines = models.CharField(max_length=40, blank=True)
    text = models.TextField()
    earlier = models.JSONField(default=list)
    created_at = models.DateTimeField()
    edited_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    resolved_at = models.DateTimeField(null=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.text[:60]


class CollectedComment(models.Model):
    """A comment that its author has not sent; only the author sees it, and sending or removing deletes it.

    - `plan` is the plan that the author saw.
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    object_key = models.CharField(max_length=1100, blank=True)
    path = models.TextField(blank=True)
    lines = models.CharField(max_length=40, blank=True)
    text = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.text[:60]


class ViewedObject(models.Model):
    """A mark that one person viewed one object of a plan; it holds for every plan with the same digest."""

    digest = models.CharField(max_length=80)
    object_key = models.CharField(max_length=1100)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["digest", "by", "object_key"], name="viewed_once")]

    def __str__(self) -> str:
        return f"{self.by_id} saw {self.object_key}"


class Approval(models.Model):
    """One person's approval of one plan digest; revocable until it is spent, spent once, on `run`.

    It counts for every plan of the review with that digest, until `expires_at`.

    - `entry` is the audit entry that records it. `mac` covers digest, person, time and the hash of that entry under a
      key that the database does not contain (`workflow/audit/approval_macs.py`).
    - `is_sole`: the approver has the role by grants of the sole administrator.
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="approvals")
    digest = models.CharField(max_length=80)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="approvals")
    by_name = models.CharField(max_length=150)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    spent_at = models.DateTimeField(null=True)
    run = models.ForeignKey("records.ApplyRun", on_delete=models.PROTECT, null=True, related_name="approvals")
    entry = models.OneToOneField(AuditEntry, on_delete=models.PROTECT, null=True, related_name="+")
    mac = models.CharField(max_length=64, blank=True)
    is_sole = models.BooleanField(default=False)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "digest", "by"], condition=models.Q(revoked_at=None), name="one_approval_per_person"
            ),
            models.CheckConstraint(
                condition=models.Q(revoked_at=None) | models.Q(spent_at=None), name="spent_is_not_revoked"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.by_name} on plan {self.plan_id}"


class ChangeRequest(models.Model):
    """A request for changes to one plan digest; nothing with that digest runs until it is withdrawn.

    - Without a valid `mac` it is open, for every plan of its review (`workflow/foundation/row_macs.py`).
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="change_requests")
    digest = models.CharField(max_length=80)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    note = models.TextField()
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.by_id} objects to plan {self.plan_id}"


class EmergencyApply(models.Model):
    """A run without the approvals that the policy requires; `missing` says what it lacked.

    `entry` and `mac` authenticate it like an approval.
    """

    plan = models.OneToOneField(Plan, on_delete=models.PROTECT, related_name="emergency_apply")
    digest = models.CharField(max_length=80)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    by_name = models.CharField(max_length=150)
    reason = models.TextField()
    ticket = models.CharField(max_length=400)
    missing = models.JSONField(default=list)
    policy_version = models.TextField(blank=True)
    created_at = models.DateTimeField()
    entry = models.OneToOneField(AuditEntry, on_delete=models.PROTECT, null=True, related_name="+")
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.by_name} ran plan {self.plan_id} without approval"
