"""What people put into the playground, kept for a time so that they can share a link to it."""

from __future__ import annotations

from django.db import models

from applyviz.records.fields import SealedField


class PlaygroundInput(models.Model):
    """One question under an unguessable key; it belongs to nobody and goes when its time is over."""

    key = models.CharField(max_length=64, unique=True)
    content = SealedField()
    created_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"playground {self.pk}"
