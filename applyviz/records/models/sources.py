"""Frozen manifests: a source revision and its files, byte for byte, sealed; and their parsed form."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.fields import SealedField


class SourceRevision(models.Model):
    """The files of one intended change, frozen at one time, with digest and provenance.

    - Digests are keyed, with a `salt` of this revision: they reveal neither bytes nor that two revisions are equal.
    - `mac` proves who brought the files and the commits that they come from (`workflow/foundation/row_macs.py`).
    """

    digest = models.CharField(max_length=80, db_index=True)
    salt = models.CharField(max_length=32, blank=True)
    provenance = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    mac = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return self.digest[:16]


class ParsedSource(models.Model):
    """The parsed form of the files of a source revision, so that they are parsed once.

    - Made and checked by `workflow/plans/source_runs/parsed_sources.py`.
    - `reader` names the version of the reader; `mac` covers reader, files and content under the key of workers.
    """

    revision = models.OneToOneField(SourceRevision, on_delete=models.PROTECT, related_name="parsed")
    reader = models.CharField(max_length=64)
    mac = models.CharField(max_length=64)
    content = SealedField(bound_to=("revision_id", "reader", "mac"))

    def __str__(self) -> str:
        return f"parsed source {self.revision_id}"


class SourceFile(models.Model):
    """One frozen file of a source revision."""

    revision = models.ForeignKey(SourceRevision, on_delete=models.PROTECT, related_name="files")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=400)
    content = SealedField(bound_to=("revision_id", "position"))
    digest = models.CharField(max_length=80)
    size = models.PositiveIntegerField()
    provenance = models.JSONField(default=dict)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["revision", "position"], name="one_file_per_position")]

    def __str__(self) -> str:
        return self.name
