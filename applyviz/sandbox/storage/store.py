"""The storage of a sandbox cluster: the protocol, and a store in memory.

Objects are stored as the server would write them to etcd: in the storage version of their resource, with metadata,
managedFields and status. Revisions (resourceVersion) only grow, as in etcd. The last changes are kept for watches;
older ones are compacted. Left out: past versions of objects, so a `continue` token lists the current ones.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol, TypeAlias

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone

Place: TypeAlias = tuple[str, str]


class ObjectKey(NamedTuple):
    """The key of one object; `namespace` is empty for cluster-scoped resources."""

    group: str
    plural: str
    namespace: str
    name: str


def read_place(obj: JSONObject) -> Place:
    """Return the namespace and name of an object, by which lists are sorted."""
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


class StoredChange(NamedTuple):
    """One write of one object at a revision: as it was `before` (None: created), and `after` (None: deleted)."""

    revision: int
    key: ObjectKey
    before: JSONObject | None
    after: JSONObject | None


class Store(Protocol):
    """The storage that a sandbox cluster needs.

    - `transaction()` is atomic and holds the cluster's write lock from its start: values read inside cannot change
      before it ends. Reads outside of one see a committed state.
    - `get` and `list` return values that the caller may keep but not change; `list` is sorted by namespace and name,
      over all namespaces if `namespace` is None.
    - `list_at_revision` returns a list and its revision: a watch from there misses no change and repeats none. The
      caller may change its values; `after` is the namespace and name after which it begins, None for the first object.
    - `next_revision()` is only called inside a transaction and is greater than any before; `revision()` is the last
      one.
    - `keep_change` is only called inside a transaction, with the newest revision; revisions are committed in their
      order, so a reader of a change has missed none before it.
    - `list_changes` returns the changes of one resource after a revision, in order; None if some of them are compacted.
    - `get_meta`/`put_meta` keep small JSON values of the cluster (allocated addresses, start marker).
    """

    def transaction(self) -> AbstractContextManager[None]: ...
    def get(self, key: ObjectKey) -> JSONObject | None: ...
    def list(self, group: str, plural: str, namespace: str | None = None) -> Sequence[JSONObject]: ...
    def list_at_revision(
        self, group: str, plural: str, namespace: str | None = None, after: Place | None = None
    ) -> tuple[Sequence[MutableObject], int]: ...
    def put(self, key: ObjectKey, obj: JSONObject) -> None: ...
    def delete(self, key: ObjectKey) -> None: ...
    def list_keys(self, namespace: str) -> Sequence[ObjectKey]: ...
    def revision(self) -> int: ...
    def next_revision(self) -> int: ...
    def keep_change(self, change: StoredChange) -> None: ...
    def list_changes(
        self, since: int, group: str, plural: str, namespace: str | None = None
    ) -> Sequence[StoredChange] | None: ...
    def get_meta(self, name: str) -> Any: ...
    def put_meta(self, name: str, value: JSONValue) -> None: ...


KEPT_CHANGES = 1000
"""How many changes of a cluster are kept; a watch that asks for older ones has to list again."""


class MemoryStore:
    """A store in this process; a failing transaction is rolled back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._objects: dict[ObjectKey, MutableObject] = {}
        self._meta: dict[str, JSONValue] = {}
        self._revision = self._compacted = 0
        self._changes: tuple[StoredChange, ...] = ()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock; restore the previous state if the block raises."""
        with self._lock:
            before = (dict(self._objects), dict(self._meta), self._revision, self._changes, self._compacted)
            try:
                yield
            except BaseException:
                self._objects, self._meta, self._revision, self._changes, self._compacted = before
                raise

    def get(self, key: ObjectKey) -> JSONObject | None:
        """Return the object at a key, None if there is none."""
        return self._objects.get(key)

    def list(self, group: str, plural: str, namespace: str | None = None) -> Sequence[JSONObject]:
        """Return the objects of one resource by namespace and name."""
        with self._lock:
            return [self._objects[k] for k in self._list_keys(group, plural, namespace)]

    def _list_keys(self, group: str, plural: str, namespace: str | None) -> Sequence[ObjectKey]:
        keys = (k for k in self._objects if k.plural == plural and k.group == group)
        return sorted(k for k in keys if namespace in (None, k.namespace))

    def list_at_revision(
        self, group: str, plural: str, namespace: str | None = None, after: Place | None = None
    ) -> tuple[Sequence[MutableObject], int]:
        """Return the objects of one resource, and the revision at which they are so."""
        with self._lock:
            keys = self._list_keys(group, plural, namespace)
            kept = (k for k in keys if after is None or (k.namespace, k.name) > after)
            return [clone(self._objects[k]) for k in kept], self._revision

    def put(self, key: ObjectKey, obj: JSONObject) -> None:
        """Store a copy of an object at a key."""
        self._objects[key] = clone(obj)

    def delete(self, key: ObjectKey) -> None:
        """Remove the object at a key."""
        self._objects.pop(key, None)

    def list_keys(self, namespace: str) -> Sequence[ObjectKey]:
        """Return the keys of all objects in one namespace, of any resource."""
        with self._lock:
            return sorted(k for k in self._objects if k.namespace == namespace)

    def revision(self) -> int:
        """Return the newest revision."""
        return self._revision

    def next_revision(self) -> int:
        """Return a revision greater than any before."""
        self._revision += 1
        return self._revision

    def keep_change(self, change: StoredChange) -> None:
        """Append a change, and drop the oldest ones."""
        self._changes = (*self._changes, change._replace(after=clone(change.after)))
        if len(self._changes) > KEPT_CHANGES:
            self._compacted, self._changes = self._changes[0].revision, self._changes[1:]

    def list_changes(
        self, since: int, group: str, plural: str, namespace: str | None = None
    ) -> Sequence[StoredChange] | None:
        """Return the changes of one resource after a revision; None if some of them are compacted."""
        with self._lock:
            if since < self._compacted:
                return None
            return [
                c
                for c in self._changes
                if c.revision > since
                and (c.key.group, c.key.plural) == (group, plural)
                and namespace in (None, c.key.namespace)
            ]

    def get_meta(self, name: str) -> Any:
        """Return a small value of the cluster, None if it was never stored."""
        return self._meta.get(name)

    def put_meta(self, name: str, value: JSONValue) -> None:
        """Store a small value of the cluster."""
        self._meta[name] = clone(value)
