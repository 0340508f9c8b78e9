"""References: group, version and kind, and the reference to one object in a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from applyviz.engine.objects.values import JSONObject


class GroupVersionKind(NamedTuple):
    """Group ("" for core), version and kind of an object."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def from_api_version(cls, api_version: str, kind: str) -> Self:
        """Return the kind for `apps/v1` + `Deployment`; an apiVersion without a slash belongs to the core group."""
        group, slash, version = api_version.rpartition("/")
        return cls(group if slash else "", version, kind)

    @classmethod
    def from_object(cls, obj: JSONObject) -> Self:
        """Return apiVersion and kind of an object; missing ones become empty text."""
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        return cls.from_api_version(
            api_version if isinstance(api_version, str) else "", kind if isinstance(kind, str) else ""
        )


class ObjectRef(NamedTuple):
    """One object of a cluster; `namespace` is empty for cluster-scoped kinds."""

    gvk: GroupVersionKind
    namespace: str
    name: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity across API versions: (group, kind, namespace, name)."""
        return (self.gvk.group, self.gvk.kind, self.namespace, self.name)

    def is_shown_by(self, body: Any) -> bool:
        """Return whether a body has this kind, namespace and name."""
        metadata = body.get("metadata") if isinstance(body, Mapping) else None
        if not isinstance(metadata, Mapping) or body.get("kind") != self.gvk.kind:
            return False
        return metadata.get("name") == self.name and (metadata.get("namespace") or "") == self.namespace

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.gvk.kind} {where}{self.name}"

    @classmethod
    def from_object(cls, obj: JSONObject) -> Self:
        """Return the reference of an object, from its own metadata."""
        meta = obj.get("metadata")
        meta = meta if isinstance(meta, Mapping) else {}
        namespace, name = meta.get("namespace"), meta.get("name")
        return cls(
            GroupVersionKind.from_object(obj),
            namespace if isinstance(namespace, str) else "",
            name if isinstance(name, str) else "",
        )
