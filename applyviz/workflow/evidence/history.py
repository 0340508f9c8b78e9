"""The history for people: which entries a filter names, and how they are exported.

Lists go by number and never count: a page is as fast at the end of a long history as at its start. Words are looked
for near the end of the history first, then in the index, so that common words are found at once and rare ones, too.
Exports hold what the hash covers, so that `scripts/verify_export.py` can check them without applyviz.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Generator, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from applyviz.engine.objects.values import canonical_json
from applyviz.records import full_text
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.workflow.audit import trail
from applyviz.workflow.audit.trail import STORED, canonical_entry
from applyviz.workflow.foundation.access import Action, Person, Visitor, require, visible_entries
from applyviz.workflow.plans.live_history import TELLING, show_entries, show_rows

_CHUNK = 2_000
_NEAR, _FEW = 4_000, 5_000
# Numbers are given before the commit: a later moment may have a lower number, by as much as a transaction lasts.
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
# What a spreadsheet takes for the start of a formula, wide forms included. Where its list separator is not a comma it
# may cut a cell at that, whatever quotes stand around it: what follows one is a start, too.
_FORMULA = re.compile("(^|[;\t\r\n|])([ \u00a0\u3000]*)(?=[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")


class ExportFormat(StrEnum):
    """How entries are written."""

    CSV = "csv"
    JSONL = "jsonl"


class Line:
    """What `csv.writer` writes to: hands each line back."""

    def write(self, text: str) -> str:
        """Give it back."""
        return text


def _moment(given: date | datetime, *, is_end: bool) -> datetime:
    """A day is all of that day, a moment is itself."""
    if isinstance(given, datetime):
        return given if timezone.is_aware(given) else timezone.make_aware(given)
    return timezone.make_aware(datetime.combine(given + timedelta(days=is_end), time()))


def find_between(chosen: Mapping[str, Any]) -> QuerySet[AuditEntry]:
    """The entries of a period (`since`, `until`: days or moments), bound by number, too: every index ends with that."""
    entries = AuditEntry.objects.order_by("-id")
    if "since" in chosen:
        moment = _moment(chosen["since"], is_end=False)
        first = AuditEntry.objects.filter(at__gte=moment - _SLACK).order_by("at").values_list("id", flat=True).first()
        entries = entries.filter(at__gte=moment)
        entries = entries.none() if first is None else entries.filter(id__gte=max(first - _CHUNK, 0))
    if "until" in chosen:
        moment = _moment(chosen["until"], is_end=True)
        last = AuditEntry.objects.filter(at__lte=moment + _SLACK).order_by("-at").values_list("id", flat=True).first()
        entries = entries.filter(at__lte=moment) if _is_moment(chosen["until"]) else entries.filter(at__lt=moment)
        entries = entries.none() if last is None else entries.filter(id__lte=last + _CHUNK)
    return entries


def _is_moment(given: date) -> bool:
    return isinstance(given, datetime)


def _filter(chosen: Mapping[str, Any]) -> QuerySet[AuditEntry]:
    return find_between(chosen).filter(**{column: chosen[name] for name, column in _COLUMNS.items() if name in chosen})


def find_entries(chosen: Mapping[str, Any]) -> QuerySet[AuditEntry]:
    """The entries that fit all of `chosen`, newest first.

    - Names: cluster, group, namespace, kind, name, person, action, manager, review, run; `since` and `until` are
      days or moments, both included; of `text`, each word begins a word of the entry (`records/words.py`).
    """
    entries = _filter(chosen)
    return entries.filter(full_text.match(chosen["text"])) if chosen.get("text") else entries


def find_page(
    chosen: Mapping[str, Any], *, before: int | None, count: int, for_user: Visitor | None = None
) -> list[AuditEntry]:
    """The newest `count` entries that fit, have a number below `before`, and may be seen by `for_user`.

    - Words are not looked for in what runs wrote to Secrets, unless for the installation itself: a hit would tell.
    """
    entries = _filter(chosen) if before is None else _filter(chosen).filter(id__lt=before)
    entries = (entries if for_user is None else visible_entries(entries, for_user)).defer("words")
    if not chosen.get("text"):
        return show_entries(list(entries[:count]), for_user)
    entries = entries if for_user is None else entries.exclude(TELLING)
    newest = before or 1 + (AuditEntry.objects.order_by("-id").values_list("id", flat=True).first() or 0)
    with full_text.searching():
        return _find_words(entries, chosen["text"], newest, count)


def _find_words(entries: QuerySet[AuditEntry], text: str, top: int, count: int) -> list[AuditEntry]:
    """The newest below `top` with these words: common ones stand near the end, rare ones are few in the index."""
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
    """A cell that no spreadsheet calculates: a `'` stands before whatever could begin a formula."""
    return _FORMULA.sub(r"\1\2'", value) if isinstance(value, str) else value


def make_writer() -> Any:
    """A writer of CSV whose every cell is quoted, so that a `;` within one ends none."""
    return csv.writer(Line(), quoting=csv.QUOTE_ALL)


def _write_csv(rows: Iterator[Mapping[str, Any]]) -> Generator[str, None, None]:
    writer = make_writer()
    names = [*(name for name in STORED if name not in ("detail", "salt")), "detail"]
    yield writer.writerow(names)
    for row in rows:
        shown = {**row, **canonical_entry(row), "detail": canonical_json(row["detail"])}
        yield writer.writerow([tame(shown[name]) for name in names])


def _write_jsonl(rows: Iterator[Mapping[str, Any]]) -> Generator[str, None, None]:
    for row in rows:
        yield canonical_json(canonical_entry(row)) + "\n"


def _find_end() -> int:
    """The last number, once all that have a lower one are committed: no later line may be missing from an export."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"LOCK TABLE {AuditEntry._meta.db_table} IN SHARE MODE")
        return AuditEntry.objects.order_by("-id").values_list("id", flat=True).first() or 0


def _read_on(entries: QuerySet[AuditEntry], reader: Visitor | None) -> Iterator[Mapping[str, Any]]:
    """Oldest first, by pages: no cursor stays open while somebody reads slowly, and what is added later is left out."""
    last, end = 0, _find_end()
    rows = entries.order_by("id").filter(id__lte=end).values(*STORED)
    while page := list(rows.filter(id__gt=last)[:_CHUNK]):
        last = page[-1]["id"]
        yield from show_rows(page, reader)


def export_entries(
    chosen: Mapping[str, Any], form: ExportFormat, *, for_user: Visitor | None = None
) -> Generator[str, None, None]:
    """The entries that fit, oldest first, line by line; the whole of it is never in memory.

    - `for_user`: what that person sees; None for the installation itself.
    - What such a person is not shown of a Secret leaves its hash, so that each line can still be checked.
    - JSON Lines is what the verifier checks; in CSV what a spreadsheet would calculate has a `'` before it.
    """
    entries = find_entries(chosen)
    if for_user is not None:
        entries = visible_entries(entries, for_user)
        entries = entries.exclude(TELLING) if chosen.get("text") else entries
    rows = _read_on(entries, for_user)
    return _write_csv(rows) if form is ExportFormat.CSV else _write_jsonl(rows)


def tell_export(by: Person | None, chosen: Mapping[str, Any], form: ExportFormat) -> None:
    """An export is itself an entry, before its first line is written; `by` None: a command on the server."""
    told = {name: str(value) for name, value in chosen.items()}
    trail.record(
        AuditAction.HISTORY_EXPORTED, by=by, about=trail.AuditSubject(), detail={"form": form.value, "filter": told}
    )


def export_for(person: Person, chosen: Mapping[str, Any], form: ExportFormat) -> Generator[str, None, None]:
    """The same for somebody who asks for it; raises when the role does not allow it."""
    require(person, Action.AUDIT)
    tell_export(person, chosen, form)
    return export_entries(chosen, form, for_user=person)
