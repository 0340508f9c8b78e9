"""Where a sandbox cluster keeps its objects: the protocol, and a store in memory.

Objects are kept as the server would write them to etcd: in the storage version of their resource, with
metadata, managedFields and status. Revisions only grow, as etcd's do (resourceVersion). What is left
out: history; a `continue` token lists the present, not the past.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, Protocol

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone


class Key(NamedTuple):
    """The place of one object; `namespace` is empty for cluster-scoped resources."""

    group: str
    plural: str
    namespace: str
    name: str


class Store(Protocol):
    """What a sandbox cluster needs of its storage.

    - `transaction()` is all or nothing and holds the cluster's write lock from its start: what is read
      inside cannot change before it ends. Reads outside of one see a committed state.
    - `get` and `list` give values the caller may keep but not change; `list` is ordered by namespace and
      name, over all namespaces when `namespace` is None.
    - `next_revision()` is only called inside a transaction and is greater than any before;
      `revision()` is the last one given.
    - `get_meta`/`put_meta` keep small JSON values of the cluster (allotted addresses, start marker).
    """

    def transaction(self) -> AbstractContextManager[None]: ...
    def get(self, key: Key) -> JSONObject | None: ...
    def list(self, group: str, plural: str, namespace: str | None = None) -> Sequence[JSONObject]: ...
    def put(self, key: Key, obj: JSONObject) -> None: ...
    def delete(self, key: Key) -> None: ...
    def list_keys(self, namespace: str) -> Sequence[Key]: ...
    def revision(self) -> int: ...
    def next_revision(self) -> int: ...
    def get_meta(self, name: str) -> JSONValue: ...
    def put_meta(self, name: str, value: JSONValue) -> None: ...


class MemoryStore:
    """A store in this process; a failing transaction is rolled back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._objects: dict[Key, MutableObject] = {}
        self._meta: dict[str, JSONValue] = {}
        self._revision = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock; give back the state from before when the block raises."""
        with self._lock:
            before = (dict(self._objects), dict(self._meta), self._revision)
            try:
                yield
            except BaseException:
                self._objects, self._meta, self._revision = before
                raise

    def get(self, key: Key) -> JSONObject | None:
        """The object at a key, None when there is none."""
        return self._objects.get(key)

    def list(self, group: str, plural: str, namespace: str | None = None) -> Sequence[JSONObject]:
        """The objects of one resource by namespace and name."""
        with self._lock:
            keys = [
                k for k in self._objects if k.plural == plural and k.group == group and namespace in (None, k.namespace)
            ]
            return [self._objects[k] for k in sorted(keys)]

    def put(self, key: Key, obj: JSONObject) -> None:
        """Keep a copy of an object at a key."""
        self._objects[key] = clone(obj)

    def delete(self, key: Key) -> None:
        """Forget the object at a key."""
        self._objects.pop(key, None)

    def list_keys(self, namespace: str) -> Sequence[Key]:
        """The keys of everything in one namespace, of any resource."""
        with self._lock:
            return sorted(k for k in self._objects if k.namespace == namespace)

    def revision(self) -> int:
        """The last revision given."""
        return self._revision

    def next_revision(self) -> int:
        """A revision greater than any before."""
        self._revision += 1
        return self._revision

    def get_meta(self, name: str) -> JSONValue:
        """A small value of the cluster, None when it was never put."""
        return self._meta.get(name)

    def put_meta(self, name: str, value: JSONValue) -> None:
        """Keep a small value of the cluster."""
        self._meta[name] = clone(value)
