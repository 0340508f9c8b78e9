"""Delete objects: preconditions, finalizers, grace periods, propagation, whole collections.

Rule: `Store.Delete` of k8s.io/apiserver `pkg/registry/generic/registry` and `BeforeDelete` of `pkg/registry/rest`. An
object with finalizers or a grace period is marked and stays; `controllers` releases it.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.known_names import ENDED_PHASES, FOREGROUND, ORPHAN
from applyviz.engine.objects.values import JSONObject, MutableObject, clone
from applyviz.kubernetes.parity.payloads import Payload
from applyviz.kubernetes.parity.status import StatusError, conflict, forbidden_request
from applyviz.sandbox.api.admission_policies import Attempt, judge
from applyviz.sandbox.api.delete_options import DeleteOptions, read_delete_options
from applyviz.sandbox.api.reads import select_items
from applyviz.sandbox.lifecycle.finalizers import is_deleted
from applyviz.sandbox.lifecycle.grace_periods import note_end, shift
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.definitions import CLEANUP, mark_terminating
from applyviz.sandbox.storage.resources import CRD_PLURAL, ResourceTarget
from applyviz.sandbox.storage.routing import Route

_RETURNS_OBJECT = frozenset(
    {
        "resourceclaimtemplates", "resourceslices", "resourceclaims", "deviceclasses", "csidrivers", "storageclasses",
        "volumeattachments", "csinodes", "volumeattributesclasses", "resourcequotas", "persistentvolumes",
        "serviceaccounts", "persistentvolumeclaims", "namespaces", "pods", "services", "podtemplates",
    }
)  # fmt: skip
_BY_POLICY: Mapping[str, list[str]] = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND], "Background": []}
# Without a policy their dependents stay, for clients older than garbage collection.
_ORPHANED = frozenset({("batch", "jobs"), ("", "replicationcontrollers")})
_FOREVER = frozenset({"default", "kube-system", "kube-public"})


class Deleter:
    """Deletes an object or a collection."""

    def __init__(self, cluster: SandboxCluster) -> None:
        self._cluster = cluster

    def delete(self, request: Request, route: Route, target: ResourceTarget, payload: Payload) -> Answer:
        """DELETE of one object."""
        options = read_delete_options(request, payload)
        live = self._cluster.get(target, route.namespace, route.name)
        self._check(target, live, options)
        warnings = self.judge(target, live, is_dry_run=options.is_dry_run)
        return Answer(200, self.remove(target, live, options), warnings)

    def delete_collection(self, request: Request, route: Route, target: ResourceTarget, payload: Payload) -> Answer:
        """DELETE of all objects that the selectors match."""
        items = select_items(self._cluster, target, route.namespace, request.query)
        options = read_delete_options(request, payload)
        warnings: list[str] = []
        for item in items:
            self._check(target, item, options)
            warnings += self.judge(target, item, is_dry_run=options.is_dry_run)
            self.remove(target, clone(item), options)
        api_version, kind = target.gvk.api_version, target.gvk.kind + "List"
        revision = str(self._cluster.store.revision())
        body = {"kind": kind, "apiVersion": api_version, "metadata": {"resourceVersion": revision}, "items": items}
        return Answer(200, body, tuple(warnings))

    def judge(self, target: ResourceTarget, live: JSONObject, *, is_dry_run: bool) -> tuple[str, ...]:
        """Evaluate the admission policies; return their warnings, raise `StatusError` for a denial."""
        store, registry, meta = self._cluster.store, self._cluster.registry, live["metadata"]
        route = Route(target.group, target.gvk.version, target.plural, meta.get("namespace", ""), meta["name"])
        attempt = Attempt("DELETE", target, route, meta["name"], target.gvk, None, clone(live), is_dry_run)
        return judge(attempt, store, registry)

    def _check(self, target: ResourceTarget, live: JSONObject, options: DeleteOptions) -> None:
        meta, kind = live["metadata"], target.gvk.kind
        if target.plural == "namespaces" and meta["name"] in _FOREVER:
            raise forbidden_request("", "namespaces", meta["name"], "this namespace may not be deleted")
        if options.uid is not None and options.uid != meta.get("uid"):
            detail = (
                f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta.get('uid')}). "
                "The object might have been deleted and then recreated"
            )
            raise _kind_conflict(target, kind, meta["name"], detail)
        if options.resource_version is not None and options.resource_version != meta.get("resourceVersion"):
            detail = (
                f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
                f"ResourceVersion in record ({meta.get('resourceVersion')}). The object might have been modified"
            )
            raise _kind_conflict(target, kind, meta["name"], detail)

    def remove(self, target: ResourceTarget, live: MutableObject, options: DeleteOptions) -> MutableObject:
        """Remove an object, or mark it if something holds it; return the body of the answer."""
        if target.struct is not None and target.plural in ("namespaces", CRD_PLURAL):
            return self._remove_container(target, live, options)
        meta, was_deleted = live["metadata"], is_deleted(live)
        is_pod = target.plural == "pods" and target.struct is not None
        if is_pod and was_deleted and not _is_shorter(meta, options.grace):
            return live
        _set_finalizers(target, meta, options.policy)
        if is_pod:
            self._mark(live, _find_grace(live, options.grace))
        elif meta.get("finalizers"):
            self._mark(live, 0)
        is_held = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
        if not options.is_dry_run:
            self._store(target, live, is_held=bool(is_held))
        if is_held or (target.plural in _RETURNS_OBJECT and target.struct is not None):
            return live
        return _success(target, meta)

    def _store(self, target: ResourceTarget, live: MutableObject, *, is_held: bool) -> None:
        cluster, meta = self._cluster, live["metadata"]
        key = target.key(meta.get("namespace", ""), meta["name"])
        if not is_held:
            cluster.remove(key)
            return
        cluster.save(target, live)
        if meta.get("deletionGracePeriodSeconds"):
            note_end(cluster.store, key, meta["deletionTimestamp"])

    def _mark(self, live: MutableObject, grace: int) -> None:
        meta, now = live["metadata"], self._cluster.now()
        if "deletionTimestamp" not in meta:
            if meta.get("generation"):
                meta["generation"] += 1
            meta["deletionTimestamp"] = shift(now, grace)
        elif meta.get("deletionGracePeriodSeconds"):  # a shorter one counts from the same moment
            meta["deletionTimestamp"] = shift(meta["deletionTimestamp"], grace - meta["deletionGracePeriodSeconds"])
        meta["deletionGracePeriodSeconds"] = grace

    def _remove_container(self, target: ResourceTarget, live: MutableObject, options: DeleteOptions) -> MutableObject:
        """Mark a namespace or a definition; its contents are deleted first."""
        cluster, meta = self._cluster, live["metadata"]
        meta.setdefault("deletionTimestamp", cluster.now())
        if target.plural == CRD_PLURAL:
            if CLEANUP not in (meta.get("finalizers") or ()):
                meta["finalizers"] = [*(meta.get("finalizers") or ()), CLEANUP]
            mark_terminating(live, cluster.now())
        else:
            live["status"] = {**(live.get("status") or {}), "phase": "Terminating"}
        if not options.is_dry_run:
            cluster.save(target, live)
        return live


def _find_grace(pod: JSONObject, wanted: int | None) -> int:
    """Return the grace period of a Pod in seconds; a Pod without a node ends at once."""
    spec = pod.get("spec") or {}
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in ENDED_PHASES:
        return 0
    grace = spec.get("terminationGracePeriodSeconds") if wanted is None else wanted
    return 1 if grace is not None and grace < 0 else int(grace or 0)


def _is_shorter(meta: JSONObject, wanted: int | None) -> bool:
    """Return whether a second delete shortens the grace period; it changes nothing else."""
    return wanted is not None and wanted < (meta.get("deletionGracePeriodSeconds") or 0)


def _set_finalizers(target: ResourceTarget, meta: MutableObject, policy: str) -> None:
    """Set the finalizers of a propagation policy, and remove those of another."""
    stored = meta.get("finalizers") or []
    if not policy and not {ORPHAN, FOREGROUND}.intersection(stored) and (target.group, target.plural) in _ORPHANED:
        policy = "Orphan"
    if not policy:
        return
    meta["finalizers"] = [*(f for f in stored if f not in (ORPHAN, FOREGROUND)), *_BY_POLICY[policy]]
    if not meta["finalizers"]:
        del meta["finalizers"]


def _kind_conflict(target: ResourceTarget, kind: str, name: str, detail: str) -> StatusError:
    return conflict(target.group, kind, name, detail)


def _success(target: ResourceTarget, meta: JSONObject) -> MutableObject:
    details: MutableObject = {"name": meta["name"], "kind": target.plural, "uid": meta.get("uid", "")}
    if target.group:
        details["group"] = target.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
