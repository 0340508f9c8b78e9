"""Print an object as the struct that the server works with, which its errors quote.

The server converts each object to an internal type, which has no JSON names. Errors therefore print every field by its
name in Go, and null if it is unset. `internal_types.json.gz` of the bundled minor lists the structs of a pod
template. Rule: `pkg/apis/core/types.go` and `pkg/apis/core/v1/conversion.go` of k8s.io/kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.engine.schema.builtin import load_bundled
from applyviz.kubernetes.parity.field_order import order_as_served
from applyviz.kubernetes.parity.go_types import Code, go_types, zero_of

_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
"""Fields of a pod spec that are internally those of its security context."""


def print_pod_template(template: JSONObject) -> MutableObject:
    """Return a pod template as the server prints its struct."""
    return _print_struct(
        {**template, "spec": _move_host_fields(template.get("spec") or {})}, "apis/core.PodTemplateSpec"
    )


def print_pod_spec(spec: JSONObject) -> MutableObject:
    """Return the spec of a pod as the server prints its struct."""
    return _print_struct(_move_host_fields(spec), "apis/core.PodSpec")


@cache
def _structs() -> Mapping[str, Sequence[tuple[str, str, Code]]]:
    """Return the fields of each struct: the name in Go, the name in JSON, and the code of the type."""
    found: Mapping[str, Sequence[tuple[str, str, Code]]] = load_bundled("internal_types")
    return found


def _move_host_fields(spec: JSONObject) -> JSONObject:
    moved = {name: spec[name] for name in _HOST_FIELDS if name in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **moved}}


def _print_struct(value: JSONObject, name: str) -> MutableObject:
    printed: MutableObject = {}
    for go_name, json_name, code in _structs()[name]:
        if go_name:
            printed[go_name] = _print(value.get(json_name), code)
        else:  # metadata, whose own fields have names in JSON
            printed |= _print_served(value.get(json_name) or {}, code)
    return printed


def _print_served(value: JSONObject, code: str) -> MutableObject:
    return order_as_served(go_types().get_struct(code[1:]), value)


def _print(value: JSONValue, code: Code) -> JSONValue:
    if isinstance(code, list):
        return None if value is None else _print_several(value, *code)
    if code in _structs():
        return _print_struct(value if isinstance(value, Mapping) else {}, code)
    if code.startswith("="):
        return _print_served(value if isinstance(value, Mapping) else {}, code)
    found: JSONValue = zero_of(code) if value is None else value
    return found


def _print_several(value: JSONValue, mark: str, inner: Code) -> JSONValue:
    if isinstance(value, list) and mark == "[":
        return [_print(item, inner) for item in value]
    if isinstance(value, Mapping) and mark == "{":
        return {name: _print(value[name], inner) for name in sorted(value)}
    return _print(value, inner)
