"""Sandboxes of tests in memory: for tests of what acts on a cluster, not of how one is stored.

A sandbox in the database reads and writes several sealed rows with each request: a fifth of the processor time of a
story. Both stores give the same answers (`tests/clusters/test_storage.py`). What is sealed, locked or rolled back is
for tests with the database: those of sandboxes over HTTP, of pages without keys, attacks and faults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from applyviz.clusters import sandbox
from applyviz.engine.objects.values import JSONObject
from applyviz.records import sealing
from applyviz.sandbox.storage.store import MemoryStore, ObjectKey


class UnsealedStore(MemoryStore):
    """A store in memory that is read by who holds a key that opens, as one in the database is."""

    def __init__(self, cluster_id: int) -> None:
        super().__init__()
        self._cluster_id = cluster_id

    def get(self, key: ObjectKey) -> JSONObject | None:
        """Return the object at a key, None if there is none."""
        self._need_key()
        return super().get(key)

    def list(self, group: str, plural: str, namespace: str | None = None) -> Sequence[JSONObject]:
        """Return the objects of one resource by namespace and name."""
        self._need_key()
        return super().list(group, plural, namespace)

    def copy(self) -> UnsealedStore:
        """Return another store with the same content; stored objects are replaced, never changed."""
        copied = UnsealedStore(self._cluster_id)
        copied._objects, copied._meta = dict(self._objects), dict(self._meta)
        copied._revision, copied._compacted, copied._changes = self._revision, self._compacted, self._changes
        return copied

    def _need_key(self) -> None:
        if not sealing.can_open():
            raise sealing.SealError(f"this process holds no key that opens sandbox {self._cluster_id}")


class MemoryStores:
    """The store of each sandbox, made when it is asked for."""

    def __init__(self, kept: Mapping[int, UnsealedStore] | None = None) -> None:
        self._kept = dict(kept or {})

    def __call__(self, cluster_id: int) -> UnsealedStore:
        """Return the store of a sandbox."""
        if cluster_id not in self._kept:
            self._kept[cluster_id] = UnsealedStore(cluster_id)
        return self._kept[cluster_id]

    def copy(self) -> MemoryStores:
        """Return other stores with the same content."""
        return MemoryStores({cluster_id: store.copy() for cluster_id, store in self._kept.items()})


@pytest.fixture(name="sandboxes", autouse=True)
def keep_sandboxes_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sandbox of a test is kept in memory, and forgotten with the test; modules override it to keep rows."""
    monkeypatch.setattr(sandbox, "DatabaseStore", MemoryStores())
