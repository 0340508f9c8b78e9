"""When the scheduled work of the installation last ran, so that pages can say that it stopped."""

from __future__ import annotations

from django.db import models


class Heartbeat(models.Model):
    """The last time that a part of the installation did its work: one row per part."""

    part = models.CharField(primary_key=True, max_length=20)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.part} {self.at:%Y-%m-%d %H:%M:%S}"
