"""The `scale` subresource: the replica count of a workload or of a custom resource.

Rule: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource
and the scale registries of k8s.io/kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from applyviz.engine.objects.paths import FieldPath, fields
from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.scaling import SCALE
from applyviz.kubernetes.parity.accessors import AccessError, read_integer, read_text
from applyviz.kubernetes.parity.status import NOT_NEGATIVE, FieldError, bad_request, invalid, invalid_object
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.scale_owners import SCALE_VERSION

_MOST_REPLICAS = (1 << 31) - 1


class ScalePaths(NamedTuple):
    """The paths of the values of a Scale; `selector` is None for the spec.selector of built-in kinds."""

    spec: tuple[str, ...] = ("spec", "replicas")
    status: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] | None = None


@cache
def scale_kind() -> KindSchema:
    """Return the schema of a Scale."""
    kind = bundled().find_kind(SCALE)
    if kind is None:
        raise LookupError("the bundled documents hold no Scale")
    return kind


def _split(path: str) -> tuple[str, ...]:
    return tuple(p for p in path.split(".") if p)


def find_paths(target: ResourceTarget) -> ScalePaths:
    """Return the paths of a resource that has the subresource."""
    if target.definition is None:
        return ScalePaths()
    versions = target.definition["spec"]["versions"]
    entry = next(v for v in versions if v["name"] == target.gvk.version)
    scale = get_at(entry, ("subresources", "scale")) or {}
    return ScalePaths(
        _split(scale.get("specReplicasPath", ".spec.replicas")),
        _split(scale.get("statusReplicasPath", ".status.replicas")),
        _split(scale.get("labelSelectorPath", "")),
    )


def render_selector(selector: JSONObject) -> str:
    """Return a label selector in the format of a query."""
    parts = [f"{k}={v}" for k, v in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or ():
        key, operator = expression.get("key", ""), expression.get("operator")
        values = ",".join(sorted(expression.get("values") or ()))
        if operator in ("In", "NotIn"):
            parts.append(f"{key} {operator.lower()} ({values})")
        else:
            parts.append(key if operator == "Exists" else f"!{key}")
    return ",".join(parts)


def render_scale(target: ResourceTarget, obj: JSONObject) -> MutableObject:
    """Return the Scale of an object."""
    paths = find_paths(target)
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: MutableObject = {"replicas": get_at(obj, paths.status) or 0}
    if paths.selector is None:
        selector = obj["spec"].get("selector") or {}
        text = render_selector(
            selector if "matchLabels" in selector or "matchExpressions" in selector else {"matchLabels": selector}
        )
    else:
        text = get_at(obj, paths.selector) if paths.selector else ""
    if text:
        status["selector"] = text
    replicas = get_at(obj, paths.spec)
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {k: meta[k] for k in kept if k in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def validate_scale(target: ResourceTarget, obj: JSONObject, *, has_spec: bool = True) -> Iterator[FieldError]:
    """Yield the problems of the count and the selector on a custom resource; `has_spec`: also of the desired count."""
    if "scale" not in target.resource.subresources:
        return
    paths = find_paths(target)
    for path in (paths.spec, paths.status) if has_spec else (paths.status,):
        yield from _validate_number(obj, path)
    if paths.selector:
        try:
            read_text(obj, paths.selector)
        except AccessError as error:
            yield invalid("." + ".".join(paths.selector), "", str(error))


def _validate_number(obj: JSONObject, path: tuple[str, ...]) -> Iterator[FieldError]:
    at = "." + ".".join(path)
    try:
        value = read_integer(obj, path) or 0
    except AccessError as error:
        yield invalid(at, 0, str(error))
        return
    if value < 0:
        yield invalid(at, value, "should be a non-negative integer")
    elif value > _MOST_REPLICAS:
        yield invalid(at, value, f"should be less than or equal to {_MOST_REPLICAS}")


def field_paths(target: ResourceTarget) -> dict[str, FieldPath]:
    """Return the path of the replica count by apiVersion."""
    if target.definition is None:
        return {target.gvk.api_version: fields("spec", "replicas")}
    found = {}
    for version in target.definition["spec"]["versions"]:
        path = get_at(version, ("subresources", "scale", "specReplicasPath"))
        if path:
            found[f"{target.group}/{version['name']}"] = fields(*_split(path))
    return found


def read_replicas(scale: JSONObject, name: str) -> int:
    """Return the desired count of a Scale.

    - Raises `StatusError` if it is not a Scale (400) or if its count is negative (422).
    """
    if scale.get("kind", "Scale") != "Scale":
        raise bad_request(f"expected input object type to be Scale, but {scale.get('kind')}")
    replicas = get_at(scale, ("spec", "replicas"), 0) or 0
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request("Scale.spec.replicas: expected a number")
    if replicas < 0:
        error = invalid("spec.replicas", replicas, NOT_NEGATIVE)
        raise invalid_object("autoscaling", "Scale", name, [error])
    return replicas


def write_replicas(target: ResourceTarget, obj: MutableObject, replicas: int) -> None:
    """Write the count into the object."""
    *parents, last = find_paths(target).spec
    container = obj
    for parent in parents:
        container = container.setdefault(parent, {})
    container[last] = replicas
