"""The garbage collector: what happens to dependents of a deleted owner, and to an owner that waits for them.

Rule: https://kubernetes.io/docs/concepts/architecture/garbage-collection/ and `attemptToDeleteItem` in
k8s.io/kubernetes `pkg/controller/garbagecollector`. Left out: waiting. Steps that take a real collector seconds are
done before the next request, each step at a separate revision.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from applyviz.engine.objects.known_names import FOREGROUND, ORPHAN
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.sandbox.lifecycle.finalizers import is_deleted, release, update_metadata
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.dependents import list_dependents, list_owners
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.store import ObjectKey, StoredChange

Delete = Callable[[ObjectKey, str], None]
"""Deletes the object at a key with a propagation policy, as a request of a controller."""


class _Owner(Enum):
    """The target of an owner reference; UNKNOWN: its kind is not served, so the owner cannot be checked."""

    SOLID = auto()
    DANGLING = auto()
    WAITING = auto()
    UNKNOWN = auto()


class GarbageCollector:
    """Reacts to changes of owners and dependents."""

    def __init__(self, cluster: SandboxCluster, delete: Delete) -> None:
        self._cluster = cluster
        self._delete = delete

    def react(self, change: StoredChange) -> None:
        """React to one change, and to the changes that this causes."""
        if change.after is None:
            self._release_dependents(change.before or {})
        else:
            self._visit(change.key)
        for reference in list_owners(change.before):
            self._visit_owner(change.key, reference)

    def _release_dependents(self, owner: JSONObject) -> None:
        for key, _ in list_dependents(self._cluster.store, str(owner["metadata"].get("uid", ""))):
            self._visit(key)

    def _visit_owner(self, key: ObjectKey, reference: JSONObject) -> None:
        """Visit the owners of a changed object, because they may wait for it."""
        owner = self._find_owner(key, reference)
        if owner is None:
            return
        stored = self._cluster.store.get(owner)
        if stored is not None and stored["metadata"].get("uid") == reference.get("uid") and is_deleted(stored):
            self._visit(owner)

    def _visit(self, key: ObjectKey) -> None:
        stored = self._cluster.store.get(key)
        if stored is None or key.plural == "events":
            return
        finalizers = stored["metadata"].get("finalizers") or ()
        if not is_deleted(stored):
            self._collect(key, stored)
        elif ORPHAN in finalizers:
            self._orphan_dependents(key, stored)
        elif FOREGROUND in finalizers:
            self._delete_dependents(key, stored)

    def _orphan_dependents(self, key: ObjectKey, owner: JSONObject) -> None:
        uid = str(owner["metadata"]["uid"])
        for dependent, stored in list_dependents(self._cluster.store, uid):
            self._keep_owners(dependent, [o for o in list_owners(stored) if o.get("uid") != uid])
        release(self._cluster, key, ORPHAN)

    def _delete_dependents(self, key: ObjectKey, owner: JSONObject) -> None:
        """Delete the dependents first; those that block the deletion of the owner keep it until they are gone."""
        uid = str(owner["metadata"]["uid"])
        for dependent, stored in list_dependents(self._cluster.store, uid):
            if not is_deleted(stored):
                self._visit(dependent)
        left = [o for _, stored in list_dependents(self._cluster.store, uid) for o in list_owners(stored)]
        if not any(o.get("uid") == uid and o.get("blockOwnerDeletion") for o in left):
            release(self._cluster, key, FOREGROUND)

    def _collect(self, key: ObjectKey, stored: JSONObject) -> None:
        """Delete an object that has lost all owners, or remove the references to lost ones."""
        references = list_owners(stored)
        found = [self._classify(key, reference) for reference in references]
        if not found or _Owner.UNKNOWN in found:
            return
        if _Owner.SOLID in found:
            kept = [r for r, state in zip(references, found, strict=True) if state is _Owner.SOLID]
            if len(kept) < len(references):
                self._keep_owners(key, kept)
            return
        dependents = list_dependents(self._cluster.store, str(stored["metadata"].get("uid", "")))
        if _Owner.WAITING in found and dependents:
            if any(is_deleted(d) and FOREGROUND in (d["metadata"].get("finalizers") or ()) for _, d in dependents):
                # A cycle: neither may wait for the other.
                self._keep_owners(key, [{**r, "blockOwnerDeletion": False} for r in references])
            self._delete(key, "Foreground")
            return
        finalizers = stored["metadata"].get("finalizers") or ()
        self._delete(
            key, "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        )

    def _classify(self, key: ObjectKey, reference: JSONObject) -> _Owner:
        owner = self._find_owner(key, reference)
        if owner is None:
            return _Owner.UNKNOWN
        stored = self._cluster.store.get(owner)
        if stored is None or stored["metadata"].get("uid") != reference.get("uid"):
            return _Owner.DANGLING
        is_waiting = is_deleted(stored) and FOREGROUND in (stored["metadata"].get("finalizers") or ())
        return _Owner.WAITING if is_waiting else _Owner.SOLID

    def _find_owner(self, key: ObjectKey, reference: JSONObject) -> ObjectKey | None:
        """Return the key of the owner: in the namespace of the object, or cluster-scoped."""
        gvk = GroupVersionKind.from_object(reference)
        target = self._cluster.registry.find_kind(gvk)
        if target is None or (target.resource.is_namespaced and not key.namespace):
            return None
        return target.key(key.namespace, str(reference.get("name", "")))

    def _keep_owners(self, key: ObjectKey, owners: list[JSONObject]) -> None:
        def change(target: ResourceTarget, obj: MutableObject) -> None:
            if owners:
                obj["metadata"]["ownerReferences"] = owners
            else:
                obj["metadata"].pop("ownerReferences", None)

        update_metadata(self._cluster, key, change)
