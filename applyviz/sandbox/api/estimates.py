"""Estimate the answer of an API server to one write, by a sandbox that holds one object.

Implements `engine.planning.simulation.server_model.ServerModel`. Built-in kinds are those of v1.36.3: if the live
object or the manifest has fields that only the cluster's own schema knows, there is no estimate. Values that only the
real server can choose are left out of every answer: uid, creation time, allocated addresses and ports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from types import MappingProxyType

from applyviz.engine.objects.exchange import JSON, Answer, Request
from applyviz.engine.objects.golang import is_digits
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, get_at
from applyviz.engine.ownership.managed_fields import find_entries, with_entries
from applyviz.engine.planning.model.server_chosen import without_chosen
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.schema.autoscalers import convert_autoscaler
from applyviz.engine.schema.model import KindSchema, Node, Resource, SchemaOrigin
from applyviz.engine.schema.nodes import SchemaNode
from applyviz.kubernetes.parity.decoding import DecodeError
from applyviz.kubernetes.v1_36.validation.devices import ADMIN_LABEL
from applyviz.sandbox.api.admission import CLASS_PRIORITY, FIXED_SIZE, OWN_PRIORITY, list_system_classes
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.schema.structural import ROOT_FIELDS
from applyviz.sandbox.storage.bodies import materialize
from applyviz.sandbox.storage.bootstrap import MARK
from applyviz.sandbox.storage.cluster import convert_custom
from applyviz.sandbox.storage.definitions import namespace_key
from applyviz.sandbox.storage.dependents import index_change
from applyviz.sandbox.storage.resources import CRD_GROUP, CRD_PLURAL, ResourceTarget
from applyviz.sandbox.storage.routing import Route, parse_path
from applyviz.sandbox.storage.store import MemoryStore, ObjectKey, Store, StoredChange

# A placeholder for the uid of a new object; wherever it appears in an answer, only the real server knows the value.
_UID = "00000000-0000-4000-8000-000000000000"
_VERSION = "1"
_ESTABLISHED = {"conditions": [{"type": "Established", "status": "True"}]}
_UNKNOWN_FIELD = re.compile(r'unknown field "([^"]+)"')
_STEP = re.compile(r"[^.\[\]]+")
_IDENTITY = ("uid", "resourceVersion")
_CLASSES = ("scheduling.k8s.io", "priorityclasses")


def with_estimates(context: PlanningContext) -> PlanningContext:
    """Return the inputs of planning with the one server model that answers where no dry run is possible.

    Reviews, playground, guide and conformance plan with it, so that an estimate is the same everywhere: nothing is
    shown before defaults, validation and admission have run.
    """
    return replace(context, server=EstimatingServer())


class EstimatingServer:
    """A `ServerModel` over a sandbox; several threads may call it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._store = MemoryStore()
        self._store.put_meta(MARK, value=True)
        self._time = datetime.fromtimestamp(0, UTC)
        self._sandbox = Sandbox(self._store, lambda: self._time, new_uid=lambda: _UID, has_controllers=False)
        self._kinds: dict[str, KindSchema] = {}

    def answer(
        self,
        request: Request,
        live: JSONObject | None,
        *,
        kind: KindSchema,
        resource: Resource,
        now: str,
        namespace: JSONObject | None = None,
    ) -> Answer | None:
        """Return the server's answer to the write, None if it cannot be estimated."""
        route = parse_path(request.path)
        if route is None or kind.origin is SchemaOrigin.NONE:
            return None
        with self._lock:
            self._time = datetime.fromisoformat(now)
            try:
                return self._answer(request, route, live, kind, resource, namespace)
            except (DecodeError, LookupError, TypeError, AttributeError, ValueError):
                return None  # live does not fit its kind in v1.36.3

    def show(self, live: JSONObject, *, kind: KindSchema, resource: Resource) -> JSONObject:
        """Return a live object as a server returns it: with the defaults of its kind.

        - Rule: servers fill in defaults whenever they read a stored object, so no client sees one without them.
        - The same object comes back if it does not fit its kind, or if the kind has no schema.
        """
        metadata = live.get("metadata") or {}
        name, namespace = metadata.get("name"), metadata.get("namespace") or ""
        route = parse_path(resource.path(namespace, name)) if isinstance(name, str) and name else None
        if route is None or kind.origin is SchemaOrigin.NONE:
            return live
        with self._lock:
            try:
                return self._show(route, live, kind, resource)
            except (DecodeError, LookupError, TypeError, AttributeError, ValueError):
                return live

    def _show(self, route: Route, live: JSONObject, kind: KindSchema, resource: Resource) -> JSONObject:
        target = self._find_target(route, kind, resource)
        stored = _hold(target, live) if target is not None else None
        if target is None or stored is None:
            return live
        path = resource.path(route.namespace, route.name)
        with self._holding(target.key(route.namespace, route.name), stored):
            found = self._sandbox.handle(Request("GET", path))
            if found.is_ok:  # what was created before some field existed gets it with its next write
                written = self._sandbox.handle(Request("PUT", path, {}, JSON, found.body).as_dry_run())
                found = written if written.is_ok else found
        if not found.is_ok:
            return live
        shown = _identify(without_chosen(found.body, live, live), live)
        return with_entries(shown, [dict(entry) for entry in find_entries(live) or ()])

    def _find_target(self, route: Route, kind: KindSchema, resource: Resource) -> ResourceTarget | None:
        """Return the resource that serves a kind; None if the sandbox knows it as something else."""
        if kind.is_custom:
            self._define(kind, resource)
        target = self._sandbox.registry.find(route)
        if target is None or target.gvk != kind.gvk or (target.struct is None) is not kind.is_custom:
            return None
        return target

    @contextmanager
    def _holding(
        self, key: ObjectKey, stored: MutableObject | None, labels: Mapping[str, str] = MappingProxyType({})
    ) -> Iterator[None]:
        """Hold one object and its namespace; the next estimate starts from an empty sandbox."""
        namespace = namespace_key(key.namespace)
        self._forget(key)
        try:
            with self._store.transaction():
                self._store.put(namespace, {"metadata": {"name": key.namespace, "labels": dict(labels)}})
                if stored is not None:
                    self._store.put(key, stored)
            yield
        finally:
            self._store.delete(key)
            self._store.delete(namespace)

    def _answer(
        self,
        request: Request,
        route: Route,
        live: JSONObject | None,
        kind: KindSchema,
        resource: Resource,
        namespace: JSONObject | None,
    ) -> Answer | None:
        target = self._find_target(route, kind, resource)
        if target is None:
            return None
        name = route.name or get_at(request.body, ("metadata", "name"), "")
        stored = None if live is None else _hold(target, live)
        if live is not None and stored is None:
            return None
        labels = get_at(namespace, ("metadata", "labels")) or {}
        asked = _find_class(target, request, live)
        with self._holding(target.key(route.namespace, name), stored, labels), self._assuming(asked):
            # A custom resource is read back, because its storage version may lack some of the written fields.
            is_custom = target.struct is None
            found = self._sandbox.handle(request if is_custom else request.as_dry_run())
        if not found.is_ok:
            is_unmarked = namespace is None and ADMIN_LABEL in found.message
            return None if is_unmarked or _is_unsure(found, kind, route) else found
        body = request.body if isinstance(request.body, Mapping) else {}
        made = without_chosen(found.body, body, live)
        return replace(found, body=_identify(_without_priority(made, asked) if asked else made, live))

    @contextmanager
    def _assuming(self, priority_class: JSONObject | None) -> Iterator[None]:
        """Let a priority class exist that a new Pod names: the cluster may have it."""
        if priority_class is None:
            yield
            return
        key = ObjectKey(*_CLASSES, "", priority_class["metadata"]["name"])
        with self._store.transaction():
            self._store.put(key, dict(priority_class))
        try:
            yield
        finally:
            self._store.delete(key)

    def _forget(self, key: ObjectKey) -> None:
        """Remove the definition of a kind if that definition is itself written."""
        self._store.delete(key)
        if (key.group, key.plural) == (CRD_GROUP, CRD_PLURAL):
            self._kinds.pop(key.name, None)

    def _define(self, kind: KindSchema, resource: Resource) -> None:
        """Serve the kind of a custom resource by its schema."""
        name = f"{resource.plural}.{kind.gvk.group}"
        if self._kinds.get(name) is kind:
            return
        self._kinds[name] = kind
        with self._store.transaction():
            definition = _render_definition(name, kind, resource)
            definition["metadata"]["resourceVersion"] = str(self._store.next_revision())
            self._store.put(ObjectKey(CRD_GROUP, CRD_PLURAL, "", name), definition)


def _hold(target: ResourceTarget, live: JSONObject) -> MutableObject | None:
    """Return the live object in the form of the store; None if it has unknown fields."""
    metadata = {"uid": _UID, "resourceVersion": _VERSION, **live["metadata"]}
    stored: MutableObject = clone({**live, "metadata": metadata})
    if target.struct is None:
        return convert_custom(stored, target.storage.api_version, target.storage_schema)
    decoded = materialize(target, stored)
    if decoded.unknown:
        return None
    if target.storage != target.gvk:
        return convert_autoscaler(decoded.obj, target.storage.version)
    return decoded.obj


def hold_object(store: Store, target: ResourceTarget, live: JSONObject) -> bool:
    """Put a live object into a store unchanged, without rules or controllers; return whether its kind has its fields.

    - Raises `DecodeError`, or an error of Python, for an object that does not fit its kind.
    """
    stored = _hold(target, live)
    if stored is None:
        return False
    metadata = stored["metadata"]
    with store.transaction():
        metadata["resourceVersion"] = str(store.next_revision())
        key = target.key(metadata.get("namespace") or "", metadata["name"])
        index_change(store, StoredChange(store.revision(), key, store.get(key), stored))
        store.put(key, stored)
    return True


def _find_class(target: ResourceTarget, request: Request, live: JSONObject | None) -> JSONObject | None:
    """Return the class that a new Pod names, as the Pod would have it; None for a class of every cluster."""
    if live is not None or target.struct is None or target.struct.name != "core/v1.Pod":
        return None
    spec = get_at(request.body, ("spec",))
    name = spec.get("priorityClassName") if isinstance(spec, Mapping) else None
    if not isinstance(name, str) or not name or name in list_system_classes():
        return None
    given = {ours: spec.get(theirs) for theirs, ours in CLASS_PRIORITY.items()}
    return {"metadata": {"name": name}, **{ours: value for ours, value in given.items() if value is not None}}


def _without_priority(obj: JSONObject, priority_class: JSONObject) -> JSONObject:
    """Return a new Pod without what only its class decides."""
    unknown = {theirs for theirs, ours in CLASS_PRIORITY.items() if ours not in priority_class}
    return {**obj, "spec": {name: value for name, value in obj["spec"].items() if name not in unknown}}


def _is_unsure(answer: Answer, kind: KindSchema, route: Route) -> bool:
    """Return whether a refusal may be due to another version of Kubernetes, or to missing objects."""
    if FIXED_SIZE in answer.message or OWN_PRIORITY in answer.message:  # said of a claim or a Pod alone
        return False
    if answer.status in (403, 404, 405) and not route.subresource:  # a class or an owner that is not in the sandbox
        return True
    if kind.is_custom or kind.origin is SchemaOrigin.BUNDLED:
        return False
    return any(_knows(kind.root, path) for path in _UNKNOWN_FIELD.findall(answer.message))


def _knows(node: Node | None, path: str) -> bool:
    for step in _STEP.findall(path):
        if node is None:
            return False
        node = node.items if is_digits(step) and node.items is not None else node.child(step)
    return node is not None


def _identify(obj: JSONObject, live: JSONObject | None) -> JSONObject:
    """Return the object at the version from which it was made, as the same object; a new one has neither."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _IDENTITY}
    known = {name: value for name in _IDENTITY if (value := get_at(live, ("metadata", name)))}
    return {**obj, "metadata": {**metadata, **known}}


def _render_definition(name: str, kind: KindSchema, resource: Resource) -> MutableObject:
    """Return a CustomResourceDefinition that serves a kind."""
    scope = "Namespaced" if resource.is_namespaced else "Cluster"
    names = {"plural": resource.plural, "kind": kind.gvk.kind}
    versions = get_at(kind.definition, ("spec", "versions")) or [_render_version(kind)]
    spec = {"group": kind.gvk.group, "names": names, "scope": scope, "versions": versions}
    return {"metadata": {"name": name, "uid": _UID}, "spec": spec, "status": _ESTABLISHED}


def _render_version(kind: KindSchema) -> MutableObject:
    """Return the only version that is known for a kind without its definition."""
    root = kind.root
    schema = _as_written(root.raw) if isinstance(root, SchemaNode) else None
    subresources: MutableObject = {"status": {}} if kind.has_status else {}
    version = {"name": kind.gvk.version, "served": True, "storage": True, "subresources": subresources}
    return {**version, "schema": {"openAPIV3Schema": schema}}


def _as_written(schema: JSONValue) -> JSONValue:
    """Return the structural schema behind a published one, to which the server adds the metadata of objects."""
    if isinstance(schema, list):
        return [_as_written(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {name: _as_written(part) for name, part in schema.items()}
    properties = kept.get("properties")
    if isinstance(properties, Mapping) and "$ref" in str(properties.get("metadata")):
        kept["properties"] = {name: part for name, part in properties.items() if name not in ROOT_FIELDS}
    return kept
