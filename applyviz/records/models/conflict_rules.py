"""Conflict rules: resolutions that apply to every later plan of a cluster, approved by two people.

One person proposes a rule, and it is active once another one approved it; the database refuses one's own approval
(`records/trigger_rules.py`). Nothing is deleted: an ended rule records who ended it, and why.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from applyviz.records.enums import RuleState
from applyviz.records.models.clusters import Cluster
from applyviz.records.models.plans import Plan


class ConflictRule(models.Model):
    """The saved resolution for one field of the objects that it names.

    - `kind` and `group` name the kind, `name` is a pattern with `*`; `namespace` "" means any.
    - `elements` is the field for the engine, `path` for people.
    - `manager` is the field manager that it applies to, "" for any; `resolution` what it does, or ignoring the field in
      comparisons.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="rules")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=RuleState.choices, default=RuleState.PROPOSED)
    group = models.CharField(max_length=253, blank=True)
    kind = models.CharField(max_length=253)
    namespace = models.CharField(max_length=253, blank=True)
    name = models.CharField(max_length=253)
    path = models.TextField()
    elements = models.JSONField()
    manager = models.CharField(max_length=128, blank=True)
    resolution = models.CharField(max_length=40)
    reason = models.TextField()
    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="+")
    proposed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField()
    agreed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    agreed_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)
    end_note = models.TextField(blank=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["cluster_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "number"], name="one_rule_per_number"),
            models.CheckConstraint(
                condition=Q(agreed_by=None) | ~Q(agreed_by=F("proposed_by")), name="rule_needs_two_people"
            ),
            models.CheckConstraint(
                condition=~Q(state=RuleState.IN_FORCE) | Q(agreed_by__isnull=False), name="rule_in_force_was_agreed"
            ),
        ]

    def __str__(self) -> str:
        return f"rule {self.number}: {self.resolution} {self.path}"
