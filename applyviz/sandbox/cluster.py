"""What every verb of a sandbox cluster shares: store, clock, uids, resources, and objects at their versions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from applyviz.engine.objects.values import JSONObject, MutableObject, clone
from applyviz.sandbox.autoscalers import convert_autoscaler
from applyviz.sandbox.status import not_found
from applyviz.sandbox.store import Store
from applyviz.sandbox.structural import fill_defaults, prune
from applyviz.sandbox.targets import Registry, Target

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One sandbox cluster; `clock` gives aware datetimes, `new_uid` fresh uids."""

    store: Store
    clock: Callable[[], datetime]
    new_uid: Callable[[], str]
    registry: Registry

    def now(self) -> str:
        """The present second as metadata holds it."""
        return self.clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def find(self, target: Target, namespace: str, name: str) -> MutableObject | None:
        """A fresh copy of an object at the version of the target."""
        held = self.store.get(target.key(namespace, name))
        return self.read(target, held) if held is not None else None

    def get(self, target: Target, namespace: str, name: str) -> MutableObject:
        """Like `find`; raises `StatusError` (404) when there is none."""
        found = self.find(target, namespace, name)
        if found is None:
            raise not_found(target.group, target.plural, name)
        return found

    def read(self, target: Target, held: JSONObject) -> MutableObject:
        """A stored object at the version of the target."""
        obj: MutableObject = clone(dict(held))
        if target.struct is None:
            obj["apiVersion"] = target.gvk.api_version
            for _ in prune(obj, target.schema):
                pass
            fill_defaults(obj, target.schema)
        elif target.storage != target.gvk:
            obj = convert_autoscaler(obj, target.gvk.version)
        return obj

    def save(self, target: Target, obj: MutableObject) -> None:
        """Store an object at its storage version with a new revision; must be inside a transaction."""
        obj["metadata"]["resourceVersion"] = str(self.store.next_revision())
        kept: JSONObject = obj
        if target.storage != target.gvk:
            if target.struct is None:
                kept = {**obj, "apiVersion": target.storage.api_version}
            else:
                kept = convert_autoscaler(obj, target.storage.version)
        meta = obj["metadata"]
        self.store.put(target.key(meta.get("namespace", ""), meta["name"]), kept)

    def finish_name(self, prefix: str, uid: str) -> str:
        """A name made from `generateName`."""
        digest = hashlib.sha256(uid.encode()).digest()
        return prefix[:58] + "".join(_SUFFIX_LETTERS[b % len(_SUFFIX_LETTERS)] for b in digest[:5])
