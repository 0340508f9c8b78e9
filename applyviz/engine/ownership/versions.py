"""Convert an object between the versions of its kind.

Rule: every entry of managedFields names fields at its own version, so the object is read at each of them. Custom
resources are converted by changing apiVersion (strategy None; webhooks are not called), an unknown version is an error.
Of the built-in kinds, HorizontalPodAutoscalers are converted between autoscaling/v1 and v2; the others are known at one
version: an entry of a removed version is dropped, an entry of another served version is kept unchanged (`is_kept`),
because its conversion is not available.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.golang import quote
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.ownership.errors import list_texts, render_errors, render_kind
from applyviz.engine.ownership.typed import validate
from applyviz.engine.schema.autoscalers import convert_autoscaler
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.topology import Topology, of_root


class MissingVersionError(Exception):
    """The version does not exist (any more)."""


class TypedObject(Struct, frozen=True):
    """An object that fits the topology of its version."""

    topology: Topology
    value: Any
    api_version: str


def make_typed(
    topology: Topology, value: JSONValue, api_version: str, *, allow_duplicates: bool = False, like: JSONValue = None
) -> TypedObject:
    """Check an object against its topology; `like` is one that already passed the same check.

    - Raises `OwnershipError` with all typed errors.
    """
    errors = validate(topology, value, allow_duplicates, like)
    if errors:
        raise OwnershipError(render_errors(errors), errors=list_texts(errors))
    return TypedObject(topology, value, api_version)


def _check_group(source: GroupVersionKind, target: GroupVersionKind) -> None:
    if source.group != target.group:
        raise OwnershipError(
            f"{render_kind(source)} is unstructured and is not suitable for converting to {quote(target.api_version)}"
        )


class ManagedVersions:
    """Converts the objects of one operation; conversions are cached."""

    def __init__(self, kind: KindSchema) -> None:
        self.kind = kind
        self.gvk = kind.gvk
        self.topology = of_root(kind.root)
        self._converted: dict[tuple[int, str], tuple[TypedObject, TypedObject]] = {}

    def is_kept(self, api_version: str) -> bool:
        """Return whether the entries of a version are left unchanged: it is served, but has no conversion."""
        gvk = GroupVersionKind.from_api_version(api_version, self.gvk.kind)
        return (
            not self.kind.is_custom
            and api_version != self.gvk.api_version
            and gvk.group == self.gvk.group
            and gvk.version in self.kind.served_versions
            and gvk.version not in self.kind.version_roots
        )

    def convert(self, obj: TypedObject, api_version: str) -> TypedObject:
        """Return the object at a version.

        - Raises `MissingVersionError`, or `OwnershipError` where the server fails.
        """
        if not isinstance(obj.value, dict):
            raise OwnershipError("failed to convert value to unstructured for type <nil>")
        if obj.value.get("apiVersion") == api_version:
            return obj
        key = (id(obj.value), api_version)
        if key not in self._converted:
            # The cache keeps the source beside its conversion, so that its id is not reused.
            self._converted[key] = (obj, self._convert(obj, api_version))
        return self._converted[key][1]

    def _convert(self, obj: TypedObject, api_version: str) -> TypedObject:
        if api_version.count("/") > 1:
            raise OwnershipError(f"unexpected GroupVersion string: {api_version}")
        if not self.kind.is_custom:
            return self._convert_builtin(obj.value, api_version)
        target = GroupVersionKind.from_api_version(api_version, self.gvk.kind)
        _check_group(GroupVersionKind.from_object(obj.value), self.gvk)
        _check_group(self.gvk, target)
        if target.version not in self.kind.version_roots:
            raise OwnershipError(f"request to convert CR to an invalid group/version: {api_version}")
        topology = of_root(self.kind.version_roots[target.version])
        return make_typed(topology, {**obj.value, "apiVersion": api_version}, api_version)

    def _convert_builtin(self, obj: JSONObject, api_version: str) -> TypedObject:
        target = GroupVersionKind.from_api_version(api_version, self.gvk.kind)
        if target.group != self.gvk.group or target.version not in self.kind.version_roots:
            raise MissingVersionError(api_version)
        topology = of_root(self.kind.version_roots[target.version])
        return make_typed(topology, convert_autoscaler(obj, target.version), api_version, allow_duplicates=True)
