"""Credentials of git repositories: a sealed token or private key for one address, and who may use it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.fields import SealedField
from applyviz.records.git_enums import CredentialKind
from applyviz.records.models.people import Team


class RepositoryCredential(models.Model):
    """What a worker signs in with at an address and everything below it.

    - `secret` is the token or the private key; None once the credential was removed.
    - `public_key` is the half of a deploy key that the git host registers; `host_keys` are the only ones accepted.
    - `team`: whose members may use it; None for every author.
    - Only a row with a valid `mac` is used (`workflow/foundation/row_macs.py`).
    - `tested_at`, `test_error`: the last test, "" if it worked. `secret_at`: when the secret was entered.
    """

    prefix = models.CharField(max_length=1000)
    kind = models.CharField(max_length=16, choices=CredentialKind.choices)
    username = models.CharField(max_length=120, blank=True)
    secret = SealedField(null=True, bound_to=("prefix", "created_at"))
    public_key = models.CharField(max_length=2000, blank=True)
    host_keys = models.JSONField(default=list)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    secret_at = models.DateTimeField()
    tested_at = models.DateTimeField(null=True)
    test_error = models.CharField(max_length=500, blank=True)
    archived_at = models.DateTimeField(null=True)
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["prefix", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["prefix", "team"],
                condition=models.Q(archived_at=None, team__isnull=False),
                name="one_credential_per_team",
            ),
            models.UniqueConstraint(
                fields=["prefix"], condition=models.Q(archived_at=None, team=None), name="one_credential_for_everybody"
            ),
        ]

    def __str__(self) -> str:
        return self.prefix
