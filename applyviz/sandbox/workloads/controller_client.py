"""Read and write objects as a controller of the cluster does: by requests, status writes and Events.

Rule: field ownership as a real controller leaves it: its name as the manager, `status` as the subresource. Requests go
the way of every request, so defaults, validation and admission policies apply to Pods too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.exchange import JSON, MERGE_PATCH, Request
from applyviz.engine.objects.known_names import ENDED_PHASES
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.request_paths import make_path
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, canonical_json, clone
from applyviz.engine.ownership import updates
from applyviz.sandbox.lifecycle.finalizers import is_deleted, update_metadata
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.dependents import list_dependents, list_owners
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.store import ObjectKey

MANAGER, KUBELET, SCHEDULER = "kube-controller-manager", "kubelet", "kube-scheduler"
MOST_EVENTS = 200
"""How many Events of the simulation a sandbox keeps; the oldest go first, as a real cluster forgets them in an hour."""
_EVENTS = "workload-events"

Send = Callable[[Request], JSONObject]
"""Answers a request of a controller with its body; raises `StatusError` where the server refuses."""
Delete = Callable[[ObjectKey, int | None], None]
"""Deletes an object as a controller does, with a grace period in seconds, None for its own."""


class ControllerClient:
    """The access of all controllers to one cluster; must be used inside a transaction."""

    def __init__(self, cluster: SandboxCluster, send: Send, delete: Delete) -> None:
        self.cluster = cluster
        self._send, self.delete = send, delete

    def now(self) -> str:
        """Return the current second, as metadata has it."""
        return self.cluster.now()

    def get(self, key: ObjectKey) -> JSONObject | None:
        """Return an object, None if there is none."""
        return self.cluster.store.get(key)

    def list_in(self, group: str, plural: str, namespace: str) -> Iterator[tuple[ObjectKey, JSONObject]]:
        """Yield the objects of one resource in a namespace."""
        for obj in self.cluster.store.list(group, plural, namespace):
            yield ObjectKey(group, plural, namespace, obj["metadata"]["name"]), obj

    def list_owned(self, owner: JSONObject, plural: str) -> list[tuple[ObjectKey, JSONObject]]:
        """Return the objects that an owner controls, oldest first."""
        uid = owner["metadata"]["uid"]
        found = [(key, obj) for key, obj in list_dependents(self.cluster.store, uid) if key.plural == plural]
        mine = [(key, obj) for key, obj in found if (find_controller(obj) or {}).get("uid") == uid]
        return sorted(mine, key=lambda pair: (pair[1]["metadata"]["creationTimestamp"], pair[0].name))

    def create(self, plural: str, obj: JSONObject) -> JSONObject:
        """Create an object; raises `StatusError` where the server refuses it."""
        return self._send(Request("POST", _path(obj, plural), {"fieldManager": MANAGER}, JSON, obj))

    def replace(self, plural: str, obj: JSONObject, subresource: str = "") -> JSONObject:
        """Replace an object, or update it through a subresource; raises `StatusError` where the server refuses it."""
        path = _path(obj, plural, obj["metadata"]["name"], subresource)
        return self._send(Request("PUT", path, {"fieldManager": MANAGER}, JSON, obj))

    def scale(self, key: ObjectKey, replicas: int) -> None:
        """Scale a workload through its subresource; raises `StatusError` where the server refuses it."""
        path = make_path(key.group, "v1", key.plural, namespace=key.namespace, name=key.name, subresource="scale")
        body = {"spec": {"replicas": replicas}}
        self._send(Request("PATCH", path, {"fieldManager": MANAGER}, MERGE_PATCH, body))

    def write_status(
        self,
        key: ObjectKey,
        status: JSONObject,
        *,
        manager: str = MANAGER,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Write the status of an object, and with it annotations; nothing is written that is there already."""

        def change(_: ResourceTarget, obj: MutableObject) -> None:
            obj["status"] = clone(dict(status))
            if annotations:
                obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), **annotations}

        update_metadata(self.cluster, key, change, subresource="status", manager=manager)

    def bind(self, key: ObjectKey, spec: JSONObject) -> None:
        """Write fields of a spec without an owner, as the subresource `binding` does."""

        def change(_: ResourceTarget, obj: MutableObject) -> None:
            obj["spec"] = {**obj["spec"], **spec}

        update_metadata(self.cluster, key, change, manager="")

    def record_event(
        self, about: JSONObject, reason: str, message: str, *, component: str, is_warning: bool = False, field: str = ""
    ) -> None:
        """Record an Event about an object; a repeated one is counted."""
        target = self.cluster.registry.find(Route("", "v1", "events"))
        meta, now = about["metadata"], self.now()
        digest = hashlib.sha256(canonical_json([meta["uid"], reason, message, field]).encode()).hexdigest()[:16]
        namespace = meta.get("namespace") or "default"
        key = ObjectKey("", "events", namespace, f"{meta['name']}.{digest}")
        stored = self.get(key)
        if target is None:
            return
        obj: MutableObject = clone(dict(stored)) if stored is not None else {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": key.name, "namespace": namespace, "uid": self.cluster.new_uid(), "creationTimestamp": now,
            },
            "involvedObject": _refer(about, field),
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "firstTimestamp": now,
            "type": "Warning" if is_warning else "Normal",
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": "",
        }  # fmt: skip
        obj.update(count=obj.get("count", 0) + 1, lastTimestamp=now)
        entries = updates.update(stored, obj, kind=target.kind, manager=component, now=now)
        obj["metadata"]["managedFields"] = entries
        self.cluster.save(target, obj)
        if stored is None:
            self._forget_events(key)

    def _forget_events(self, newest: ObjectKey) -> None:
        store = self.cluster.store
        stored = store.get_meta(_EVENTS)
        names: list[list[str]] = [*(stored if isinstance(stored, list) else ()), [newest.namespace, newest.name]]
        for namespace, name in names[:-MOST_EVENTS]:
            self.cluster.remove(ObjectKey("", "events", namespace, name))
        store.put_meta(_EVENTS, names[-MOST_EVENTS:])


def _path(obj: JSONObject, plural: str, name: str = "", subresource: str = "") -> str:
    group, version, _ = GroupVersionKind.from_object(obj)
    namespace = obj["metadata"].get("namespace", "")
    return make_path(group, version, plural, namespace=namespace, name=name, subresource=subresource)


def _refer(about: JSONObject, field: str) -> JSONObject:
    meta = about["metadata"]
    found = {
        "kind": about["kind"],
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "uid": meta["uid"],
        "apiVersion": about["apiVersion"],
        "resourceVersion": meta.get("resourceVersion", ""),
        "fieldPath": field,
    }
    return {name: value for name, value in found.items() if value}


def find_controller(obj: JSONObject) -> JSONObject | None:
    """Return the owner reference of the controller of an object."""
    return next((owner for owner in list_owners(obj) if owner.get("controller")), None)


def make_owner(owner: JSONObject) -> list[JSONValue]:
    """Return the owner references of an object that a controller creates."""
    return [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def is_active(pod: JSONObject) -> bool:
    """Return whether a Pod counts for its controller: neither finished nor deleted."""
    return not is_deleted(pod) and (pod.get("status") or {}).get("phase") not in ENDED_PHASES
