"""Digests of sources: keyed and salted, so that they reveal no content; compare a file by uploading it.

A bare hash of a manifest with a six-digit PIN is cracked in seconds, and equal hashes in two reviews confirm guesses.
So each revision has its own salt, and comparisons are counted per person: each is a guess as well.
"""

from __future__ import annotations

import hmac
import secrets
from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.records.enums import AuditAction, LimitKind
from applyviz.records.keyed_hashes import is_same, web_key
from applyviz.records.models import Plan
from applyviz.sources.bundle import digest_bytes
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, rate_limit
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotValidError, TooOftenError
from applyviz.workflow.people import humans

MOST_A_DAY = 20
MOST_BYTES = 5_000_000
_DAY = timedelta(days=1)


class ComparedFile(Struct, frozen=True):
    """The form in which a file was compared, and the names of the equal files of the source."""

    name: str
    equal_to: tuple[str, ...]


def make_salt() -> str:
    """Return a new salt for the digests of one revision."""
    return secrets.token_hex(16)


def key_of(salt: str) -> bytes:
    """Return the key of the digests of one revision."""
    return hmac.digest(web_key("digests of sources"), salt.encode(), "sha256")


def _count(by: Person) -> None:
    """Count one comparison of a person, under any account; raises `TooOftenError` above the limit."""
    human = humans.name_humans([by])[by.pk]
    now, bucket = clock.now(), rate_limit.find_bucket(LimitKind.COMPARER, human)
    with transaction.atomic():
        count = rate_limit.count_one(LimitKind.COMPARER, bucket, window=_DAY, now=now)
    if count > MOST_A_DAY:
        raise TooOftenError(
            _("You reached the limit of %(count)d file comparisons per day; try again tomorrow") % {"count": MOST_A_DAY}
        )


def compare_file(plan: Plan, *, by: Person, name: str, data: bytes) -> ComparedFile:
    """Return which files of the source of a plan equal an uploaded file byte for byte.

    - Limited to `MOST_A_DAY` per day and person, because a comparison confirms a guess; audited.
    - Raises `NotVisibleError` for a hidden review, `NotValidError` for a file that is too large.
    """
    access.require(by, Action.VIEW, access.scopes_of(plan.review))
    if len(data) > MOST_BYTES:
        raise NotValidError(_("the file is larger than %(most)d bytes") % {"most": MOST_BYTES})
    _count(by)
    digest = digest_bytes(data, key_of(plan.revision.salt))
    rows = plan.revision.files.all()
    found = tuple(row.name for row in rows if is_same(digest, row.digest))
    about = trail.AuditSubject(cluster=plan.target.cluster.slug, review=plan.review.number, plan=plan.number)
    trail.record(AuditAction.FILE_COMPARED, by=by, about=about, detail={"equal to": list(found)})
    return ComparedFile(name, found)
