"""Validate webhook configurations, admission policies and their bindings.

Rule: `pkg/apis/admissionregistration/validation` of k8s.io/kubernetes v1.36.3, without compiling expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import (
    label_1035_problems,
    qualified_name_problems,
    subdomain_problems,
)
from applyviz.kubernetes.parity.status import FieldError, duplicate, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.ports import PORT_RANGE
from applyviz.kubernetes.v1_36.validation.selectors import validate_selector

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_VERSIONS = ("v1", "v1beta1")
_ACTIONS = ("Audit", "Deny", "Warn")
_MATCH_POLICIES = ("Equivalent", "Exact")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_CHOICES = (
    ("failurePolicy", ("Fail", "Ignore")),
    ("matchPolicy", _MATCH_POLICIES),
    ("reinvocationPolicy", ("IfNeeded", "Never")),
)
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
_FORM = "; desired format: https://host[/path]"
_BOTH_ACTIONS = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def _configuration(obj: JSONObject) -> Iterator[FieldError]:
    names: set[str] = set()
    for i, hook in enumerate(obj.get("webhooks") or ()):
        path, name = f"webhooks[{i}]", hook.get("name", "")
        yield from _validate_hook(hook, path)
        yield from _validate_versions(hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")
        if name and name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)


def _validate_hook(hook: JSONObject, path: str) -> Iterator[FieldError]:
    yield from _validate_name(hook.get("name", ""), f"{path}.name")
    for i, rule in enumerate(hook.get("rules") or ()):
        yield from _validate_rule(rule, f"{path}.rules[{i}]")
    for name, allowed in _CHOICES:
        if hook.get(name) not in (*allowed, None):
            yield not_supported(f"{path}.{name}", hook[name], allowed)
    effects, seconds = hook.get("sideEffects"), hook.get("timeoutSeconds")
    if effects is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    elif effects not in _SIDE_EFFECTS:
        yield not_supported(f"{path}.sideEffects", effects, _SIDE_EFFECTS)
    if seconds is not None and not 1 <= seconds <= 30:
        yield invalid(f"{path}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    for name in ("namespaceSelector", "objectSelector"):
        yield from validate_selector(hook.get(name), f"{path}.{name}")
    yield from validate_client_config(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    yield from _validate_conditions(hook, f"{path}.matchConditions")


def _validate_name(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield required(path)
        return
    problems = subdomain_problems(name)
    yield from (invalid(path, name, problem) for problem in problems)
    if not problems and len(name.split(".")) < 3:
        yield invalid(path, name, "should be a domain with at least three segments separated by dots")


def _validate_rule(rule: JSONObject, path: str) -> Iterator[FieldError]:
    operations = rule.get("operations") or []
    yield from _validate_list(rule, "operations", "operations", path)
    for i, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield not_supported(f"{path}.operations[{i}]", operation, _OPERATIONS)
    yield from _validate_list(rule, "apiGroups", "API groups", path)
    yield from _validate_list(rule, "apiVersions", "API versions", path)
    yield from (required(f"{path}.apiVersions[{i}]") for i, v in enumerate(rule.get("apiVersions") or ()) if not v)
    yield from _validate_resources(rule.get("resources") or [], f"{path}.resources")
    if rule.get("scope") not in (*_SCOPES, None):
        yield not_supported(f"{path}.scope", rule["scope"], _SCOPES)


def _validate_list(rule: JSONObject, name: str, word: str, path: str) -> Iterator[FieldError]:
    values = rule.get(name) or []
    if not values:
        yield required(f"{path}.{name}")
    elif len(values) > 1 and "*" in values:
        yield invalid(f"{path}.{name}", values, f"if '*' is present, must not specify other {word}")


def _validate_resources(resources: list[str], path: str) -> Iterator[FieldError]:
    if not resources:
        yield required(path)
    whole: set[str] = set()
    every: set[str] = set()
    for i, resource in enumerate(resources):
        if not resource:
            yield required(f"{path}[{i}]")
        kind, slash, part = resource.partition("/")
        if not slash:
            continue
        if kind in whole:
            yield invalid(f"{path}[{i}]", resource, f"if '{kind}/*' is present, must not specify {resource}")
        if part in every:
            yield invalid(f"{path}[{i}]", resource, f"if '*/{part}' is present, must not specify {resource}")
        whole |= {kind} if part == "*" else set()
        every |= {part} if kind == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources")
    plain = [resource for resource in resources if resource and "/" not in resource]
    if "*" in plain and plain[-1] != "*":
        detail = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, resources, detail)


def _validate_versions(versions: list[str], path: str) -> Iterator[FieldError]:
    if not versions:
        yield required(path, f"must specify one of {', '.join(_VERSIONS)}")
        return
    for i, version in enumerate(versions):
        if version in versions[:i]:
            yield invalid(f"{path}[{i}]", version, "duplicate version")
            continue
        yield from (invalid(f"{path}[{i}]", version, problem) for problem in label_1035_problems(version))
    if not set(versions) & set(_VERSIONS):
        yield invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}")


def validate_client_config(config: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of how a webhook is called."""
    url, service = config.get("url"), config.get("service")
    if (url is None) is (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _validate_url(url, f"{path}.url")
    elif service is not None:
        yield from _validate_service(service, f"{path}.service")


def _validate_url(text: str, path: str) -> Iterator[FieldError]:
    broken = _BROKEN_ESCAPE.search(text)
    if broken:
        escape = broken[0]
        yield required(path, f'url must be a valid URL: parse "{text}": invalid URL escape "{escape}"{_FORM}')
        return
    url = urlsplit(text)
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    user, _, host = url.netloc.rpartition("@")
    if not host:
        yield invalid(path, host, f"host must be specified{_FORM}")
    if user:
        yield invalid(path, user, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid(path, url.query, "query parameters are not permitted in the URL")


def _validate_service(service: JSONObject, path: str) -> Iterator[FieldError]:
    # The server takes one for the other: a missing namespace is reported as the name, and the reverse.
    for name, other in (("name", "namespace"), ("namespace", "name")):
        if not service.get(other):
            yield required(f"{path}.{name}")
    port, text = service.get("port", 443), service.get("path") or ""
    if not 1 <= port <= 65535:
        yield invalid(f"{path}.port", port, f"port is not valid: {PORT_RANGE}")
    if text in ("", "/"):
        return
    if text == "//":
        yield invalid(f"{path}.path", text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid(f"{path}.path", text, "must start with a '/'")
    for i, step in enumerate(text[1:].removesuffix("/").split("/")):
        problems = subdomain_problems(step) if step else []
        if not step:
            yield invalid(f"{path}.path", text, f"segment[{i}] may not be empty")
        yield from (invalid(f"{path}.path", text, f"segment[{i}]: {problem}") for problem in problems)


def _validate_conditions(owner: JSONObject, path: str) -> Iterator[FieldError]:
    names: set[str] = set()
    for i, condition in enumerate(owner.get("matchConditions") or ()):
        name = condition.get("name", "")
        if not condition.get("expression", "").strip():
            yield required(f"{path}[{i}].expression")
        if not name:
            yield required(f"{path}[{i}].name")
            continue
        yield from (invalid(f"{path}[{i}].name", name, problem) for problem in qualified_name_problems(name))
        if name in names:
            yield duplicate(f"{path}[{i}].name", name)
        names.add(name)


def _policy(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    for i, variable in enumerate(spec.get("variables") or ()):
        for name in ("name", "expression"):
            if not variable.get(name, "").strip():
                yield required(f"spec.variables[{i}].{name}", f"{name} is not specified")
    yield from _validate_conditions(spec, "spec.matchConditions")
    yield from _match(spec.get("matchConstraints") or {}, "spec.matchConstraints")
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        detail = "validations or auditAnnotations must contain at least one item"
        yield from (required(f"spec.{name}", detail) for name in ("validations", "auditAnnotations"))
    for i, validation in enumerate(validations):
        yield from _validation(validation, f"spec.validations[{i}]")


def _validation(validation: JSONObject, path: str) -> Iterator[FieldError]:
    if not validation.get("expression", "").strip():
        yield required(f"{path}.expression", "expression is not specified")
    for name in ("messageExpression", "message"):
        text = validation.get(name) or ""
        if text and not text.strip():
            yield invalid(f"{path}.{name}", text, "must be non-empty if specified")
        elif name == "message" and "\n" in text.strip():
            yield invalid(f"{path}.{name}", text, "must not contain line breaks")
    reason = validation.get("reason")
    if reason not in (None, *_REASONS):
        yield not_supported(f"{path}.reason", reason, _REASONS)


def _match(resources: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of what a policy or a binding applies to; a policy that is not named is defaulted."""
    policy = resources.get("matchPolicy")
    if policy not in (None, *_MATCH_POLICIES):
        yield not_supported(f"{path}.matchPolicy", policy, _MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        yield from validate_selector(resources.get(name), f"{path}.{name}")


def _binding(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    actions, path = spec.get("validationActions") or [], "spec.validationActions"
    if not spec.get("policyName"):
        yield required("spec.policyName")
    yield from _match(spec.get("matchResources") or {}, "spec.matchResources")
    if not actions:
        yield required(path, "at least one validation action is required")
    for i, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(f"{path}[{i}]", action, _ACTIONS)
        if action in actions[:i]:
            yield duplicate(f"{path}[{i}]", action)
    if {"Deny", "Warn"} <= set(actions):
        yield invalid(path, actions, _BOTH_ACTIONS)


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "validatingwebhookconfigurations": _configuration,
    "mutatingwebhookconfigurations": _configuration,
    "validatingadmissionpolicies": _policy,
    "validatingadmissionpolicybindings": _binding,
}
