"""The runs on a cluster: the last result of each object, and the writes that explain changes.

A scan after a run looks at the objects that it touched, and at what is known of them, alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet

from applyviz.clusters.server_clock import to_server
from applyviz.engine.objects.refs import ObjectRef
from applyviz.records.enums import EntryState, Outcome
from applyviz.records.models import Cluster, JournalEntry, ObjectChange, ObjectResult
from applyviz.workflow.live.unreviewed_changes import ExternalWrite
from applyviz.workflow.plans import changes

_COLUMNS = ("group", "kind", "namespace", "name")
_MOST_RESULTS, _MOST_WRITES = 20_000, 50_000
_GOOD = [outcome for outcome in Outcome if outcome.is_good]
Key = tuple[str, str, str, str]


def select_touched(cluster: Cluster, since: datetime) -> QuerySet[ObjectChange]:
    """Return the changes for which runs on a cluster sent a write, of runs that ended since then."""
    wrote = JournalEntry.objects.filter(result__change=OuterRef("pk")).exclude(method="GET")
    ended = ObjectChange.objects.filter(plan__target__cluster=cluster, results__run__finished_at__gte=since)
    return ended.filter(Exists(wrote))


def is_touched(touched: QuerySet[ObjectChange], prefix: str = "") -> Exists:
    """Return the condition that a row is about a touched object; `prefix` leads to the columns that name its object."""
    return Exists(touched.order_by().filter(**{name: OuterRef(f"{prefix}{name}") for name in _COLUMNS}))


def list_refs(touched: QuerySet[ObjectChange]) -> Sequence[ObjectRef]:
    """Return the names of touched objects, each once."""
    rows = touched.order_by("pk").only("version", *_COLUMNS)
    return tuple({changes.ref_of(row).key: changes.ref_of(row) for row in rows}.values())


@dataclass
class KnownRuns:
    """The runs on a cluster: the last result of each object, and every write.

    - `ahead` is how far the clock of the API server is ahead of ours now; rows without a value of their own use it.
    """

    ahead: timedelta | None = None
    results: dict[Key, ObjectResult] = field(default_factory=dict)
    writes: dict[Key, list[ExternalWrite]] = field(default_factory=dict)

    @classmethod
    def load(cls, cluster: Cluster, touched: QuerySet[ObjectChange] | None, *, ahead: timedelta | None) -> KnownRuns:
        """Return what is known of a cluster, or only of the touched objects in it."""
        known = cls(ahead)
        results = ObjectResult.objects.filter(run__plan__target__cluster=cluster, outcome__in=_GOOD)
        results = results.select_related("change", "run__plan").defer(
            "change__document", "change__found_risks", "change__sealed"
        )
        if touched is not None:
            results = results.filter(is_touched(touched, "change__"))
        for result in results.order_by("-id")[:_MOST_RESULTS]:
            known.results.setdefault(key_of(changes.ref_of(result.change)), result)
        for key, write in _read_writes(cluster, touched, ahead):
            known.writes.setdefault(key, []).append(write)
        return known

    def find_start(self, key: Key) -> datetime | None:
        """Return when runs first wrote an object, or found it as approved, by the clock of the API server."""
        writes, result = self.writes.get(key, ()), self.results.get(key)
        if writes or result is None or result.finished_at is None:
            return min((write.sent_at for write in writes), default=None)
        return to_server(result.finished_at, self.ahead if result.server_ahead is None else result.server_ahead)


def key_of(ref: ObjectRef) -> Key:
    """Return what names an object, whatever the version of its API."""
    return ref.gvk.group, ref.gvk.kind, ref.namespace, ref.name


def _read_writes(
    cluster: Cluster, touched: QuerySet[ObjectChange] | None, now_ahead: timedelta | None
) -> Iterator[tuple[Key, ExternalWrite]]:
    entries = JournalEntry.objects.filter(result__run__plan__target__cluster=cluster)
    # A request without an answer may have been executed, so it explains changes at its time.
    entries = entries.exclude(method="GET").filter(Q(status=0) | Q(status__lt=400)).exclude(state=EntryState.INTENT)
    if touched is not None:
        entries = entries.filter(is_touched(touched, "result__change__"))
    rows = entries.order_by("-id").values_list(
        *(f"result__change__{name}" for name in _COLUMNS),
        "query",
        "result__run__plan__options",
        "sent_at",
        "answered_at",
        "server_ahead",
        "result__run__number",
    )
    for *key, query, options, sent_at, answered_at, then_ahead, run in rows[:_MOST_WRITES]:
        manager = query.get("fieldManager") or options.get("field_manager") or ""
        ahead = now_ahead if then_ahead is None else then_ahead
        until = answered_at or sent_at + timedelta(minutes=1)
        yield tuple(key), ExternalWrite(manager, to_server(sent_at, ahead), to_server(until, ahead), run)
