"""The schema of a kind, for both modes of apply.

One `Node` has what client-side apply needs (patch strategy, merge key) and what server-side apply needs (list type and
keys, map type). Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (merge strategy) and the
`x-kubernetes-*` extensions of OpenAPI. Nodes are resolved lazily: a reference to another definition is followed when a
child is looked up, so a document is never expanded whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.request_paths import make_path
from applyviz.engine.objects.values import JSONValue


class ListType(StrEnum):
    """`x-kubernetes-list-type`; lists without one are atomic."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class MapType(StrEnum):
    """`x-kubernetes-map-type`; maps without one are granular."""

    GRANULAR = "granular"
    ATOMIC = "atomic"


class SchemaOrigin(StrEnum):
    """The source that described a kind (in the order of lookup); shown on every change."""

    SOURCE_CRD = "source-crd"
    CLUSTER_OPENAPI = "cluster-openapi"
    CLUSTER_CRD = "cluster-crd"
    BUNDLED = "bundled"
    NONE = "none"


class Node(Protocol):
    """One node in the schema of a kind.

    - `type`: "object", "array", "string", "integer", "number", "boolean", or "" (anything).
    - `child(name)`: the schema of a field or map entry, None if unknown; `items`: of list entries.
    - `has_field(name)`: whether it is a declared property (strict validation, not additionalProperties).
    - `patch_strategy`: of `x-kubernetes-patch-strategy`, e.g. ("merge", "retainKeys"); () if absent.
    - `list_map_keys`: names of the key fields; their defaults are those of `items.child(k).default`.
    - `definition`: the name of the definition that this node refers to, "" if its schema is inline.
    - `allows_unknown`: preserve-unknown-fields, stated here or on an enclosing node of the same definition.
    """

    @property
    def definition(self) -> str: ...
    @property
    def allows_unknown(self) -> bool: ...

    @property
    def type(self) -> str: ...
    @property
    def items(self) -> Node | None: ...
    @property
    def properties(self) -> Mapping[str, Node]: ...
    @property
    def additional(self) -> Node | None: ...
    @property
    def list_type(self) -> ListType | None: ...
    @property
    def list_map_keys(self) -> tuple[str, ...]: ...
    @property
    def map_type(self) -> MapType | None: ...
    @property
    def patch_strategy(self) -> tuple[str, ...]: ...
    @property
    def patch_merge_key(self) -> str: ...
    @property
    def preserves_unknown(self) -> bool: ...
    @property
    def is_embedded_resource(self) -> bool: ...
    @property
    def is_int_or_string(self) -> bool: ...
    @property
    def is_nullable(self) -> bool: ...
    @property
    def has_default(self) -> bool: ...
    @property
    def default(self) -> JSONValue: ...
    @property
    def description(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def enum(self) -> tuple[JSONValue, ...]: ...
    @property
    def required(self) -> tuple[str, ...]: ...
    def child(self, name: str) -> Node | None: ...
    def has_field(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class KindSchema:
    """The schema of one kind, with what its source says about applying it.

    - `is_strategic`: the kind takes strategic merge patches (built-in kinds), else JSON merge patches.
    - `zero`: the empty Go value that the server compares with on create.
    - `has_status`: the main resource does not write `status` (ownership excludes it).
    - `alternatives`: further roots that kubectl tries after an error (OpenAPI v2, then the Go type).
    - `version_roots`: by version, the roots of all versions between which the kind can be converted; empty for built-in
      kinds except HorizontalPodAutoscaler.
    - `reset_fields`: by (subresource, apiVersion), the fields that such a write excludes from ownership.
    - `definition`: the CustomResourceDefinition of the kind; None for other sources.
    """

    gvk: GroupVersionKind
    root: Node | None
    origin: SchemaOrigin
    is_custom: bool = False
    is_strategic: bool = True
    has_status: bool = False
    zero: Mapping[str, JSONValue] = field(default_factory=dict)
    served_versions: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, Node], ...] = ()
    version_roots: Mapping[str, Node | None] = field(default_factory=dict)
    reset_fields: Mapping[tuple[str, str], tuple[FieldPath, ...]] = field(default_factory=dict)
    definition: Mapping[str, JSONValue] | None = field(default=None, repr=False, compare=False)


class Resource(Struct, frozen=True):
    """The REST address of a kind: `plural` in the path, namespaced or not."""

    gvk: GroupVersionKind
    plural: str
    is_namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, an object, or a subresource of it; every segment is encoded."""
        scope = namespace if self.is_namespaced else ""
        group, version, _ = self.gvk
        return make_path(group, version, self.plural, namespace=scope, name=name, subresource=subresource)


class SchemaSource(Protocol):
    """Looks up the schemas of kinds; None means: try the next source."""

    def find_kind(self, gvk: GroupVersionKind) -> KindSchema | None: ...


class ResourceSource(Protocol):
    """Looks up how kinds are addressed (discovery)."""

    def find_resource(self, gvk: GroupVersionKind) -> Resource | None: ...

    def find_preferred(self, group: str, kind: str) -> Resource | None: ...

    def list_resources(self) -> tuple[Resource, ...]: ...
