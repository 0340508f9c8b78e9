"""Presets: saved options of a new review, for a team and a cluster."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.models.clusters import Cluster
from applyviz.records.models.people import Team


class Preset(models.Model):
    """What the form of a new review is filled with: a name for it, who may use it, and the options.

    - `team`: whose members may use it; None for every author. `cluster`: None lets the author choose.
    - `title`: of its reviews, "" for the name. `options`: the text of each other field of the form, "" for an empty
      one and none for its default; no manifests, values or credentials.
    - `version`: 1, then one more with each change; `changed_by` is None for the operator of the server.
    """

    slug = models.SlugField(max_length=63)
    name = models.CharField(max_length=120)
    description = models.CharField(max_length=400, blank=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, null=True, related_name="+")
    title = models.CharField(max_length=200, blank=True)
    options = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    changed_at = models.DateTimeField()
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    archived_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["slug"], condition=models.Q(archived_at=None), name="one_preset_per_slug"),
        ]

    def __str__(self) -> str:
        return self.slug
