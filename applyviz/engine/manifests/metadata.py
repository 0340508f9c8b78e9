"""Check that `metadata` decodes into ObjectMeta: kubectl refuses a manifest whose metadata does not.

Rule: the metadata check of k8s.io/cli-runtime
(https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/): names are strings, labels and
annotations are maps of strings, times are RFC 3339. Null is allowed everywhere, unknown fields are ignored. The
messages are Go's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.values import JSONObject, JSONValue

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})\Z")
_OBJECT_META = {
    "name": "string",
    "generateName": "string",
    "namespace": "string",
    "selfLink": "string",
    "uid": "types.UID",
    "resourceVersion": "string",
    "generation": "int64",
    "creationTimestamp": "time",
    "deletionTimestamp": "time",
    "deletionGracePeriodSeconds": "int64",
    "labels": "map[string]string",
    "annotations": "map[string]string",
    "ownerReferences": "[]v1.OwnerReference",
    "finalizers": "[]string",
    "managedFields": "[]v1.ManagedFieldsEntry",
}
_OWNER_REFERENCE = {
    "apiVersion": "string",
    "kind": "string",
    "name": "string",
    "uid": "types.UID",
    "controller": "bool",
    "blockOwnerDeletion": "bool",
}
_MANAGED_FIELDS_ENTRY = {
    "manager": "string",
    "operation": "v1.ManagedFieldsOperationType",
    "apiVersion": "string",
    "time": "time",
    "fieldsType": "string",
    "subresource": "string",
}
_STRUCTS = {
    "[]v1.OwnerReference": ("OwnerReference", "v1.OwnerReference", _OWNER_REFERENCE),
    "[]v1.ManagedFieldsEntry": ("ManagedFieldsEntry", "v1.ManagedFieldsEntry", _MANAGED_FIELDS_ENTRY),
}
_TEXT_TYPES = frozenset(("string", "types.UID", "v1.ManagedFieldsOperationType"))


class TypeProblem(NamedTuple):
    """A value below `metadata` whose type does not decode, with its path."""

    path: PlainPath
    reason: str


def name_of_type(value: JSONValue) -> str:
    """Return the JSON type of a value in the words of Go's decoder."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _mismatch(value: JSONValue, field: str, wanted: str, path: PlainPath) -> TypeProblem:
    found = name_of_type(value)
    return TypeProblem(path, f"json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")


def _is_time(text: str) -> bool:
    if not _TIME.match(text):
        return False
    try:
        datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _check_scalar(value: JSONValue, wanted: str, field: str, path: PlainPath) -> Iterator[TypeProblem]:
    if wanted == "time":
        if not isinstance(value, str):
            yield TypeProblem(path, f"json: cannot unmarshal {name_of_type(value)} into a time")
        elif not _is_time(value):
            yield TypeProblem(path, f'parsing time "{value}" as RFC 3339: not a time')
    elif wanted in _TEXT_TYPES:
        if not isinstance(value, str):
            yield _mismatch(value, field, wanted, path)
    elif wanted == "bool":
        if not isinstance(value, bool):
            yield _mismatch(value, field, wanted, path)
    elif isinstance(value, bool) or not isinstance(value, int):
        yield _mismatch(value, field, wanted, path)


def _check_collection(value: JSONValue, wanted: str, field: str, path: PlainPath) -> Iterator[TypeProblem]:
    entries: list[tuple[str | int, JSONValue]]
    if wanted.startswith("[]") and isinstance(value, list):
        entries = list(enumerate(value))
    elif wanted.startswith("map[") and isinstance(value, Mapping):
        entries = list(value.items())
    else:
        entries = []
        yield _mismatch(value, field, wanted, path)
    for step, entry in entries:
        if entry is None:
            continue
        if wanted not in _STRUCTS:
            yield from _check_scalar(entry, "string", field, (*path, step))
            continue
        struct, item_type, fields = _STRUCTS[wanted]
        if isinstance(entry, Mapping):
            below = field.replace("ObjectMeta", struct)
            yield from _check_fields(entry, fields, below, (*path, step))
        else:
            yield _mismatch(entry, field, item_type, (*path, step))


def _check_fields(value: JSONObject, fields: Mapping[str, str], prefix: str, path: PlainPath) -> Iterator[TypeProblem]:
    for name, wanted in fields.items():
        entry = value.get(name)
        if entry is None:
            continue
        check = _check_collection if wanted.startswith(("[]", "map[")) else _check_scalar
        yield from check(entry, wanted, f"{prefix}.{name}", (*path, name))


def find_type_problem(meta: JSONValue) -> TypeProblem | None:
    """Return the first reason why `metadata` does not decode, None if it does."""
    if meta is None:
        return None
    if not isinstance(meta, Mapping):
        return _mismatch(meta, "metadataOnlyObject.metadata", "v1.ObjectMeta", ())
    return next(_check_fields(meta, _OBJECT_META, "ObjectMeta.metadata", ()), None)
