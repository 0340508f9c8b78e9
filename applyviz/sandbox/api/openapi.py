"""Serve the OpenAPI v3 documents of a sandbox cluster, one per group version.

Rule: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3. Definitions are the bundled ones and
those of CustomResourceDefinitions; of the paths only PATCH is included, because clients read nothing else (content
types, `fieldValidation`). `openapi_v2` serves the older document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

from applyviz.engine.objects.exchange import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
)
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, canonical_json, get_at
from applyviz.engine.schema.builtin import RELEASE, load_bundled
from applyviz.engine.schema.definitions import OBJECT_META
from applyviz.engine.schema.model import Resource
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import builtin_resources

_ROOT = "/openapi/v3"
_CORE = "io.k8s.api.core.v1"
_REF = "#/components/schemas/"
_PARAMETERS = ("pretty", "dryRun", "fieldManager", "fieldValidation", "force")


def _definition(name: str) -> MutableObject | None:
    found: MutableObject | None = load_bundled(name.rpartition(".")[0]).get(name)
    return found


def _references(value: JSONValue) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == "$ref" and isinstance(item, str):
                yield item.rpartition("/")[2]
            else:
                yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _link(value: JSONValue) -> Any:
    """Return references as full pointers, as documents contain them.

    - Rule: clients ignore what is beside a `$ref`, so one with a description is inside `allOf`.
    """
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return {k: _link(v) for k, v in value.items()}
        link = {"$ref": _REF + reference.rpartition("/")[2]}
        rest = {k: _link(v) for k, v in value.items() if k != "$ref"}
        return {**rest, "allOf": [link]} if rest else link
    return [_link(v) for v in value] if isinstance(value, list) else value


def collect_definitions(names: list[str]) -> MutableObject:
    """Return bundled definitions and every definition that they refer to."""
    found: MutableObject = {}
    while names:
        name = names.pop()
        raw = _definition(name) if name not in found else None
        if raw is not None:
            found[name] = raw
            names.extend(_references(raw))
    return found


def _describe_path(resource: Resource, *, is_strategic: bool) -> tuple[str, MutableObject]:
    gvk = resource.gvk
    types = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH, *([STRATEGIC_MERGE_PATCH] if is_strategic else [])]
    path = unquote(resource.path("{namespace}" if resource.is_namespaced else "", "{name}"))
    patch = {
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
        "parameters": [{"name": p, "in": "query", "schema": {"type": "string"}} for p in _PARAMETERS],
        "requestBody": {"content": {t: {"schema": {"type": "object"}} for t in types}},
        "responses": {"200": {"description": "OK"}},
    }
    return path, {"patch": patch}


def _assemble(schemas: MutableObject, paths: MutableObject) -> MutableObject:
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": RELEASE},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _mark(schema: MutableObject, resource: Resource) -> MutableObject:
    gvk = resource.gvk
    marks = [{"group": gvk.group, "kind": gvk.kind, "version": gvk.version}]
    return {**schema, "x-kubernetes-group-version-kind": marks}


@cache
def _builtin_document(group: str, version: str) -> JSONObject | None:
    chosen = [r for (g, v, _), r in builtin_resources().items() if (g, v) == (group, version)]
    kinds: JSONObject = load_bundled("index")["kinds"]
    named = {r.plural: (kinds[f"{r.gvk.api_version}/{r.gvk.kind}"], r) for r in chosen if _key(r) in kinds}
    if not named:
        return None
    schemas = _link(collect_definitions([name for (name, _), _ in named.values()]))
    paths: MutableObject = {}
    for (name, is_strategic), resource in named.values():
        schemas[name] = _mark(schemas[name], resource)
        path, item = _describe_path(resource, is_strategic=is_strategic)
        paths[path] = item
    return _assemble(schemas, paths)


def _key(resource: Resource) -> str:
    return f"{resource.gvk.api_version}/{resource.gvk.kind}"


def _custom_schema(schema: JSONObject | None) -> MutableObject:
    usual = _link(load_bundled(_CORE)[f"{_CORE}.ConfigMap"]["properties"])
    metadata = {key: usual["metadata"][key] for key in ("description", "allOf")}
    types = {key: usual[key] for key in ("apiVersion", "kind")}
    properties = {**((schema or {}).get("properties") or {}), **types, "metadata": metadata}
    return {**(schema or {"type": "object"}), "properties": properties}


def _custom_document(group: str, version: str, cluster: SandboxCluster) -> JSONObject | None:
    schemas, paths = _link(collect_definitions([OBJECT_META])), {}
    for definition in cluster.registry.list_definitions():
        spec = definition["spec"]
        entry = next((v for v in spec["versions"] if v["name"] == version and v.get("served")), None)
        if spec["group"] != group or entry is None:
            continue
        for resource in cluster.registry.list_custom_resources():
            if (resource.gvk.group, resource.gvk.version, resource.plural) == (group, version, spec["names"]["plural"]):
                name = ".".join([*reversed(group.split(".")), version, resource.gvk.kind])
                schemas[name] = _mark(_custom_schema(get_at(entry, ("schema", "openAPIV3Schema"))), resource)
                path, item = _describe_path(resource, is_strategic=False)
                paths[path] = item
    return _assemble(schemas, paths) if paths else None


def find_openapi(path: str, cluster: SandboxCluster) -> JSONObject | None:
    """Return the index or the document of a path, None if there is none."""
    if path == _ROOT:
        return {"paths": dict(_index(cluster))}
    parts = path.removeprefix(_ROOT).strip("/").split("/")
    group, version = ("", parts[1]) if parts[0] == "api" and len(parts) == 2 else ("", "")
    if parts[0] == "apis" and len(parts) == 3:
        group, version = parts[1], parts[2]
    if not version:
        return None
    return _builtin_document(group, version) or _custom_document(group, version, cluster)


def _index(cluster: SandboxCluster) -> Iterator[tuple[str, JSONObject]]:
    """Yield each document with its address; its hash is that of the content, because clients keep it."""
    versions = {(g, v): RELEASE for g, v, _ in builtin_resources()}
    content = canonical_json([definition["spec"] for definition in cluster.registry.list_definitions()])
    defined = hashlib.sha256(content.encode()).hexdigest()
    versions.update({(r.gvk.group, r.gvk.version): defined for r in cluster.registry.list_custom_resources()})
    for (group, version), state in versions.items():
        name = f"apis/{group}/{version}" if group else f"api/{version}"
        digest = hashlib.sha256(f"{name} {state}".encode()).hexdigest().upper()
        yield name, {"serverRelativeURL": f"{_ROOT}/{name}?hash={digest}"}
