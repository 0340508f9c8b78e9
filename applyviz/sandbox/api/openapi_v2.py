"""Serve the OpenAPI v2 document of a sandbox cluster, as JSON and as the protobuf that kubectl reads.

Rule: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v2, and the field numbers of `Document` and
`Schema` in gnostic. kubectl checks the items of lists (`List` and others) by it before it sends any of them. Left
out: paths, descriptions, and custom kinds; kubectl skips kinds without a definition, and the server checks them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache

from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.engine.schema.builtin import RELEASE, load_bundled
from applyviz.sandbox.api.openapi import collect_definitions

PATH = "/openapi/v2"
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_ACCEPTED = (PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")  # "@" is valid in no media type
_GVK = "x-kubernetes-group-version-kind"
# The numbers of the fields of `Document`, `Schema` and the messages inside them.
_SWAGGER, _INFO, _DEFINITIONS = 1, 2, 9
_REF, _FORMAT, _REQUIRED, _ADDITIONAL, _TYPE, _ITEMS, _PROPERTIES, _EXTENSION = 1, 2, 19, 21, 22, 23, 25, 31
_ONLY, _NAME, _VALUE, _YAML = 1, 1, 2, 2


def is_protobuf(accept: str) -> bool:
    """Return whether a client asks for protobuf, by its name today or by the one that kubectl uses."""
    return any(name in accept for name in _ACCEPTED)


@cache
def assemble_document() -> JSONObject:
    """Return the document as JSON."""
    kinds: Mapping[str, tuple[str, bool]] = load_bundled("index")["kinds"]
    definitions = {n: _convert(raw) for n, raw in collect_definitions([n for n, _ in kinds.values()]).items()}
    for key, (name, _) in sorted(kinds.items()):
        version, _, kind = key.rpartition("/")
        group, _, version = version.rpartition("/")
        definitions[name].setdefault(_GVK, []).append({"group": group, "kind": kind, "version": version})
    info = {"title": "Kubernetes", "version": RELEASE}
    return {"swagger": "2.0", "info": info, "paths": {}, "definitions": definitions}


@cache
def encode_document() -> bytes:
    """Return the document as protobuf."""
    document = assemble_document()
    info = _text(_NAME, document["info"]["title"]) + _text(_VALUE, document["info"]["version"])
    definitions = _named_schemas(document["definitions"])
    return _text(_SWAGGER, document["swagger"]) + _field(_INFO, info) + _field(_DEFINITIONS, definitions)


def _convert(raw: JSONObject) -> MutableObject:
    """Return a schema as v2 can say it: a value of one of several types is a string, with its format."""
    if "$ref" in raw:
        return {"$ref": f"#/definitions/{raw['$ref'].rpartition('/')[2]}"}
    schema: MutableObject = {key: raw[key] for key in ("type", "format", "required") if key in raw}
    if "oneOf" in raw:
        schema["type"] = "string"
    for key in ("items", "additionalProperties"):
        if isinstance(raw.get(key), Mapping):
            schema[key] = _convert(raw[key])
    if "properties" in raw:
        schema["properties"] = {name: _convert(part) for name, part in raw["properties"].items()}
    return schema


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _texts(number: int, texts: Iterable[str]) -> bytes:
    return b"".join(_text(number, text) for text in texts)


def _named_schemas(schemas: JSONObject) -> bytes:
    return b"".join(
        _field(_ONLY, _text(_NAME, name) + _field(_VALUE, _encode_schema(schema))) for name, schema in schemas.items()
    )


def _encode_schema(schema: JSONObject) -> bytes:
    parts = [_text(_REF, schema["$ref"])] if "$ref" in schema else []
    parts += [_text(_FORMAT, schema["format"])] if "format" in schema else []
    parts.append(_texts(_REQUIRED, schema.get("required", ())))
    for number, key in ((_ADDITIONAL, "additionalProperties"), (_ITEMS, "items")):
        if key in schema:
            parts.append(_field(number, _field(_ONLY, _encode_schema(schema[key]))))
    parts += [_field(_TYPE, _text(_ONLY, schema["type"]))] if "type" in schema else []
    parts += [_field(_PROPERTIES, _named_schemas(schema["properties"]))] if "properties" in schema else []
    if _GVK in schema:
        extension = _field(_VALUE, _text(_YAML, json.dumps(schema[_GVK])))
        parts.append(_field(_EXTENSION, _text(_NAME, _GVK) + extension))
    return b"".join(parts)
