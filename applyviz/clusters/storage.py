"""The storage of sandbox clusters in the database, so that web and worker processes share one cluster.

Objects are sealed as a whole, and so are the last changes for watches. A transaction locks the row of the sandbox's
revision, which serializes the writers of one sandbox on PostgreSQL, so that revisions are committed in their order; on
SQLite every transaction holds the write lock from its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.db.models import FilteredRelation, Q, QuerySet

from applyviz.clusters.pending_rows import PendingRows
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone
from applyviz.records.models import SandboxChange, SandboxMeta, SandboxObject, SandboxState
from applyviz.records.sealing import Sealed, Unsealed
from applyviz.sandbox.storage.store import KEPT_CHANGES, ObjectKey, Place, StoredChange, read_place

KEPT_BYTES = 16 * 1024 * 1024
"""How much the sealed changes of one sandbox may take together; the oldest go first."""
_COMPACT_EVERY = 32
_BATCH = 200
_NOTHING: Mapping[ObjectKey, JSONObject | None] = {}


def _open(at: SandboxObject, namespace: str, name: str, body: Sealed) -> MutableObject:
    """Return the sealed object of a row; `at` stands for each row of a list in turn, because new rows cost time."""
    at.namespace, at.name, at.body = namespace, name, body
    obj: MutableObject = at.body.open_json()
    return obj


class DatabaseStore:
    """A `sandbox.storage.store.Store` over the rows of one cluster."""

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id
        self._pending: PendingRows | None = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock of the sandbox; roll back if the block raises."""
        if self._pending is not None:
            before = self._pending.copy()
            try:
                yield
            except BaseException:
                self._pending = before
                raise
            return
        with transaction.atomic():
            self._pending = self._begin()
            try:
                yield
                self._write_pending(self._pending)
            finally:
                self._pending = None

    def _begin(self) -> PendingRows:
        """Lock the revision of the sandbox; the first transaction of all adds it."""
        rows = SandboxState.objects.select_for_update().filter(cluster_id=self._cluster_id)
        state = rows.first()
        if state is not None:
            return PendingRows(state.revision, state.compacted)
        SandboxState.objects.bulk_create([SandboxState(cluster_id=self._cluster_id)], ignore_conflicts=True)
        state = rows.get()  # another process may have added it, and written
        return PendingRows(state.revision, state.compacted, is_new=not state.revision)

    def _write_pending(self, pending: PendingRows) -> None:
        """Write all rows that the transaction changed."""
        rows = SandboxObject.objects
        fields = ["cluster", "group", "plural", "namespace", "name"]
        kept = [(key, obj) for key in sorted(pending.written) if (obj := pending.objects[key]) is not None]
        rows.bulk_create(
            [SandboxObject(cluster_id=self._cluster_id, **k._asdict(), body=Unsealed.of_json(o)) for k, o in kept],
            update_conflicts=True,
            update_fields=["body"],
            unique_fields=fields,
            batch_size=_BATCH,
        )
        for key in pending.written:
            if pending.objects[key] is None:
                self._at(key).delete()
        SandboxMeta.objects.bulk_create(
            [
                SandboxMeta(cluster_id=self._cluster_id, name=name, value=pending.values[name])
                for name in sorted(pending.written_values)
            ],
            update_conflicts=True,
            update_fields=["value"],
            unique_fields=["cluster", "name"],
        )
        SandboxState.objects.filter(cluster_id=self._cluster_id).update(revision=pending.revision)
        self._write_changes(pending.changes)

    def _write_changes(self, changes: Sequence[StoredChange]) -> None:
        """Append changes, and drop the oldest ones from time to time."""
        rows = []
        for change in changes:
            row = SandboxChange(cluster_id=self._cluster_id, revision=change.revision, **change.key._asdict())
            row.body = Unsealed.of_json({"before": change.before, "after": change.after})
            row.size = len(row.body.token)
            rows.append(row)
        SandboxChange.objects.bulk_create(rows, batch_size=_BATCH)
        due = [r for r in rows if r.revision % _COMPACT_EVERY == 0 or r.size > KEPT_BYTES // _COMPACT_EVERY]
        if due:
            self._compact(due[-1].revision - KEPT_CHANGES)

    def get(self, key: ObjectKey) -> JSONObject | None:
        """Return the object at a key, None if there is none."""
        pending = self._pending
        if pending is None:
            return self._read(key)
        if key not in pending.objects:
            known = pending.knows((key.group, key.plural, key.namespace))
            pending.objects[key] = None if known else self._read(key)
        return pending.objects[key]

    def _read(self, key: ObjectKey) -> JSONObject | None:
        row = self._at(key).first()
        obj: JSONObject | None = row.body.open_json() if row is not None else None
        return obj

    def list(self, group: str, plural: str, namespace: str | None = None) -> Sequence[JSONObject]:
        """Return the objects of one resource by namespace and name."""
        pending, listing = self._pending, (group, plural, namespace)
        if pending is None:
            return [obj for _, obj in self._read_list(*listing)]
        if not pending.knows(listing):
            pending.learn(listing, self._read_list(*listing, known=pending.objects))
        return pending.list(listing)

    def list_at_revision(
        self, group: str, plural: str, namespace: str | None = None, after: Place | None = None
    ) -> tuple[Sequence[MutableObject], int]:
        """Return the objects of one resource and their revision, by one statement: nothing is written in between."""
        if self._pending is not None:
            pending = map(clone, self.list(group, plural, namespace))
            return [o for o in pending if after is None or read_place(o) > after], self._pending.revision
        wanted = Q(cluster__sandbox_objects__group=group, cluster__sandbox_objects__plural=plural)
        if namespace is not None:
            wanted &= Q(cluster__sandbox_objects__namespace=namespace)
        found = SandboxState.objects.filter(cluster_id=self._cluster_id).annotate(
            found=FilteredRelation("cluster__sandbox_objects", condition=wanted)
        )
        named = ("found__namespace", "found__name")
        rows = list(found.order_by(*named).values_list("revision", *named, "found__body"))
        at = SandboxObject(cluster_id=self._cluster_id, group=group, plural=plural)
        kept = [row for row in rows if row[3] is not None and (after is None or (row[1], row[2]) > after)]
        return [_open(at, *row[1:]) for row in kept], rows[0][0] if rows else 0

    def _read_list(
        self, group: str, plural: str, namespace: str | None, known: Mapping[ObjectKey, JSONObject | None] = _NOTHING
    ) -> Iterator[tuple[ObjectKey, JSONObject]]:
        """Yield the stored objects by namespace and name, without known ones."""
        rows = SandboxObject.objects.filter(cluster_id=self._cluster_id, group=group, plural=plural)
        if namespace is not None:
            rows = rows.filter(namespace=namespace)
        for row in rows.order_by("namespace", "name"):
            key = ObjectKey(group, plural, row.namespace, row.name)
            if key not in known:
                yield key, row.body.open_json()

    def put(self, key: ObjectKey, obj: JSONObject) -> None:
        """Store an object at a key; must be inside a transaction."""
        self._writing().put(key, obj)

    def delete(self, key: ObjectKey) -> None:
        """Remove the object at a key; must be inside a transaction."""
        self._writing().put(key, None)

    def _writing(self) -> PendingRows:
        if self._pending is None:
            raise LookupError("a sandbox is written inside a transaction")
        return self._pending

    def list_keys(self, namespace: str) -> Sequence[ObjectKey]:
        """Return the keys of all objects in one namespace, of any resource."""
        rows = SandboxObject.objects.filter(cluster_id=self._cluster_id, namespace=namespace)
        keys = {ObjectKey(*row) for row in rows.values_list("group", "plural", "namespace", "name")}
        if self._pending is not None:
            for key in self._pending.written:
                if key.namespace == namespace:
                    (keys.add if self._pending.objects[key] is not None else keys.discard)(key)
        return sorted(keys)

    def revision(self) -> int:
        """Return the newest revision."""
        return self._read_state()[0]

    def next_revision(self) -> int:
        """Return a revision greater than any before; only inside a transaction."""
        pending = self._writing()
        pending.revision += 1
        return pending.revision

    def keep_change(self, change: StoredChange) -> None:
        """Append a change; only inside a transaction."""
        self._writing().keep_change(change)

    def _compact(self, oldest: int) -> None:
        """Drop all changes up to a revision, and those above the limit."""
        mine, kept = SandboxChange.objects.filter(cluster_id=self._cluster_id), 0
        for revision, size in mine.order_by("-revision").values_list("revision", "size"):
            kept += size
            if kept > KEPT_BYTES:
                oldest = max(oldest, revision)
                break
        if oldest > 0 and mine.filter(revision__lte=oldest).delete()[0]:
            SandboxState.objects.filter(cluster_id=self._cluster_id).update(compacted=oldest)

    def list_changes(
        self, since: int, group: str, plural: str, namespace: str | None = None
    ) -> Sequence[StoredChange] | None:
        """Return the changes of one resource after a revision; None if some of them are compacted."""
        rows = list(self._changes_of(since, group, plural, namespace).order_by("revision"))
        # Read last: a change that was compacted by then may have been missed.
        if since < self._read_state()[1]:
            return None
        return [
            StoredChange(
                row.revision, ObjectKey(row.group, row.plural, row.namespace, row.name), **row.body.open_json()
            )
            for row in rows
        ]

    def find_news(self, since: int, group: str, plural: str, namespace: str | None = None) -> tuple[bool, int]:
        """Return whether a resource may have changed after a revision, and the revision checked; opens nothing sealed.

        - Compacted changes count as changes.
        """
        revision, compacted = self._read_state()  # read first: nothing up to it is committed later
        if since < compacted:
            return True, max(since, revision)
        has_some = revision > since and self._changes_of(since, group, plural, namespace).exists()
        return has_some, max(since, revision)

    def _changes_of(self, since: int, group: str, plural: str, namespace: str | None) -> QuerySet[SandboxChange]:
        rows = SandboxChange.objects.filter(cluster_id=self._cluster_id, revision__gt=since, group=group, plural=plural)
        return rows if namespace is None else rows.filter(namespace=namespace)

    def _read_state(self) -> tuple[int, int]:
        """Return the newest revision, and the last one whose change was compacted."""
        if self._pending is not None:
            return self._pending.revision, self._pending.compacted
        rows = SandboxState.objects.filter(cluster_id=self._cluster_id).values_list("revision", "compacted")
        return rows.first() or (0, 0)

    def get_meta(self, name: str) -> Any:
        """Return a small value of the cluster, None if it was never stored."""
        pending = self._pending
        if pending is None:
            return self._read_value(name)
        if name not in pending.values:
            pending.values[name] = None if pending.is_new else self._read_value(name)
        return pending.values[name]

    def _read_value(self, name: str) -> JSONValue:
        rows = SandboxMeta.objects.filter(cluster_id=self._cluster_id, name=name)
        return rows.values_list("value", flat=True).first()

    def put_meta(self, name: str, value: JSONValue) -> None:
        """Store a small value of the cluster; must be inside a transaction."""
        self._writing().put_value(name, value)

    def _at(self, key: ObjectKey) -> QuerySet[SandboxObject]:
        return SandboxObject.objects.filter(cluster_id=self._cluster_id, **key._asdict())
