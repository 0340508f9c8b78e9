"""The number of values of a Secret that a person planned with on one day, to limit guessing by plans."""

from __future__ import annotations

from django.db import models

from applyviz.records.models.clusters import Cluster


class PlannedSecretValue(models.Model):
    """One set of values of one Secret in a person's plans of one day.

    - `human` is the person behind all their accounts; `value` a keyed hash, which only shows equality.
    """

    human = models.CharField(max_length=200)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    day = models.DateField()
    value = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["human", "cluster", "namespace", "name", "day", "value"], name="one_value_a_day"
            )
        ]

    def __str__(self) -> str:
        return f"a value of Secret {self.namespace}/{self.name}"
