"""Rate limits: counters of attempts in a fixed number of buckets in the database.

Names and addresses are hashed into buckets, so that an attacker cannot fill a table, displace old counts, or reset them
by a restart. Two people in one bucket share a count; the limits leave room for that.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta

from django.db.models import F

from applyviz.records.enums import LimitKind
from applyviz.records.keyed_hashes import web_key
from applyviz.records.models import SignInLimit

BUCKETS = 2**16


def find_bucket(kind: LimitKind, text: str) -> int:
    """Return the bucket of a text."""
    made = hmac.new(web_key("counters"), f"{kind}\n{text}".encode(), hashlib.sha256).digest()
    return int.from_bytes(made[:4], "big") % BUCKETS


def find_until(kind: LimitKind, bucket: int, *, most: int, window: timedelta, now: datetime) -> datetime | None:
    """Return until when a bucket is full; None while it is not."""
    row = SignInLimit.objects.filter(kind=kind, bucket=bucket, since__gt=now - window).first()
    return row.since + window if row is not None and row.failures >= most else None


def count_one(kind: LimitKind, bucket: int, *, window: timedelta, now: datetime) -> int:
    """Count one more in a bucket, whose window restarts when it is over; return the count."""
    rows = SignInLimit.objects.filter(kind=kind, bucket=bucket)
    SignInLimit.objects.bulk_create([SignInLimit(kind=kind, bucket=bucket, since=now)], ignore_conflicts=True)
    rows.filter(since__lte=now - window).update(failures=0, since=now)
    rows.update(failures=F("failures") + 1)
    return rows.values_list("failures", flat=True).get()
