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

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
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


def find_target(cluster: SandboxCluster, key: ObjectKey, held: JSONObject) -> ResourceTarget | None:
    """Return the resource of a stored object at its storage version."""
    gvk = GroupVersionKind.from_object(held)
    return cluster.registry.find(Route(key.group, gvk.version, key.plural))


def update_metadata(
    cluster: SandboxCluster,
    key: ObjectKey,
    change: Callable[[ResourceTarget, MutableObject], None],
    *,
    subresource: str = "",
) -> None:
    """Write an object as a controller does; it is removed once nothing holds it."""
    held = cluster.store.get(key)
    target = find_target(cluster, key, held) if held is not None else None
    if held is None or target is None:
        return
    live = cluster.read(target, held)
    obj: MutableObject = clone(live)
    change(target, obj)
    if is_released(target, obj):
        cluster.remove(key)
        return
    if obj == live:
        return
    try:
        entries = updates.update(
            live, obj, kind=target.kind, manager=_MANAGER, subresource=subresource, now=cluster.now()
        )
    except OwnershipError:
        entries = []
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)
    cluster.save(target, obj)


def release(cluster: SandboxCluster, key: ObjectKey, finalizer: str) -> None:
    """Remove one finalizer of an object."""

    def change(_: ResourceTarget, obj: MutableObject) -> None:
        kept = [f for f in obj["metadata"].get("finalizers") or () if f != finalizer]
        if kept:
            obj["metadata"]["finalizers"] = kept
        else:
            obj["metadata"].pop("finalizers", None)

    update_metadata(cluster, key, change)
