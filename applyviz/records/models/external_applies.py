"""Verification of live after another tool applied a reviewed plan."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import VerificationState
from applyviz.records.models.plans import Plan


class Verification(models.Model):
    """One verification of every object of a plan that another tool applies.

    - `results` are masked: {position, verdict, differences: [{path, promised, got}], detail}.
    - `lease_until` lets another worker take over a lost verification.
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="verifications")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=16, choices=VerificationState.choices, default=VerificationState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    results = models.JSONField(default=list)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"verification of plan {self.plan_id}: {self.state}"
