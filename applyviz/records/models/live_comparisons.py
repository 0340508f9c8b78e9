"""The comparison of an open plan with live: one row per plan, which a worker fills again and again."""

from __future__ import annotations

from django.db import models

from applyviz.records.enums import LiveComparisonState
from applyviz.records.models.plans import Plan


class LiveComparison(models.Model):
    """Differences between live and the reviewed state of a plan.

    - `state` is that of the last finished comparison; a new one is under way while `finished_at` is before
      `requested_at`, or None.
    - `same` holds, by position, {uid, resourceVersion} of objects whose effect was found to be the reviewed one.
    - `objects_differing` lists what differs, masked: {position, how, fields: [{path, reviewed, live}]}.
    - `error` says why, or what, could not be compared.
    """

    plan = models.OneToOneField(Plan, on_delete=models.PROTECT, related_name="live_comparison")
    state = models.CharField(max_length=16, choices=LiveComparisonState.choices, default=LiveComparisonState.NOT_YET)
    requested_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    same = models.JSONField(default=dict)
    objects_differing = models.JSONField(default=list)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"plan {self.plan_id}: {self.state}"

    @property
    def is_running(self) -> bool:
        """Whether a comparison was requested and is not finished."""
        return self.finished_at is None or self.finished_at < self.requested_at
