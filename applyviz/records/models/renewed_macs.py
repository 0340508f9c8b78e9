"""MACs of stored rows under a later approval key; the rows themselves stay as they were written."""

from __future__ import annotations

from django.db import models


class RenewedMac(models.Model):
    """The MAC of a row under a later key than the one it was stored with; rows are only ever added.

    - `kind`: the name of the model; `row`: its primary key. `mac` confirms what the row says together with the MAC in
      the row (`workflow/foundation/renewed_macs.py`).
    """

    kind = models.CharField(max_length=40)
    row = models.PositiveBigIntegerField()
    mac = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "row", "mac"], name="one_mac_of_a_key")]

    def __str__(self) -> str:
        return f"MAC of {self.kind} {self.row}"
