"""Serve discovery, version and OpenAPI documents, which a client reads before it knows any resource.

Rule: https://kubernetes.io/docs/concepts/overview/kubernetes-api/ (discovery, OpenAPI). Built-in groups come from
the bundled documents, groups of custom resources from their definitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.engine.schema.builtin import RELEASE
from applyviz.engine.schema.model import Resource
from applyviz.sandbox.api import openapi_v2
from applyviz.sandbox.api.openapi import find_openapi
from applyviz.sandbox.storage.cluster import SandboxCluster
from applyviz.sandbox.storage.resources import builtin_resources

VERSION: Mapping[str, str] = {
    "major": RELEASE[1:].split(".")[0],
    "minor": RELEASE.split(".")[1],
    "gitVersion": f"{RELEASE}+applyviz-sandbox",
    "gitTreeState": "clean",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_HEALTH = ("/healthz", "/livez", "/readyz")
_STATUS_VERBS = ["get", "patch", "update"]


def _all_resources(cluster: SandboxCluster) -> list[Resource]:
    return [*builtin_resources().values(), *cluster.registry.list_custom_resources()]


def _by_group(resources: Iterable[Resource]) -> dict[str, dict[str, list[Resource]]]:
    groups: dict[str, dict[str, list[Resource]]] = {}
    for resource in resources:
        groups.setdefault(resource.gvk.group, {}).setdefault(resource.gvk.version, []).append(resource)
    return groups


def _describe_group(name: str, versions: Iterable[str]) -> MutableObject:
    entries = [{"groupVersion": f"{name}/{v}", "version": v} for v in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _subresource_kind(resource: Resource, name: str) -> tuple[str, str, str]:
    if name == "scale":
        return "autoscaling", "v1", "Scale"
    return resource.gvk.group, resource.gvk.version, resource.gvk.kind


def _describe_resources(resources: Iterable[Resource]) -> list[MutableObject]:
    described: list[MutableObject] = []
    for r in resources:
        entry: MutableObject = {
            "name": r.plural,
            "singularName": r.singular,
            "namespaced": r.is_namespaced,
            "kind": r.gvk.kind,
            "verbs": sorted(r.verbs),
        }
        if r.short_names:
            entry["shortNames"] = list(r.short_names)
        if r.categories:
            entry["categories"] = list(r.categories)
        described.append(entry)
        for name in r.subresources:
            group, version, kind = _subresource_kind(r, name)
            part: MutableObject = {
                "name": f"{r.plural}/{name}",
                "singularName": "",
                "namespaced": r.is_namespaced,
                "kind": kind,
                "verbs": _STATUS_VERBS,
            }
            if (group, version) != (r.gvk.group, r.gvk.version):
                part["group"], part["version"] = group, version
            described.append(part)
    return described


def _aggregate(groups: Mapping[str, Mapping[str, list[Resource]]]) -> MutableObject:
    items = []
    for name, versions in groups.items():
        metadata = {"name": name} if name else {}
        entries = [
            {"version": v, "resources": [_describe_aggregated(r) for r in resources], "freshness": "Current"}
            for v, resources in versions.items()
        ]
        items.append({"metadata": metadata, "versions": entries})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _describe_aggregated(r: Resource) -> MutableObject:
    kind = {"group": r.gvk.group, "version": r.gvk.version, "kind": r.gvk.kind}
    entry: MutableObject = {
        "resource": r.plural,
        "responseKind": kind,
        "scope": "Namespaced" if r.is_namespaced else "Cluster",
        "singularResource": r.singular,
        "verbs": sorted(r.verbs),
    }
    if r.short_names:
        entry["shortNames"] = list(r.short_names)
    if r.categories:
        entry["categories"] = list(r.categories)
    if r.subresources:
        entry["subresources"] = [
            {
                "subresource": name,
                "responseKind": dict(zip(("group", "version", "kind"), _subresource_kind(r, name), strict=True)),
                "verbs": _STATUS_VERBS,
            }
            for name in r.subresources
        ]
    return entry


def find_aggregated(path: str, cluster: SandboxCluster) -> JSONObject | None:
    """Return the aggregated discovery document of `/api` or `/apis`, None for other paths."""
    groups = _by_group(_all_resources(cluster))
    if path == "/api":
        return _aggregate({"": groups.pop("")})
    groups.pop("", None)
    return _aggregate(groups) if path == "/apis" else None


def answers_any_method(path: str) -> bool:
    """Return whether the server gives a document whatever the method: health, and the lists of groups."""
    parts = path.strip("/").split("/")
    return path in _HEALTH or (parts[0] == "apis" and len(parts) <= 2)


def find_document(path: str, cluster: SandboxCluster) -> JSONObject | None:
    """Return a document that belongs to no resource, None if the path has none."""
    path = "/" + path.strip("/")
    if path == "/version":
        return dict(VERSION)
    if path in _HEALTH:
        return {"status": "ok"}
    if path == openapi_v2.PATH:
        return openapi_v2.assemble_document()
    if path.startswith("/openapi/"):
        return find_openapi(path, cluster)
    return _find_discovery(path, cluster)


def _find_discovery(path: str, cluster: SandboxCluster) -> JSONObject | None:
    groups = _by_group(_all_resources(cluster))
    parts = path.strip("/").split("/")
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        found = [_describe_group(name, versions) for name, versions in groups.items() if name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}
    if parts[0] == "apis" and len(parts) == 2 and parts[1] in groups:
        return {"kind": "APIGroup", "apiVersion": "v1", **_describe_group(parts[1], groups[parts[1]])}
    group, version = ("", parts[1]) if parts[0] == "api" and len(parts) == 2 else ("", "")
    if parts[0] == "apis" and len(parts) == 3:
        group, version = parts[1], parts[2]
    resources = groups.get(group, {}).get(version)
    if resources is None:
        return None
    name = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": name,
        "resources": _describe_resources(resources),
    }
