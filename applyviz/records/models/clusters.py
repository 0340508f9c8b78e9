"""A target: a sandbox, or a live API server with its sealed credential."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import ClusterKind
from applyviz.records.fields import SealedField


class Cluster(models.Model):
    """A target.

    - `credential` is the sealed connection of a live cluster (a vetted kubeconfig, or a mark that the
      process's own is used); a sandbox holds its HTTP token there.
    - `token_hash` is the SHA-256 of a sandbox's token (256 random bits), "" until a worker has put it there.
    - `uid` is that of namespace kube-system: the identity that a plan's digest is bound to. No two clusters have one.
    - `account` is as whom the cluster knows the credential: {user, groups}, {} when it does not say.
    - A paused cluster starts no plan and no run; an archived one is history alone.
    - `masks_credentials`: whether credentials in plain fields are masked in its plans.
    """

    slug = models.SlugField(unique=True, max_length=63)
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=16, choices=ClusterKind.choices)
    server = models.CharField(max_length=400, blank=True)
    credential = SealedField(null=True)
    token_hash = models.CharField(max_length=64, blank=True)
    uid = models.CharField(max_length=80, blank=True)
    account = models.JSONField(default=dict, blank=True)
    version = models.CharField(max_length=40, blank=True)
    masks_credentials = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    paused_at = models.DateTimeField(null=True)
    pause_reason = models.CharField(max_length=400, blank=True)
    archived_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["uid"], condition=~models.Q(uid=""), name="one_cluster_per_identity")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_sandbox(self) -> bool:
        """Whether it is built in."""
        return self.kind == ClusterKind.SANDBOX
