"""Validate claims of devices, templates of claims, and classes of devices.

Rule: `pkg/apis/resource/validation` and `pkg/registry/resource/utils.go` of k8s.io/kubernetes v1.36.3; the sandbox
checks expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.parity.name_formats import (
    label_problems,
    label_value_problems,
    qualified_name_problems,
    subdomain_problems,
    validate_annotations,
    validate_labels,
)
from applyviz.kubernetes.parity.status import (
    FieldError,
    FieldErrorType,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from applyviz.kubernetes.v1_36.validation.volumes import validate_driver_name

_ONE_REQUEST = "exactly one of `exactly` or `firstAvailable` is required"
# What the server says when none of both is set.
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
_NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_NO_DOMAIN = "a fully qualified name must be a domain and a name separated by a slash"
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_NO_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    f"or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '{_IDENTIFIER}')"
)
_MODES = ("All", "ExactCount")
_OPERATORS = ("Equal", "Exists")
_EFFECTS = ("NoExecute", "NoSchedule", "None")
_MOST = {"requests": 32, "constraints": 32, "config": 32, "selectors": 32, "firstAvailable": 8, "tolerations": 16}
_LONGEST_ID = 32
ADMIN_LABEL = "resource.kubernetes.io/admin-access"
# Where a claim and a template of claims have their requests.
REQUESTS: Mapping[str, tuple[str, ...]] = {
    "resourceclaims": ("spec", "devices", "requests"),
    "resourceclaimtemplates": ("spec", "spec", "devices", "requests"),
}


def refuse_admin_access(plural: str, obj: JSONObject, namespace: JSONObject | None) -> Iterator[FieldError]:
    """Yield the request that sees devices of others, unless its namespace is marked for that; a new object asks."""
    requests = get_at(obj, REQUESTS[plural]) if plural in REQUESTS else None
    index = next((i for i, one in enumerate(requests or ()) if (one.get("exactly") or {}).get("adminAccess")), None)
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    if index is not None and labels.get(ADMIN_LABEL) != "true":
        detail = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
        yield forbidden(f"spec.devices.requests[{index}].adminAccess", detail)


def list_expressions(plural: str, obj: JSONObject) -> Iterator[tuple[str, str]]:
    """Yield the expressions of the selectors of a claim, of a template or of a class of devices, with their paths."""
    is_class = plural == "deviceclasses"
    lists = [("spec.selectors", get_at(obj, ("spec", "selectors")))] if is_class else []
    for i, request in enumerate(get_at(obj, REQUESTS[plural]) or () if plural in REQUESTS else ()):
        at = f"{'.'.join(REQUESTS[plural])}[{i}]"
        lists.append((f"{at}.exactly.selectors", get_at(request, ("exactly", "selectors"))))
        choices = enumerate(request.get("firstAvailable") or ())
        lists += [(f"{at}.firstAvailable[{j}].selectors", choice.get("selectors")) for j, choice in choices]
    for path, selectors in lists:
        for i, selector in enumerate(selectors or ()):
            if selector.get("cel") is not None:
                yield f"{path}[{i}].cel.expression", selector["cel"].get("expression") or ""


def _claim(obj: JSONObject) -> Iterator[FieldError]:
    yield from _validate_claim((obj.get("spec") or {}).get("devices") or {}, "spec.devices")


def _template(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    meta = spec.get("metadata") or {}
    yield from validate_annotations(meta.get("annotations"), "spec.metadata.annotations")
    yield from validate_labels(meta.get("labels"), "spec.metadata.labels")
    yield from _validate_claim((spec.get("spec") or {}).get("devices") or {}, "spec.spec.devices")


def _validate_claim(devices: JSONObject, path: str) -> Iterator[FieldError]:
    requests = devices.get("requests") or []
    known = {
        *(one.get("name") or "" for one in requests),
        *(f"{one.get('name')}/{sub.get('name')}" for one in requests for sub in one.get("firstAvailable") or ()),
    }
    for at, request in _enumerate(requests, f"{path}.requests", "name"):
        yield from request if isinstance(request, tuple) else _validate_request(request, at)
    for at, constraint in _enumerate(devices.get("constraints") or [], f"{path}.constraints"):
        yield from constraint if isinstance(constraint, tuple) else _validate_constraint(constraint, at, known)
    for at, config in _enumerate(devices.get("config") or [], f"{path}.config"):
        if isinstance(config, tuple):
            yield from config
        else:
            yield from chain(_validate_names(config, at, known), _validate_configuration(config, at))


def _enumerate(
    entries: Sequence[JSONObject], path: str, key: str = ""
) -> Iterator[tuple[str, JSONObject | tuple[FieldError, ...]]]:
    """Yield the entries with their paths, and the problems of the list: too many entries, or one key twice."""
    most = _MOST[path.rpartition(".")[2]]
    if len(entries) > most:
        detail = f"Too many: {len(entries)}: must have at most {most} items"
        yield path, (FieldError(FieldErrorType.TOO_MANY, path, detail),)
        return
    seen: set[str] = set()
    for i, entry in enumerate(entries):
        at, name = f"{path}[{i}]", entry.get(key, "") if key else ""
        yield at, entry
        if key and name in seen:
            yield at, (duplicate(at, name),)
        seen.add(name)


def _validate_request(request: JSONObject, path: str) -> Iterator[FieldError]:
    yield from _validate_name(request.get("name") or "", f"{path}.name", label_problems)
    exactly, choices = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not choices:
        yield required(path, _ONE_REQUEST)
    elif exactly is not None and choices:
        yield invalid(path, None, f"{_ONE_REQUEST}, but multiple fields are set")
    elif exactly is not None:
        yield from _validate_devices(exactly, f"{path}.exactly")
    for at, choice in _enumerate(choices or [] if exactly is None else [], f"{path}.firstAvailable", "name"):
        if isinstance(choice, tuple):
            yield from choice
        else:
            yield from _validate_name(choice.get("name") or "", f"{at}.name", label_problems)
            yield from _validate_devices(choice, at)


def _validate_name(name: str, path: str, find_problems: Callable[[str], list[str]]) -> Iterator[FieldError]:
    if not name:
        yield required(path)
    yield from (invalid(path, name, problem) for problem in (find_problems(name) if name else ()))


def _validate_devices(request: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of what devices are asked for, and how many."""
    yield from _validate_name(request.get("deviceClassName") or "", f"{path}.deviceClassName", subdomain_problems)
    yield from _validate_selectors(request.get("selectors") or [], f"{path}.selectors")
    mode, count = request.get("allocationMode", ""), request.get("count") or 0
    if mode not in _MODES:
        yield not_supported(f"{path}.allocationMode", mode, _MODES)
    elif mode == "All" and count:
        yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid(f"{path}.count", count, "must be greater than zero")
    for at, toleration in _enumerate(request.get("tolerations") or [], f"{path}.tolerations"):
        yield from toleration if isinstance(toleration, tuple) else _validate_toleration(toleration, at)


def _validate_selectors(selectors: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    for at, selector in _enumerate(selectors, path):
        if isinstance(selector, tuple):
            yield from selector
        elif selector.get("cel") is None:
            yield required(f"{at}.cel")


def _validate_toleration(toleration: JSONObject, path: str) -> Iterator[FieldError]:
    key, operator, value, effect = (toleration.get(n) or "" for n in ("key", "operator", "value", "effect"))
    yield from (invalid(f"{path}.key", key, problem) for problem in (qualified_name_problems(key) if key else ()))
    if not operator:
        yield required(f"{path}.operator")
    elif operator not in _OPERATORS:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    elif operator == "Exists" and value:
        yield invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from (invalid(f"{path}.value", value, problem) for problem in label_value_problems(value))
    if effect and effect not in _EFFECTS:
        yield not_supported(f"{path}.effect", effect, _EFFECTS)


def _validate_constraint(constraint: JSONObject, path: str, known: set[str]) -> Iterator[FieldError]:
    yield from _validate_names(constraint, path, known)
    named = next((n for n in ("matchAttribute", "distinctAttribute") if constraint.get(n) is not None), "")
    if named:
        yield from _validate_attribute(constraint[named], f"{path}.{named}")
    else:
        yield required(path, _ONE_ATTRIBUTE)


def _validate_names(owner: JSONObject, path: str, known: set[str]) -> Iterator[FieldError]:
    """Yield the problems of the names of requests for which a constraint or a configuration is meant."""
    names = owner.get("requests") or []
    for i, name in enumerate(names):
        at, steps = f"{path}.requests[{i}]", name.split("/")
        for step in steps if len(steps) <= 2 else ():
            yield from _validate_name(step, at, label_problems)
        if name not in known:
            yield invalid(at, name, _NO_REQUEST)
        if name in names[:i]:
            yield duplicate(at, name)


def _validate_attribute(name: str, path: str) -> Iterator[FieldError]:
    domain, slash, word = name.rpartition("/")
    if slash and not domain:
        yield invalid(path, "", "the domain must not be empty")
    elif slash:
        yield from validate_driver_name(domain, path)
    if slash and not word:
        yield invalid(path, "", "the name must not be empty")
    elif len(word) > _LONGEST_ID:
        yield too_long(path, _LONGEST_ID)
    if word and re.fullmatch(_IDENTIFIER, word) is None:
        yield invalid(path, word, _NO_IDENTIFIER)
    if not slash:
        yield invalid(path, name, _NO_DOMAIN)


def _validate_configuration(config: JSONObject, path: str) -> Iterator[FieldError]:
    opaque = config.get("opaque")
    if opaque is None:
        yield required(f"{path}.opaque")
        return
    yield from validate_driver_name(opaque.get("driver") or "", f"{path}.opaque.driver")
    parameters = opaque.get("parameters")
    if parameters is None:
        yield required(f"{path}.opaque.parameters")
    elif not isinstance(parameters, Mapping):
        yield invalid(f"{path}.opaque.parameters", "<value omitted>", "must be a valid JSON object")


def _class(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    yield from _validate_selectors(spec.get("selectors") or [], "spec.selectors")
    for at, config in _enumerate(spec.get("config") or [], "spec.config"):
        yield from config if isinstance(config, tuple) else _validate_configuration(config, at)
    name = spec.get("extendedResourceName")
    if name is not None and not _is_extended(name):
        yield invalid("spec.extendedResourceName", name, "must be a valid extended resource name")


def _is_extended(name: str) -> bool:
    """Return whether a resource is none of Kubernetes itself, and can be counted by a quota."""
    is_own = "/" not in name or "kubernetes.io/" in name or name.startswith("requests.")
    return not is_own and not qualified_name_problems(f"requests.{name}")


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "resourceclaims": _claim,
    "resourceclaimtemplates": _template,
    "deviceclasses": _class,
}
# The rules for a changed object that replace those for a new one: a claim is fixed, and only that is checked.
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"resourceclaims": lambda obj: iter(())}
