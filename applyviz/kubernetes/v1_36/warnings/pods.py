"""Warnings about Pods and templates of Pods.

Rule: `pkg/api/pod/warnings.go` of k8s.io/kubernetes v1.36.3. A path ends with a dot, and is "" for a Pod itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.kubernetes.v1_36.warnings.common import (
    MOST_COMPARED,
    NODE_LABELS,
    warn_of_address,
    warn_of_bytes,
    warn_of_sources,
    warn_of_term,
)
from applyviz.kubernetes.v1_36.warnings.virtual_paths import warn_of_overlaps

_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_POD_SECCOMP, _CONTAINER_SECCOMP = (
    "seccomp.security.alpha.kubernetes.io/pod",
    "container.seccomp.security.alpha.kubernetes.io/",
)
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_BYTES = ("memory", "ephemeral-storage")
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_NO_SELECTOR = "a null labelSelector results in matching no pod"


def warn_of_pod(pod: JSONObject, path: str = "") -> Iterator[str]:
    """Yield the warnings about a Pod, or about a template at a path."""
    spec, annotations = pod.get("spec") or {}, get_at(pod, ("metadata", "annotations")) or {}
    yield from _warn_of_nodes(spec, f"{path}spec.")
    marked = f"{path}metadata.annotations"
    yield from (f"{marked}[{key}]: {text}" for key, text in _ANNOTATIONS.items() if key in annotations)
    yield from _warn_of_volumes(spec, f"{path}spec.")
    yield from _warn_of_entries(spec, f"{path}spec.")
    yield from warn_of_bytes(spec.get("overhead"), f"{path}spec.overhead", _BYTES)
    if _POD_SECCOMP in annotations and not get_at(spec, ("securityContext", "seccompProfile")):
        yield f"{marked}[{_POD_SECCOMP}]: {_SECCOMP}"
    containers = list(_list_containers(spec, f"{path}spec."))
    for at, container in containers:
        yield from _warn_of_profiles(container, annotations, spec, path)
        for key in ("limits", "requests"):
            for name in _BYTES:
                yield from warn_of_bytes(get_at(container, ("resources", key)), f"{at}.resources.{key}", (name,))
        yield from _warn_of_environment(container, at)
    yield from _warn_of_ports(containers)
    yield from _warn_of_port_names(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        seconds = f"{path}spec.terminationGracePeriodSeconds"
        yield f"{seconds}: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _warn_of_pod_affinity(spec, f"{path}spec.affinity.")
    yield from _warn_of_addresses(spec, f"{path}spec.")


def _list_containers(spec: JSONObject, path: str) -> Iterator[tuple[str, JSONObject]]:
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(key) or ()):
            yield f"{path}{key}[{position}]", container


def _warn_of_nodes(spec: JSONObject, path: str) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector") or ()):
        if key in NODE_LABELS:
            yield f"{path}nodeSelector[{key}]: {NODE_LABELS[key]}"
    affinity = get_at(spec, ("affinity", "nodeAffinity")) or {}
    at = f"{path}affinity.nodeAffinity"
    for position, term in enumerate(get_at(affinity, (_REQUIRED, "nodeSelectorTerms")) or ()):
        yield from warn_of_term(term, f"{at}.{_REQUIRED}.nodeSelectorTerms[{position}]")
    for position, term in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{at}.{_PREFERRED}[{position}].preference"
        yield from warn_of_term(term.get("preference") or {}, where)
    for position, spread in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{path}topologySpreadConstraints[{position}]", spread.get("topologyKey", "")
        if key in NODE_LABELS:
            yield f"{where}.topologyKey: {key} is {NODE_LABELS[key]}"
        if spread.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_SELECTOR}"


def _warn_of_volumes(spec: JSONObject, path: str) -> Iterator[str]:
    volumes = spec.get("volumes") or ()
    for position, volume in enumerate(volumes):
        at = f"{path}volumes[{position}]."
        if volume.get("gitRepo") is not None:
            yield f"{at}gitRepo: deprecated in v1.11, and disabled by default in v1.33+"
        yield from warn_of_sources(volume, at)
        claim = get_at(volume, ("ephemeral", "volumeClaimTemplate", "spec")) or {}
        yield from warn_of_claim(claim, f"{at}ephemeral.volumeClaimTemplate.spec")
    yield from warn_of_overlaps(volumes)


def warn_of_claim(spec: JSONObject, path: str) -> Iterator[str]:
    """Yield the warnings about the spec of a claim."""
    for key in ("requests", "limits"):
        yield from warn_of_bytes(get_at(spec, ("resources", key)), f"{path}.resources.{key}", ("storage",))


def _warn_of_entries(spec: JSONObject, path: str) -> Iterator[str]:
    for key, name in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for position, item in enumerate(spec.get(key) or ()):
            value = item.get(name, "")
            if value in seen:
                yield f'{path}{key}[{position}].{name}: duplicate {name} "{value}"'
            seen.add(value)
    for position, item in enumerate(spec.get("imagePullSecrets") or ()):
        if not item.get("name"):
            yield f'{path}imagePullSecrets[{position}].name: invalid empty name ""'


def _warn_of_profiles(container: JSONObject, annotations: JSONObject, spec: JSONObject, path: str) -> Iterator[str]:
    security, name = container.get("securityContext") or {}, container.get("name", "")
    at = f"{path}metadata.annotations"
    if f"{_CONTAINER_SECCOMP}{name}" in annotations and not security.get("seccompProfile"):
        yield f"{at}[{_CONTAINER_SECCOMP}{name}]: {_SECCOMP}"
    key = f"{_APPARMOR}{name}"
    if path and key in annotations and not security.get("appArmorProfile"):
        profile = get_at(spec, ("securityContext", "appArmorProfile"))
        if profile is None or profile != _read_profile(annotations[key]):
            yield f'{at}[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _read_profile(text: str) -> JSONObject | None:
    known: dict[str, JSONObject] = {
        "unconfined": {"type": "Unconfined"},
        "runtime/default": {"type": "RuntimeDefault"},
    }
    if text.startswith("localhost/") and text != "localhost/":
        return {"type": "Localhost", "localhostProfile": text.removeprefix("localhost/")}
    return known.get(text)


def _warn_of_environment(container: JSONObject, path: str) -> Iterator[str]:
    """Yield variables that hide an earlier one; using the earlier one in the value is fine."""
    seen: set[str] = set()
    for position, item in enumerate(container.get("env") or ()):
        name, value = item.get("name", ""), item.get("value") or ""
        reference = f"$({name})"
        is_extended = item.get("valueFrom") is None and reference in value and value != reference
        if name in seen and not is_extended:
            hides = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{path}.env[{position}]: {hides}"
        seen.add(name)


def _list_ports(containers: list[tuple[str, JSONObject]]) -> Iterator[tuple[str, JSONObject]]:
    for at, container in containers:
        for position, port in enumerate(container.get("ports") or ()):
            yield f"{at}.ports[{position}]", port


def _warn_of_ports(containers: list[tuple[str, JSONObject]]) -> Iterator[str]:
    seen: dict[str, list[tuple[str, JSONObject]]] = {}
    for at, port in _list_ports(containers):
        if port.get("hostIP") and not port.get("hostPort"):
            shown = f"Name:{port.get('name', '')} HostPort:0 ContainerPort:{port.get('containerPort', 0)}"
            shown = f"{shown} Protocol:{port.get('protocol', '')} HostIP:{port['hostIP']}"
            yield f"{at}: hostIP set without hostPort: {{{shown}}}"
        others = seen.setdefault(f"{port.get('containerPort')}/{port.get('protocol')}", [])
        for other_at, other in others:
            if word := _compare_ports(port, other):
                yield f"{at}: {word} port definition with {other_at}"
        if len(others) < MOST_COMPARED:
            others.append((at, port))


def _compare_ports(port: JSONObject, other: JSONObject) -> str:
    """Return what is wrong with two definitions of one container port; "" for nothing."""
    address, other_address = port.get("hostIP") or "", other.get("hostIP") or ""
    number, other_number = port.get("hostPort") or 0, other.get("hostPort") or 0
    if (address, number) == (other_address, other_number):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    return "dangerously ambiguous" if number == other_number and bool(address) != bool(other_address) else ""


def _warn_of_port_names(containers: list[tuple[str, JSONObject]]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for at, port in _list_ports(containers):
        name = port.get("name")
        if name and name in seen:
            other = seen[name]
            head = f'{at}: duplicate port name "{name}" with {other}'
            yield f"{head}, services and probes that select ports by name will use {other}"
        elif name:
            seen[name] = at


def _warn_of_pod_affinity(spec: JSONObject, path: str) -> Iterator[str]:
    for key in ("podAffinity", "podAntiAffinity"):
        affinity = get_at(spec, ("affinity", key)) or {}
        for position, term in enumerate(affinity.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}{key}.{_REQUIRED}[{position}].labelSelector: {_NO_SELECTOR}"
        for position, term in enumerate(affinity.get(_PREFERRED) or ()):
            if get_at(term, ("podAffinityTerm", "labelSelector")) is None:
                yield f"{path}{key}.{_PREFERRED}[{position}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"


def _warn_of_addresses(spec: JSONObject, path: str) -> Iterator[str]:
    for position, address in enumerate(get_at(spec, ("dnsConfig", "nameservers")) or ()):
        yield from warn_of_address(address, f"{path}dnsConfig.nameservers[{position}]")
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        yield from warn_of_address(alias.get("ip", ""), f"{path}hostAliases[{position}].ip")
