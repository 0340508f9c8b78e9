"""A plan and its object changes; immutable once complete (`records/guards.py` sees to it).

Each change is stored twice: masked, for everything that is shown, and sealed, for the sender alone.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import PlanState
from applyviz.records.fields import SealedField
from applyviz.records.models.reviews import Review, Target
from applyviz.records.models.sources import SourceRevision


class Plan(models.Model):
    """All object changes of one source revision against one cluster at one moment.

    - `digest` is keyed; `digest_key_id` says under which key. Same digest, same approvals.
    - `decisions` are the answers to conflicts that it carries out: {object, path, manager, way}.
    - `identity` is as whom it asks the cluster and would be run: {user, groups}, {} the cluster's own credential;
      `account` is as whom the cluster knows that credential: {user, groups}, {} when it does not say.
    - `denied` names what that identity may not do of what would be written.
    - `rules` are the conflict rules that were in force on its cluster when it was planned.
    - `masking` says what is masked besides Secrets, as it was settled when it was planned.
    - `tag_key` makes the tags by which masked values are compared within this plan.
    - `counts` is {operation: number}; `summary` what the sentence needs; `problems` what could not be
      read, each {reason, file, line, column}.
    - `policy_version` names the policies that the digest is bound to, each with its version.
    - `lease_until` and `epoch` let another worker take over planning that was lost.
    """

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="plans")
    target = models.ForeignKey(Target, on_delete=models.PROTECT, related_name="plans")
    revision = models.ForeignKey(SourceRevision, on_delete=models.PROTECT, related_name="plans")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=PlanState.choices, default=PlanState.PLANNING)
    options = models.JSONField()
    decisions = models.JSONField(default=list)
    rules = models.JSONField(default=list)
    identity = models.JSONField(default=dict)
    account = models.JSONField(default=dict)
    denied = models.JSONField(default=list)
    masking = models.JSONField(default=dict)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    digest = models.CharField(max_length=80, blank=True, db_index=True)
    digest_key_id = models.CharField(max_length=40, blank=True)
    tag_key = SealedField()
    cluster_uid = models.CharField(max_length=80, blank=True)
    policy_version = models.TextField(blank=True)
    counts = models.JSONField(default=dict)
    summary = models.JSONField(default=dict)
    problems = models.JSONField(default=list)
    error = models.TextField(blank=True)
    expected = models.PositiveIntegerField(default=0)
    epoch = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["review_id", "number"]
        constraints = [models.UniqueConstraint(fields=["review", "number"], name="one_plan_per_number")]

    def __str__(self) -> str:
        return f"plan {self.number} of review {self.review_id}"


class ObjectChange(models.Model):
    """Everything about one object in a plan.

    - `document` is the masked JSON that pages, exports and audit read; `sealed` the whole of it.
    - `dangers` holds kind and level of each of its risks (`workflow/risks.py`).
    - `effect` is the keyed hash of what this change does; the runner compares it with live.
    """

    plan = models.ForeignKey(Plan, on_delete=models.PROTECT, related_name="changes")
    position = models.PositiveIntegerField()
    step = models.PositiveIntegerField(default=0)
    group = models.CharField(max_length=253, blank=True)
    version = models.CharField(max_length=63)
    kind = models.CharField(max_length=253)
    namespace = models.CharField(max_length=253, blank=True)
    name = models.CharField(max_length=253)
    operation = models.CharField(max_length=20)
    method = models.CharField(max_length=40, blank=True)
    certainty = models.CharField(max_length=20)
    has_effect = models.BooleanField()
    conflicts = models.PositiveIntegerField(default=0)
    risks = models.PositiveIntegerField(default=0)
    highest_risk = models.CharField(max_length=16, blank=True)
    high_risks = models.JSONField(default=list)
    error = models.TextField(blank=True)
    effect = models.CharField(max_length=80)
    document = models.JSONField()
    sealed = SealedField()

    class Meta:
        ordering = ["position"]
        indexes = [
            models.Index(fields=["plan", "position"], name="change_by_position"),
            models.Index(fields=["group", "kind", "namespace", "name"], name="change_by_object"),
            models.Index(fields=["name", "kind"], name="change_by_name"),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.kind} {self.namespace}/{self.name}"
