"""The requests for one object in the order in which a run sends them, reads included, with the answer that each needs.

Rule: the flows of `engine/requests`. An object is read before it is written: 404 leads to a create, 200 to a patch, a
delete, or nothing. After a delete the object is read until it is gone. The schema is read once for all objects of a
group and version.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.request_paths import join_path
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import SchemaOrigin

OK, NOT_FOUND = 200, 404
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ABSENT = (Operation.CREATE, Operation.NOT_FOUND)


class StepPurpose(StrEnum):
    """Why a request is sent."""

    SCHEMA = "schema"
    READ = "read"
    WRITE = "write"
    WAIT = "wait"


class SequenceStep(Struct, frozen=True):
    """One request of the sequence.

    - `path` is "" when only the cluster knows it: the object is not written, and its kind is custom.
    - `status`: the answer with which the sequence goes on; 0 if the plan could not read the object.
    - `request`: the write, None for a read.
    """

    purpose: StepPurpose
    method: str
    path: str
    status: int = OK
    request: Request | None = None

    @property
    def is_schema(self) -> bool:
        """Return whether it reads a schema, which others of the group and version share."""
        return self.purpose is StepPurpose.SCHEMA


def _find_schema_path(change: PlannedObject) -> str:
    gvk = change.ref.gvk
    if change.schema_origin is SchemaOrigin.CLUSTER_CRD:
        return _DEFINITIONS
    if change.schema_origin is SchemaOrigin.CLUSTER_OPENAPI:
        return f"/openapi/v3/apis/{gvk.api_version}" if gvk.group else f"/openapi/v3/api/{gvk.version}"
    return ""


def find_object_path(change: PlannedObject) -> str:
    """Return the URL path of an object: that of its writes, else by its built-in kind; "" if it is unknown."""
    request = next((request for request in change.requests if request.is_write), None)
    if request is None:
        return _find_builtin_path(change.ref)
    if request.method == "POST":
        return request.path + join_path(change.ref.name)
    return request.path.removesuffix(f"/{change.subresource}") if change.subresource else request.path


def _find_builtin_path(ref: ObjectRef) -> str:
    resource = bundled().find_resource(ref.gvk)
    return resource.path(ref.namespace, ref.name) if resource is not None else ""


def _find_status(change: PlannedObject) -> int:
    """Return the answer to the read of the object, as the plan got it."""
    if change.versions.live is not None:
        return OK
    return NOT_FOUND if change.operation in _ABSENT else 0


def list_sequence(change: PlannedObject) -> tuple[SequenceStep, ...]:
    """Return the requests for an object in order; none for an object that is left out."""
    return tuple(_list_steps(change)) if change.operation is not Operation.LEFT_OUT else ()


def _list_steps(change: PlannedObject) -> Iterator[SequenceStep]:
    schema, path = _find_schema_path(change), find_object_path(change)
    if schema:
        yield SequenceStep(StepPurpose.SCHEMA, "GET", schema)
    yield SequenceStep(StepPurpose.READ, "GET", path, _find_status(change))
    for request in change.requests:
        if request.is_write:
            yield SequenceStep(StepPurpose.WRITE, request.method, request.path, request=request)
        if request.method == "DELETE":
            yield SequenceStep(StepPurpose.WAIT, "GET", path, NOT_FOUND)
    if change.is_ended:
        yield SequenceStep(StepPurpose.WAIT, "GET", path, NOT_FOUND)
