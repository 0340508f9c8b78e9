"""Several sources in order: the first that knows a kind describes it, and its answer names the source.

Order in the product: CRDs among the manifests, OpenAPI of the cluster, CRDs of the cluster, the bundled documents. An
unknown kind is None here; callers treat it as kubectl does.
"""

from __future__ import annotations

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.model import KindSchema, Resource, ResourceSource, SchemaSource


def _list_resources(source: object) -> tuple[Resource, ...]:
    listing = getattr(source, "list_resources", None)
    resources: tuple[Resource, ...] = listing() if listing else ()
    return resources


class SourceChain:
    """Sources in order, as `SchemaSource` and `ResourceSource`; each may be one of them or both."""

    def __init__(self, *sources: SchemaSource | ResourceSource) -> None:
        self._sources = sources

    def find_kind(self, gvk: GroupVersionKind) -> KindSchema | None:
        """Return the kind from the first source that knows it."""
        for source in self._sources:
            kind = source.find_kind(gvk) if hasattr(source, "find_kind") else None
            if kind is not None:
                return kind
        return None

    def find_resource(self, gvk: GroupVersionKind) -> Resource | None:
        """Return the resource of a kind at a version."""
        for source in self._sources:
            resource = source.find_resource(gvk) if hasattr(source, "find_resource") else None
            if resource is not None:
                return resource
        return None

    def find_preferred(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a kind at its preferred version."""
        for source in self._sources:
            resource = source.find_preferred(group, kind) if hasattr(source, "find_preferred") else None
            if resource is not None:
                return resource
        return None

    def list_resources(self) -> tuple[Resource, ...]:
        """Return all resources, each kind and version once, from the first source that has it."""
        seen: dict[GroupVersionKind, Resource] = {}
        for source in self._sources:
            for resource in _list_resources(source):
                seen.setdefault(resource.gvk, resource)
        return tuple(seen.values())
