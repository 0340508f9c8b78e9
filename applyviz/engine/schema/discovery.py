"""Read the resources of a server from its aggregated discovery documents.

Rule: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery. The first version of a group
that serves a kind is the preferred one. Resources without a kind are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.schema.model import Resource


def _read_resource(group: str, version: str, raw: JSONObject) -> Resource | None:
    kind = get_at(raw, ("responseKind", "kind"))
    if not kind or not raw.get("resource"):
        return None
    gvk = GroupVersionKind(
        get_at(raw, ("responseKind", "group")) or group, get_at(raw, ("responseKind", "version")) or version, kind
    )
    return Resource(
        gvk,
        raw["resource"],
        raw.get("scope") == "Namespaced",
        singular=raw.get("singularResource") or "",
        short_names=tuple(raw.get("shortNames") or ()),
        verbs=tuple(raw.get("verbs") or ()),
        subresources=tuple(s["subresource"] for s in raw.get("subresources") or () if s.get("subresource")),
        categories=tuple(raw.get("categories") or ()),
    )


def read_discovery(documents: Iterable[JSONObject]) -> tuple[Resource, ...]:
    """Return all resources of the answers to `GET /api` and `GET /apis`, in the order of the server."""
    found: list[Resource] = []
    for document in documents:
        for group in document.get("items") or ():
            name = get_at(group, ("metadata", "name")) or ""
            for version in group.get("versions") or ():
                for raw in version.get("resources") or ():
                    resource = _read_resource(name, version.get("version", ""), raw)
                    if resource is not None:
                        found.append(resource)
    return tuple(found)


class ResourceTable:
    """A `ResourceSource` over a list of resources; the first resource of a group and kind is the preferred one."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = tuple(resources)
        self._by_gvk: dict[GroupVersionKind, Resource] = {}
        self._preferred: dict[tuple[str, str], Resource] = {}
        for resource in self._resources:
            self._by_gvk.setdefault(resource.gvk, resource)
            self._preferred.setdefault((resource.gvk.group, resource.gvk.kind), resource)

    def find_resource(self, gvk: GroupVersionKind) -> Resource | None:
        """Return the resource of a kind at a version."""
        return self._by_gvk.get(gvk)

    def find_preferred(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a kind at the version that the server prefers."""
        return self._preferred.get((group, kind))

    def list_resources(self) -> tuple[Resource, ...]:
        """Return all resources, in the order of the server."""
        return self._resources

    def list_versions(self, group: str, kind: str) -> tuple[str, ...]:
        """Return the versions that serve a kind, the preferred one first."""
        return tuple(r.gvk.version for r in self._resources if (r.gvk.group, r.gvk.kind) == (group, kind))


def index_kinds(document: JSONObject) -> dict[GroupVersionKind, str]:
    """Return the kinds of an OpenAPI v3 document, with the names of their definitions."""
    schemas = get_at(document, ("components", "schemas"), {})
    return {
        GroupVersionKind(gvk.get("group", ""), gvk.get("version", ""), gvk["kind"]): name
        for name, schema in schemas.items()
        for gvk in schema.get("x-kubernetes-group-version-kind") or ()
        if isinstance(gvk, Mapping) and gvk.get("kind")
    }


def list_strategic(document: JSONObject) -> frozenset[GroupVersionKind]:
    """Return the kinds whose PATCH consumes strategic merge patches, as kubectl determines it."""
    found = set()
    for item in (document.get("paths") or {}).values():
        patch = item.get("patch") if isinstance(item, Mapping) else None
        if not isinstance(patch, Mapping):
            continue
        gvk = patch.get("x-kubernetes-group-version-kind")
        content = get_at(patch, ("requestBody", "content"), {})
        if isinstance(gvk, Mapping) and "application/strategic-merge-patch+json" in content:
            found.add(GroupVersionKind(gvk.get("group", ""), gvk.get("version", ""), gvk.get("kind", "")))
    return frozenset(found)
