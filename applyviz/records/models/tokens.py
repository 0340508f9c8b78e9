"""Access of programs: tokens, of which only a hash is kept, and the service accounts of pipelines.

The database itself refuses an approval by a service account, and an approval by its owner of what it requested; the
scope and the expiry of a token are never changed (`records/trigger_rules.py`).
"""

from __future__ import annotations

from django.conf import settings
from django.db import models

from applyviz.records.enums import TokenScope


class ServiceAccount(models.Model):
    """The account of a program, owned by a person: both count as one human, and the program never approves.

    - Without a valid `mac`, its owner can neither create nor use its tokens (`workflow/foundation/row_macs.py`).
    """

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, primary_key=True, related_name="service"
    )
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="services")
    purpose = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    mac = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["person__username"]

    def __str__(self) -> str:
        return f"{self.person_id} of {self.owner_id}"


class ApiToken(models.Model):
    """A token by which a program acts as an account, within a scope and until it expires; shown once.

    - `hint` is its beginning; `token_hash` its keyed hash, bound to account, creator, scope and expiry.
    - `minute` and `asked` count the requests of one minute, for the limit.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="api_tokens")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=120)
    scope = models.CharField(max_length=8, choices=TokenScope.choices)
    hint = models.CharField(max_length=16)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    last_used_from = models.CharField(max_length=45, blank=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    minute = models.PositiveBigIntegerField(default=0)
    asked = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.hint}… of {self.person_id}"
