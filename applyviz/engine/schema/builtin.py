"""The kinds of the bundled release of Kubernetes, from the documents that ship with the package.

Loaded lazily, once per process: the index with the first kind, the definitions of a Go package with the first reference
to it. Reading package data is the only I/O of the engine: the folder of the minor, whose README says who makes it.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib import resources
from typing import Any

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.definitions import OPENAPI_V2_OVERRIDES, DefinitionSet
from applyviz.engine.schema.discovery import ResourceTable, read_discovery
from applyviz.engine.schema.model import KindSchema, Node, Resource, SchemaOrigin
from applyviz.engine.schema.resets import list_builtin_resets

RELEASE = "v1.36.3"
"""The release that plans are estimated with, and that a sandbox reports."""
_MINOR = "applyviz.kubernetes.v1_36"

# kubectl's own scheme has no Go types for these groups: after OpenAPI it tries only JSON merge.
_GROUPS_WITHOUT_GO_TYPE = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})

# Built-in kinds of several versions between which `autoscalers` converts.
CONVERTIBLE = frozenset({("autoscaling", "HorizontalPodAutoscaler")})


@cache
def load_bundled(name: str) -> Any:
    """Return one document of the bundled release; {} if it has none of that name. It must not be changed."""
    path = resources.files(_MINOR).joinpath("data", f"{name}.json.gz")
    return json.loads(gzip.decompress(path.read_bytes())) if path.is_file() else {}


def _find_raw(name: str) -> JSONObject | None:
    raw: JSONObject | None = load_bundled(name.rpartition(".")[0]).get(name)
    return raw


class BundledSource:
    """The bundled documents as `SchemaSource` and `ResourceSource`."""

    def __init__(self) -> None:
        self.definitions = DefinitionSet(_find_raw)
        self._definitions_v2 = DefinitionSet(_find_raw, OPENAPI_V2_OVERRIDES)
        self._kinds: dict[GroupVersionKind, KindSchema | None] = {}
        self._table: ResourceTable | None = None

    @property
    def _resources(self) -> ResourceTable:
        if self._table is None:
            self._table = ResourceTable(read_discovery(load_bundled("index")["discovery"]))
        return self._table

    def find_kind(self, gvk: GroupVersionKind) -> KindSchema | None:
        """Return the schema of a built-in kind, or None for other kinds."""
        if gvk not in self._kinds:
            self._kinds[gvk] = self._read_kind(gvk)
        return self._kinds[gvk]

    def _read_kind(self, gvk: GroupVersionKind) -> KindSchema | None:
        key = f"{gvk.api_version}/{gvk.kind}"
        index: JSONObject = load_bundled("index")
        if key not in index["kinds"]:
            return None
        name, is_strategic = index["kinds"][key]
        alternatives: list[tuple[str, Node]] = [("openapi-v2", self._definitions_v2.get_node(name))]
        root = self.definitions.get_node(name)
        if gvk.group not in _GROUPS_WITHOUT_GO_TYPE:
            alternatives.append(("builtin", root))
        resource = self._resources.find_resource(gvk)
        subresources = resource.subresources if resource else ()
        served = self._resources.list_versions(gvk.group, gvk.kind)
        return KindSchema(
            gvk,
            root,
            SchemaOrigin.BUNDLED,
            is_strategic=is_strategic,
            has_status="status" in subresources,
            zero=index["zero"].get(key, {}),
            served_versions=served,
            alternatives=tuple(alternatives),
            version_roots=self._list_roots(gvk, served) if (gvk.group, gvk.kind) in CONVERTIBLE else {},
            reset_fields={
                k: v for n in served for k, v in list_builtin_resets(gvk._replace(version=n), subresources).items()
            },
        )

    def _list_roots(self, gvk: GroupVersionKind, versions: tuple[str, ...]) -> dict[str, Node | None]:
        kinds = load_bundled("index")["kinds"]
        names = {v: kinds[f"{gvk._replace(version=v).api_version}/{gvk.kind}"][0] for v in versions}
        return {version: self.definitions.get_node(name) for version, name in names.items()}

    def find_resource(self, gvk: GroupVersionKind) -> Resource | None:
        """Return the resource of a built-in kind."""
        return self._resources.find_resource(gvk)

    def find_preferred(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a built-in kind at its preferred version."""
        return self._resources.find_preferred(group, kind)

    def list_resources(self) -> tuple[Resource, ...]:
        """Return all built-in resources, in the order of the server."""
        return self._resources.list_resources()


@cache
def bundled() -> BundledSource:
    """Return the bundled documents; always the same value, so that its nodes are shared."""
    return BundledSource()


def find_zero(gvk: GroupVersionKind) -> JSONObject:
    """Return the zero value of the Go type of a built-in kind, or {} for other kinds."""
    zero: JSONObject = load_bundled("index")["zero"].get(f"{gvk.api_version}/{gvk.kind}", {})
    return zero


def takes_list(definition: str, name: str) -> bool:
    """Return whether Go accepts a list for a field whose schema has none: its type is a pointer, or bytes."""
    return name in load_bundled("golists").get(definition, ())
