"""The state that every verb of a sandbox cluster shares: store, clock, uids, resources, versioned objects."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct, field

from applyviz.engine.objects.values import JSONObject, MutableObject, clone
from applyviz.engine.schema.autoscalers import convert_autoscaler
from applyviz.kubernetes.parity.json_text import normalize_numbers
from applyviz.kubernetes.parity.status import not_found
from applyviz.sandbox.schema.custom_resources import read_embedded
from applyviz.sandbox.schema.structural import drop_nulls, fill_defaults, prune
from applyviz.sandbox.storage.dependents import index_change
from applyviz.sandbox.storage.resources import Registry, ResourceTarget
from applyviz.sandbox.storage.store import ObjectKey, Store, StoredChange

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def convert_custom(obj: JSONObject, api_version: str, schema: JSONObject | None) -> MutableObject:
    """Return a custom resource at another version, with only the fields that this version has."""
    kept: MutableObject = {name: normalize_numbers(value) for name, value in obj.items()} | {"apiVersion": api_version}
    for _ in prune(kept, schema):
        pass
    return kept


def _read_custom(target: ResourceTarget, stored: JSONObject) -> MutableObject:
    """Apply nulls and defaults of the storage version's schema; another version only drops fields."""
    obj = convert_custom(stored, target.storage.api_version, target.storage_schema)
    drop_nulls(obj, target.storage_schema)
    read_embedded(obj, target.storage_schema)
    fill_defaults(obj, target.storage_schema)
    return obj if target.storage == target.gvk else convert_custom(obj, target.gvk.api_version, target.schema)


def _hide(target: ResourceTarget, obj: MutableObject) -> MutableObject:
    """Remove the internal traffic policy of an external name, in place: it stays stored, and no read shows it.

    - Rule: what `pkg/registry/core/service/storage` removes on read.
    """
    if target.plural == "services" and target.struct is not None and obj["spec"].get("type") == "ExternalName":
        obj["spec"].pop("internalTrafficPolicy", None)
    return obj


class SandboxCluster(Struct, frozen=True):
    """One sandbox cluster; `clock` returns aware datetimes, `new_uid` fresh uids.

    - `has_controllers`: the reactions of a real cluster's controllers to a delete happen before the next request.
    - `changes`: writes of this transaction that no controller has seen yet.
    """

    store: Store
    clock: Callable[[], datetime]
    new_uid: Callable[[], str]
    registry: Registry
    has_controllers: bool = True
    changes: deque[StoredChange] = field(default_factory=deque)

    def now(self) -> str:
        """Return the current second in the format of metadata."""
        return self.clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def find(self, target: ResourceTarget, namespace: str, name: str) -> MutableObject | None:
        """Return a fresh copy of an object as a read shows it."""
        stored = self.store.get(target.key(namespace, name))
        return self.read(target, stored) if stored is not None else None

    def find_stored(self, target: ResourceTarget, namespace: str, name: str) -> MutableObject | None:
        """Return a fresh copy of an object as a write finds it, with what reads hide."""
        stored = self.store.get(target.key(namespace, name))
        return self._convert(target, stored) if stored is not None else None

    def get(self, target: ResourceTarget, namespace: str, name: str) -> MutableObject:
        """Return a fresh copy of an object as a read shows it; raises `StatusError` (404) if absent."""
        found = self.find(target, namespace, name)
        if found is None:
            raise not_found(target.group, target.plural, name)
        return found

    def read(self, target: ResourceTarget, stored: JSONObject) -> MutableObject:
        """Return a stored object at the version of the target, as a read shows it."""
        return _hide(target, self._convert(target, stored))

    def read_own(self, target: ResourceTarget, own: MutableObject) -> MutableObject:
        """Return the same as `read`, but for an object of the caller, which may be changed in place."""
        return _hide(target, self._convert_own(target, own))

    def _convert(self, target: ResourceTarget, stored: JSONObject) -> MutableObject:
        return self._convert_own(target, clone(dict(stored)) if target.struct is not None else dict(stored))

    def _convert_own(self, target: ResourceTarget, own: MutableObject) -> MutableObject:
        if target.struct is None:
            return _read_custom(target, own)
        return own if target.storage == target.gvk else convert_autoscaler(own, target.gvk.version)

    def write(self, target: ResourceTarget, obj: MutableObject) -> MutableObject:
        """Store an object and return it as later reads will."""
        self.save(target, obj)
        meta = obj["metadata"]
        return self.get(target, meta.get("namespace", ""), meta["name"])

    def preview(self, target: ResourceTarget, obj: MutableObject) -> MutableObject:
        """Return an object that is not stored as later reads would show it: a storage version may lack some fields."""
        if target.struct is not None:
            return _hide(target, obj)
        if target.storage == target.gvk:
            read_embedded(obj, target.schema)
            return obj
        return _read_custom(target, convert_custom(obj, target.storage.api_version, target.storage_schema))

    def save(self, target: ResourceTarget, obj: MutableObject) -> None:
        """Store an object at its storage version with a new revision; must be inside a transaction."""
        revision = self.store.next_revision()
        obj["metadata"]["resourceVersion"] = str(revision)
        kept: JSONObject = obj
        if target.struct is None:
            kept = convert_custom(obj, target.storage.api_version, target.storage_schema)
        elif target.storage != target.gvk:
            kept = convert_autoscaler(obj, target.storage.version)
        meta = obj["metadata"]
        key = target.key(meta.get("namespace", ""), meta["name"])
        before = self.store.get(key)
        self.store.put(key, kept)
        self._keep_change(StoredChange(revision, key, before, kept))

    def remove(self, key: ObjectKey) -> None:
        """Remove an object at a separate revision, as etcd counts it; must be inside a transaction."""
        before = self.store.get(key)
        if before is not None:
            self.store.delete(key)
            self._keep_change(StoredChange(self.store.next_revision(), key, before, None))

    def _keep_change(self, change: StoredChange) -> None:
        self.store.keep_change(change)
        self.changes.append(change)
        if self.has_controllers:
            index_change(self.store, change)

    def finish_name(self, prefix: str, uid: str) -> str:
        """Return a name generated from `generateName`."""
        digest = hashlib.sha256(uid.encode()).digest()
        return prefix[:58] + "".join(SUFFIX_LETTERS[b % len(SUFFIX_LETTERS)] for b in digest[:5])
