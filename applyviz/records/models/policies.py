"""Policies: the requirements for a run on some clusters and namespaces, in immutable versions."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Policy(models.Model):
    """A policy by its name; `number` is its active version.

    - It is archived only with a valid `mac` (`workflow/foundation/row_macs.py`).
    """

    slug = models.SlugField(unique=True, max_length=63)
    number = models.PositiveIntegerField(default=0)
    archived_at = models.DateTimeField(null=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return f"{self.slug}@{self.number}"


class PolicyVersion(models.Model):
    """One version of a policy: its scope, and its rules (`workflow/policies/rules.py`).

    - Patterns are those of grants; `is_cluster_scoped`: it also applies to cluster-scoped objects.
    - `confirmed_by` is the second administrator, of a version that requires less than the one before.
    - `entry` is the audit entry that records it; a version without a valid `mac` lets nothing run.
    """

    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    cluster_pattern = models.CharField(max_length=63, default="*")
    namespace_pattern = models.CharField(max_length=63, default="*")
    is_cluster_scoped = models.BooleanField(default=True)
    rules = models.JSONField(default=dict)
    note = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    confirmed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    entry = models.OneToOneField("records.AuditEntry", on_delete=models.PROTECT, null=True, related_name="+")
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["policy", "-number"]
        constraints = [models.UniqueConstraint(fields=["policy", "number"], name="one_version_per_number")]

    def __str__(self) -> str:
        return f"{self.policy_id}@{self.number}"
