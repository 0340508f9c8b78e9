"""Verification of runs: what pages show of finished runs, and of comments, is what the audit log recorded.

Rule: an entry records each request before it is sent, and each outcome with digests of the answers. So a row that was
changed, inserted or deleted afterwards differs from the chain. Entries without a body (retention) confirm nothing;
requests and answers may be gone if an entry says that those of their time were removed.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count

from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json
from applyviz.records.enums import AuditAction, Outcome, RolloutState
from applyviz.records.models import ApplyRun, AuditEntry, Comment, JournalEntry, ObjectResult
from applyviz.workflow.audit.entries import list_entries
from applyviz.workflow.audit.right_macs import BadRight
from applyviz.workflow.foundation import row_macs

_UNRECORDED = (Outcome.WAITING, Outcome.SKIPPED)
_SENT = ("method", "path", "query", "content type", "body", "request digest")


class _Key(NamedTuple):
    """An object of a run."""

    group: str
    kind: str
    namespace: str
    name: str


class _ObjectEntries(NamedTuple):
    """The entries of a run about one object; `is_pruned`: not all of them have a body."""

    results: list[tuple[int, JSONObject]]
    intents: list[tuple[int, JSONObject]]
    is_pruned: bool


def digest_answer(status: int, answer: JSONValue) -> str:
    """Return the digest of a masked answer, for the audit entry of its object."""
    return hashlib.sha256(canonical_json([status, answer]).encode()).hexdigest()


def _read_entries(run: ApplyRun) -> dict[_Key, _ObjectEntries]:
    wanted = (AuditAction.OBJECT_RESULT, AuditAction.OBJECT_INTENT)
    entries = AuditEntry.objects.filter(chain=run.number, action__in=wanted).order_by("sequence")
    columns = entries.values_list(*_Key._fields, "sequence", "action", "detail", "pruned_by")
    found: dict[_Key, _ObjectEntries] = defaultdict(lambda: _ObjectEntries([], [], False))
    for *names, sequence, action, body, pruned_by in columns.iterator(chunk_size=2_000):
        key, detail = _Key(*names), map_or_empty(body)
        if pruned_by is not None:
            found[key] = found[key]._replace(is_pruned=True)
        elif action == AuditAction.OBJECT_RESULT:
            found[key].results.append((sequence, detail))
        elif detail.get("request digest"):
            found[key].intents.append((sequence, detail))
    return found


def _read_results(run: ApplyRun) -> dict[_Key, list[ObjectResult]]:
    rows = (
        run.results.select_related("change")
        .defer("change__document", "change__found_risks", "change__sealed")
        .order_by("pk")
    )
    found: dict[_Key, list[ObjectResult]] = defaultdict(list)
    for row in rows.iterator(chunk_size=2_000):
        change = row.change
        found[_Key(change.group, change.kind, change.namespace, change.name)].append(row)
    return found


def _list_final(results: list[tuple[int, JSONObject]]) -> list[tuple[int, JSONObject]]:
    """Return the recorded results without those that a second attempt of an addon replaced."""
    final: list[tuple[int, JSONObject]] = []
    for entry in results:
        if final and entry[1].get("addon attempt", 1) != 1:
            final.pop()
        final.append(entry)
    return final


def _compare_results(rows: list[ObjectResult], recorded: _ObjectEntries) -> Iterator[tuple[ObjectResult, str]]:
    """Yield the results that are not those of the last entries of their object."""
    last = _list_final(recorded.results)[-len(rows) :]
    kept = [[detail.get(name) for name in ("outcome", "detail", "differences")] for _, detail in last]
    others = []
    for row in rows:
        mine = [row.outcome, row.detail, row.differences]
        if mine in kept:
            kept.remove(mine)
        else:
            others.append(row)
    for row in others:
        if kept:
            yield row, f"audit entry {last[-1][0]} records {last[-1][1].get('outcome', '')}"
        elif row.outcome not in _UNRECORDED:
            yield row, "no audit entry records it"


def _find_removal() -> datetime | None:
    """Return before when requests and answers were removed by retention; None if none were."""
    entries = list_entries(AuditAction.HISTORY_PRUNED).values_list("detail", flat=True)
    details = (map_or_empty(detail) for detail in entries.iterator(chunk_size=2_000))
    found = [datetime.fromisoformat(str(detail["before"])) for detail in details if detail.get("requests")]
    return max(found, default=None)


def _was_removed(row: JournalEntry, removal: datetime | None) -> bool:
    """Return whether retention removed a request and its answer: both are gone, as for others of their time."""
    return removal is not None and row.sent_at < removal and row.request is None and row.answer is None


def _is_that_of(row: JournalEntry, detail: JSONObject, removal: datetime | None) -> bool:
    body = detail.get("body") if _was_removed(row, removal) else row.request
    sent = (row.method, row.path, row.query, row.content_type, body, row.request_digest)
    return all(detail.get(name) == value for name, value in zip(_SENT, sent, strict=True))


def _find_other_answers(journal: list[JournalEntry], recorded: _ObjectEntries) -> Iterator[JournalEntry]:
    """Yield the requests whose answers are not those that the results of their object record.

    - `journal`: without those that retention removed.
    - A run may write an object several times (the records of addons on a namespace, the parent of an ApplySet), one
      after the other, and each time counts its requests from 0.
    """
    digests: dict[str, list[str]] = defaultdict(list)
    for _sequence, detail in recorded.results:
        for name, digest in map_or_empty(detail.get("answer digests")).items():
            digests[name].append(digest)
    others = []
    for row in journal:
        known, mine = digests[str(row.sequence)], digest_answer(row.status, row.answer)
        if known[:1] == [mine]:
            known.pop(0)
        else:
            others.append(row)
    yield from (row for row in others if digests[str(row.sequence)])


def _compare_journal(
    journal: list[JournalEntry], recorded: _ObjectEntries, removal: datetime | None
) -> Iterator[tuple[JournalEntry | None, str]]:
    """Yield the requests that differ from every entry; None for an entry without its request."""
    waiting = list(recorded.intents)
    known = []
    for row in journal:
        same = next((intent for intent in waiting if _is_that_of(row, intent[1], removal)), None)
        if same is None:
            yield row, "no audit entry records this request"
            continue
        waiting.remove(same)
        if not _was_removed(row, removal):
            known.append(row)
    for row in _find_other_answers(known, recorded):
        yield row, "its answer is not the recorded one"
    for sequence, _detail in waiting:
        yield None, f"the request of audit entry {sequence} is missing"


def _check_run(run: ApplyRun, removal: datetime | None) -> Iterator[BadRight]:
    recorded, results = _read_entries(run), _read_results(run)
    journal: dict[int, list[JournalEntry]] = defaultdict(list)
    entries = JournalEntry.objects.filter(result__run=run).defer("sealed_request", "sealed_answer").order_by("pk")
    for entry in entries.iterator(chunk_size=500):
        journal[entry.result_id].append(entry)
    for key in recorded.keys() | results.keys():
        found = recorded.get(key) or _ObjectEntries([], [], False)
        if found.is_pruned:
            continue
        about, rows = f"{key.kind} {key.namespace}/{key.name} of run {run.number}", results.get(key, [])
        for result, fault in _compare_results(rows, found):
            yield BadRight("result", result.pk, about, fault)
        for request, fault in _compare_journal([one for row in rows for one in journal[row.pk]], found, removal):
            yield BadRight("request", request.pk if request else run.number, about, fault)


def count_rollouts(run: ApplyRun) -> dict[str, int]:
    """Return how many rollouts of a run are in each state, for the audit entry of its end; {} without any."""
    found = run.results.exclude(rollout=RolloutState.NONE).order_by().values_list("rollout")
    return dict(sorted(found.annotate(count=Count("pk"))))


def _find_other_end(run: ApplyRun, sequence: int, detail: JSONObject) -> str:
    """Return how a finished run differs from the entry of its end; "" when it does not."""
    state = detail.get("state", "")
    if state != run.state:
        return f"audit entry {sequence} records {state}" if state else "no audit entry records its end"
    if detail.get("error", run.error) != run.error:
        return f"audit entry {sequence} records another error"
    if "rollouts" not in detail:  # it ended without a worker
        return ""
    if detail["rollouts"] != count_rollouts(run):
        return f"audit entry {sequence} records other rollouts"
    counts = Counter(run.results.values_list("outcome", flat=True))
    return "" if run.summary == counts else "its summary is not that of its results"


def _list_ends() -> Iterator[BadRight]:
    """Yield the runs whose state, error, rollouts or summary differ from the last audit entry of their end."""
    ended = list_entries(AuditAction.RUN_FINISHED)
    ends = {run: (sequence, body) for run, sequence, body in ended.values_list("run", "sequence", "detail")}
    for run in ApplyRun.objects.exclude(finished_at=None).order_by("pk"):
        sequence, body = ends.get(run.number, (0, {}))
        fault = _find_other_end(run, sequence, map_or_empty(body))
        if fault:
            yield BadRight("run", run.number, run.state, fault)


def _list_comments() -> Iterator[BadRight]:
    for comment, fault in row_macs.list_faults(Comment.objects.order_by("pk").iterator(chunk_size=2_000)):
        if fault:
            yield BadRight("comment", comment.pk, f"by account {comment.by_id}", fault)
    added = list_entries(AuditAction.COMMENT_ADDED).filter(detail__has_key="comment")
    known = {str(pk) for pk in Comment.objects.values_list("pk", flat=True)}
    for sequence, detail in added.values_list("sequence", "detail"):
        number = str(map_or_empty(detail).get("comment"))
        if number not in known:
            yield BadRight("comment of audit entry", sequence, number, "it is missing")


def check_records() -> tuple[BadRight, ...]:
    """Return every result, request, end of a run and comment that differs from the history; of finished runs only."""
    runs = ApplyRun.objects.exclude(finished_at=None).order_by("pk")
    removal = _find_removal()
    found = (one for run in runs.iterator(chunk_size=100) for one in _check_run(run, removal))
    return (*found, *_list_ends(), *_list_comments())
