"""Check the schema of a definition: that it is structural, that its lists and maps are possible, and its defaults.

Rule: `pkg/apiserver/schema` and `pkg/apis/apiextensions/validation` of k8s.io/apiextensions-apiserver v0.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, clone
from applyviz.kubernetes.parity.patterns import PatternError, compile_pattern
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required
from applyviz.sandbox.schema import structural
from applyviz.sandbox.schema.rule_costs import RuleCost, multiply_count, refuse_costs
from applyviz.sandbox.schema.rule_types import RULES, check_expressions, is_field_path

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META = ("metadata", "kind", "apiVersion")
_BRANCHES = ("allOf", "anyOf", "oneOf")
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_PRESERVE, _EITHER = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
_EMBEDDED, _LIST_TYPE = "x-kubernetes-embedded-resource", "x-kubernetes-list-type"
_MAP_TYPE, _KEYS = "x-kubernetes-map-type", "x-kubernetes-list-map-keys"
_LEVELS = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
# What a value validation in a branch may not say, and in which words it is refused.
_FORBIDDEN = {
    "type": "empty", "additionalProperties": "undefined", "default": "undefined", "title": "empty",
    "description": "empty", "nullable": "false", _PRESERVE: "false", _EMBEDDED: "false", _EITHER: "false",
    _KEYS: "empty", _LIST_TYPE: "undefined", _MAP_TYPE: "undefined", RULES: "empty",
}  # fmt: skip
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_NOT_READ = " is not supported"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_BREAKS = re.compile("[\r\n]")
_AT_ROOT = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example "
    "XPreserveUnknownFields XValidations"
)
_NOT_AT_ROOT = (
    "default", "maxProperties", "minProperties", "enum", "allOf", "oneOf", "anyOf", "not", "additionalProperties",
    "nullable", _EMBEDDED, _EITHER, _KEYS, _LIST_TYPE, _MAP_TYPE,
)  # fmt: skip


def check_schema(schema: JSONObject, path: str, *, has_status: bool) -> Iterator[FieldError]:
    """Yield the problems of the schema of a version; it is about to be stored with the subresource status or not."""
    if has_status and schema.get("type", "object") != "object":
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid(f"{path}.type", schema["type"], detail)
    elif has_status and any(schema.get(name) for name in _NOT_AT_ROOT):
        detail = f"only [{_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
        yield invalid(path, schema, detail)
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    shown = list(_openapi(schema, path))
    yield from shown
    if any(problem.body.endswith(_NOT_READ) for problem in shown):
        return  # the server stops where it cannot read a schema
    problems = [*_structure(schema, path, "root"), *_complete(schema, schema, path, path)]
    problems = problems or [*_defaults(schema, path)]
    if problems:
        yield from problems
        return
    costs: list[RuleCost] = []
    yield from _expressions(schema, path, [problem.path for problem in shown], costs, 1)
    yield from refuse_costs(costs, path)


def _children(schema: JSONObject, path: str) -> Iterator[tuple[JSONObject, str, str]]:
    """Yield the schemas right below a schema with their paths and levels."""
    if isinstance(schema.get("items"), Mapping):
        yield schema["items"], f"{path}.items", "item"
    for name, child in (schema.get("properties") or {}).items():
        yield child, f"{path}.properties[{name}]", "field"
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield schema["additionalProperties"], f"{path}.additionalProperties", "field"


def _expressions(
    schema: JSONObject, path: str, broken: Sequence[str], costs: list[RuleCost], count: int | None
) -> Iterator[FieldError]:
    """Yield the problems of the expressions of rules; those above a broken schema are not compiled."""
    if not any(at.startswith(path) for at in broken):
        is_resource = path.endswith(".openAPIV3Schema") or bool(schema.get(_EMBEDDED))
        yield from check_expressions(schema, path, costs, count=count, is_resource=is_resource)
    for child, below, _level in _children(schema, path):
        yield from _expressions(child, below, broken, costs, multiply_count(count, schema))


def _structure(schema: JSONObject, path: str, level: str) -> Iterator[FieldError]:
    kind = schema.get("type") or ""
    if kind == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    for child, below, inner in _children(schema, path):
        yield from _structure(child, below, inner)
    for name in (_PRESERVE, _EMBEDDED):
        if schema.get(_EITHER) and schema.get(name):
            yield invalid(f"{path}.{name}", True, "must be false if x-kubernetes-int-or-string is true")
    yield from _values(schema, path)
    if schema.get(_EMBEDDED):
        yield from _embedded(schema, path, kind)
    elif not kind and not schema.get(_EITHER) and not schema.get(_PRESERVE):
        yield required(f"{path}.type", f"must not be empty {_LEVELS[level]}")
    if level == "root":
        yield from _root(schema, path, kind)
    if level == "root" or schema.get(_EMBEDDED):
        yield from _meta(schema, path, is_root=level == "root")


def _root(schema: JSONObject, path: str, kind: str) -> Iterator[FieldError]:
    if schema.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")


def _embedded(schema: JSONObject, path: str, kind: str) -> Iterator[FieldError]:
    detail = "must be object if x-kubernetes-embedded-resource is true"
    if kind != "object":
        yield invalid(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)
    if schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(f"{path}.additionalProperties", detail)
    if not schema.get(_PRESERVE) and not schema.get("properties"):
        without = "without x-kubernetes-preserve-unknown-fields"
        yield required(f"{path}.properties", f"must not be empty if x-kubernetes-embedded-resource is true {without}")


def _meta(schema: JSONObject, path: str, *, is_root: bool) -> Iterator[FieldError]:
    properties = schema.get("properties") or {}
    for name in ("kind", "apiVersion"):
        if name in properties and properties[name].get("type") != "string":
            yield invalid(f"{path}.properties[{name}].type", properties[name].get("type", ""), "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    if metadata.get("type") != "object":
        yield invalid(f"{path}.properties[metadata].type", metadata.get("type", ""), "must be object")
    named = set(metadata.get("properties") or ())
    if is_root and (set(metadata) - {"type", "default", "properties"} or not named <= {"name", "generateName"}):
        detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(f"{path}.properties[metadata]", detail)


def _values(schema: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a pattern, and of the branches of a schema."""
    pattern = schema.get("pattern")
    if pattern:
        try:
            compile_pattern(pattern)
        except PatternError as error:
            detail = f"must be a valid regular expression, but isn't: error parsing regexp: {error}"
            yield invalid(f"{path}.pattern", pattern, detail)
    for branch, at in _branches(schema, path):
        if not _is_int_or_string(schema, at.removeprefix(f"{path}.")):
            yield from _branch(branch, at, is_free=at.endswith(".allOf[0]") and _has_pattern(branch))


def _branches(schema: JSONObject, path: str) -> Iterator[tuple[JSONObject, str]]:
    for name in _BRANCHES:
        for i, branch in enumerate(schema.get(name) or ()):
            yield branch, f"{path}.{name}[{i}]"
    if isinstance(schema.get("not"), Mapping):
        yield schema["not"], f"{path}.not"


def _has_pattern(schema: JSONObject) -> bool:
    return bool(schema.get("anyOf") == _INT_OR_STRING)


def _is_int_or_string(schema: JSONObject, name: str) -> bool:
    return name.startswith("anyOf") and _has_pattern(schema)


def _branch(schema: JSONObject, path: str, *, is_free: bool = False) -> Iterator[FieldError]:
    if not is_free:
        yield from _values(schema, path)
    if isinstance(schema.get("items"), Mapping):
        yield from _branch(schema["items"], f"{path}.items")
    for name, child in (schema.get("properties") or {}).items():
        yield from _branch(child, f"{path}.properties[{name}]")
    for name, words in _FORBIDDEN.items():
        if schema.get(name):
            yield forbidden(f"{path}.{name}", f"must be {words} to be structural")
    if "metadata" in (schema.get("properties") or {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _complete(schema: JSONObject, values: JSONObject, path: str, at: str) -> Iterator[FieldError]:
    """Yield the fields that a branch of a schema names and the schema itself does not."""
    for branch, below in _branches(values, at):
        yield from _complete(schema, branch, path, below)
    if values is schema:
        return
    own = {below: child for child, below, _level in _children(schema, path)}
    for child, below, _level in _children(values, at):
        wanted = f"{path}{below.removeprefix(at)}"
        if wanted in own:
            yield from _complete(own[wanted], child, wanted, below)
        elif not below.endswith(".additionalProperties"):
            yield required(wanted, f"because it is defined in {below}")


def _defaults(schema: JSONObject, path: str, *, is_meta: bool = False, is_root: bool = True) -> Iterator[FieldError]:
    """Yield the problems of the defaults of a structural schema; those of metadata are refused as such."""
    if "default" in schema and not is_meta:
        value = clone(schema["default"])
        if any(structural.prune(value, schema, "", bool(schema.get(_EMBEDDED)))):
            yield invalid(f"{path}.default", schema["default"], "must not have unknown fields")
        for problem in structural.validate(schema["default"], schema):  # its words name the path inside the default
            yield replace(problem, path=f"{path}.default.{problem.path}".rstrip("."))
    for child, below, _level in _children(schema, path):
        if not below.endswith(".additionalProperties"):
            is_embedded = is_root or schema.get(_EMBEDDED)
            inner = is_meta or bool(is_embedded and below.endswith(tuple(f"[{name}]" for name in _META)))
            yield from _defaults(child, below, is_meta=inner, is_root=False)


def _openapi(schema: JSONObject, path: str, top: str = "") -> Iterator[FieldError]:
    if schema.get("default") is not None and top:
        yield forbidden(f"{path}.default", f"must not be set in top-level {top}")
    yield from _allowed(schema, path)
    is_root = path.endswith(".openAPIV3Schema")
    for child, below, _level in _children(schema, path):
        name = below.rpartition("[")[2].removesuffix("]") if is_root else ""
        yield from _openapi(child, below, top or (name if name in _META else ""))
    for branch, at in _branches(schema, path):
        yield from _openapi(branch, at, top)
    if schema.get(_PRESERVE) is False:
        yield invalid(f"{path}.{_PRESERVE}", False, "must be true or undefined")
    yield from _topology(schema, path, schema.get("type") or "")
    for i, rule in enumerate(schema.get(RULES) or ()):
        yield from _rule(rule, f"{path}.{RULES}[{i}]", schema)


def _rule(rule: JSONObject, path: str, schema: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of a rule but those of its expression."""
    text, message, reason = rule.get("rule") or "", rule.get("message") or "", rule.get("reason")
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _BREAKS.search(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif _BREAKS.search(text.strip()) and not message:
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if reason not in (*_REASONS, None):
        yield not_supported(f"{path}.reason", reason, _REASONS)
    if rule.get("fieldPath") and not is_field_path(rule["fieldPath"], schema):
        yield invalid(f"{path}.fieldPath", rule["fieldPath"], "must be a valid path")


def _allowed(schema: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield what a schema may not say at all."""
    kind = schema.get("type") or ""
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if kind and kind not in _TYPES:
        yield not_supported(f"{path}.type", kind, _TYPES)
    for name in _UNSUPPORTED:
        if schema.get(name):
            yield forbidden(f"{path}.{name}", f"{name}{_NOT_READ}")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", detail)
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", detail)


def _topology(schema: JSONObject, path: str, kind: str) -> Iterator[FieldError]:
    map_type, list_type = schema.get(_MAP_TYPE), schema.get(_LIST_TYPE)
    for name, value, wanted in ((_MAP_TYPE, map_type, "object"), (_LIST_TYPE, list_type, "array")):
        detail = f"must be {wanted} if {name} is specified"
        if value is not None and kind != wanted:
            yield invalid(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)
    if map_type not in (None, "atomic", "granular"):
        yield not_supported(f"{path}.{_MAP_TYPE}", map_type, ("atomic", "granular"))
    if list_type not in (None, "atomic", "set", "map"):
        yield not_supported(f"{path}.{_LIST_TYPE}", list_type, ("atomic", "set", "map"))
    keys, items = schema.get(_KEYS) or [], schema.get("items")
    if keys and list_type != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        at = f"{path}.{_LIST_TYPE}"
        yield required(at, detail) if list_type is None else invalid(at, list_type, detail)
    if list_type == "set" and kind == "array" and items:
        yield from _set_items(items, f"{path}.items")
    if list_type == "map":
        yield from _keyed(items, keys, path)
    if list_type in ("set", "map") and (items or {}).get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")


def _set_items(items: JSONObject, path: str) -> Iterator[FieldError]:
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    inner = items.get(_LIST_TYPE)
    if items.get("type") == "array" and inner not in (None, "atomic"):
        yield invalid(f"{path}.{_LIST_TYPE}", inner, detail)
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        yield invalid(f"{path}.{_MAP_TYPE}", inner, detail)


def _keyed(items: JSONObject | None, keys: list[str], path: str) -> Iterator[FieldError]:
    if not keys:
        yield required(f"{path}.{_KEYS}", "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
        return
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), detail)
    properties = items.get("properties") or {}
    for number, key in enumerate(keys):
        own = properties.get(key)
        if items.get("type") == "object" and own is None:
            yield invalid(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
        if items.get("type") == "object" and key in keys[:number]:
            yield invalid(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")
        if own is not None:
            yield from _key(own, f"{path}.items.properties[{key}]", is_required=key in (items.get("required") or ()))


def _key(schema: JSONObject, path: str, *, is_required: bool) -> Iterator[FieldError]:
    words = "this property is in x-kubernetes-list-map-keys, so it"
    if schema.get("type") in ("array", "object"):
        yield invalid(f"{path}.type", "object", "must be a scalar type if parent array's x-kubernetes-list-type is map")
    if not is_required and schema.get("default") is None:
        yield required(f"{path}.default", f"{words} must have a default or be a required property")
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", f"{words} cannot be nullable")
