"""Check what a structural schema requires besides OpenAPI: unique list entries, valid embedded resources.

Rule: k8s.io/apiextensions-apiserver `pkg/apiserver/schema/listtype` and `.../objectmeta`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.kubernetes.parity.decoding import DecodeError
from applyviz.kubernetes.parity.name_formats import label_1035_problems, path_segment_problems, validate_metadata
from applyviz.kubernetes.parity.status import FieldError, duplicate, invalid, required
from applyviz.sandbox.schema.custom_resources import read_metadata


def _walk(value: JSONValue, schema: JSONValue, path: str = "") -> Iterator[tuple[JSONValue, JSONObject, str]]:
    """Yield every value that a schema describes, with the schema and its path."""
    if not isinstance(schema, dict):
        return
    yield value, schema, path
    if isinstance(value, dict):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, item in value.items():
            if name in properties:
                yield from _walk(item, properties[name], f"{path}.{name}" if path else name)
            elif isinstance(additional, dict):
                yield from _walk(item, additional, f"{path}[{name}]")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk(item, schema.get("items"), f"{path}[{number}]")


def validate_embedded(obj: JSONObject, schema: JSONObject | None) -> Iterator[FieldError]:
    """Yield embedded resources without apiVersion and kind, or with invalid metadata."""
    for value, spec, path in _walk(obj, schema):
        if path and isinstance(value, dict) and spec.get("x-kubernetes-embedded-resource"):
            yield from _validate_resource(value, path)


def _validate_resource(value: JSONObject, path: str) -> Iterator[FieldError]:
    texts = {"apiVersion": "", "kind": ""}
    for name in texts:
        if name not in value:
            yield required(f"{path}.{name}")
        elif not isinstance(value[name], str):
            yield invalid(f"{path}.{name}", value[name], "must be a string")
        elif not value[name]:
            yield invalid(f"{path}.{name}", value[name], "must not be empty")
        else:
            texts[name] = value[name]
    version, kind = texts["apiVersion"], texts["kind"]
    if version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    problems = label_1035_problems(kind.lower()) if kind else []
    if problems:
        detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid(f"{path}.kind", kind, detail)
    if "metadata" in value:
        yield from _validate_metadata(value["metadata"], f"{path}.metadata")


def _validate_metadata(value: JSONValue, path: str) -> Iterator[FieldError]:
    try:
        metadata, _ = read_metadata(value, path)
    except DecodeError as error:
        yield invalid(path, value, str(error))
        return
    name = metadata.get("name") or "fakename"
    prefix = [p for p in path_segment_problems(metadata.get("generateName", "")) if "contain" in p]
    yield from validate_metadata(
        {**metadata, "name": name}, path_segment_problems(name), path, problems_of_prefix=prefix, is_custom=True
    )


def validate_lists(obj: JSONObject, schema: JSONObject | None) -> Iterator[FieldError]:
    """Yield the duplicates of sets, and of lists with keys."""
    for value, spec, path in _walk(obj, schema):
        if not isinstance(value, list):
            continue
        kind = spec.get("x-kubernetes-list-type")
        if kind == "set":
            yield from _find_repeated(path, value)
        elif kind == "map":
            yield from _validate_keyed(path, value, spec.get("x-kubernetes-list-map-keys") or [])


def _validate_keyed(path: str, items: list[Any], keys: list[str]) -> Iterator[FieldError]:
    for number, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            yield invalid(f"{path}[{number}]", item, "must be an object for an array of list-type map")
            return
    yield from _find_repeated(path, [{k: item[k] for k in keys if k in item} if item else {} for item in items])


def _find_repeated(path: str, items: list[JSONValue]) -> Iterator[FieldError]:
    """Yield the second of equal values, and no further ones."""
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        mark = f"{type(item).__name__} {json.dumps(item, sort_keys=True)}"
        seen[mark] = seen.get(mark, 0) + 1
        if seen[mark] == 2:
            yield duplicate(f"{path}[{number}]", item)
