"""History for people: entries that match a filter, and their exports.

Pages are keyed by number and never count: a page is as fast at the end of a long history as at its start. A word search
reads the newest entries first, then the index, so that common words and rare words are both found quickly.
Exports hold everything that the hash covers, so that `scripts/verify_export.py` can check them without applyviz.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Generator, Iterator, Mapping
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db import connection, transaction
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.values import JSONObject, canonical_json
from applyviz.records import full_text
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.workflow.audit import trail
from applyviz.workflow.audit.trail import STORED, canonical_entry
from applyviz.workflow.evidence.name_filters import HistoryFilter, NameStart, widen_names
from applyviz.workflow.foundation.access import Action, Person, Visitor, require, visible_entries
from applyviz.workflow.plans.live_history import TELLING, show_entries, show_rows

if TYPE_CHECKING:
    from _csv import Writer

_CHUNK = 2_000
_NEAR, _FEW = 4_000, 5_000
# Numbers are assigned before the commit: a later time may have a lower number, by as much as a transaction lasts.
_SLACK = timedelta(minutes=2)
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
# Characters that a spreadsheet reads as the start of a formula, full-width forms included. A spreadsheet whose list
# separator is not a comma may split a cell there despite its quotes, so the text after a separator counts as a start.
_FORMULA = re.compile("(^|[;\t\r\n|])([ \u00a0\u3000]*)(?=[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")


class ExportFormat(StrEnum):
    """The format of an export."""

    CSV = "csv"
    JSONL = "jsonl"


class Echo:
    """A file-like object for `csv.writer` that returns each line."""

    def write(self, text: str) -> str:
        """Return the line."""
        return text


def _moment(given: date | datetime, *, is_end: bool) -> datetime:
    """Return the moment that a day begins or ends, or the given moment."""
    if isinstance(given, datetime):
        return given if timezone.is_aware(given) else timezone.make_aware(given)
    return clock.find_start(given + timedelta(days=is_end))


def find_between(chosen: HistoryFilter) -> QuerySet[AuditEntry]:
    """Return the entries of a period (`since`, `until`: days or times), bounded by number as well for the indexes."""
    entries = AuditEntry.objects.order_by("-id")
    if "since" in chosen:
        moment = _moment(chosen["since"], is_end=False)
        first = AuditEntry.objects.filter(at__gte=moment - _SLACK).order_by("at").values_list("id", flat=True).first()
        entries = entries.filter(at__gte=moment)
        entries = entries.none() if first is None else entries.filter(id__gte=max(first - _CHUNK, 0))
    if "until" in chosen:
        moment = _moment(chosen["until"], is_end=True)
        last = AuditEntry.objects.filter(at__lte=moment + _SLACK).order_by("-at").values_list("id", flat=True).first()
        entries = (
            entries.filter(at__lte=moment) if isinstance(chosen["until"], datetime) else entries.filter(at__lt=moment)
        )
        entries = entries.none() if last is None else entries.filter(id__lte=last + _CHUNK)
    return entries


def find_filtered(chosen: HistoryFilter) -> QuerySet[AuditEntry]:
    """Return the entries that match all names, the period and the field of a filter; words are left to the caller."""
    entries = find_between(chosen)
    for name, column in _COLUMNS.items():
        match chosen.get(name):
            case None:
                continue
            case NameStart() as start:
                entries = entries.filter(start.condition)
            case (value,) | (str() | int() as value):
                entries = entries.filter(**{column: value})
            case values:
                entries = entries.filter(**{f"{column}__in": values})
    if chosen.get("field"):
        entries = entries.filter(match_field(chosen["field"]), action=AuditAction.OBJECT_RESULT)
    return entries


def match_field(text: str) -> RawSQL:
    """Return the condition that a write changed a field whose path holds these words in this order."""
    table = AuditEntry._meta.db_table
    path = f"%{'%'.join(full_text.split_words(text))}%"
    if connection.vendor == "postgresql":
        changes = f"{table}.detail->'changes'"
        each = f"jsonb_array_elements(CASE WHEN jsonb_typeof({changes}) = 'array' THEN {changes} ELSE '[]'::jsonb END)"
        found = f"EXISTS (SELECT 1 FROM {each} one WHERE one->>'path' ILIKE %s)"  # noqa: S608
    else:
        each = f"json_each({table}.detail, '$.changes')"
        found = f"EXISTS (SELECT 1 FROM {each} one WHERE json_extract(one.value, '$.path') LIKE %s)"  # noqa: S608
    return RawSQL(found, [path], BooleanField())  # noqa: S611


def words_of(chosen: HistoryFilter) -> str:
    """Return the words that the full text of an entry must hold for a filter; "" for a filter of exact names."""
    starts = chosen.get("name") if isinstance(chosen.get("name"), NameStart) else ""
    return " ".join(filter(None, (chosen.get("text", ""), chosen.get("field", ""), str(starts or ""))))


def reveals_content(chosen: HistoryFilter) -> bool:
    """Return whether a hit reveals something of the content of entries, so that those about Secrets are left out."""
    return bool(chosen.get("text") or chosen.get("field"))


def find_entries(chosen: HistoryFilter) -> QuerySet[AuditEntry]:
    """Return the entries that match all of `chosen`, newest first.

    - Names: cluster, group, namespace, kind, name, person, action, manager, review, run, each as one name or as a
      tuple of names (`name_filters.widen_names`); `since` and `until` are days or times, both included; each word of
      `text` must begin a word of the entry (`records/full_text.py`); `field` holds words of the path of a field that
      a write changed.
    """
    entries, words = find_filtered(chosen), words_of(chosen)
    return entries.filter(full_text.match(words)) if words else entries


def find_page(
    chosen: HistoryFilter, *, before: int | None, count: int, for_user: Visitor | None = None
) -> list[AuditEntry]:
    """Return the newest `count` entries that match, have a number below `before`, and are visible to `for_user`.

    - A word search skips run entries about Secrets, except for the installation itself: a hit would reveal content.
    """
    entries = find_filtered(chosen) if before is None else find_filtered(chosen).filter(id__lt=before)
    entries = (entries if for_user is None else visible_entries(entries, for_user)).defer("words")
    words = words_of(chosen)
    if not words:
        return show_entries(list(entries[:count]), for_user)
    entries = entries.exclude(TELLING) if for_user is not None and reveals_content(chosen) else entries
    newest = before or 1 + (AuditEntry.objects.order_by("-id").values_list("id", flat=True).first() or 0)
    with full_text.searching():
        return show_entries(_find_words(entries, words, newest, count), for_user)


def _find_words(entries: QuerySet[AuditEntry], text: str, top: int, count: int) -> list[AuditEntry]:
    """Return the newest entries below `top` with these words: the newest entries first, then the index."""
    since = max(top - _NEAR, 0)
    found = list(entries.filter(full_text.match(text, is_near=True), id__gte=since)[:count])
    if len(found) == count:
        return found
    numbers = full_text.find_numbers(text, most=_FEW)
    if numbers is None:
        return list(entries.filter(full_text.match(text, is_common=True))[:count])
    found, step = [], 4 * count
    numbers = [number for number in numbers if number < top]
    while numbers and len(found) < count:
        found += entries.filter(id__in=numbers[:step])[: count - len(found)]
        numbers, step = numbers[step:], _FEW
    return found


def tame(value: object) -> object:
    """Return a cell that no spreadsheet calculates: a `'` precedes everything that could begin a formula."""
    return _FORMULA.sub(r"\1\2'", value) if isinstance(value, str) else value


def make_writer() -> Writer:
    """Return a CSV writer that quotes every cell, so that a `;` within a cell does not end it."""
    return csv.writer(Echo(), quoting=csv.QUOTE_ALL)


class ChangedField(Struct, frozen=True):
    """One field that a write changed; values are masked, "" where there is none."""

    path: str
    before: str
    after: str


def list_changes(action: str, detail: JSONObject) -> tuple[ChangedField, ...]:
    """Return the fields that a write changed, as its entry holds them; nothing for other entries."""
    changes = detail.get("changes") if action == AuditAction.OBJECT_RESULT else None
    found = [one for one in changes if isinstance(one, Mapping)] if isinstance(changes, list) else []
    return tuple(ChangedField(*(str(one.get(name, "")) for name in ("path", "before", "after"))) for one in found)


def describe_changes(action: str, detail: JSONObject) -> str:
    """Return the changed fields as one line: `path: before → after; …`, with the number of those left out."""
    lines = [f"{one.path}: {one.before or '-'} → {one.after or '-'}" for one in list_changes(action, detail)]
    more = detail.get("more")
    return "; ".join([*lines, *([f"+{more}"] if lines and isinstance(more, int) else [])])


def _write_csv(rows: Iterator[JSONObject]) -> Generator[str, None, None]:
    writer = make_writer()
    names = [*(name for name in STORED if name not in ("detail", "salt")), "detail", "changed_fields"]
    yield writer.writerow(names)
    for row in rows:
        detail = row["detail"]
        rendered = {"detail": canonical_json(detail), "changed_fields": describe_changes(row["action"], detail)}
        shown = {**row, **canonical_entry(row), **rendered}
        yield writer.writerow([tame(shown[name]) for name in names])


def _write_jsonl(rows: Iterator[JSONObject]) -> Generator[str, None, None]:
    for row in rows:
        yield canonical_json(canonical_entry(row)) + "\n"


def _find_end() -> int:
    """Return the last number once all lower ones are committed, so that an export skips no entry."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"LOCK TABLE {AuditEntry._meta.db_table} IN SHARE MODE")
        return AuditEntry.objects.order_by("-id").values_list("id", flat=True).first() or 0


def _read_on(entries: QuerySet[AuditEntry], reader: Visitor | None) -> Iterator[JSONObject]:
    """Yield entries oldest first by pages: no cursor stays open for a slow reader, and later entries are left out."""
    last, end = 0, _find_end()
    rows = entries.order_by("id").filter(id__lte=end).values(*STORED)
    while page := list(rows.filter(id__gt=last)[:_CHUNK]):
        last = page[-1]["id"]
        yield from show_rows(page, reader)


def export_entries(
    chosen: HistoryFilter, form: ExportFormat, *, for_user: Visitor | None = None
) -> Generator[str, None, None]:
    """Yield the matching entries as lines, oldest first, without loading all of them.

    - `for_user`: exports what that person may see; None for the installation itself.
    - Hidden content of a Secret leaves its hash, so that each line can still be verified.
    - JSON Lines is the format of the verifier; in CSV a `'` precedes what a spreadsheet would calculate.
    """
    entries = find_entries(chosen)
    if for_user is not None:
        entries = visible_entries(entries, for_user)
        entries = entries.exclude(TELLING) if reveals_content(chosen) else entries
    rows = _read_on(entries, for_user)
    return _write_csv(rows) if form is ExportFormat.CSV else _write_jsonl(rows)


def record_export(by: Person | None, chosen: HistoryFilter, form: ExportFormat) -> None:
    """Record an export before its first line is written; `by` None: a command on the server."""
    filters = {name: str(value) for name, value in chosen.items()}
    trail.record(
        AuditAction.HISTORY_EXPORTED, by=by, about=trail.AuditSubject(), detail={"form": form.value, "filter": filters}
    )


def export_for(person: Person, chosen: HistoryFilter, form: ExportFormat) -> Generator[str, None, None]:
    """Export as `export_entries` does, for a person with the right to audit; raises without it."""
    require(person, Action.AUDIT)
    record_export(person, chosen, form)
    return export_entries(widen_names(chosen), form, for_user=person)
