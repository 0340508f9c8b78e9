"""Decode a custom resource as the server does: its metadata as a Go struct, the rest by its structural schema.

Rule: `unstructuredSchemaCoercer` of k8s.io/apiextensions-apiserver: metadata is decoded, unknown fields are pruned,
nulls that no schema allows are dropped, the metadata of embedded resources is decoded too, defaults are filled in.
"""

from __future__ import annotations

from collections.abc import Callable

from applyviz.engine.manifests.metadata import name_of_type
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone
from applyviz.kubernetes.parity.decoding import Decoded, DecodeError, Decoder, Spot, WrongTypeError
from applyviz.kubernetes.parity.go_types import go_types
from applyviz.kubernetes.parity.payloads import sort_keys
from applyviz.kubernetes.parity.status import invalid
from applyviz.sandbox.schema.structural import drop_nulls, fill_defaults, prune

_ANYTHING: JSONObject = {"x-kubernetes-preserve-unknown-fields": True}
_OBJECT_META = "meta.ObjectMeta"


def read_custom(
    obj: JSONObject, schema: JSONObject | None, *, is_of_schema: bool = True, is_applied: bool = False
) -> Decoded:
    """Return a custom resource as the server holds it; `is_of_schema` if its kind and version match the schema.

    - `is_applied`: it comes from a server-side apply, which drops no nulls and leaves embedded objects as they were
      sent: they differ from live, and count for the generation, until they are read again.
    - Raises `DecodeError` for invalid metadata.
    """
    result: MutableObject = clone({k: v for k, v in obj.items() if k != "metadata"})
    unknown: list[str] = []
    metadata: MutableObject = {}
    if "metadata" in obj:
        metadata, unknown = read_metadata(obj["metadata"], "metadata")
    if is_of_schema:
        unknown += [f'unknown field "{path}"' for path in sorted(prune(result, schema or _ANYTHING))]
        if not is_applied:
            drop_nulls(result, schema)
            unknown += sorted(_coerce(result, schema, "", _coerce_embedded))
        fill_defaults(result, schema)
    return Decoded({**result, "metadata": metadata}, unknown)


def read_embedded(obj: MutableObject, schema: JSONObject | None) -> None:
    """Decode the metadata of the embedded resources of a stored object in place; what is invalid stays."""
    _coerce(obj, schema, "", _coerce_valid)


def read_metadata(value: JSONValue, path: str) -> tuple[MutableObject, list[str]]:
    """Return metadata as a Go struct, and its unknown fields; type errors begin at the metadata."""
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        raise WrongTypeError(name_of_type(value), "v1.ObjectMeta")
    decoder = Decoder()
    metadata = decoder.struct(sort_keys(value), go_types().get_struct(_OBJECT_META), Spot())
    if decoder.saved is not None:
        raise decoder.saved
    return metadata, [f'unknown field "{path}.{field}"' for _, field in decoder.strict]


def _coerce(
    value: JSONValue, schema: JSONValue, path: str, decode: Callable[[MutableObject, str], list[str]]
) -> list[str]:
    """Decode the metadata of embedded resources in place; return the unknown fields."""
    if not isinstance(schema, dict):
        return []
    found: list[str] = []
    if isinstance(value, dict):
        if path and schema.get("x-kubernetes-embedded-resource"):
            found += decode(value, path)
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for name in sorted(value):
            at = f"{path}.{name}" if path else name
            if name in properties:
                found += _coerce(value[name], properties[name], at, decode)
            elif isinstance(additional, dict):
                found += _coerce(value[name], additional, f"{path}[{name}]" if path else name, decode)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            found += _coerce(item, schema.get("items"), f"{path}[{number}]", decode)
    return found


def _coerce_embedded(value: MutableObject, path: str) -> list[str]:
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            raise DecodeError(str(invalid(f"{path}.{name}", value[name], "must be a string")))
    if "metadata" not in value:
        return []
    try:
        value["metadata"], unknown = read_metadata(value["metadata"], f"{path}.metadata")
    except DecodeError as error:
        raise DecodeError(str(invalid(f"{path}.metadata", value["metadata"], str(error)))) from None
    return unknown


def _coerce_valid(value: MutableObject, path: str) -> list[str]:
    """Decode the metadata of an embedded resource, which drops a creation time of null, unless it is invalid."""
    decoded = clone(value)
    try:
        is_known = not _coerce_embedded(decoded, path)
    except DecodeError:
        return []
    if is_known:
        value.update(decoded)
    return []
