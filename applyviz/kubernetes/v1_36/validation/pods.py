"""Validate the spec of a Pod, of a Pod itself or of a template.

Rule: ValidatePodSpec in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import (
    label_problems,
    subdomain_problems,
    underscored_subdomain_problems,
    validate_labels,
)
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required, too_long
from applyviz.kubernetes.v1_36.validation.addresses import validate_address
from applyviz.kubernetes.v1_36.validation.affinity import validate_affinity
from applyviz.kubernetes.v1_36.validation.containers import validate_containers, validate_resources
from applyviz.kubernetes.v1_36.validation.environment import validate_file_references
from applyviz.kubernetes.v1_36.validation.pod_resources import validate_pod_claims, validate_pod_resources
from applyviz.kubernetes.v1_36.validation.scheduling import validate_scheduling
from applyviz.kubernetes.v1_36.validation.security import validate_host_users, validate_pod_security
from applyviz.kubernetes.v1_36.validation.volumes import validate_volumes
from applyviz.kubernetes.v1_36.validation.windows import validate_system

PREEMPTION = ("PreemptLowerPriority", "Never")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_LARGEST = 2147483647
_NAMES = (
    ("serviceAccountName", subdomain_problems),
    ("nodeName", subdomain_problems),
    ("hostname", label_problems),
    ("subdomain", label_problems),
    ("priorityClassName", subdomain_problems),
    ("runtimeClassName", subdomain_problems),
)
_MOST_NAMESERVERS = 3
_MOST_SEARCHES, _LONGEST_SEARCHES = 32, 2048
_LONGEST_NAME = 64
_HOST_PORT = "must match `containerPort` when `hostNetwork` is true"


def validate_pod_spec(spec: JSONObject, path: str, *, is_pod: bool = False) -> Iterator[FieldError]:
    """Yield the problems of a Pod's spec; `is_pod` is false for a template."""
    yield from validate_volumes(spec.get("volumes") or (), f"{path}.volumes")
    yield from validate_pod_claims(spec, path)
    yield from validate_containers(spec, path)
    yield from validate_pod_resources(spec, path)
    yield from _validate_host_network(spec, path, is_pod=is_pod)
    for name, allowed in (("restartPolicy", _RESTART_POLICIES), ("dnsPolicy", _DNS_POLICIES)):
        if spec.get(name) not in (*allowed, None):
            yield not_supported(f"{path}.{name}", spec[name], allowed)
    yield from validate_labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    yield from validate_pod_security(spec, path)
    yield from validate_affinity(spec.get("affinity") or {}, f"{path}.affinity")
    yield from _validate_dns(spec, f"{path}.dnsConfig")
    yield from validate_host_users(spec, path)
    yield from validate_scheduling(spec, path)
    yield from validate_system(spec, path)
    yield from _validate_host_name(spec, path)
    yield from validate_file_references(spec, path)
    for name, find_problems in _NAMES:
        problems = find_problems(spec[name]) if spec.get(name) else []
        yield from (invalid(f"{path}.{name}", spec[name], problem) for problem in problems)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LARGEST:
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, f"must be between 1 and {_LARGEST}, inclusive")
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        yield from _validate_alias(alias, f"{path}.hostAliases[{i}]")
    if spec.get("preemptionPolicy") not in (*PREEMPTION, None):
        yield not_supported(f"{path}.preemptionPolicy", spec["preemptionPolicy"], PREEMPTION)
    if spec.get("overhead"):
        yield from validate_resources({"limits": spec["overhead"]}, f"{path}.overhead", set())


def _validate_host_network(spec: JSONObject, path: str, *, is_pod: bool) -> Iterator[FieldError]:
    if not spec.get("hostNetwork"):
        return
    for i, container in enumerate(spec.get("containers") or ()):
        for j, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort", 0)
            if (is_pod or host) and host != port.get("containerPort", 0):
                yield invalid(f"{path}.containers[{i}].ports[{j}].hostPort", host, _HOST_PORT)


def _validate_host_name(spec: JSONObject, path: str) -> Iterator[FieldError]:
    name, at = spec.get("hostnameOverride"), f"{path}.hostnameOverride"
    if name is None:
        return
    for other in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(other):
            yield forbidden(at, f"may not be specified when {other} is true")
    if len(name) > _LONGEST_NAME:
        yield too_long(at, _LONGEST_NAME)
    yield from (invalid(at, name, problem) for problem in subdomain_problems(name))


def _validate_dns(spec: JSONObject, path: str) -> Iterator[FieldError]:
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None" and not servers:
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        else:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", detail)
        return
    if len(servers) > _MOST_NAMESERVERS:
        yield invalid(f"{path}.nameservers", servers, f"must not have more than {_MOST_NAMESERVERS} nameservers")
    for i, server in enumerate(servers):
        yield from validate_address(server, f"{path}.nameservers[{i}]")
    yield from _validate_searches((config or {}).get("searches") or [], f"{path}.searches")
    for i, option in enumerate((config or {}).get("options") or ()):
        if not option.get("name"):
            yield required(f"{path}.options[{i}]", "must not be empty")


def _validate_searches(searches: list[str], path: str) -> Iterator[FieldError]:
    if len(searches) > _MOST_SEARCHES:
        yield invalid(path, searches, f"must not have more than {_MOST_SEARCHES} search paths")
    if len(" ".join(searches)) > _LONGEST_SEARCHES:
        detail = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        yield invalid(path, searches, detail)
    for i, search in enumerate(searches):
        name = search.removesuffix(".")
        problems = underscored_subdomain_problems(name) if search != "." else []
        yield from (invalid(f"{path}[{i}]", name, problem) for problem in problems)


def _validate_alias(alias: JSONObject, path: str) -> Iterator[FieldError]:
    yield from validate_address(alias.get("ip", ""), f"{path}.ip")
    for i, name in enumerate(alias.get("hostnames") or ()):
        yield from (invalid(f"{path}.hostnames[{i}]", name, problem) for problem in subdomain_problems(name))
