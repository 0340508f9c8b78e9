"""Simulate the controllers of a cluster after a write: what a deletion deletes too, and what it waits for.

Rule: the garbage collector, the namespace controller, storage object protection (k8s.io/kubernetes `pkg/controller`),
the finalizer of definitions (k8s.io/apiextensions-apiserver `pkg/controller/finalizer`) and, for the grace period of a
Pod, its kubelet. The controllers that create Pods are simulated elsewhere (`sandbox.workloads`).
"""

from __future__ import annotations

from datetime import datetime

from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.api import admission_policies
from applyviz.sandbox.api.access_reviews import RequestUser
from applyviz.sandbox.api.delete_options import DeleteOptions
from applyviz.sandbox.api.deletes import Deleter
from applyviz.sandbox.lifecycle.finalizers import find_target, is_deleted, release, update_metadata
from applyviz.sandbox.lifecycle.garbage import GarbageCollector
from applyviz.sandbox.lifecycle.grace_periods import has_ended, take_ended
from applyviz.sandbox.lifecycle.namespaces import describe_rest
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.definitions import CLEANUP, namespace_key
from applyviz.sandbox.storage.resources import CRD_GROUP, CRD_PLURAL, ResourceTarget
from applyviz.sandbox.storage.store import ObjectKey, StoredChange
from applyviz.sandbox.workloads.controller_client import ControllerClient, Send
from applyviz.sandbox.workloads.moments import SimulatedClock
from applyviz.sandbox.workloads.simulation import Simulation

_CLAIM_PROTECTION, _VOLUME_PROTECTION = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
_CONTROLLER = RequestUser("system:kube-controller-manager", ("system:masters",))


class Controllers:
    """Reacts to the changes of a transaction, until no reaction changes anything."""

    def __init__(
        self, cluster: SandboxCluster, deleter: Deleter, send: Send, clock: SimulatedClock, *, simulates: bool
    ) -> None:
        self._cluster = cluster
        self._deleter = deleter
        self._collector = GarbageCollector(cluster, self._delete)
        client = ControllerClient(cluster, send, lambda key, grace: self._delete(key, "Background", grace=grace))
        self._simulation = Simulation(client, clock) if simulates else None
        self._quiet: datetime | None = None

    def run(self) -> None:
        """React to the changes; must be inside the transaction that wrote them."""
        self._quiet = None
        if self._simulation is None:
            self._react()
        elif self._cluster.changes:
            with self._simulation.hold():
                self._react()

    def _react(self) -> None:
        cluster = self._cluster
        containers: set[ObjectKey] = set()
        caller_token = admission_policies.caller.set(_CONTROLLER)
        try:
            while cluster.changes or containers:
                if not cluster.changes:  # contents first: a namespace is visited when they are done
                    self._finish(containers.pop())
                    continue
                change = cluster.changes.popleft()
                containers |= self._find_containers(change)
                if cluster.has_controllers:
                    self._collector.react(change)
                    self._protect(change)
                if self._simulation is not None:
                    self._simulation.react(change)
        finally:
            admission_policies.caller.reset(caller_token)

    def run_due(self) -> None:
        """Do what is due by the clock: the steps of simulated workloads, the ends of grace periods."""
        if self._simulation is not None and self._simulation.has_due_work():
            caller_token = admission_policies.caller.set(_CONTROLLER)
            try:
                with self._cluster.store.transaction():
                    self._cluster.changes.clear()
                    self._simulation.run_due(self.run)
            finally:
                admission_policies.caller.reset(caller_token)
        self._end_grace_periods()

    def _end_grace_periods(self) -> None:
        """Delete what a grace period held.

        - Periods end at whole seconds: of a second in which none had ended, only a write of this process asks again.
        """
        cluster, now = self._cluster, self._cluster.clock()
        second = now.replace(microsecond=0)
        if second == self._quiet:
            return
        if not has_ended(cluster.store, now):
            self._quiet = second
            return
        with cluster.store.transaction():
            cluster.changes.clear()
            for key in take_ended(cluster.store, cluster.clock()):
                stored = cluster.store.get(key)
                if (
                    stored is not None
                    and is_deleted(stored)
                    and stored["metadata"]["deletionTimestamp"] <= cluster.now()
                ):
                    self._delete(key, "", grace=0)
            self.run()

    def _delete(self, key: ObjectKey, policy: str, *, grace: int | None = None) -> None:
        """DELETE an object as a controller does; an object that an admission policy protects stays."""
        stored = self._cluster.store.get(key)
        target = find_target(self._cluster, key, stored) if stored is not None else None
        if stored is None or target is None:
            return
        try:
            live = self._cluster.read(target, stored)
            self._deleter.judge(target, live, is_dry_run=False)
        except StatusError:
            return
        self._deleter.remove(target, live, DeleteOptions(policy=policy, grace=grace))

    def _protect(self, change: StoredChange) -> None:
        """Remove the protection of claims that no Pod uses, and of unbound volumes."""
        key, stored = change.key, change.after
        if key.group:
            return
        if key.plural == "pods":
            for claim in _list_claims(change.before):
                self._release_claim(ObjectKey("", "persistentvolumeclaims", key.namespace, claim))
        elif stored is None or not is_deleted(stored):
            return
        elif key.plural == "persistentvolumeclaims":
            self._release_claim(key)
        elif key.plural == "persistentvolumes" and get_at(stored, ("status", "phase")) != "Bound":
            release(self._cluster, key, _VOLUME_PROTECTION)

    def _release_claim(self, key: ObjectKey) -> None:
        stored = self._cluster.store.get(key)
        if stored is None or not is_deleted(stored):
            return
        pods = self._cluster.store.list("", "pods", key.namespace)
        if not any(key.name in _list_claims(pod) for pod in pods):
            release(self._cluster, key, _CLAIM_PROTECTION)

    def _find_containers(self, change: StoredChange) -> set[ObjectKey]:
        """Return the namespace and the definition that may wait for the object, or that are the object itself."""
        key = change.key
        if (key.group, key.plural) in (("", "namespaces"), (CRD_GROUP, CRD_PLURAL)):
            return {key} if change.after is not None else set()
        found = {ObjectKey(CRD_GROUP, CRD_PLURAL, "", f"{key.plural}.{key.group}")} if "." in key.group else set()
        return found | ({namespace_key(key.namespace)} if key.namespace else set())

    def _finish(self, key: ObjectKey) -> None:
        """Empty a deleted namespace or definition; it is removed when it is empty."""
        stored = self._cluster.store.get(key)
        if stored is None or not is_deleted(stored):
            return
        if key.plural == CRD_PLURAL:
            self._finish_definition(key, stored)
        elif self._cluster.has_controllers:
            self._finish_namespace(key)

    def _finish_definition(self, key: ObjectKey, stored: JSONObject) -> None:
        group, plural = stored["spec"]["group"], stored["spec"]["names"]["plural"]
        items = self._cluster.store.list(group, plural)
        keys = [ObjectKey(group, plural, o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in items]
        self._empty(keys)
        if CLEANUP in (stored["metadata"].get("finalizers") or ()) and not self._cluster.store.list(group, plural):
            release(self._cluster, key, CLEANUP)

    def _finish_namespace(self, key: ObjectKey) -> None:
        store = self._cluster.store
        self._empty(list(store.list_keys(key.name)))
        left = [(k, stored) for k in store.list_keys(key.name) if (stored := store.get(k)) is not None]

        def change(target: ResourceTarget, obj: MutableObject) -> None:
            if left:
                describe_rest(obj, left, self._cluster.now())
            else:
                obj["spec"]["finalizers"] = [f for f in obj["spec"].get("finalizers") or () if f != "kubernetes"]

        update_metadata(self._cluster, key, change, subresource="status" if left else "")

    def _empty(self, keys: list[ObjectKey]) -> None:
        for key in keys:
            stored = self._cluster.store.get(key)
            if stored is not None and not is_deleted(stored):
                self._delete(key, "Background")


def _list_claims(pod: JSONObject | None) -> set[str]:
    """Return the claims that a Pod uses; only a scheduled Pod uses any."""
    spec = (pod or {}).get("spec") or {}
    if not spec.get("nodeName"):
        return set()
    found = (get_at(v, ("persistentVolumeClaim", "claimName")) for v in spec.get("volumes") or ())
    return {str(name) for name in found if name}
