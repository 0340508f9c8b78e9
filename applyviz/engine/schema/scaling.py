"""The scale subresource: where an object holds its replica count, and the Scale that stands for it.

Rule: https://kubernetes.io/docs/reference/kubernetes-api/autoscaling-resources/ and `specReplicasPath` of a
CustomResourceDefinition. A write of the Scale changes only the replica count of the object.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.lookups import drop_field
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.schema.model import KindSchema

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_REPLICAS = ("spec", "replicas")
_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def find_replicas_path(kind: KindSchema) -> tuple[str, ...]:
    """Return the path of the replica count; that of built-in kinds where no definition names another."""
    for version in get_at(kind.definition, ("spec", "versions")) or ():
        path = get_at(version, ("subresources", "scale", "specReplicasPath"))
        if version.get("name") == kind.gvk.version and isinstance(path, str) and path.startswith("."):
            return tuple(path[1:].split("."))
    return _REPLICAS


def render_scale(obj: JSONObject, kind: KindSchema) -> JSONObject:
    """Return the Scale of an object; a count of 0 is not written, as in Go."""
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name in _IDENTITY}
    count = get_at(obj, find_replicas_path(kind))
    spec = {"replicas": count} if count else {}
    return {"apiVersion": SCALE.api_version, "kind": SCALE.kind, "metadata": metadata, "spec": spec}


def take_scale(obj: JSONObject, scale: JSONObject, kind: KindSchema) -> JSONObject:
    """Return the object with the replica count of a Scale; without one, it is 0."""
    count = get_at(scale, _REPLICAS) or 0
    return _put(obj, find_replicas_path(kind), count)


def drop_count(obj: JSONObject, kind: KindSchema) -> JSONObject:
    """Return the object without a replica count of 0."""
    path = find_replicas_path(kind)
    return obj if get_at(obj, path) else drop_field(obj, fields(*path))


def _put(obj: JSONObject, path: tuple[str, ...], count: JSONValue) -> JSONObject:
    name, rest = path[0], path[1:]
    if not rest:
        return {**obj, name: count}
    below = obj.get(name)
    return {**obj, name: _put(below if isinstance(below, Mapping) else {}, rest, count)}
