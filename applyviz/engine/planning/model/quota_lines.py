"""One resource of a ResourceQuota beside the pods of a plan, as data."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Fit(StrEnum):
    """Whether the pods of a plan fit: `UNSET` when a container sets no amount that the quota asks for."""

    FITS = "fits"
    EXCEEDS = "exceeds"
    UNSET = "unset"
    SCOPED = "scoped"
    UNKNOWN = "unknown"
    UNREAD = "unread"


class QuotaLine(Struct, frozen=True):
    """One resource of one quota; amounts are quantities, "" where they are not known.

    - `status` is that of the answer when the quotas of the namespace could not be read.
    """

    namespace: str
    quota: str
    resource: str
    used: str
    after: str
    hard: str
    fit: Fit
    status: int = 0
