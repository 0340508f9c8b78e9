"""Finalizers, and the writes of controllers that remove them.

Rule: https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/: a deleted object stays, with a
deletionTimestamp, until its last finalizer is removed.
"""

from __future__ import annotations

from collections.abc import Callable

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, MutableObject, clone
from applyviz.engine.ownership import updates
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.store import ObjectKey

_MANAGER = "kube-controller-manager"


def is_deleted(obj: JSONObject) -> bool:
    """Return whether the object was deleted, although it may still exist."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def is_released(target: ResourceTarget, obj: JSONObject) -> bool:
    """Return whether nothing holds a deleted object any more: no finalizer, no grace period, no contents."""
    meta = obj["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    is_namespace = target.plural == "namespaces" and target.struct is not None
    return not (is_namespace and (obj.get("spec") or {}).get("finalizers"))


def find_target(cluster: SandboxCluster, key: ObjectKey, stored: JSONObject) -> ResourceTarget | None:
    """Return the resource of a stored object at its storage version."""
    gvk = GroupVersionKind.from_object(stored)
    return cluster.registry.find(Route(key.group, gvk.version, key.plural))


def update_metadata(
    cluster: SandboxCluster,
    key: ObjectKey,
    change: Callable[[ResourceTarget, MutableObject], None],
    *,
    subresource: str = "",
    manager: str = _MANAGER,
) -> None:
    """Write an object as a controller does; it is removed once nothing holds it.

    - `manager`: who owns the changed fields; "" for a write that leaves the ownership as it is, as a binding does.
    """
    stored = cluster.store.get(key)
    target = find_target(cluster, key, stored) if stored is not None else None
    if stored is None or target is None:
        return
    live = cluster.read(target, stored)
    obj: MutableObject = clone(live)
    change(target, obj)
    if is_released(target, obj):
        cluster.remove(key)
        return
    if obj == live:
        return
    if manager:
        _book(cluster, target, live, obj, manager, subresource)
    cluster.save(target, obj)


def _book(
    cluster: SandboxCluster, target: ResourceTarget, live: JSONObject, obj: MutableObject, manager: str, part: str
) -> None:
    """Update the ownership after a write through a subresource, "" for the object itself."""
    try:
        entries = updates.update(live, obj, kind=target.kind, manager=manager, subresource=part, now=cluster.now())
    except OwnershipError:
        entries = []
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def release(cluster: SandboxCluster, key: ObjectKey, finalizer: str) -> None:
    """Remove one finalizer of an object."""

    def change(_: ResourceTarget, obj: MutableObject) -> None:
        kept = [f for f in obj["metadata"].get("finalizers") or () if f != finalizer]
        if kept:
            obj["metadata"]["finalizers"] = kept
        else:
            obj["metadata"].pop("finalizers", None)

    update_metadata(cluster, key, change)
