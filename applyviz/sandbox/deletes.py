"""Deleting objects: preconditions, finalizers, propagation, whole collections.

Rule: https://kubernetes.io/docs/concepts/architecture/garbage-collection/. Where the cluster has controllers, what they
would do happens at once: dependents go with their owner, finalizers of theirs hold nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import JSONObject, MutableObject, clone
from applyviz.sandbox.admission_policies import Attempt, judge
from applyviz.sandbox.cluster import Cluster
from applyviz.sandbox.definitions import CLEANUP, delete_contents, mark_terminating
from applyviz.sandbox.reads import select_items
from applyviz.sandbox.routing import Route
from applyviz.sandbox.status import StatusError, conflict, forbidden_request
from applyviz.sandbox.store import Key
from applyviz.sandbox.targets import CRD_GROUP, Target
from applyviz.sandbox.write_options import DeleteOptions, read_delete_options

_RETURNS_OBJECT = frozenset(
    {
        "resourceclaimtemplates", "resourceslices", "resourceclaims", "deviceclasses", "csidrivers", "storageclasses",
        "volumeattachments", "csinodes", "volumeattributesclasses", "resourcequotas", "persistentvolumes",
        "serviceaccounts", "persistentvolumeclaims", "namespaces", "pods", "services", "podtemplates",
    }
)  # fmt: skip
# What controllers take away once nobody uses the object, or once its dependents are seen to.
_DONE_BY_CONTROLLERS = frozenset(
    {"kubernetes.io/pvc-protection", "kubernetes.io/pv-protection", "orphan", "foregroundDeletion"}
)
_BY_POLICY: Mapping[str, list[str]] = {"Orphan": ["orphan"], "Foreground": ["foregroundDeletion"], "Background": []}
_FOREVER = frozenset({"default", "kube-system", "kube-public"})


class Deleter:
    """DELETE of an object and of a collection."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def delete(self, request: Request, route: Route, target: Target) -> Answer:
        """DELETE of one object."""
        options = read_delete_options(request)
        live = self._cluster.get(target, route.namespace, route.name)
        self._check(target, live, options)
        warnings = self._judge(route, target, live, options)
        return Answer(200, self._remove(target, live, options), warnings)

    def delete_collection(self, request: Request, route: Route, target: Target) -> Answer:
        """DELETE of everything that the selectors choose."""
        options = read_delete_options(request)
        items = select_items(self._cluster, target, route.namespace, request.query)
        warnings: list[str] = []
        for item in items:
            self._check(target, item, options)
            warnings += self._judge(route, target, item, options)
            self._remove(target, clone(item), options)
        api_version, kind = target.gvk.api_version, target.gvk.kind + "List"
        revision = str(self._cluster.store.revision())
        body = {"kind": kind, "apiVersion": api_version, "metadata": {"resourceVersion": revision}, "items": items}
        return Answer(200, body, tuple(warnings))

    def _judge(self, route: Route, target: Target, live: JSONObject, options: DeleteOptions) -> tuple[str, ...]:
        """Ask the admission policies; gives what they warn of."""
        store, registry, name = self._cluster.store, self._cluster.registry, live["metadata"]["name"]
        attempt = Attempt("DELETE", target, route, name, target.gvk, None, clone(live), options.is_dry_run)
        return judge(attempt, store, registry)

    def _check(self, target: Target, live: JSONObject, options: DeleteOptions) -> None:
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

    def _remove(self, target: Target, live: MutableObject, options: DeleteOptions) -> MutableObject:
        """Take an object away, or mark it when finalizers hold it; gives the body of the answer."""
        cluster, meta = self._cluster, live["metadata"]
        is_definition = target.group == CRD_GROUP
        if target.plural == "namespaces" or is_definition:
            return self._remove_container(target, live, options, is_definition=is_definition)
        _set_finalizers(meta, options.policy)
        held = meta.get("finalizers") or ()
        if held or (target.plural == "pods" and target.struct is not None):
            self._mark(live)
        if held and not options.is_dry_run:
            cluster.save(target, live)
        waits = any(f not in _DONE_BY_CONTROLLERS for f in held) or (held and not cluster.has_controllers)
        if not options.is_dry_run and not waits:
            cluster.remove(target.key(meta.get("namespace", ""), meta["name"]))
            if options.policy != "Orphan" and cluster.has_controllers:
                self._remove_dependents(meta)
        if held or (target.plural in _RETURNS_OBJECT and target.struct is not None):
            return live
        return _success(target, meta)

    def _mark(self, live: MutableObject) -> None:
        meta = live["metadata"]
        if "deletionTimestamp" not in meta and meta.get("generation"):
            meta["generation"] += 1
        meta.setdefault("deletionTimestamp", self._cluster.now())
        meta.setdefault("deletionGracePeriodSeconds", 0)

    def _remove_container(
        self, target: Target, live: MutableObject, options: DeleteOptions, *, is_definition: bool
    ) -> MutableObject:
        """A namespace or a definition: its contents go first."""
        cluster, meta = self._cluster, live["metadata"]
        meta.setdefault("deletionTimestamp", cluster.now())
        if is_definition:
            if CLEANUP not in (meta.get("finalizers") or ()):
                meta["finalizers"] = [*(meta.get("finalizers") or ()), CLEANUP]
            mark_terminating(live, cluster.now())
        else:
            live["status"] = {**(live.get("status") or {}), "phase": "Terminating"}
        if options.is_dry_run:
            return live
        cluster.save(target, live)
        answer: MutableObject = clone(live)
        is_done = is_definition or cluster.has_controllers
        if is_done and all(f == CLEANUP for f in meta.get("finalizers") or ()):
            delete_contents(cluster, target, live)
        return answer

    def _remove_dependents(self, meta: JSONObject) -> None:
        """What names the object as an owner goes with it."""
        uid, namespace = meta.get("uid"), meta.get("namespace", "")
        if not uid or not namespace:
            return
        for key in self._cluster.store.list_keys(namespace):
            item = self._cluster.store.get(key)
            owners = (item or {}).get("metadata", {}).get("ownerReferences") or ()
            if owners and all(o.get("uid") == uid for o in owners):
                self._forget(key, item or {})

    def _forget(self, key: Key, item: JSONObject) -> None:
        self._cluster.remove(key)
        self._remove_dependents(item["metadata"])


def _set_finalizers(meta: MutableObject, policy: str) -> None:
    """The finalizers that a propagation policy asks for, in place of those of another."""
    if not policy:
        return
    kept = [f for f in meta.get("finalizers") or () if f not in ("orphan", "foregroundDeletion")]
    meta["finalizers"] = [*kept, *_BY_POLICY[policy]]
    if not meta["finalizers"]:
        del meta["finalizers"]


def _kind_conflict(target: Target, kind: str, name: str, detail: str) -> StatusError:
    return conflict(target.group, kind, name, detail)


def _success(target: Target, meta: JSONObject) -> MutableObject:
    details: MutableObject = {"name": meta["name"], "kind": target.plural, "uid": meta.get("uid", "")}
    if target.group:
        details["group"] = target.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
