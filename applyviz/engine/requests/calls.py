"""Build the requests of a flow as kubectl writes them: method, path, query, content type and body.

Writes carry field manager, field validation and dry run from the options. With preconditions they also carry the uid
and resourceVersion of the object just read, as placeholders that the sender fills.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from applyviz.engine.objects.exchange import (
    APPLY_PATCH,
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    HandedField,
    Placeholder,
    Request,
)
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.request_paths import make_path
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.requests.flow import Deletion
from applyviz.engine.requests.options import ApplyOptions, DryRun
from applyviz.engine.schema.model import Resource

UID, RESOURCE_VERSION, MANAGED_FIELDS = "uid", "resourceVersion", "managedFields"
CLIENT_SIDE_FIELDS = "managedFields for client-side apply"
# An apply patch with this version creates an absent object and is refused if the object exists.
ABSENT_VERSION = "1"


class RequestTarget(Struct, frozen=True):
    """The address of one object, and the options of its writes."""

    resource: Resource
    namespace: str
    name: str
    options: ApplyOptions

    @property
    def ref(self) -> ObjectRef:
        """The reference of the object."""
        return ObjectRef(self.resource.gvk, self.namespace, self.name)

    def _path(self, subresource: str = "") -> str:
        return self.resource.path(self.namespace, self.name, subresource)

    def _query(self, manager: str | None = None) -> dict[str, str]:
        manager = self.options.field_manager if manager is None else manager
        query = {"dryRun": "All"} if self.options.dry_run is DryRun.SERVER else {}
        if manager:
            query["fieldManager"] = manager
        query["fieldValidation"] = self.options.validation.value
        return query

    def read(self) -> Request:
        """GET the object."""
        return Request("GET", self._path(), ref=self.ref, purpose="read")

    def create(self, body: JSONObject) -> Request:
        """POST the object to its collection."""
        path = self.resource.path(self.namespace)
        return Request("POST", path, self._query(), JSON, body, self.ref, "create")

    def patch(self, body: JSONValue, content_type: str, live: JSONObject | None) -> Request:
        """PATCH with a strategic or JSON merge patch, bound to `live` when preconditions are on."""
        body, placeholders = self._bind(body, live)
        return Request("PATCH", self._path(), self._query(), content_type, body, self.ref, "patch", placeholders)

    def patch_as_written(self, body: JSONValue, content_type: str, live: JSONObject) -> Request:
        """PATCH with a body that a person wrote, of any type; bound to `live` when preconditions are on.

        - A JSON patch ends with an operation that writes the version just read, which the server compares.
        """
        bind = self._bind_operations if content_type == JSON_PATCH else self._bind
        bound, placeholders = bind(body, live)
        path = self._path(self.options.subresource)
        return Request("PATCH", path, self._query(), content_type, bound, self.ref, "patch", placeholders)

    def _bind_operations(self, body: JSONValue, live: JSONObject | None) -> tuple[JSONValue, tuple[Placeholder, ...]]:
        version = ((live or {}).get("metadata") or {}).get(RESOURCE_VERSION)
        if not self.options.has_preconditions or not version or not isinstance(body, list):
            return body, ()
        operation = {"op": "replace", "path": f"/metadata/{RESOURCE_VERSION}", "value": version}
        return [*body, operation], (Placeholder((f"i:{len(body)}", "f:value"), RESOURCE_VERSION),)

    def apply(self, body: JSONObject, live: JSONObject | None) -> Request:
        """PATCH with the whole intent of the field manager; bound to `live`, or to absence if that is None."""
        query = self._query()
        query["force"] = "true" if self.options.takes_over else "false"
        bound, placeholders = self._bind(body, live)
        if self.options.has_preconditions and live is None:
            metadata = {**(body.get("metadata") or {}), "resourceVersion": ABSENT_VERSION}
            bound = {**body, "metadata": metadata}
        path = self._path(self.options.subresource)
        return Request("PATCH", path, query, APPLY_PATCH, bound, self.ref, "apply", placeholders)

    def apply_as(self, manager: str, body: JSONObject, live: JSONObject) -> Request:
        """PATCH with the intent of another field manager, never forced: the one that keeps last-applied."""
        path = self._path(self.options.subresource)
        bound, placeholders = self._bind(body, live)
        return Request("PATCH", path, self._query(manager), APPLY_PATCH, bound, self.ref, "record", placeholders)

    def replace_managers(
        self,
        managed_fields: list[Any],
        resource_version: str,
        managers: tuple[str, ...] | None = None,
        op: str = "replace",
        rule: str = MANAGED_FIELDS,
        handed: tuple[HandedField, ...] = (),
        taken: tuple[HandedField, ...] = (),
    ) -> Request:
        """PATCH managedFields as a whole, bound to the version at which they were read.

        - `managers`: whose fields move (None: by kubectl's own rule); `op` is "add" if the object has none yet.
        - `rule`: the direction of the move, `MANAGED_FIELDS` (to server-side) or `CLIENT_SIDE_FIELDS`.
        - `handed`: the fields that other managers get; `taken`: those that they give up.
        """
        body = [
            {"op": op, "path": "/metadata/managedFields", "value": managed_fields},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": resource_version},
        ]
        placeholders: tuple[Placeholder, ...] = (Placeholder(("i:1", "f:value"), RESOURCE_VERSION),)
        if op == "replace":
            placeholders = (Placeholder(("i:0", "f:value"), rule, managers, handed, taken), *placeholders)
        path = self._path(self.options.subresource)
        return Request("PATCH", path, self._query(), JSON_PATCH, body, self.ref, "migrate", placeholders)

    def clear_managers(self, live: JSONObject, *, by_json_patch: bool) -> Request:
        """PATCH managedFields away, as the Kubernetes documentation says: a list of one empty entry resets them."""
        if not by_json_patch:
            return self.patch({"metadata": {"managedFields": [{}]}}, MERGE_PATCH, live)
        version = (live.get("metadata") or {}).get("resourceVersion", "")
        body = [
            {"op": "replace", "path": "/metadata/managedFields", "value": [{}]},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]
        bound = (Placeholder(("i:1", "f:value"), RESOURCE_VERSION),) if self.options.has_preconditions else ()
        body = body if bound else body[:1]
        return Request("PATCH", self._path(), self._query(), JSON_PATCH, body, self.ref, "patch", bound)

    def delete(self, deletion: Deletion, live: JSONObject | None = None, *, names_kind: bool = False) -> Request:
        """DELETE the object; `names_kind` if kubectl sends apiVersion and kind of the options.

        - A server dry run is in the body here, not in the query, as kubectl sends it.
        """
        body: dict[str, JSONValue] = {"kind": "DeleteOptions", "apiVersion": "v1"} if names_kind else {}
        if deletion.grace_period >= 0:
            body["gracePeriodSeconds"] = deletion.grace_period
        body["propagationPolicy"] = deletion.propagation
        if self.options.dry_run is DryRun.SERVER:
            body["dryRun"] = ["All"]
        placeholders: tuple[Placeholder, ...] = ()
        if self.options.has_preconditions and live is not None:
            metadata = live.get("metadata") or {}
            body["preconditions"] = {UID: metadata.get("uid"), RESOURCE_VERSION: metadata.get("resourceVersion")}
            placeholders = tuple(Placeholder(fields("preconditions", rule), rule) for rule in (UID, RESOURCE_VERSION))
        return Request("DELETE", self._path(), {}, JSON, body, self.ref, "delete", placeholders)

    def _bind(self, body: Any, live: JSONObject | None) -> tuple[Any, tuple[Placeholder, ...]]:
        if not self.options.has_preconditions or live is None or not isinstance(body, Mapping):
            return body, ()
        own = live.get("metadata") or {}
        bound = {rule: own[rule] for rule in (UID, RESOURCE_VERSION) if own.get(rule)}
        metadata = {**(body.get("metadata") or {}), **bound}
        return {**body, "metadata": metadata}, tuple(Placeholder(fields("metadata", rule), rule) for rule in bound)


def moves_ownership(request: Request) -> bool:
    """Return whether a write changes only field ownership and no value."""
    return request.purpose == "migrate" and request.content_type == JSON_PATCH


def changes_no_value(request: Request) -> bool:
    """Return whether a write changes only field ownership, or kubectl's record of what was applied."""
    return request.purpose in ("migrate", "record")


def read_namespace(name: str) -> Request:
    """GET a namespace, as kubectl does if an object in it was not found."""
    return Request("GET", make_path("", "v1", "namespaces", name=name), purpose="read")


def list_objects(resource: Resource, namespace: str, selector: str) -> Request:
    """LIST the objects of a kind that match a label selector ("" all)."""
    query = {"labelSelector": selector} if selector else {}
    return Request("GET", resource.path(namespace), query, purpose="list")
