"""Check the rules of a custom resource's schema (`x-kubernetes-validations`), including transition rules.

Rule: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
and `pkg/apiserver/schema/cel` of k8s.io/apiextensions-apiserver. Values get the types of the schema. What is
refused when a definition is written is in `rule_types`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.kubernetes.parity.status import FieldError, FieldErrorType, duplicate, forbidden, invalid, required
from applyviz.sandbox.cel import library  # noqa: F401 - defines the functions of Kubernetes
from applyviz.sandbox.cel.nodes import names_in
from applyviz.sandbox.cel.programs import CALL_LIMIT, CostError, Meter, evaluate
from applyviz.sandbox.cel.syntax import RESERVED, NotReadableError, parse
from applyviz.sandbox.cel.values import (
    CelError,
    Entries,
    NoOverloadError,
    Optional,
    Struct,
    read_duration,
    read_timestamp,
)
from applyviz.sandbox.schema.ratcheting import ABSENT, Absent, find_child, find_partner, is_kept

BUDGET = 2_000_000
"""Steps of all rules of one object together."""
ROOT = "<nil>"
_RESERVED: Final = RESERVED | {"true", "false", "null", "in"}
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_BLOCKING: Final = frozenset(
    {
        FieldErrorType.NOT_SUPPORTED, FieldErrorType.REQUIRED, FieldErrorType.TOO_LONG, FieldErrorType.TOO_MANY,
        FieldErrorType.TYPE_INVALID,
    }
)  # fmt: skip
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


def escape(name: str) -> str | None:
    """Return the escaped name of a field in rules, None if rules cannot refer to it."""
    if name in _RESERVED:
        return f"__{name}__"
    if not re.fullmatch(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*", name):
        return None
    return re.sub(r"__|[-./]", lambda found: _ESCAPES[found.group()], name)


def has_rules(schema: Any) -> bool:
    """Return whether a schema has rules at any level."""
    if not isinstance(schema, Mapping):
        return False
    inner = [schema.get("items"), schema.get("additionalProperties"), *(schema.get("properties") or {}).values()]
    return bool(schema.get("x-kubernetes-validations")) or any(map(has_rules, [*inner, *(schema.get("allOf") or ())]))


def is_blocked(errors: list[FieldError]) -> bool:
    """Return whether errors of an object prevent the evaluation of its rules."""
    return any(e.type in _BLOCKING for e in errors)


def check_rules(
    obj: JSONObject, schema: JSONObject | None, live: JSONObject | None, errors: list[FieldError]
) -> Iterator[FieldError]:
    """Yield the problems that the rules of a schema find in an object; only one if `errors` block them.

    - `live`: the object that an update replaces. Problems of unchanged values are warnings.
    """
    if schema is None or not has_rules(schema):
        return
    if is_blocked(errors):
        yield invalid(ROOT, None, _UNCHECKED)
        return
    value = _convert(obj, schema, is_resource=True)
    before = _convert(live, schema, is_resource=True) if live is not None else None
    pair = _ValuePair(obj, live, value, before, live if live is not None else ABSENT, is_parent_kept=False)
    try:
        yield from _walk(pair, schema, "", Meter(BUDGET))
    except _ExhaustedError as error:
        yield error.problem


class _ExhaustedError(Exception):
    """The cost limit is reached: no further rule is evaluated."""

    def __init__(self, path: str, schema: JSONObject, detail: str) -> None:
        self.problem = invalid(path or ROOT, schema.get("type", ""), detail)


class _ValuePair(msgspec.Struct, frozen=True):
    """A value and the value that it replaces, as JSON and with the types of the schema.

    - `correlated`: if it equals this value, problems are warnings; ABSENT if there is none.
    """

    raw: Any
    raw_before: JSONValue
    value: Any
    before: Any
    correlated: JSONValue | Absent
    is_parent_kept: bool

    def is_kept(self, schema: JSONObject) -> bool:
        """Return whether nothing changed here, or in the enclosing value if this one has no partner."""
        if self.correlated is ABSENT:
            return self.is_parent_kept
        return is_kept(self.raw, self.correlated, schema)


def _walk(pair: _ValuePair, schema: JSONObject, path: str, meter: Meter) -> Iterator[FieldError]:
    if pair.raw is None:
        return
    for rule in schema.get("x-kubernetes-validations") or ():
        problem = _check(rule, pair, schema, path, meter)
        if problem is not None:
            yield problem
    for part in schema.get("allOf") or ():
        merged = {**{k: v for k, v in schema.items() if k not in ("allOf", "x-kubernetes-validations")}, **part}
        yield from _walk(replace(pair, correlated=ABSENT), merged, path, meter)
    if isinstance(pair.raw, list):
        yield from _walk_list(pair, schema, path, meter)
    elif isinstance(pair.raw, dict):
        yield from _walk_map(pair, schema, path, meter)


def _walk_list(pair: _ValuePair, schema: JSONObject, path: str, meter: Meter) -> Iterator[FieldError]:
    items = schema.get("items")
    if not isinstance(items, dict) or not has_rules(items) or not isinstance(pair.raw, list):
        return
    kept, before = pair.is_kept(schema), pair.raw_before
    earlier = before if isinstance(before, list) else []
    for number, item in enumerate(pair.raw):
        partner = find_partner(item, earlier, schema)
        at = next((i for i, one in enumerate(earlier) if one is partner), None) if partner is not ABSENT else None
        inner = _ValuePair(
            item,
            earlier[at] if at is not None else None,
            pair.value[number],
            pair.before[at] if at is not None else None,
            find_partner(item, pair.correlated, schema),
            kept,
        )
        yield from _walk(inner, items, f"{path}[{number}]", meter)


def _walk_map(pair: _ValuePair, schema: JSONObject, path: str, meter: Meter) -> Iterator[FieldError]:
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    kept = pair.is_kept(schema)
    for name, item in pair.raw.items():
        child = properties.get(name, additional)
        if not isinstance(child, dict) or not has_rules(child):
            continue
        key = (escape(name) or name) if name in properties else name
        before = find_child(pair.raw_before, name)
        inner = _ValuePair(
            item,
            None if before is ABSENT else before,
            pair.value[key],
            pair.before.get(key) if isinstance(pair.before, dict) else None,
            find_child(pair.correlated, name),
            kept,
        )
        at = f"{path}.{name}" if path else name
        yield from _walk(inner, child, at if name in properties else f"{path}[{name}]", meter)


@lru_cache(maxsize=2048)
def _uses_old(rule: str) -> bool:
    return "oldSelf" in names_in(parse(rule))


def _describe(rule: JSONObject) -> str:
    return str(rule.get("message") or rule.get("rule", "")).strip()


def _check(rule: JSONObject, pair: _ValuePair, schema: JSONObject, path: str, meter: Meter) -> FieldError | None:
    text, kind, at = rule.get("rule", ""), schema.get("type", ""), path or ROOT
    if not text.strip():
        return None
    try:
        is_transition = _uses_old(text)
    except NotReadableError as error:
        return invalid(at, kind, f"rule compile error: {error}")
    if is_transition and pair.before is None and not rule.get("optionalOldSelf"):
        return None
    scope = _scope(rule, pair)
    try:
        is_met = _spend(text, scope, meter)
    except CostError as error:
        after = f"no further validation rules will be run due to call cost exceeds limit for rule: {_describe(rule)}"
        raise _ExhaustedError(path, schema, f"'{error}': {after}") from None
    except NoOverloadError as error:
        detail = "call arguments did not match a supported operator, function or macro signature for rule"
        return invalid(at, kind, f"'{error}': {detail}: {_describe(rule)}")
    except CelError as error:
        return invalid(at, kind, f"{error} evaluating rule: {_describe(rule)}")
    if is_met is True:
        return None
    problem = _refuse(rule, pair, schema, path, _detail(rule, scope, meter))
    return replace(problem, is_warning=True) if not is_transition and pair.is_kept(schema) else problem


def _spend(text: str, scope: Mapping[str, Any], meter: Meter) -> Any:
    """Return the value of an expression; its cost counts for all rules."""
    own = Meter(min(CALL_LIMIT, max(meter.left, 0)))
    limit = own.left
    try:
        return evaluate(text, scope, own)
    finally:
        meter.left -= limit - max(own.left, 0)


def _scope(rule: JSONObject, pair: _ValuePair) -> dict[str, Any]:
    if rule.get("optionalOldSelf"):
        has_before = pair.before is not None
        return {"self": pair.value, "oldSelf": Optional(pair.before, has_before)}
    return {"self": pair.value, **({"oldSelf": pair.before} if pair.before is not None else {})}


def _detail(rule: JSONObject, scope: Mapping[str, Any], meter: Meter) -> str:
    """Return the message of a rule; a message that cannot be evaluated is left out."""
    plain = str(rule.get("message") or "").strip() or f"failed rule: {_describe(rule)}"
    if not rule.get("messageExpression"):
        return plain
    try:
        found = _spend(rule["messageExpression"], scope, meter)
    except CelError:
        return plain
    text = found.strip() if isinstance(found, str) else ""
    return text if text and "\n" not in text and len(text.encode()) <= 5 * 1024 else plain


def _refuse(rule: JSONObject, pair: _ValuePair, schema: JSONObject, path: str, detail: str) -> FieldError:
    field = re.sub(r"\['([^']*)'\]", r".\1", rule.get("fieldPath", "")).lstrip(".")
    at = ".".join(p for p in (path, field) if p) or ROOT
    has_value = schema.get("type") not in ("object", "array")
    match rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(at, detail)
        case "FieldValueRequired":
            return required(at, detail)
        case "FieldValueDuplicate" if has_value:
            return duplicate(at, pair.raw)
        case "FieldValueDuplicate":
            return FieldError(FieldErrorType.DUPLICATE, at, "Duplicate value")
        case _ if has_value:
            return invalid(at, pair.raw, detail)
        case _:
            return FieldError(FieldErrorType.INVALID, at, f"Invalid value: {detail}")


def _convert(value: Any, schema: Any, *, is_resource: bool = False) -> Any:
    """Return a value with the types of its schema."""
    if not isinstance(schema, Mapping) or schema.get("x-kubernetes-int-or-string"):
        return value
    if isinstance(value, list):
        items = [_convert(item, schema.get("items")) for item in value]
        kind = schema.get("x-kubernetes-list-type")
        keys = tuple(escape(k) or k for k in schema.get("x-kubernetes-list-map-keys") or ())
        return Entries(items, keys) if kind in ("set", "map") else items
    if isinstance(value, dict):
        return _convert_map(
            value, schema, is_resource=is_resource or bool(schema.get("x-kubernetes-embedded-resource"))
        )
    if isinstance(value, str):
        return _convert_text(value, schema.get("format", ""))
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, float) and schema.get("type") == "integer" and value.is_integer():
        return int(value)
    return float(value) if schema.get("type") == "number" and is_whole else value


def _convert_map(value: JSONObject, schema: JSONObject, *, is_resource: bool) -> dict[str, Any]:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    if isinstance(additional, Mapping) and not properties:
        return {name: _convert(item, additional) for name, item in value.items()}
    found = Struct()
    for name, item in value.items():
        if name in (properties or {}):
            found[escape(name) or name] = _convert(item, (properties or {})[name])
    if is_resource:
        found |= {name: value[name] for name in ("apiVersion", "kind") if name in value}
        meta = value.get("metadata")
        if isinstance(meta, Mapping):
            shown = {n: meta[n] for n in ("name", "generateName") if n in meta}
            found["metadata"] = Struct({**shown, **(found.get("metadata") or {})})
    return found


def _convert_text(value: str, form: str) -> Any:
    found: Any = None
    if form == "duration":
        found = read_duration(value)
    elif form == "date-time":
        found = read_timestamp(value)
    elif form == "date":
        found = read_timestamp(f"{value}T00:00:00Z")
    return value if found is None else found
