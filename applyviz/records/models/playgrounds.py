"""What people put into the playground, kept for a time so that they can share a link to it."""

from __future__ import annotations

from django.db import models


class PlaygroundInput(models.Model):
    """One question under an unguessable key; it belongs to nobody and goes when its time is over.

    - `key` is the SHA-256 of the key in the link; `content` is sealed under what that key gives: who has the link
      can open it, and nobody else, no worker either.
    """

    key = models.CharField(max_length=64, unique=True)
    content = models.BinaryField()
    created_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"playground {self.pk}"
