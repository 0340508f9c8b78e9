"""Validate containers: name, image, ports, variables, mounts, resources, security.

Rule: validateContainerCommon and what it calls in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from applyviz.engine.objects.quantities import parse_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import label_problems, qualified_name_problems
from applyviz.kubernetes.parity.resources_math import has_fraction
from applyviz.kubernetes.parity.status import (
    NOT_NEGATIVE,
    FieldError,
    FieldErrorType,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from applyviz.kubernetes.v1_36.validation.environment import validate_environment
from applyviz.kubernetes.v1_36.validation.handlers import PROBES, validate_handlers
from applyviz.kubernetes.v1_36.validation.mounts import validate_mounts
from applyviz.kubernetes.v1_36.validation.ports import validate_host_ports, validate_ports
from applyviz.kubernetes.v1_36.validation.security import validate_container_security
from applyviz.kubernetes.v1_36.validation.volume_sources import PULL_POLICIES
from applyviz.kubernetes.v1_36.validation.volumes import find_valid_volumes

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESIZED = ("cpu", "memory")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_NOT_FOR_INIT = "may not be set for init containers without restartPolicy=Always"


def validate_containers(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of the containers and the init containers of a Pod's spec."""
    volumes, grace = find_valid_volumes(spec.get("volumes") or ()), spec.get("terminationGracePeriodSeconds")
    claims = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    containers = spec.get("containers") or ()
    if not containers:
        yield required(f"{path}.containers")
    names: set[str] = set()
    for i, container in enumerate(containers):
        at = f"{path}.containers[{i}]"
        yield from _validate_common(container, at, volumes, claims)
        if container.get("name", "") in names:
            yield duplicate(f"{at}.name", container.get("name", ""))
        names.add(container.get("name", ""))
        yield from validate_handlers(container, at, grace)
        yield from _validate_restart(container, at)
    yield from validate_host_ports(containers, f"{path}.containers")
    for i, container in enumerate(spec.get("initContainers") or ()):
        at = f"{path}.initContainers[{i}]"
        yield from _validate_common(container, at, volumes, claims)
        yield from _validate_restart(container, at)
        if container.get("name", "") in names:
            yield duplicate(f"{at}.name", container.get("name", ""))
        names |= {container["name"]} if container.get("name") else set()
        yield from validate_host_ports([container], f"{path}.initContainers")
        if container.get("restartPolicy") == "Always":
            yield from validate_handlers(container, at, grace)
        else:
            set_here = (n for n in ("lifecycle", *PROBES) if container.get(n) is not None)
            yield from (forbidden(f"{at}.{name}", _NOT_FOR_INIT) for name in set_here)


def _validate_common(
    container: JSONObject, path: str, volumes: Mapping[str, JSONObject], claims: set[str]
) -> Iterator[FieldError]:
    name = container.get("name", "")
    if not name:
        yield required(f"{path}.name")
    yield from (invalid(f"{path}.name", name, problem) for problem in (label_problems(name) if name else ()))
    if not container.get("image"):
        yield required(f"{path}.image")
    policy = container.get("terminationMessagePolicy")
    if policy not in (*_MESSAGE_POLICIES, None):
        yield not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    yield from validate_ports(container.get("ports") or (), f"{path}.ports")
    yield from validate_environment(container, path)
    yield from validate_mounts(container, path, volumes)
    if container.get("imagePullPolicy") not in (*PULL_POLICIES, None):
        yield not_supported(f"{path}.imagePullPolicy", container["imagePullPolicy"], PULL_POLICIES)
    yield from validate_resources(container.get("resources") or {}, f"{path}.resources", claims)
    yield from _validate_resize(container.get("resizePolicy") or (), f"{path}.resizePolicy")
    yield from validate_container_security(container.get("securityContext") or {}, f"{path}.securityContext")


def _validate_resize(policies: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            yield duplicate(f"{path}[{i}]", name)
        seen.add(name)
        for value, allowed in ((name, _RESIZED), (restart, _RESIZE_POLICIES)):
            if not value:
                yield required(path)
            elif value not in allowed:
                yield not_supported(path, value, allowed)


def _validate_restart(container: JSONObject, path: str) -> Iterator[FieldError]:
    policy = container.get("restartPolicy")
    if policy not in (*_RESTART_POLICIES, None):
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    if policy is None and container.get("restartPolicyRules"):
        yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")


def _validate_resource_name(name: str, path: str) -> Iterator[FieldError]:
    problems = qualified_name_problems(name)
    yield from (invalid(path, name, problem) for problem in problems)
    if "/" in name or _is_standard(name):
        return
    if not problems:
        yield invalid(path, name, "must be a standard resource type or fully qualified")
    yield invalid(path, name, "must be a standard resource for containers")


def validate_resources(
    resources: JSONObject,
    path: str,
    claims: set[str],
    validate_name: Callable[[str, str], Iterator[FieldError]] = _validate_resource_name,
) -> Iterator[FieldError]:
    """Yield the problems of requests and limits; `claims` are the names of the Pod's resource claims."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for word, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            yield from validate_name(name, f"{path}.{word}[{name}]")
            yield from _validate_amount(name, text, f"{path}.{word}[{name}]")
    for name, text in requests.items():
        if name not in limits:
            if not _is_overcommitted(name):
                yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
            continue
        wanted, most = parse_quantity(text), parse_quantity(limits[name])
        if wanted is None or most is None or wanted[0] == most[0]:
            continue
        if not _is_overcommitted(name):
            yield invalid(f"{path}.requests", text, f"must be equal to {name} limit of {limits[name]}")
        elif wanted[0] > most[0]:
            yield invalid(f"{path}.requests", text, f"must be less than or equal to {name} limit of {limits[name]}")
    if any(map(_is_huge, (*limits, *requests))) and not {"cpu", "memory"} & {*limits, *requests}:
        yield forbidden(path, "HugePages require cpu or memory")
    yield from _validate_claims(resources.get("claims") or (), f"{path}.claims", claims)


def _validate_amount(name: str, text: str, path: str) -> Iterator[FieldError]:
    parsed = parse_quantity(text)
    if parsed is not None and parsed[0] < 0:
        yield invalid(path, text, NOT_NEGATIVE)
    elif parsed is not None and "/" in name and has_fraction(text):
        yield invalid(path, text, "must be an integer")


def _validate_claims(claims: Sequence[JSONObject], path: str, known: set[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            yield required(f"{path}[{i}]")
            continue
        key = f"{name}/{request}" if request else name
        if name in seen or key in seen or (not request and any(one.startswith(f"{name}/") for one in seen)):
            yield duplicate(f"{path}[{i}]", name if name in seen else key)
        if request and name not in seen:
            problems = label_problems(request)
            yield from (invalid(f"{path}[{i}].request", request, problem) for problem in problems)
        seen.add(key)
        if name not in known:
            some = f": {', '.join(sorted(known))}" if known else " which is empty"
            detail = f'Not found: "{name}": must be one of the names in pod.spec.resourceClaims{some}'
            yield FieldError(FieldErrorType.NOT_FOUND, f"{path}[{i}]", detail)


def _is_overcommitted(name: str) -> bool:
    """Return whether requests may be lower than limits: not for extended resources, nor for huge pages."""
    return not _is_huge(name) and ("/" not in name or name.split("/")[0].endswith("kubernetes.io"))


def _is_huge(name: str) -> bool:
    return name.startswith("hugepages-")


def _is_standard(name: str) -> bool:
    return name in ("cpu", "memory", "ephemeral-storage") or _is_huge(name)
