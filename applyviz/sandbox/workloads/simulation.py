"""The simulation of one sandbox: who looks at an object after a change, and when.

Nothing runs in between: a change sets timers, and the first request after a timer does its work, at the time of the
timer. The work of one request is bounded; what is left waits for the next. When every timer is done, nothing is left
that costs anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager

from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.sandbox.lifecycle.finalizers import is_deleted
from applyviz.sandbox.storage.store import ObjectKey, StoredChange
from applyviz.sandbox.workloads import conditions
from applyviz.sandbox.workloads.budgets import (
    PLURALS,
    find_scale_target,
    reconcile_autoscaler,
    reconcile_budget,
    selects,
)
from applyviz.sandbox.workloads.controller_client import KUBELET, SCHEDULER, ControllerClient, find_controller
from applyviz.sandbox.workloads.daemon_sets import reconcile_daemon_set
from applyviz.sandbox.workloads.deployments import reconcile_deployment
from applyviz.sandbox.workloads.infrastructure import bind_claim, ensure_node, give_address
from applyviz.sandbox.workloads.jobs import reconcile_job
from applyviz.sandbox.workloads.moments import SimulatedClock, Timers, has_due_work
from applyviz.sandbox.workloads.pod_needs import list_needs
from applyviz.sandbox.workloads.pods import END_SECONDS, NODE, advance
from applyviz.sandbox.workloads.replica_sets import reconcile_replica_set
from applyviz.sandbox.workloads.stateful_sets import reconcile_stateful_set

MOST_STEPS = 150
"""How many timers one request works through."""
_Reconcile = Callable[[ControllerClient, ObjectKey, JSONObject], float | None]
_CONTROLLERS: Mapping[tuple[str, str], _Reconcile] = {
    ("apps", "deployments"): reconcile_deployment,
    ("apps", "replicasets"): reconcile_replica_set,
    ("apps", "statefulsets"): reconcile_stateful_set,
    ("apps", "daemonsets"): reconcile_daemon_set,
    ("batch", "jobs"): reconcile_job,
    ("policy", "poddisruptionbudgets"): reconcile_budget,
    ("autoscaling", "horizontalpodautoscalers"): reconcile_autoscaler,
    ("", "persistentvolumeclaims"): bind_claim,
    ("", "services"): give_address,
}
# Controllers answer at once; these pauses only keep what happens in the order of a real cluster.
_SOON, _LATER, _PROVISIONED = 0.05, 0.5, 1.0
_PAUSES = {"horizontalpodautoscalers": _LATER, "persistentvolumeclaims": _PROVISIONED, "services": _PROVISIONED}
_POD = ("", "pods")
_NEEDED = frozenset({"configmaps", "secrets", "persistentvolumeclaims"})
_OWNERS = {**PLURALS, "DaemonSet": "daemonsets", "Job": "jobs"}


class Simulation:
    """The controllers, the scheduler and the kubelet of one sandbox."""

    def __init__(self, client: ControllerClient, clock: SimulatedClock) -> None:
        self._client, self._clock = client, clock
        self._timers = Timers(client.cluster.store, clock)

    def has_due_work(self) -> bool:
        """Return whether a request should work before it reads."""
        return has_due_work(self._client.cluster.store, self._clock())

    def hold(self) -> AbstractContextManager[bool]:
        """Keep the timers in memory during a block inside a transaction."""
        return self._timers.loaded()

    def react(self, change: StoredChange) -> None:
        """Set the timers that a change causes; must be inside `hold()`."""
        key, stored = change.key, change.after
        resource = (key.group, key.plural)
        if resource == _POD:
            self._react_to_pod(change)
        elif resource in _CONTROLLERS and stored is not None and _is_news(change):
            self._timers.set(key, _PAUSES.get(key.plural, _SOON))
        if resource in (("apps", "replicasets"), ("apps", "deployments"), ("apps", "statefulsets")):
            self._update_owner(key.namespace, stored or change.before)
            self._update_scalers(key, change)
        if not key.group and key.plural in _NEEDED and stored is not None:
            self._update_waiting_pods(key)
        if resource == ("", "serviceaccounts") and change.before is None:
            self._look_at_failed_sets(key.namespace)

    def run_due(self, finish: Callable[[], None]) -> None:
        """Do the work that is due, each at its time; must be inside a transaction.

        - `finish` reacts to the changes of each step, and is called at the time of the step.
        """
        now = self._clock()
        with self._timers.loaded() as was_begun:
            if not was_begun:
                with self._clock.stopped_at(now):
                    self._begin()
            for _ in range(MOST_STEPS):
                due = self._timers.pop(now)
                if due is None:
                    return
                with self._clock.stopped_at(due[0]):
                    self._visit(due[1])
                    finish()

    def _begin(self) -> None:
        """Look at everything that was there before the simulation."""
        ensure_node(self._client.cluster)
        for group, plural in (*_CONTROLLERS, _POD):
            for obj in self._client.cluster.store.list(group, plural):
                meta = obj["metadata"]
                self._timers.set(ObjectKey(group, plural, meta.get("namespace", ""), meta["name"]), 0)

    def _visit(self, key: ObjectKey) -> None:
        stored = self._client.get(key)
        if stored is None:
            return
        if (key.group, key.plural) == _POD:
            self._visit_pod(key, stored)
            return
        wait = _CONTROLLERS[key.group, key.plural](self._client, key, stored)
        if wait is not None:
            self._timers.set(key, max(wait, _SOON))

    def _visit_pod(self, key: ObjectKey, pod: JSONObject) -> None:
        client = self._client
        if is_deleted(pod):
            client.delete(key, 0)
            return
        step = advance(pod, client.get, self._clock(), client.now())
        if step.is_bound:
            client.bind(key, {"nodeName": NODE})
        if step.status is not None:
            manager = SCHEDULER if not get_at(step.status, ("containerStatuses",)) else KUBELET
            client.write_status(key, step.status, manager=manager)
        for event in step.events:
            client.record_event(
                pod,
                event.reason,
                event.message,
                component=event.component,
                is_warning=event.is_warning,
                field=event.field,
            )
        if step.wait is not None:
            self._timers.set(key, max(step.wait, _SOON))

    def _react_to_pod(self, change: StoredChange) -> None:
        key, stored = change.key, change.after
        if stored is not None and change.before is None:
            self._timers.set(key, _SOON)
        elif stored is not None and is_deleted(stored) and not is_deleted(change.before or {"metadata": {}}):
            self._timers.set(key, END_SECONDS)
        self._update_owner(key.namespace, stored or change.before)
        seen = (stored or change.before or {})["metadata"].get("labels") or {}
        for budget_key, budget in self._client.list_in("policy", "poddisruptionbudgets", key.namespace):
            if selects(budget, seen):
                self._timers.set(budget_key, _SOON)

    def _update_owner(self, namespace: str, obj: JSONObject | None) -> None:
        owner = find_controller(obj) if obj is not None else None
        plural = _OWNERS.get(str((owner or {}).get("kind")))
        if owner is not None and plural is not None:
            group = "batch" if plural == "jobs" else "apps"
            self._timers.set(ObjectKey(group, plural, namespace, str(owner["name"])), _SOON)

    def _update_scalers(self, key: ObjectKey, change: StoredChange) -> None:
        """A new number of replicas is news to autoscalers."""
        before, after = (get_at(obj or {}, ("spec", "replicas")) for obj in (change.before, change.after))
        if before == after:
            return
        for scaler_key, scaler in self._client.list_in("autoscaling", "horizontalpodautoscalers", key.namespace):
            if find_scale_target(scaler) == key:
                self._timers.set(scaler_key, _LATER)

    def _update_waiting_pods(self, key: ObjectKey) -> None:
        for pod_key, pod in self._list_pending(key.namespace):
            if key in list_needs(pod):
                self._timers.set(pod_key, _LATER)

    def _list_pending(self, namespace: str) -> Iterator[tuple[ObjectKey, JSONObject]]:
        for key, pod in self._client.list_in("", "pods", namespace):
            if get_at(pod, ("status", "phase")) == "Pending":
                yield key, pod

    def _look_at_failed_sets(self, namespace: str) -> None:
        """A new account is what Pods may have waited for."""
        for plural in ("replicasets", "statefulsets", "daemonsets"):
            for key, _ in self._client.list_in("apps", plural, namespace):
                self._timers.set(key, _LATER)
        for key, job in self._client.list_in("batch", "jobs", namespace):
            if not conditions.is_true(job, "Complete"):
                self._timers.set(key, _LATER)


def _is_news(change: StoredChange) -> bool:
    """Return whether more than its status changed: controllers do not react to what they write themselves."""
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    if before["metadata"].get("generation") != after["metadata"].get("generation"):
        return True
    names = ("labels", "annotations", "deletionTimestamp")
    if any(before["metadata"].get(name) != after["metadata"].get(name) for name in names):
        return True
    return "generation" not in after["metadata"] and before.get("spec") != after.get("spec")
