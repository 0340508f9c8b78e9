"""Inputs of the playground, kept for a time so that people can share a link to them."""

from __future__ import annotations

from django.db import models


class PlaygroundInput(models.Model):
    """One question under an unguessable key; it has no owner and is deleted when it expires.

    - `key` is the SHA-256 of the key in the link; `content` is sealed under a key derived from it: only people with the
      link can open it, and no worker can.
    """

    key = models.CharField(max_length=64, unique=True)
    content = models.BinaryField()
    created_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"playground {self.pk}"
