"""The storage of sandbox clusters in the database, so that web and worker processes share one cluster.

Objects are sealed as a whole. A transaction holds the row of the sandbox's revision, which serialises the
writers of one sandbox on PostgreSQL; on SQLite every transaction holds the write lock from its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet

from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.records.models import SandboxMeta, SandboxObject, SandboxState
from applyviz.records.sealing import Sealed
from applyviz.sandbox.store import Key


class DatabaseStore:
    """A `sandbox.store.Store` over the rows of one cluster."""

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, and alone."""
        with transaction.atomic():
            SandboxState.objects.get_or_create(cluster_id=self._cluster_id)
            SandboxState.objects.select_for_update().get(cluster_id=self._cluster_id)
            yield

    def get(self, key: Key) -> JSONObject | None:
        """The object at a key, None when there is none."""
        row = self._at(key).only("body").first()
        obj: JSONObject | None = row.body.open_json() if row is not None else None
        return obj

    def list(self, group: str, plural: str, namespace: str | None = None) -> Sequence[JSONObject]:
        """The objects of one resource by namespace and name."""
        rows = SandboxObject.objects.filter(cluster_id=self._cluster_id, group=group, plural=plural)
        if namespace is not None:
            rows = rows.filter(namespace=namespace)
        return [row.body.open_json() for row in rows.order_by("namespace", "name").only("body")]

    def put(self, key: Key, obj: JSONObject) -> None:
        """Keep an object at a key."""
        SandboxObject.objects.update_or_create(
            cluster_id=self._cluster_id, **key._asdict(), defaults={"body": Sealed.of_json(obj)}
        )

    def delete(self, key: Key) -> None:
        """Forget the object at a key."""
        self._at(key).delete()

    def list_keys(self, namespace: str) -> Sequence[Key]:
        """The keys of everything in one namespace, of any resource."""
        rows = SandboxObject.objects.filter(cluster_id=self._cluster_id, namespace=namespace)
        return sorted(Key(*row) for row in rows.values_list("group", "plural", "namespace", "name"))

    def revision(self) -> int:
        """The last revision given."""
        found = SandboxState.objects.filter(cluster_id=self._cluster_id).values_list("revision", flat=True).first()
        return found or 0

    def next_revision(self) -> int:
        """A revision greater than any before; only inside a transaction."""
        revision = self.revision() + 1
        SandboxState.objects.filter(cluster_id=self._cluster_id).update(revision=revision)
        return revision

    def get_meta(self, name: str) -> JSONValue:
        """A small value of the cluster, None when it was never put."""
        return (
            SandboxMeta.objects.filter(cluster_id=self._cluster_id, name=name).values_list("value", flat=True).first()
        )

    def put_meta(self, name: str, value: JSONValue) -> None:
        """Keep a small value of the cluster."""
        SandboxMeta.objects.update_or_create(cluster_id=self._cluster_id, name=name, defaults={"value": value})

    def _at(self, key: Key) -> QuerySet[SandboxObject]:
        return SandboxObject.objects.filter(cluster_id=self._cluster_id, **key._asdict())
