"""The storage of sandbox clusters: objects, the last changes, the revision counter, small values."""

from __future__ import annotations

from django.db import models

from applyviz.records.fields import SealedField
from applyviz.records.models.clusters import Cluster


class SandboxState(models.Model):
    """The write lock of one sandbox, its newest resourceVersion, and the last one whose change was compacted."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True, related_name="sandbox")
    revision = models.BigIntegerField(default=0)
    compacted = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.cluster_id}@{self.revision}"


class SandboxObject(models.Model):
    """One stored object, sealed as a whole: it may be a Secret, or contain values of one."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="sandbox_objects")
    group = models.CharField(max_length=253, blank=True)
    plural = models.CharField(max_length=253)
    namespace = models.CharField(max_length=253, blank=True)
    name = models.CharField(max_length=253)
    body = SealedField(bound_to=("cluster_id", "group", "plural", "namespace", "name"))

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "group", "plural", "namespace", "name"], name="one_sandbox_object_per_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.plural} {self.namespace}/{self.name}"


class SandboxChange(models.Model):
    """One write of one object, for watches: before and after it, sealed together; `size` of the sealed bytes."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="sandbox_changes")
    revision = models.BigIntegerField()
    group = models.CharField(max_length=253, blank=True)
    plural = models.CharField(max_length=253)
    namespace = models.CharField(max_length=253, blank=True)
    name = models.CharField(max_length=253)
    body = SealedField(bound_to=("cluster_id", "revision", "group", "plural", "namespace", "name"))
    size = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "revision"], name="one_sandbox_change_per_revision")]

    def __str__(self) -> str:
        return f"{self.plural} {self.namespace}/{self.name}@{self.revision}"


class SandboxMeta(models.Model):
    """A small value of one sandbox, by name."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="sandbox_meta")
    name = models.CharField(max_length=120)
    value = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="one_sandbox_value_per_name")]

    def __str__(self) -> str:
        return self.name
