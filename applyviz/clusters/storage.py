"""The storage of sandbox clusters in the database, so that web and worker processes share one cluster.

Objects are sealed as a whole, and so are the last changes for watches. A transaction locks the row of the sandbox's
revision, which serializes the writers of one sandbox on PostgreSQL, so that revisions are committed in their order; on
SQLite every transaction holds the write lock from its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet

from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.models import SandboxChange, SandboxMeta, SandboxObject, SandboxState
from applyviz.records.sealing import Sealed
from applyviz.sandbox.storage.store import KEPT_CHANGES, ObjectKey, StoredChange

KEPT_BYTES = 16 * 1024 * 1024
"""How much the sealed changes of one sandbox may take together; the oldest go first."""
_COMPACT_EVERY = 32


class DatabaseStore:
    """A `sandbox.storage.store.Store` over the rows of one cluster."""

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock of the sandbox; roll back if the block raises."""
        with transaction.atomic():
            SandboxState.objects.get_or_create(cluster_id=self._cluster_id)
            SandboxState.objects.select_for_update().get(cluster_id=self._cluster_id)
            yield

    def get(self, key: ObjectKey) -> JSONObject | None:
        """Return the object at a key, None if there is none."""
        row = self._at(key).only("body").first()
        obj: JSONObject | None = row.body.open_json() if row is not None else None
        return obj

    def list(self, group: str, plural: str, namespace: str | None = None) -> Sequence[JSONObject]:
        """Return the objects of one resource by namespace and name."""
        rows = SandboxObject.objects.filter(cluster_id=self._cluster_id, group=group, plural=plural)
        if namespace is not None:
            rows = rows.filter(namespace=namespace)
        return [row.body.open_json() for row in rows.order_by("namespace", "name").only("body")]

    def put(self, key: ObjectKey, obj: JSONObject) -> None:
        """Store an object at a key."""
        SandboxObject.objects.update_or_create(
            cluster_id=self._cluster_id, **key._asdict(), defaults={"body": Sealed.of_json(obj)}
        )

    def delete(self, key: ObjectKey) -> None:
        """Remove the object at a key."""
        self._at(key).delete()

    def list_keys(self, namespace: str) -> Sequence[ObjectKey]:
        """Return the keys of all objects in one namespace, of any resource."""
        rows = SandboxObject.objects.filter(cluster_id=self._cluster_id, namespace=namespace)
        return sorted(ObjectKey(*row) for row in rows.values_list("group", "plural", "namespace", "name"))

    def revision(self) -> int:
        """Return the newest revision."""
        return self._read_state()[0]

    def next_revision(self) -> int:
        """Return a revision greater than any before; only inside a transaction."""
        revision = self.revision() + 1
        SandboxState.objects.filter(cluster_id=self._cluster_id).update(revision=revision)
        return revision

    def keep_change(self, change: StoredChange) -> None:
        """Append a change, and drop the oldest ones from time to time."""
        body = Sealed.of_json({"before": change.before, "after": change.after})
        size = len(body.token)
        SandboxChange.objects.create(
            cluster_id=self._cluster_id, revision=change.revision, **change.key._asdict(), body=body, size=size
        )
        if change.revision % _COMPACT_EVERY == 0 or size > KEPT_BYTES // _COMPACT_EVERY:
            self._compact(change.revision - KEPT_CHANGES)

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
        rows = SandboxState.objects.filter(cluster_id=self._cluster_id).values_list("revision", "compacted")
        return rows.first() or (0, 0)

    def get_meta(self, name: str) -> JSONValue:
        """Return a small value of the cluster, None if it was never stored."""
        return (
            SandboxMeta.objects.filter(cluster_id=self._cluster_id, name=name).values_list("value", flat=True).first()
        )

    def put_meta(self, name: str, value: JSONValue) -> None:
        """Store a small value of the cluster."""
        SandboxMeta.objects.update_or_create(cluster_id=self._cluster_id, name=name, defaults={"value": value})

    def _at(self, key: ObjectKey) -> QuerySet[SandboxObject]:
        return SandboxObject.objects.filter(cluster_id=self._cluster_id, **key._asdict())
