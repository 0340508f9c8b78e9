"""Requests of pages to workers: a question by ids, and an answer that may be shown."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.fields import SealedField
from applyviz.records.models.clusters import Cluster
from applyviz.records.worker_enums import WorkerRequestKind, WorkerRequestState


class WorkerRequest(models.Model):
    """One question to a worker; it is deleted some minutes after it was answered.

    - `key` is the same for the same question of the same person; `asked_by` is None for a question without a person.
    - `question` contains ids and names, `sealed` what only a worker may read (a kubeconfig, a request to a sandbox).
    - `result` is masked; `sealed_result` is sealed under the one-time key `reply_to`, which the asking process holds.
    - `reasons` and `status` say why it was refused. After `expires_at` it is not answered any more.
    - Without a valid `mac`, a worker does not answer it, and no page uses its answer
      (`workflow/foundation/row_macs.py`).
    """

    kind = models.CharField(max_length=16, choices=WorkerRequestKind.choices)
    key = models.CharField(max_length=64, db_index=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, null=True, related_name="+")
    question = models.JSONField(default=dict)
    sealed = SealedField(null=True, bound_to=("key", "created_at"))
    reply_to = models.CharField(max_length=80, blank=True)
    origin = models.JSONField(default=dict)
    state = models.CharField(max_length=16, choices=WorkerRequestState.choices, default=WorkerRequestState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    result = models.JSONField(null=True)
    sealed_result = models.BinaryField(null=True)
    reasons = models.JSONField(default=list)
    status = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(db_index=True)
    expires_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"worker request {self.pk}: {self.kind}, {self.state}"

    @property
    def answer_location(self) -> str:
        """Return the location that binds a sealed answer to this request."""
        return f"records_workerrequest.sealed_result {self.pk}"
