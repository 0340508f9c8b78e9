"""A review that reverts a run: the run, and the limits and side effects of the revert."""

from __future__ import annotations

from django.db import models

from applyviz.records.models.reviews import Review
from applyviz.records.models.runs import ApplyRun


class Undo(models.Model):
    """The link between a review and the run that it would revert.

    - `notes` are sentences about limits and side effects; `moved` are, by the number of a plan, those about fields that
      changed since the run and are reverted nevertheless. None contains a value of a field.
    """

    review = models.OneToOneField(Review, on_delete=models.PROTECT, related_name="undoes")
    run = models.ForeignKey(ApplyRun, on_delete=models.PROTECT, related_name="undone_by")
    notes = models.JSONField(default=list)
    moved = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"review {self.review_id} undoes run {self.run_id}"
