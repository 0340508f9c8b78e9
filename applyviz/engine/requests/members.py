"""Resolve one object of a set: its address, its schema, and its namespace.

Rule: `kubectl apply` fills in the default namespace for namespaced kinds, removes the namespace of other kinds, and
refuses a namespace that differs from an explicit one. A kind that the cluster does not serve is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.request_paths import find_segment_problem
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.model import KindSchema, Resource


class Member(Struct, frozen=True):
    """An object ready to be applied: its namespace is filled in."""

    obj: JSONObject
    resource: Resource
    kind: KindSchema | None

    @property
    def namespace(self) -> str:
        """The namespace of the object; "" for cluster-scoped kinds."""
        return (self.obj["metadata"].get("namespace") or "") if self.resource.is_namespaced else ""

    @property
    def ref(self) -> ObjectRef:
        """The reference of the object."""
        return ObjectRef(self.resource.gvk, self.namespace, self.obj["metadata"].get("name") or "")


def read_labels(obj: JSONObject) -> Mapping[str, str]:
    """Return the labels of an object; a null label is the empty text."""
    labels = (obj.get("metadata") or {}).get("labels")
    return {k: v or "" for k, v in labels.items()} if isinstance(labels, Mapping) else {}


def _place(obj: JSONObject, resource: Resource, options: ApplyOptions) -> JSONObject:
    metadata = obj.get("metadata") or {}
    namespace = metadata.get("namespace") or ""
    if not resource.is_namespaced:
        return {**obj, "metadata": {k: v for k, v in metadata.items() if k != "namespace"}}
    if not namespace:
        return {**obj, "metadata": {**metadata, "namespace": options.namespace}}
    if options.is_namespace_enforced and namespace != options.namespace:
        reason = (
            f'the namespace from the provided object "{namespace}" does not match the namespace "{options.namespace}". '
            f"You must pass '--namespace={namespace}' to perform this operation."
        )
        raise ManifestError(reason, path=fields("metadata", "namespace"))
    return obj


def _find_unversioned(gvk: GroupVersionKind, catalog: Catalog) -> Resource | None:
    """Return the resource that kubectl finds by the group of a kind; its path without version is always a 404."""
    found = catalog.find_preferred(gvk.group, gvk.kind)
    return replace(found, gvk=gvk) if found is not None else None


def place_member(obj: JSONObject, *, options: ApplyOptions, catalog: Catalog) -> Member:
    """Resolve one object.

    - Raises `ManifestError` for a kind that is not served, a name or namespace that is no segment of a path, or a
      namespace that differs from the explicit one.
    """
    gvk = GroupVersionKind.from_object(obj)
    resource = catalog.find_resource(gvk) if gvk.version else _find_unversioned(gvk, catalog)
    if resource is None:
        raise ManifestError(
            f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}": ensure CRDs are installed first',
            path=fields("kind"),
        )
    member = Member(_place(obj, resource, options), resource, catalog.find_kind(gvk))
    _check_address(member)
    return member


def _check_address(member: Member) -> None:
    """Raise `ManifestError` for a name or namespace that would lead somewhere else in the path of a request."""
    for what, key, text in (("resource name", "name", member.ref.name), ("namespace", "namespace", member.namespace)):
        problem = find_segment_problem(text)
        if problem:
            raise ManifestError(f'invalid {what} "{text}": [{problem}]', path=fields("metadata", key))
