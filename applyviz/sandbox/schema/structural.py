"""Check custom resources against their structural schema: pruning, defaulting, validation.

Rule: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/. Messages are
those of kube-openapi's validators. CEL rules are in `schema_rules`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, clone, is_same_json
from applyviz.kubernetes.parity.patterns import Pattern, PatternError, compile_pattern
from applyviz.kubernetes.parity.status import (
    FieldError,
    FieldErrorType,
    invalid,
    not_supported,
    required,
    type_invalid,
)
from applyviz.sandbox.schema.formats import has_format, is_format_of
from applyviz.sandbox.schema.ratcheting import ABSENT, Absent, find_child, find_partner, is_kept

_EXACT = 1 << 53
_INT32, _INT64 = 1 << 31, 1 << 63
ROOT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_NUMBER_FORMATS = {int: "int64", float: "float64"}
_GO_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def prune(value: JSONValue, schema: JSONObject | None, path: str = "", is_root: bool = True) -> Iterator[str]:
    """Remove unknown fields in place and yield their paths; without a schema, every field is unknown."""
    keeps = schema is not None and schema.get("x-kubernetes-preserve-unknown-fields") is True
    if isinstance(value, dict):
        is_object = is_root or bool(schema and schema.get("x-kubernetes-embedded-resource"))
        yield from _prune_map(value, schema or {}, path, is_object, keeps)
    elif isinstance(value, list):
        items = (schema or {}).get("items")
        for i, item in enumerate(value):
            if items is not None or not keeps:
                yield from prune(item, items, f"{path}[{i}]", False)


def _prune_map(value: MutableObject, schema: JSONObject, path: str, is_object: bool, keeps: bool) -> Iterator[str]:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    for name in list(value):
        at = f"{path}.{name}" if path else name
        if is_object and name in ROOT_FIELDS:
            continue
        if name in properties:
            yield from prune(value[name], properties[name], at, False)
        elif isinstance(additional, Mapping):
            yield from prune(value[name], additional, at, False)
        elif additional is not True and not keeps:
            del value[name]
            yield at


def drop_nulls(value: JSONValue, schema: JSONObject | None) -> None:
    """Remove nulls of maps in place unless they are nullable or defaulted later."""
    if schema is None:
        return
    if isinstance(value, list):
        for item in value:
            drop_nulls(item, schema.get("items"))
    elif isinstance(value, dict):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for name in list(value):
            child = properties.get(name, additional if isinstance(additional, Mapping) else None)
            if child is not None and value[name] is None and not child.get("nullable") and "default" not in child:
                del value[name]
            elif child is not None:
                drop_nulls(value[name], child)


def fill_defaults(value: JSONValue, schema: JSONObject | None) -> None:
    """Fill in the schema's defaults in place; a null that is not nullable is replaced by a default."""
    if schema is None:
        return
    if isinstance(value, dict):
        _fill_map(value, schema)
    elif isinstance(value, list):
        items = schema.get("items") or {}
        for i, item in enumerate(value):
            if _is_defaulted(item, items):
                value[i] = clone(items["default"])
            fill_defaults(value[i], items)


def _is_defaulted(value: JSONValue, schema: JSONObject) -> bool:
    return value is None and "default" in schema and not schema.get("nullable")


def _fill_map(value: MutableObject, schema: JSONObject) -> None:
    properties = schema.get("properties") or {}
    for name, child in properties.items():
        if (name not in value and "default" in child) or _is_defaulted(value.get(name), child):
            value[name] = clone(child["default"])
        if name in value:
            fill_defaults(value[name], child)
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        for name in value:
            if name not in properties:
                if _is_defaulted(value[name], additional):
                    value[name] = clone(additional["default"])
                fill_defaults(value[name], additional)


def validate(
    value: JSONValue, schema: JSONObject | None, path: str = "", before: JSONValue | Absent = ABSENT
) -> Iterator[FieldError]:
    """Yield the problems of a value, in the order of the server; a wrong type does not hide other problems.

    - `before`: the value that an update replaces; unchanged values are not reported (ratcheting).
    """
    if schema is None or (value is None and schema.get("nullable")):
        return
    if before is not ABSENT and is_kept(value, before, schema):
        return
    wrong = _check_type(value, schema, path)
    if wrong is not None:
        yield wrong
    yield from _check_scalar(value, schema, path)
    if isinstance(value, Mapping):
        yield from _check_map(value, schema, path, before)
    elif isinstance(value, list):
        yield from _check_list(value, schema, path, before)
    if value is not None:
        yield from _check_branches(value, schema, path, before)


def _check_type(value: JSONValue, schema: JSONObject, path: str) -> FieldError | None:
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return None
        wanted = "integer,string"
    else:
        wanted = schema.get("type") or ""
    found = "null" if value is None else _GO_TYPES[type(value)]
    is_whole = isinstance(value, float) and _is_whole(value)
    if (
        not wanted
        or found == wanted
        or (wanted == "number" and found == "integer")
        or (wanted == "integer" and is_whole)
    ):
        return None
    form = schema.get("format") or ""
    if is_format_of(wanted, form) and not isinstance(value, str) and value is not None:
        if isinstance(value, list):
            return None if wanted == "string" else type_invalid(path, found, _describe_type(path, wanted, found))
        wanted, found = form, _NUMBER_FORMATS.get(type(value), "")
    return type_invalid(path, found, _describe_type(path, wanted, found))


def _describe_type(path: str, wanted: str, found: str) -> str:
    return f'{path} in body must be of type {wanted}: "{found}"'


def _is_whole(value: float) -> bool:
    """Return whether a float is an integer that JSON represents exactly."""
    return value.is_integer() and abs(value) < _EXACT


def _compile(pattern: str) -> Pattern | None:
    try:
        return compile_pattern(pattern)
    except PatternError:
        return None


def _check_scalar(value: JSONValue, schema: JSONObject, path: str) -> Iterator[FieldError]:
    choices = schema.get("enum")
    if choices and not any(is_same_json(value, c) for c in choices):
        texts = [c if isinstance(c, str) else json.dumps(c) for c in choices]
        yield not_supported(path, value, texts)
    if isinstance(value, str):
        yield from _check_string(value, schema, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _check_number(value, schema, path)


def _check_string(value: str, schema: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the first rule that a text violates."""
    pattern = schema.get("pattern")
    compiled = _compile(pattern) if pattern else None
    if (limit := schema.get("maxLength")) is not None and len(value) > limit:
        yield FieldError(FieldErrorType.TOO_LONG, path, f"Too long: may not be more than {limit} bytes")
    elif (limit := schema.get("minLength")) is not None and len(value) < limit:
        yield invalid(path, value, f"{path} in body should be at least {limit} chars long")
    elif compiled is not None and not compiled.search(value):
        yield invalid(path, value, f"{path} in body should match '{pattern}'")
    name = schema.get("format")
    if name and not has_format(value, name):
        yield type_invalid(path, value, f'{path} in body must be of type {name}: "{value}"')


def _check_number(value: float, schema: JSONObject, path: str) -> Iterator[FieldError]:
    low, high, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    if schema.get("type") == "integer":
        form = schema.get("format") or ""
        words = f"with format {form}" if is_format_of("integer", form) else "(default format)"
        if not (float(value).is_integer() and abs(value) < (_INT32 if form == "int32" else _INT64)):
            yield invalid("<nil>", "", f"Checked value must be of type integer {words} in {path}")
    if low is not None and (value < low or (schema.get("exclusiveMinimum") and value == low)):
        word = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield invalid(path, value, f"{path} in body should be {word} {json.dumps(low)}")
    if high is not None and (value > high or (schema.get("exclusiveMaximum") and value == high)):
        word = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield invalid(path, value, f"{path} in body should be {word} {json.dumps(high)}")
    if step and not _is_whole(float(value / step)):
        yield invalid(path, value, f"{path} in body should be a multiple of {json.dumps(step)}")


def _check_map(value: JSONObject, schema: JSONObject, path: str, before: JSONValue | Absent) -> Iterator[FieldError]:
    for name in schema.get("required") or ():
        if name not in value:
            yield required(f"{path}.{name}" if path else name)
    low, high = schema.get("minProperties"), schema.get("maxProperties")
    if low is not None and len(value) < low:
        yield invalid(path, len(value), f"{path} in body should have at least {low} properties")
    if high is not None and len(value) > high:
        yield FieldError(FieldErrorType.TOO_MANY, path, f"Too many: {len(value)}: must have at most {high} items")
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, item in value.items():
        if not path and name in ROOT_FIELDS:
            continue
        child = properties.get(name, additional if isinstance(additional, Mapping) else None)
        yield from validate(item, child, f"{path}.{name}" if path else name, find_child(before, name))


def _check_list(
    value: list[JSONValue], schema: JSONObject, path: str, before: JSONValue | Absent
) -> Iterator[FieldError]:
    low, high = schema.get("minItems"), schema.get("maxItems")
    if low is not None and len(value) < low:
        yield invalid(path, len(value), f"{path} in body should have at least {low} items")
    if high is not None and len(value) > high:
        yield FieldError(FieldErrorType.TOO_MANY, path, f"Too many: {len(value)}: must have at most {high} items")
    for i, item in enumerate(value):
        yield from validate(item, schema.get("items"), f"{path}[{i}]", find_partner(item, before, schema))


def _check_branches(
    value: JSONValue, schema: JSONObject, path: str, before: JSONValue | Absent
) -> Iterator[FieldError]:
    every, some, one = (schema.get(name) or () for name in ("allOf", "anyOf", "oneOf"))
    results = [list(validate(value, part, path, before)) for part in every]
    yield from chain.from_iterable(results)
    if any(results):
        none = "" if any(not result for result in results) else ". None validated"
        yield _refuse_branches(path, f"must validate all the schemas (allOf){none}")
    results = [list(validate(value, part, path)) for part in some]
    if results and all(results):
        yield _refuse_branches(path, "must validate at least one schema (anyOf)")
        yield from results[0] if schema.get("x-kubernetes-int-or-string") else min(results, key=len)
    results = [list(validate(value, part, path)) for part in one]
    fits = sum(not result for result in results)
    if results and fits != 1:
        found = f"Found {fits} valid alternatives" if fits else "Found none valid"
        yield _refuse_branches(path, f"must validate one and only one schema (oneOf). {found}")
        yield from min(results, key=len)
    if schema.get("not") is not None and not any(validate(value, schema["not"], path)):
        yield _refuse_branches(path, "must not validate the schema (not)")


def _refuse_branches(path: str, detail: str) -> FieldError:
    """Return the problem of a value as a whole, for which the server names no field."""
    return invalid("<nil>", "", f'"{path}" {detail}')
