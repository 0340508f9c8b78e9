"""Findings of scans in live clusters: changes that no run explains, and objects that differ from what was applied.

A scan reads a bounded number of objects; a finding stays in the table, with the time when it was last seen.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import FindingSort
from applyviz.records.models.clusters import Cluster


class ClusterScan(models.Model):
    """One scan of the live objects of a cluster.

    - `lease_until` lets another worker take over a lost scan; `is_cut` says that objects were left out.
    - `since`: it looks only at what runs wrote that ended since then; None: at the whole cluster.
    - `unread` names kinds that could not be listed, `problem` says why the scan failed.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="scans")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    since = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    objects_read = models.PositiveIntegerField(default=0)
    is_cut = models.BooleanField(default=False)
    unread = models.JSONField(default=list)
    problem = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster"], condition=models.Q(finished_at=None), name="one_scan_at_a_time")
        ]

    def __str__(self) -> str:
        return f"scan {self.pk} of {self.cluster_id}"


class LiveFinding(models.Model):
    """A live change that no run explains.

    - `key` is derived from the content of the finding, so that a repeated finding is not added twice.
    - `changed_at` is of our clock, like every other column, although the cluster dates changes by its own.
    - `fields` are paths for a change, {path, promised, live} (masked) for drift.
    - `run` is the number of the last run that wrote the object.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="findings")
    key = models.CharField(max_length=64)
    sort = models.CharField(max_length=16, choices=FindingSort.choices)
    group = models.CharField(max_length=253, blank=True)
    version = models.CharField(max_length=63, blank=True)
    kind = models.CharField(max_length=253)
    namespace = models.CharField(max_length=253, blank=True)
    name = models.CharField(max_length=253)
    manager = models.CharField(max_length=128, blank=True)
    operation = models.CharField(max_length=16, blank=True)
    subresource = models.CharField(max_length=63, blank=True)
    changed_at = models.DateTimeField(null=True)
    fields = models.JSONField(default=list)
    run = models.PositiveIntegerField(null=True)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    gone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["kind", "namespace", "name", "id"]
        constraints = [models.UniqueConstraint(fields=["cluster", "key"], name="one_finding_per_key")]
        indexes = [
            models.Index(fields=["cluster", "gone_at", "sort"], name="finding_by_state"),
            models.Index(fields=["changed_at"], name="finding_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.sort} {self.kind} {self.namespace}/{self.name}"
