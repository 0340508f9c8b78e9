"""Prune by allowlist: delete objects that were applied before, match the selector and left the set.

Rule: `kubectl apply --prune` (alpha): kinds of the allowlist, in the namespaces visited; an object without the
last-applied annotation is never pruned. Cluster-scoped kinds are pruned in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.requests.calls import RequestTarget, list_objects
from applyviz.engine.requests.flow import Catalog, Deletion, Flow, FlowOutcome, Verb, send
from applyviz.engine.requests.options import ApplyOptions, DryRun
from applyviz.engine.schema.model import Resource

# https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#alternative-kubectl-apply-f-directory-prune
DEFAULT_ALLOWLIST = (
    "core/v1/ConfigMap",
    "core/v1/Endpoints",
    "core/v1/PersistentVolumeClaim",
    "core/v1/Pod",
    "core/v1/ReplicationController",
    "core/v1/Secret",
    "core/v1/Service",
    "batch/v1/Job",
    "batch/v1/CronJob",
    "networking.k8s.io/v1/Ingress",
    "apps/v1/DaemonSet",
    "apps/v1/Deployment",
    "apps/v1/ReplicaSet",
    "apps/v1/StatefulSet",
    "core/v1/Namespace",
    "core/v1/PersistentVolume",
)


class Prunable(Struct, frozen=True):
    """One live object that matches, with its address; one without last-applied (not `is_applied`) is never deleted."""

    resource: Resource
    namespace: str
    obj: JSONObject
    is_applied: bool = True

    @property
    def ref(self) -> ObjectRef:
        """The reference of the object."""
        return ObjectRef(self.resource.gvk, self.namespace, get_at(self.obj, ("metadata", "name"), ""))


def read_allowlist(entries: Iterable[str], catalog: Catalog) -> tuple[list[Resource], list[str]]:
    """Return the resources of `group/version/kind` texts (none: the default list), and their problems."""
    found, problems = [], []
    for entry in tuple(entries) or DEFAULT_ALLOWLIST:
        parts = entry.split("/")
        if len(parts) != 3:
            problems.append(f"invalid GroupVersionKind format: {entry}, please follow <group/version/kind>")
            continue
        group, version, kind = parts
        gvk = GroupVersionKind("" if group == "core" else group, version, kind)
        resource = catalog.find_resource(gvk)
        if resource is None:
            problems.append(f'no matches for kind "{kind}" in version "{gvk.api_version}"')
        else:
            found.append(resource)
    return found, problems


def read_items(body: JSONObject, resource: Resource) -> list[JSONObject]:
    """Return the objects of a list, each with the apiVersion and kind that lists omit."""
    gvk = resource.gvk
    return [{"apiVersion": gvk.api_version, "kind": gvk.kind, **item} for item in body.get("items") or ()]


def delete_one(found: Prunable, options: ApplyOptions, deletion: Deletion) -> Flow[FlowOutcome]:
    """Delete one object (a client-side dry run sends nothing)."""
    name = get_at(found.obj, ("metadata", "name"), "")
    target = RequestTarget(found.resource, found.namespace, name, options)
    warnings: tuple[str, ...] = ()
    if options.dry_run is not DryRun.CLIENT:
        answer = yield from send(target.delete(deletion, found.obj, names_kind=True))
        warnings = answer.warnings
    return FlowOutcome(Verb.PRUNED, found.obj, found.obj, warnings)


def find_prunable(resource: Resource, namespace: str, selector: str, visited: Collection[str]) -> Flow[list[Prunable]]:
    """Return the objects of one kind in one namespace that match and were not visited (by uid), applied or not."""
    answer = yield from send(list_objects(resource, namespace, selector))
    found = []
    for obj in read_items(answer.body, resource):
        annotations = get_at(obj, ("metadata", "annotations")) or {}
        if get_at(obj, ("metadata", "uid"), "") not in visited:
            found.append(Prunable(resource, namespace, obj, LAST_APPLIED in annotations))
    return found


def list_searches(resources: Iterable[Resource], namespaces: Iterable[str]) -> list[tuple[Resource, str]]:
    """Return the lists to read: namespaced kinds in each visited namespace, then cluster-scoped kinds once."""
    resources = list(resources)
    inside = [r for r in resources if r.is_namespaced]
    searches = [(r, namespace) for namespace in sorted(namespaces) for r in inside]
    return searches + [(r, "") for r in resources if not r.is_namespaced]
