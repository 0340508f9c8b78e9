"""The reads of a run as lines: what was read, when, with which answer, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.values import JSONObject
from applyviz.records.models import ApplyRun, JournalEntry

_CONFLICT, _TOO_MANY = 409, 429


class ReadLine(Struct, frozen=True):
    """One read; `status` is 0 when no answer came."""

    method: str
    path: str
    status: int
    tone: str
    at: datetime | None
    about: str


def choose_tone(status: int) -> str:
    """Return the tone of an answer; an object that was not found may be what the request asked about."""
    if status == 404:
        return "calm"
    return "warn" if not status else "add" if status < 300 else "remove"


def _present(read: JSONObject, about: str) -> ReadLine:
    status = int(read.get("status", 0))
    skipped = int(read.get("skipped", 0))
    more = ngettext("after %(n)d more read", "after %(n)d more reads", skipped) % {"n": skipped} if skipped else ""
    text = " · ".join(filter(None, (about, more)))
    return ReadLine(
        "GET", str(read.get("path", "")), status, choose_tone(status), parse_datetime(str(read.get("at"))), text
    )


def _explain_retry(before: JournalEntry) -> str:
    if before.method == "DELETE":
        return _("to see whether the object is gone")
    if before.status == _CONFLICT:
        return _("again, because the server answered 409: another client wrote the object")
    if before.status == _TOO_MANY:
        return _("again, because the server answered 429")
    if before.status and before.status < _CONFLICT:
        return _("to verify the result")
    return _("to see whether the request was carried out")


def present_reads(reads: Sequence[JSONObject], before: JournalEntry | None) -> tuple[ReadLine, ...]:
    """Return the reads of an object after one of its requests; `before` is None ahead of the first one."""
    if before is not None:
        return tuple(_present(read, _explain_retry(before)) for read in reads)
    checked = _("to compare the effect with the approved one")
    again = _("again, because the object changed since")
    return tuple(_present(read, again if number else checked) for number, read in enumerate(reads))


def present_shared_reads(run: ApplyRun) -> tuple[ReadLine, ...]:
    """Return the reads of a run that belong to no object: discovery and schemas."""
    return tuple(_present(read, "") for read in run.reads)
