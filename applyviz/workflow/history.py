"""The history for people: which entries a filter names, and how they are exported.

Lists go by sequence and never count: a page is as fast at the end of a long history as at its start. A text is
looked for in the newest `TEXT_WINDOW` entries first; who wants to look further back, goes on from there.
Exports hold what the hash covers, so that `scripts/verify_export.py` can check them without applyviz.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from applyviz.engine.objects.values import canonical_json
from applyviz.records.models import AuditEntry, AuditHead
from applyviz.workflow.access import Action, Person, Visitor, limit_entries, require
from applyviz.workflow.audit import STORED, canonical_entry

TEXT_WINDOW = 20_000
_CHUNK = 2_000
_COLUMNS = {
    "cluster": "cluster",
    "group": "group",
    "namespace": "namespace",
    "kind": "kind",
    "name": "name",
    "person": "actor_name",
    "action": "action",
    "manager": "field_manager",
    "review": "review",
    "run": "run",
}
_SEARCHED = (
    "actor_name",
    "action",
    "cluster",
    "kind",
    "namespace",
    "name",
    "field_manager",
    "plan_digest",
    "request_id",
)
# What a spreadsheet takes for the start of a formula, wide forms included.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class ExportFormat(StrEnum):
    """How entries are written."""

    CSV = "csv"
    JSONL = "jsonl"


class _Line:
    """What `csv.writer` writes to: hands each line back."""

    def write(self, text: str) -> str:
        return text


def _moment(given: date | datetime, *, is_end: bool) -> datetime:
    """A day is all of that day, a moment is itself."""
    if isinstance(given, datetime):
        return given if timezone.is_aware(given) else timezone.make_aware(given)
    return timezone.make_aware(datetime.combine(given + timedelta(days=is_end), time()))


def _holding(entries: QuerySet[AuditEntry], text: str) -> QuerySet[AuditEntry]:
    # SQLite keeps JSON as it was written, with other letters than ASCII escaped; quotes are escaped everywhere.
    wanted = Q(written__icontains=text) | Q(written__icontains=json.dumps(text)[1:-1])
    for name in _SEARCHED:
        wanted |= Q(**{f"{name}__icontains": text})
    return entries.annotate(written=Cast("detail", TextField())).filter(wanted)


def find_entries(chosen: Mapping[str, Any]) -> QuerySet[AuditEntry]:
    """The entries that fit all of `chosen`, newest first.

    - Names: cluster, group, namespace, kind, name, person, action, manager, review, run; `since` and `until` are
      days or moments, both included; `text` stands anywhere in the entry.
    """
    entries = AuditEntry.objects.order_by("-sequence").filter(
        **{column: chosen[name] for name, column in _COLUMNS.items() if name in chosen}
    )
    if "since" in chosen:
        entries = entries.filter(at__gte=_moment(chosen["since"], is_end=False))
    if "until" in chosen:
        end = _moment(chosen["until"], is_end=True)
        entries = entries.filter(at__lte=end) if isinstance(chosen["until"], datetime) else entries.filter(at__lt=end)
    return _holding(entries, chosen["text"]) if chosen.get("text") else entries


def find_window(chosen: Mapping[str, Any], before: int | None) -> int | None:
    """The oldest sequence that one search looks at; None where the whole history is looked at."""
    if not chosen.get("text"):
        return None
    if before is None:
        before = 1 + (AuditHead.objects.filter(id=1).values_list("sequence", flat=True).first() or 0)
    return max(before - TEXT_WINDOW, 1)


def _tame(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write_csv(rows: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_Line())
    names = [*(name for name in STORED if name != "detail"), "detail"]
    yield writer.writerow(names)
    for row in rows:
        shown = {**row, **canonical_entry(row), "detail": canonical_json(row["detail"])}
        yield writer.writerow([_tame(shown[name]) for name in names])


def _write_jsonl(rows: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        whole = canonical_entry(row) | {"previous_hash": row["previous_hash"], "hash": row["hash"]}
        yield canonical_json(whole) + "\n"


def export_entries(chosen: Mapping[str, Any], form: ExportFormat, *, for_user: Visitor | None = None) -> Iterator[str]:
    """The entries that fit, oldest first, line by line; the whole of it is never in memory.

    - `for_user`: what that person sees; None for the installation itself.
    - JSON Lines is what the verifier checks; in CSV what a spreadsheet would calculate has a `'` before it.
    """
    entries = find_entries(chosen)
    seen = entries if for_user is None else limit_entries(entries, for_user)
    rows = seen.order_by("sequence").values(*STORED).iterator(chunk_size=_CHUNK)
    return _write_csv(rows) if form is ExportFormat.CSV else _write_jsonl(rows)


def export_for(person: Person, chosen: Mapping[str, Any], form: ExportFormat) -> Iterator[str]:
    """The same for somebody who asks for it; raises when the role does not allow it."""
    require(person, Action.AUDIT)
    return export_entries(chosen, form, for_user=person)
