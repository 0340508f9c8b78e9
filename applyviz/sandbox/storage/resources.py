"""The resources that a sandbox cluster serves: the built-in ones, and those of its CRDs.

A `ResourceTarget` has everything that a request to one resource needs: its address, its schema, its Go struct
(built-in) or its CustomResourceDefinition. Definitions are read from the store, so processes that share a store see the
same resources; targets are cached until the revision of their definition changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import KindSchema, Resource
from applyviz.kubernetes.parity.go_types import GoStruct, go_types
from applyviz.sandbox.storage.routing import Route
from applyviz.sandbox.storage.store import ObjectKey, Store

CRD_GROUP = "apiextensions.k8s.io"
CRD_PLURAL = "customresourcedefinitions"


class ResourceTarget(Struct, frozen=True):
    """One served resource at one version; `schema` is the structural schema of a custom one.

    - `storage_schema`: the schema of the version at which a custom one is stored.
    """

    resource: Resource
    kind: KindSchema
    struct: GoStruct | None
    storage: GroupVersionKind
    schema: JSONObject | None = None
    definition: JSONObject | None = None
    storage_schema: JSONObject | None = None

    @property
    def group(self) -> str:
        """The API group, "" for core."""
        return self.resource.gvk.group

    @property
    def plural(self) -> str:
        """The resource name in paths."""
        return self.resource.plural

    @property
    def gvk(self) -> GroupVersionKind:
        """Kind and version of the request."""
        return self.resource.gvk

    @property
    def has_status(self) -> bool:
        """Whether status is written through a separate subresource."""
        return "status" in self.resource.subresources

    def with_kind(self, gvk: GroupVersionKind) -> ResourceTarget:
        """Return the target of a subresource: its bodies are of another kind, at the address of the resource."""
        kind = bundled().find_kind(gvk) or self.kind
        return replace(self, resource=replace(self.resource, gvk=gvk), kind=kind, struct=go_types().find_kind(gvk))

    def key(self, namespace: str, name: str) -> ObjectKey:
        """Return the key of an object in the store."""
        return ObjectKey(self.group, self.plural, namespace if self.resource.is_namespaced else "", name)


@cache
def builtin_resources() -> Mapping[tuple[str, str, str], Resource]:
    """Return the built-in resources by group, version and plural."""
    return {(r.gvk.group, r.gvk.version, r.plural): r for r in bundled().list_resources()}


@cache
def _builtin_target(group: str, version: str, plural: str) -> ResourceTarget | None:
    resource = builtin_resources().get((group, version, plural))
    if resource is None:
        return None
    kind = bundled().find_kind(resource.gvk)
    struct = go_types().find_kind(resource.gvk)
    if kind is None or struct is None:
        return None
    is_autoscaler = plural == "horizontalpodautoscalers"
    storage = GroupVersionKind(group, "v2", resource.gvk.kind) if is_autoscaler else resource.gvk
    return ResourceTarget(resource, kind, struct, storage)


def is_established(definition: JSONObject) -> bool:
    """Return whether a CustomResourceDefinition is served."""
    conditions = get_at(definition, ("status", "conditions")) or ()
    return any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)


class Registry:
    """Finds the target of a route."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._customs: dict[tuple[str, str], tuple[str, CRDSource, JSONObject]] = {}

    def find(self, route: Route) -> ResourceTarget | None:
        """Return the served resource of a route, None if there is none."""
        target = _builtin_target(route.group, route.version, route.plural)
        return target if target is not None else self._find_custom(route)

    def find_kind(self, gvk: GroupVersionKind) -> ResourceTarget | None:
        """Return the served resource of a kind, None if there is none."""
        known = [*builtin_resources().values(), *self.list_custom_resources()]
        found = next((resource for resource in known if resource.gvk == gvk), None)
        return self.find(Route(gvk.group, gvk.version, found.plural)) if found is not None else None

    def _find_custom(self, route: Route) -> ResourceTarget | None:
        definition = self._store.get(ObjectKey(CRD_GROUP, CRD_PLURAL, "", f"{route.plural}.{route.group}"))
        if definition is None or not is_established(definition):
            return None
        return self._read_custom(definition, route.version)

    def _read_custom(self, definition: JSONObject, version: str) -> ResourceTarget | None:
        source = self._source(definition)
        spec = definition["spec"]
        gvk = GroupVersionKind(spec["group"], version, spec["names"]["kind"])
        resource, kind = source.find_resource(gvk), source.find_kind(gvk)
        if resource is None or kind is None:
            return None
        entry = next(v for v in spec["versions"] if v["name"] == version)
        stored = next((v for v in spec["versions"] if v.get("storage")), entry)
        schema, storage_schema = (get_at(v, ("schema", "openAPIV3Schema")) for v in (entry, stored))
        storage = GroupVersionKind(spec["group"], stored["name"], gvk.kind)
        return ResourceTarget(resource, kind, None, storage, schema, definition, storage_schema)

    def _source(self, definition: JSONObject) -> CRDSource:
        meta = definition["metadata"]
        key, mark = (meta["name"], meta.get("uid", "")), meta.get("resourceVersion", "")
        known = self._customs.get(key)
        if known is None or known[0] != mark:
            known = self._customs[key] = (mark, CRDSource([definition]), definition)
        return known[1]

    def list_custom_resources(self) -> list[Resource]:
        """Return the resources of all established definitions."""
        found: list[Resource] = []
        for definition in self._store.list(CRD_GROUP, CRD_PLURAL):
            if is_established(definition):
                found.extend(self._source(definition).list_resources())
        return found

    def list_definitions(self) -> list[JSONObject]:
        """Return all established definitions."""
        return [d for d in self._store.list(CRD_GROUP, CRD_PLURAL) if is_established(d)]
