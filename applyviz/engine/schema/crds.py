"""The kinds that CustomResourceDefinitions define.

Rule: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/. As the API
server publishes them: apiVersion, kind and metadata (ObjectMeta) are added at the root and in embedded resources; a
version without a schema accepts anything. Conversion between versions changes apiVersion only; webhooks are not called.
An invalid definition raises `SchemaError` when its kind is looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from applyviz.engine.objects.errors import SchemaError
from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.request_paths import is_segment
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.definitions import OBJECT_META, DefinitionSet
from applyviz.engine.schema.discovery import ResourceTable
from applyviz.engine.schema.model import KindSchema, Resource, SchemaOrigin
from applyviz.engine.schema.nodes import SchemaNode
from applyviz.engine.schema.resets import METADATA, SPEC, STATUS

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TYPE_META: Mapping[str, JSONObject] = {
    "apiVersion": {"type": "string", "description": "The version of the schema of this object."},
    "kind": {"type": "string", "description": "The kind of this object, in CamelCase."},
    "metadata": {"$ref": OBJECT_META, "description": "Standard object's metadata."},
}


def _embed(schema: Any) -> Any:
    """Return a schema with apiVersion, kind and metadata added to embedded resources, recursively."""
    if not isinstance(schema, Mapping):
        return schema
    grown = {k: v for k, v in schema.items() if not k.startswith("x-kubernetes-patch-")}  # custom kinds ignore these
    if isinstance(schema.get("properties"), Mapping):
        grown["properties"] = {k: _embed(v) for k, v in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            grown[key] = _embed(schema[key])
    if schema.get("x-kubernetes-embedded-resource") is True:
        grown["properties"] = {**(grown.get("properties") or {}), **_TYPE_META}
    return grown


def _complete_root(schema: JSONValue) -> JSONObject:
    """Return the schema of the whole object, from that of a version (or its absence)."""
    if not isinstance(schema, Mapping):
        return {"type": "object"}
    try:
        grown: JSONObject = _embed(schema)
    except RecursionError:
        raise SchemaError("openAPIV3Schema: nested too deeply") from None
    return {**grown, "properties": {**(grown.get("properties") or {}), **_TYPE_META}}


_TEXTS = (("group",), ("names", "kind"), ("names", "plural"), ("names", "singular"))
_LISTS = (("versions",), ("names", "shortNames"), ("names", "categories"))


def _has_types(spec: JSONValue) -> bool:
    """Return whether what names a kind has the types that a server accepts."""
    texts, lists = ([get_at(spec, path) for path in paths] for paths in (_TEXTS, _LISTS))
    is_named = all(one is None or isinstance(one, str) for one in texts)
    return is_named and all(one is None or isinstance(one, list | tuple) for one in lists)


def defines_kind(definition: JSONObject) -> bool:
    """Return whether a definition names a kind that can be read; one to be deleted may have only its own name."""
    spec = definition.get("spec")
    return bool(get_at(spec, ("names", "kind"))) and _has_types(spec)


class _Definition:
    """One CustomResourceDefinition; the nodes of a version are created on first use."""

    def __init__(self, crd: JSONObject) -> None:
        if not defines_kind(crd):
            why = "no spec.names.kind" if _has_types(crd.get("spec")) else "group, names or versions of a wrong type"
            raise SchemaError(f"CustomResourceDefinition {get_at(crd, ('metadata', 'name'), '')}: {why}")
        spec, names = crd["spec"], crd["spec"]["names"]
        self.crd = crd
        self.group: str = spec.get("group") or ""
        self.names = names
        self.kind: str = names["kind"]
        self.is_namespaced = spec.get("scope") == "Namespaced"
        self.preserves_unknown = spec.get("preserveUnknownFields") is True
        versions = [v for v in spec.get("versions") or () if isinstance(v, Mapping)]
        self.versions: dict[str, JSONObject] = {
            v["name"]: v for v in versions if isinstance(v.get("name"), str) and v["name"]
        }
        self._roots: dict[str, SchemaNode] | None = None

    @property
    def roots(self) -> Mapping[str, SchemaNode]:
        """The root node of each version."""
        if self._roots is None:
            definitions: DefinitionSet = bundled().definitions
            self._roots = {
                name: SchemaNode(
                    _complete_root(get_at(version, ("schema", "openAPIV3Schema"))),
                    definitions,
                    allows_unknown=self.preserves_unknown,
                )
                for name, version in self.versions.items()
            }
        return self._roots

    @property
    def is_addressable(self) -> bool:
        """Whether group, plural and versions can be segments of a path; the server accepts only a group with a dot."""
        plural = self.names.get("plural") or ""
        is_text = all(isinstance(part, str) for part in (self.group, plural, *self.versions))
        return is_text and "." in self.group and all(map(is_segment, (self.group, plural, *self.versions)))

    def has_subresource(self, version: str, name: str) -> bool:
        """Return whether a version has the status or scale subresource."""
        return get_at(self.versions[version], ("subresources", name)) is not None

    def list_resets(self, version: str) -> dict[tuple[str, str], tuple[FieldPath, ...]]:
        """Return the reset fields; the main resource excludes the status at its version only."""
        resets: dict[tuple[str, str], tuple[FieldPath, ...]] = {}
        for name in self.versions:
            if self.has_subresource(name, "status"):
                resets[("status", f"{self.group}/{name}")] = (METADATA, SPEC)
        if self.has_subresource(version, "status"):
            resets[("", f"{self.group}/{version}")] = (STATUS,)
        return resets

    def read_resource(self, version: str) -> Resource:
        """Return the resource of the kind at a version."""
        return Resource(
            GroupVersionKind(self.group, version, self.kind),
            self.names.get("plural") or "",
            self.is_namespaced,
            singular=self.names.get("singular") or self.kind.lower(),
            short_names=tuple(self.names.get("shortNames") or ()),
            verbs=_VERBS,
            subresources=tuple(s for s in ("status", "scale") if self.has_subresource(version, s)),
            categories=tuple(self.names.get("categories") or ()),
        )


def _rank(version: str) -> tuple[int, int, int, str]:
    """Return the sort key of a version in Kubernetes' order: v2, v1, v1beta2, v1beta1, v1alpha1, others by name."""
    head, stage, tail = version[1:], 0, ""
    for rank, word in ((1, "beta"), (2, "alpha")):
        if word in head:
            head, _, tail = head.partition(word)
            stage = rank
    major, minor = read_digits(head), read_digits(tail) if stage else 0
    is_known = version.startswith("v") and major is not None and minor is not None
    return (stage, -(major or 0), -(minor or 0), "") if is_known else (3, 0, 0, version)


class CRDSource:
    """CustomResourceDefinitions as `SchemaSource` and `ResourceSource`; only served versions are resources."""

    def __init__(self, crds: Iterable[JSONObject], origin: SchemaOrigin = SchemaOrigin.CLUSTER_CRD) -> None:
        self._origin = origin
        self._definitions: dict[tuple[str, str], _Definition] = {}
        for crd in crds:
            definition = _Definition(crd)
            self._definitions[(definition.group, definition.kind)] = definition
        self._kinds: dict[GroupVersionKind, KindSchema | None] = {}
        self._table = ResourceTable(
            d.read_resource(v)
            for d in self._definitions.values()
            for v in sorted(d.versions, key=_rank)
            if d.versions[v].get("served", True) and d.is_addressable
        )

    def find_kind(self, gvk: GroupVersionKind) -> KindSchema | None:
        """Return the schema of a kind at a version, or None if no definition has it."""
        if gvk not in self._kinds:
            definition = self._definitions.get((gvk.group, gvk.kind))
            has_it = definition is not None and gvk.version in definition.versions
            self._kinds[gvk] = self._read_kind(gvk, definition) if definition is not None and has_it else None
        return self._kinds[gvk]

    def _read_kind(self, gvk: GroupVersionKind, definition: _Definition) -> KindSchema:
        return KindSchema(
            gvk,
            definition.roots[gvk.version],
            self._origin,
            is_custom=True,
            is_strategic=False,
            has_status=definition.has_subresource(gvk.version, "status"),
            zero={"apiVersion": gvk.api_version, "kind": gvk.kind},
            served_versions=tuple(v for v in definition.versions if definition.versions[v].get("served", True)),
            version_roots=definition.roots,
            reset_fields=definition.list_resets(gvk.version),
            definition=definition.crd,
        )

    def find_resource(self, gvk: GroupVersionKind) -> Resource | None:
        """Return the resource of a custom kind at a version."""
        return self._table.find_resource(gvk)

    def find_preferred(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a custom kind at its preferred version."""
        return self._table.find_preferred(group, kind)

    def list_resources(self) -> tuple[Resource, ...]:
        """Return all served versions of all definitions."""
        return self._table.list_resources()
