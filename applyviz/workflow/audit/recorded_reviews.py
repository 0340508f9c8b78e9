"""Verification of reviews: their authors, the namespaces by which people see them, and who resolved conflicts.

Rule: the audit log records who created a review, and each resolution with its object, field and note; a plan stores the
namespace of each of its objects as a scope of its review. Rows that differ were changed outside the use cases.
Entries without a body (retention) confirm nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import AuditAction, PlanState
from applyviz.records.models import AuditEntry, ObjectChange, Resolution, Review, ReviewScope
from applyviz.workflow.audit.entries import list_entries, stream_entries
from applyviz.workflow.audit.right_macs import BadRight


class _ResolvedField(NamedTuple):
    """A field of an object whose conflict was resolved in a review, and how."""

    review: int
    object_key: str
    path: str
    choice: str


class _RecordedResolution(NamedTuple):
    """A resolution as an audit entry records it, beside its field."""

    plan: int
    by: int | None
    manager: str
    note: str


def _list_other_authors() -> Iterator[BadRight]:
    """Yield the reviews whose author is not the person who created them."""
    authors: dict[int | None, int] = dict(Review.objects.values_list("number", "author"))
    created = list_entries(AuditAction.REVIEW_CREATED)
    for number, sequence, actor, name in created.values_list("review", "sequence", "actor", "actor_name"):
        if authors.get(number, actor) != actor:
            yield BadRight("review", number or 0, "", f"audit entry {sequence} says that {name} created it")


def _list_missing_scopes() -> Iterator[BadRight]:
    """Yield the reviews with objects in namespaces that are not their scopes: people without a right see them."""
    created = list_entries(AuditAction.REVIEW_CREATED)
    recorded = dict(created.values_list("review", "cluster"))
    stored: dict[int, set[str]] = defaultdict(set)
    for number, cluster, namespace in ReviewScope.objects.values_list("review__number", "cluster__slug", "namespace"):
        if cluster == recorded.get(number):
            stored[number].add(namespace)
    for number in sorted(filter(None, recorded.keys() - stored.keys())):
        yield BadRight("scopes of review", number, "", "they are missing")
    rows = ObjectChange.objects.filter(plan__state=PlanState.COMPLETE).order_by()
    written = set(rows.values_list("plan__review__number", "namespace").distinct())
    for number, namespace in sorted(written):
        if number in stored and namespace not in stored[number]:
            where = f"namespace {namespace}" if namespace else "cluster-scoped objects"
            yield BadRight("scope of review", number, where, "it is missing")


def _key_of(entry: AuditEntry) -> str:
    return "/".join((entry.group, entry.kind, entry.namespace, entry.name))


def _list_triples(value: JSONValue) -> Iterator[tuple[str, str, str]]:
    """Yield resolution, manager and path of each field of an entry; skip values of any other form."""
    for one in value if isinstance(value, list) else ():
        match one:
            case [str() as choice, str() as manager, str() as path]:
                yield choice, manager, path


def _read_made(entry: AuditEntry) -> Iterator[tuple[_ResolvedField, _RecordedResolution]]:
    detail = map_or_empty(entry.detail)
    for choice, manager, path in _list_triples(detail.get("fields")):
        field = _ResolvedField(entry.review or 0, _key_of(entry), path, choice)
        yield field, _RecordedResolution(entry.plan or 0, entry.actor_id, manager, str(detail.get("note", "")))


def _is_one_path(row: Resolution) -> bool:
    """Return whether the elements of a row mean its path; False for elements of any other form."""
    try:
        return render_path(row.elements) == row.path
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError):
        return False


def _list_other_resolutions() -> Iterator[BadRight]:
    """Yield the stored resolutions that no entry records, and the recorded ones whose rows are missing."""
    recorded: Counter[tuple[_ResolvedField, _RecordedResolution]] = Counter()
    pruned = set()
    for entry in stream_entries(AuditAction.CONFLICT_RESOLVED):
        recorded.update(_read_made(entry))
        if entry.pruned_by is not None:
            pruned.add((entry.review, entry.plan, _key_of(entry)))
    rows = Resolution.objects.select_related("review", "plan").order_by("pk")
    for row in rows.iterator(chunk_size=2_000):
        field = _ResolvedField(row.review.number, row.object_key, row.path, row.choice)
        made = field, _RecordedResolution(row.plan.number, row.by_id, row.manager, row.note)
        if recorded[made] > 0 and _is_one_path(row):
            recorded[made] -= 1
        elif (row.review.number, row.plan.number, row.object_key) not in pruned:
            yield BadRight("resolution", row.pk, str(row), "no audit entry records it")
    for (field, _made), count in recorded.items():
        if count > 0:
            yield BadRight("resolution of review", field.review, field.object_key, "it is missing or differs")


def _list_revived_resolutions() -> Iterator[BadRight]:
    """Yield the resolutions that were undone only in the audit log, or only in the database.

    - An undo on a plan ends the resolutions that were made on earlier plans; later ones were made again.
    """
    undone: dict[_ResolvedField, list[tuple[int, int | None]]] = defaultdict(list)
    pruned = set()
    for entry in stream_entries(AuditAction.RESOLUTION_UNDONE):
        for choice, _manager, path in _list_triples(map_or_empty(entry.detail).get("undone")):
            undone[_ResolvedField(entry.review or 0, _key_of(entry), path, choice)].append(
                (entry.plan or 0, entry.actor_id)
            )
        if entry.pruned_by is not None:
            pruned.add((entry.review, _key_of(entry)))
    rows = Resolution.objects.select_related("review", "plan").order_by("pk")
    for row in rows.iterator(chunk_size=2_000):
        ends = undone[_ResolvedField(row.review.number, row.object_key, row.path, row.choice)]
        later = [actor for plan, actor in ends if plan > row.plan.number]
        if row.undone_at is None and later:
            yield BadRight("resolution", row.pk, str(row), "the audit log says that it was undone")
        is_known = row.undone_at is None or row.undone_by_id in later
        if not is_known and (row.review.number, row.object_key) not in pruned:
            yield BadRight("resolution", row.pk, str(row), "no audit entry records that it was undone")


def check_reviews() -> tuple[BadRight, ...]:
    """Return every row of a review that differs from what the audit log and its plans say."""
    return (
        *_list_other_authors(),
        *_list_missing_scopes(),
        *_list_other_resolutions(),
        *_list_revived_resolutions(),
    )
