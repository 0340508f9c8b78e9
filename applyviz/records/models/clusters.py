"""A target: a sandbox, or a live API server with its sealed credential."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import ClusterKind
from applyviz.records.fields import SealedField


class Cluster(models.Model):
    """A target.

    - `credential` is the sealed connection of a live cluster (a checked kubeconfig, or a mark that the process's own is
      used); for a sandbox it is its HTTP token.
    - `token_hash` is the keyed hash of slug and token of a sandbox, "" until a worker has set it.
    - `uid` is that of namespace kube-system: the identity that a plan's digest is bound to. It is unique among
      clusters.
    - `account` is the account of the credential in the cluster: {user, groups}, {} if the cluster does not report it.
    - A paused cluster starts no plan and no run; an archived one has only its history.
    - `simulates_workloads`: whether Pods of workloads appear in a sandbox and become ready.
    - `masks_credentials`: whether credentials in plain fields are masked in its plans; off only with a valid `mac`
      (`workflow/foundation/row_macs.py`).
    """

    slug = models.SlugField(unique=True, max_length=63)
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=16, choices=ClusterKind.choices)
    server = models.CharField(max_length=400, blank=True)
    credential = SealedField(null=True, bound_to=("slug",))
    token_hash = models.CharField(max_length=64, blank=True)
    uid = models.CharField(max_length=80, blank=True)
    account = models.JSONField(default=dict, blank=True)
    version = models.CharField(max_length=40, blank=True)
    simulates_workloads = models.BooleanField(default=False)
    masks_credentials = models.BooleanField(default=True)
    mac = models.CharField(max_length=64, blank=True)
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
        """Whether the cluster is a sandbox."""
        return self.kind == ClusterKind.SANDBOX
