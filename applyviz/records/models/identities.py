"""Impersonation of people in a cluster: mappings are added and ended, never changed (`records/trigger_rules.py`)."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.models.clusters import Cluster
from applyviz.records.models.people import Team


class IdentityMapping(models.Model):
    """The user and groups to impersonate for a person, for a team, or (neither) for everyone else.

    - `number` counts the mappings of a cluster; a change ends one and creates the next.
    - `{name}` in `user` is replaced by the name of the account.
    - A cluster with a mapping without a valid `mac`, or other mappings than the audit log records, gives nobody an
      identity (`workflow/clusters/impersonation.py`).
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="mappings")
    number = models.PositiveIntegerField()
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="mappings")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="mappings")
    user = models.CharField(max_length=253)
    groups = models.JSONField(default=list)
    note = models.TextField(blank=True)
    since = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["cluster", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "number"], name="one_mapping_per_number"),
            models.UniqueConstraint(
                fields=["cluster", "person"],
                condition=models.Q(ended_at=None, person__isnull=False),
                name="one_mapping_per_person",
            ),
            models.UniqueConstraint(
                fields=["cluster", "team"],
                condition=models.Q(ended_at=None, team__isnull=False),
                name="one_mapping_per_team",
            ),
            models.UniqueConstraint(
                fields=["cluster"],
                condition=models.Q(ended_at=None, person=None, team=None),
                name="one_mapping_for_everybody",
            ),
            models.CheckConstraint(
                condition=models.Q(person=None) | models.Q(team=None), name="mapping_of_a_person_or_a_team"
            ),
        ]

    def __str__(self) -> str:
        return f"mapping {self.number} of {self.cluster_id}: {self.user}"
