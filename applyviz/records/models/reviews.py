"""A review: the discussion of one intended change, and its target clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models

from applyviz import moments
from applyviz.records.enums import Applier, ReviewState
from applyviz.records.models.clusters import Cluster
from applyviz.records.models.presets import Preset
from applyviz.records.written_queries import WrittenQuery

if TYPE_CHECKING:
    from applyviz.records.models.plans import Plan


class Review(models.Model):
    """The title, description, author and state of a review.

    - `preset`: what filled the form, at `preset_version`; `preset_changes`: the fields that its author changed, each
      with the text of the `preset` and the one `used`.
    - `requested_reviewers`: the ids of the accounts that its author asked for a review. Nothing that may run depends on
      them.
    """

    number = models.PositiveIntegerField(unique=True)
    title = models.CharField(max_length=200)
    reason = models.TextField(blank=True)
    ticket = models.CharField(max_length=400, blank=True)
    state = models.CharField(max_length=16, choices=ReviewState.choices, default=ReviewState.OPEN)
    applied_by = models.CharField(max_length=16, choices=Applier.choices, default=Applier.SELF, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reviews")
    preset = models.ForeignKey(Preset, on_delete=models.PROTECT, null=True, related_name="reviews")
    preset_version = models.PositiveIntegerField(default=0)
    preset_changes = models.JSONField(default=list)
    requested_reviewers = models.JSONField(default=list)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.number}: {self.title}"

    @property
    def latest_plan(self) -> Plan | None:
        """The current plan: the one with the greatest number."""
        return moments.read_once(("latest plan", self.pk), self._read_latest_plan)

    def _read_latest_plan(self) -> Plan | None:
        plan = _LATEST.find(self.pk)
        if plan is not None:
            plan.review = self
        return plan

    def keep_latest_plan(self, plan: Plan) -> None:
        """Keep the current plan, which a list has read already, for what else its page asks."""
        moments.keep(("latest plan", self.pk), plan)


class Target(models.Model):
    """One target cluster of a review."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="targets")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="targets")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "cluster"], name="one_target_per_cluster")]

    def __str__(self) -> str:
        return f"{self.review_id} on {self.cluster_id}"


_LATEST = WrittenQuery(lambda review: Review(pk=review).plans.order_by("-number")[:1])


class ReviewScope(models.Model):
    """A namespace of a review, "" for cluster-scoped objects; people need access to all of them to see the review."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="scopes")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    namespace = models.CharField(max_length=253, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["review", "cluster", "namespace"], name="one_place_per_review"),
        ]

    def __str__(self) -> str:
        return f"{self.review_id}: {self.cluster_id}/{self.namespace}"
