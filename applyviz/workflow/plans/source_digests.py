"""Digests of sources: keyed and salted, so that they betray no bytes; who holds a file compares it by uploading it.

A bare hash of a manifest with a six-digit PIN is found in seconds, and one that is equal in two reviews answers
guesses. So each revision has a salt of its own, and comparing is counted per person: it is a guess as well.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from applyviz.records.enums import AuditAction, LimitKind
from applyviz.records.models import Plan
from applyviz.sources.bundle import digest_bytes
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, clock, digests, rate_limit
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotValidError, TooOftenError
from applyviz.workflow.people import humans

MOST_A_DAY = 20
MOST_BYTES = 5_000_000
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ComparedFile:
    """What a file was compared as, and the names of the files of the source that are equal to it."""

    name: str
    equal_to: tuple[str, ...]


def make_salt() -> str:
    """Return a new salt for the digests of one revision."""
    return secrets.token_hex(16)


def key_of(salt: str) -> bytes:
    """Return the key of the digests of one revision."""
    return hmac.digest(digests.web_key("digests of sources"), salt.encode(), "sha256")


def _count(by: Person) -> None:
    """Count one comparison of a human, under any account; raises `TooOftenError` above the limit."""
    human = humans.name_humans([by])[by.pk]
    now, bucket = clock.now(), rate_limit.find_bucket(LimitKind.COMPARER, human)
    with transaction.atomic():
        count = rate_limit.count_one(LimitKind.COMPARER, bucket, window=_DAY, now=now)
    if count > MOST_A_DAY:
        raise TooOftenError(
            _("You reached the limit of %(count)d file comparisons per day; try again tomorrow") % {"count": MOST_A_DAY}
        )


def compare_file(plan: Plan, *, by: Person, name: str, data: bytes) -> ComparedFile:
    """Say which files of the source of a plan are equal to a file that somebody holds, byte for byte.

    - Counted: at most `MOST_A_DAY` a day and human, because a comparison answers a guess. In the history.
    - Raises `NotVisibleError` for who may not look at the review, `NotValidError` for a file that is too large.
    """
    access.require(by, Action.VIEW, access.places_of(plan.review))
    if len(data) > MOST_BYTES:
        raise NotValidError(_("the file is larger than %(most)d bytes") % {"most": MOST_BYTES})
    _count(by)
    digest = digest_bytes(data, key_of(plan.revision.salt))
    rows = plan.revision.files.all()
    found = tuple(row.name for row in rows if hmac.compare_digest(row.digest, digest))
    about = trail.AuditSubject(cluster=plan.target.cluster.slug, review=plan.review.number, plan=plan.number)
    trail.record(AuditAction.FILE_COMPARED, by=by, about=about, detail={"equal to": list(found)})
    return ComparedFile(name, found)
