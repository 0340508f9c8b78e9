"""The scheduled start of a run: one person's order to run one plan digest as soon as nothing blocks it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import ScheduledStartState, StartEnd
from applyviz.records.models.audit import AuditEntry
from applyviz.records.models.plans import Plan
from applyviz.records.models.runs import ApplyRun


class ScheduledStart(models.Model):
    """The order to start a run of one plan digest, between `not_before` and `expires_at`.

    It approves nothing: at the start, the rights of `by`, the approvals, the policy and its windows are checked again.

    - `entry` is the audit entry that records it. `mac` covers digest, person, times and the hash of that entry, like
      the one of an approval (`workflow/audit/approval_macs.py`).
    - `end` says why it ended without a run; `ended_by` is the person who canceled it.
    - `waits_for_rollout` None leaves the choice to the policy.
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="+")
    digest = models.CharField(max_length=80)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    by_name = models.CharField(max_length=150)
    not_before = models.DateTimeField()
    expires_at = models.DateTimeField()
    waits_for_rollout = models.BooleanField(null=True)
    state = models.CharField(max_length=16, choices=ScheduledStartState.choices, default=ScheduledStartState.WAITING)
    end = models.CharField(max_length=24, choices=StartEnd.choices, blank=True)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    run = models.OneToOneField(ApplyRun, on_delete=models.PROTECT, null=True, related_name="+")
    entry = models.OneToOneField(AuditEntry, on_delete=models.PROTECT, null=True, related_name="+")
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan"], condition=models.Q(state="waiting"), name="one_scheduled_start_per_plan"
            )
        ]

    def __str__(self) -> str:
        return f"{self.by_name} scheduled plan {self.plan_id}"
