"""An object at one version, and at the other versions of its kind.

Rule: every entry of managedFields names fields at its own version, so the object is looked at in each. Custom
resources are converted by changing apiVersion (strategy None; webhooks are not asked), an unknown version
is an error. Of the built-in kinds, HorizontalPodAutoscalers are converted between autoscaling/v1 and v2; the
others are known at one version: an entry of a version that is gone is dropped, one of another served version
is kept as it is (`is_kept`), because no conversion is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class TypedObject:
    """An object that fits the topology of its version."""

    place: Topology
    value: JSONValue
    api_version: str


def make_typed(
    place: Topology, value: JSONValue, api_version: str, *, allow_duplicates: bool = False, like: JSONValue = None
) -> TypedObject:
    """Check an object against its topology; `like` is one that was checked already in the same way.

    - Raises `OwnershipError` with all typed errors.
    """
    errors = validate(place, value, allow_duplicates, like)
    if errors:
        raise OwnershipError(render_errors(errors), errors=list_texts(errors))
    return TypedObject(place, value, api_version)


def _check_group(source: GroupVersionKind, target: GroupVersionKind) -> None:
    if source.group != target.group:
        raise OwnershipError(
            f"{render_kind(source)} is unstructured and is not suitable for converting to {quote(target.api_version)}"
        )


class ManagedVersions:
    """Converts the objects of one operation; what was converted once is kept."""

    def __init__(self, kind: KindSchema) -> None:
        self.kind = kind
        self.gvk = kind.gvk
        self.place = of_root(kind.root)
        self._converted: dict[tuple[int, str], tuple[TypedObject, TypedObject]] = {}

    def is_kept(self, api_version: str) -> bool:
        """Return whether the entries of a version are left alone: it is served, but cannot be converted to."""
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
            # The source is kept beside its outcome, so that its id stays its own.
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
        place = of_root(self.kind.version_roots[target.version])
        return make_typed(place, {**obj.value, "apiVersion": api_version}, api_version)

    def _convert_builtin(self, obj: JSONObject, api_version: str) -> TypedObject:
        target = GroupVersionKind.from_api_version(api_version, self.gvk.kind)
        if target.group != self.gvk.group or target.version not in self.kind.version_roots:
            raise MissingVersionError(api_version)
        place = of_root(self.kind.version_roots[target.version])
        return make_typed(place, convert_autoscaler(obj, target.version), api_version, allow_duplicates=True)
