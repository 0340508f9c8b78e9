"""Validate the contents of a Pod: containers, ports, variables, volumes, probes, resources.

Rule: `ValidatePodSpec` in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import label_problems, qualified_name_problems, subdomain_problems
from applyviz.kubernetes.parity.quantities import parse_quantity
from applyviz.kubernetes.parity.status import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found_value,
    not_supported,
    required,
)
from applyviz.kubernetes.v1_36.validation.scheduling import validate_scheduling

_FIELD_PATHS = frozenset(
    {
        "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
        "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
    }
)  # fmt: skip
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['[^']+'\]\Z")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PORT_RANGE = "must be between 1 and 65535, inclusive"
_PORT_NAME = re.compile(r"(?=.{1,15}\Z)(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
# In the order of the server: the second one present is named.
_VOLUME_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "flocker", "downwardAPI", "fc", "flexVolume",
    "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos",
    "scaleIO", "projected", "ephemeral", "csi", "image",
)  # fmt: skip
_SOURCE_NAMES = {"configMap": "name", "secret": "secretName", "persistentVolumeClaim": "claimName", "hostPath": "path"}
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_FILES = ("secret", "configMap", "downwardAPI")


def port_name_problems(name: str) -> list[str]:
    """Return why a text is not a port name (IANA service name)."""
    if _PORT_NAME.match(name):
        return []
    problems = []
    if len(name) > 15:
        problems.append("must be no more than 15 characters")
    if not re.search(r"^[-a-z0-9]+$", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def validate_pod_spec(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a Pod's spec, of a Pod or of a template."""
    names: set[str] = set()
    yield from _validate_volumes(spec.get("volumes") or (), f"{path}.volumes", names)
    containers = spec.get("containers") or []
    if not containers:
        yield required(f"{path}.containers")
    seen: set[str] = set()
    for i, container in enumerate(containers):
        yield from _validate_container(container, f"{path}.containers[{i}]", names, seen)
    for i, container in enumerate(spec.get("initContainers") or ()):
        at = f"{path}.initContainers[{i}]"
        yield from _validate_container(container, at, names, seen)
        for probe in _PROBES:
            if container.get(probe) is not None and container.get("restartPolicy") != "Always":
                yield forbidden(f"{at}.{probe}", "may not be set for init containers without restartPolicy=Always")
    if spec.get("restartPolicy") not in ("Always", "OnFailure", "Never", None):
        yield not_supported(f"{path}.restartPolicy", spec["restartPolicy"], ("Always", "OnFailure", "Never"))
    if spec.get("dnsPolicy") not in ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", None):
        allowed = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
        yield not_supported(f"{path}.dnsPolicy", spec["dnsPolicy"], allowed)
    yield from validate_scheduling(spec, path)
    account = spec.get("serviceAccountName")
    for problem in subdomain_problems(account) if account else ():
        yield invalid(f"{path}.serviceAccountName", account, problem)


def _validate_volumes(volumes: Sequence[JSONObject], path: str, names: set[str]) -> Iterator[FieldError]:
    """Yield the problems of all volumes, and add the names of the valid ones: a container can mount no other."""
    for i, volume in enumerate(volumes):
        problems = list(_validate_volume(volume, f"{path}[{i}]", names))
        yield from problems
        if not problems:
            names.add(volume["name"])


def _validate_modes(volume: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of the file modes of a volume: of its sources, and of their items."""
    for name in (*_FILES, "projected"):
        source = volume.get(name)
        if source is None:
            continue
        yield from _validate_mode(source, "defaultMode", f"{path}.{name}")
        parts = [(source, f"{path}.{name}")]
        for i, part in enumerate(source.get("sources") or () if name == "projected" else ()):
            parts += [(part[one], f"{path}.{name}.sources[{i}].{one}") for one in _FILES if part.get(one) is not None]
        for part, at in parts:
            for i, item in enumerate(part.get("items") or ()):
                yield from _validate_mode(item, "mode", f"{at}.items[{i}]")


def _validate_mode(owner: JSONObject, name: str, path: str) -> Iterator[FieldError]:
    mode = owner.get(name)
    if isinstance(mode, int) and not 0 <= mode <= 0o777:
        yield invalid(f"{path}.{name}", mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _validate_volume(volume: JSONObject, path: str, others: set[str]) -> Iterator[FieldError]:
    """Yield the problems of a volume; `others` are the names of the valid ones before it."""
    name = volume.get("name", "")
    sources = [k for k in _VOLUME_SOURCES if volume.get(k) is not None]
    for extra in sources[1:]:
        yield forbidden(f"{path}.{extra}", "may not specify more than 1 volume type")
    for source, field in _SOURCE_NAMES.items():
        if volume.get(source) is not None and not volume[source].get(field):
            yield required(f"{path}.{source}.{field}")
    yield from _validate_modes(volume, path)
    if not name:
        yield required(f"{path}.name")
        return
    for problem in label_problems(name):
        yield invalid(f"{path}.name", name, problem)
    if name in others:
        yield duplicate(f"{path}.name", name)


def _validate_container(container: JSONObject, path: str, volumes: set[str], seen: set[str]) -> Iterator[FieldError]:
    name = container.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        for problem in label_problems(name):
            yield invalid(f"{path}.name", name, problem)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
    image = container.get("image", "")
    if not image:
        yield required(f"{path}.image")
    yield from _validate_ports(container.get("ports") or (), f"{path}.ports")
    yield from _validate_env(container.get("env") or (), f"{path}.env")
    yield from _validate_mounts(container.get("volumeMounts") or (), f"{path}.volumeMounts", volumes)
    if container.get("imagePullPolicy") not in (*_PULL_POLICIES, None):
        yield not_supported(f"{path}.imagePullPolicy", container["imagePullPolicy"], _PULL_POLICIES)
    yield from _validate_lifecycle(container.get("lifecycle") or {}, f"{path}.lifecycle")
    for probe in _PROBES:
        if container.get(probe) is not None:
            yield from _validate_probe(container[probe], f"{path}.{probe}", probe)
    yield from _validate_resources(container.get("resources") or {}, f"{path}.resources")


def _validate_ports(ports: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    names: set[str] = set()
    for i, port in enumerate(ports):
        at, name, number = f"{path}[{i}]", port.get("name", ""), port.get("containerPort", 0)
        if name:
            for problem in port_name_problems(name):
                yield invalid(f"{at}.name", name, problem)
            if name in names:
                yield duplicate(f"{at}.name", name)
            names.add(name)
        if not number:
            yield required(f"{at}.containerPort")
        elif not 1 <= number <= 65535:
            yield invalid(f"{at}.containerPort", number, _PORT_RANGE)
        host = port.get("hostPort", 0)
        if host and not 1 <= host <= 65535:
            yield invalid(f"{at}.hostPort", host, _PORT_RANGE)
        if port.get("protocol") not in _PROTOCOLS:
            yield not_supported(f"{at}.protocol", port.get("protocol", ""), _PROTOCOLS)


def _validate_env(env: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    for i, item in enumerate(env):
        if not item.get("name"):
            yield required(f"{path}[{i}].name")
        source = item.get("valueFrom")
        if source is None:
            continue
        if not source:
            yield invalid(
                f"{path}[{i}].valueFrom",
                "",
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
                "`fileKeyRef`",
            )
        elif item.get("value"):
            yield invalid(f"{path}[{i}].valueFrom", "", "may not be specified when `value` is not empty")
        yield from _validate_field_path(source.get("fieldRef") or {}, f"{path}[{i}].valueFrom.fieldRef.fieldPath")
        for name in ("configMapKeyRef", "secretKeyRef"):
            if source.get(name) is None:
                continue
            for problem in subdomain_problems(source[name].get("name", "")):
                yield invalid(f"{path}[{i}].valueFrom.{name}.name", source[name].get("name", ""), problem)
            if not source[name].get("key"):
                yield required(f"{path}[{i}].valueFrom.{name}.key")


def _validate_field_path(reference: JSONObject, path: str) -> Iterator[FieldError]:
    text = reference.get("fieldPath")
    if text is None or text in _FIELD_PATHS or _SUBSCRIPT.match(text):
        return
    if not text:
        yield required(path)
        return
    detail = f"error converting fieldPath: field label not supported: {text}"
    yield invalid(path, text, detail)


def _validate_mounts(mounts: Sequence[JSONObject], path: str, volumes: set[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, mount in enumerate(mounts):
        at, name, where = f"{path}[{i}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{at}.name")
        elif name not in volumes:
            yield not_found_value(f"{at}.name", name)
        if not where:
            yield required(f"{at}.mountPath")
        if where in seen:
            yield invalid(f"{at}.mountPath", where, "must be unique")
        seen.add(where)
        if mount.get("subPath") and mount.get("subPathExpr"):
            yield invalid(f"{at}.subPathExpr", mount["subPathExpr"], "subPathExpr and subPath are mutually exclusive")


def _validate_lifecycle(hooks: JSONObject, path: str) -> Iterator[FieldError]:
    for hook, handler in hooks.items():
        handlers = [h for h in _HANDLERS if isinstance(handler, dict) and handler.get(h) is not None]
        if isinstance(handler, dict) and not handlers:
            yield required(f"{path}.{hook}", "must specify a handler type")
        for extra in handlers[1:]:
            yield forbidden(f"{path}.{hook}.{extra}", "may not specify more than 1 handler type")


def _validate_probe(probe: JSONObject, path: str, name: str) -> Iterator[FieldError]:
    handlers = [h for h in _HANDLERS if probe.get(h) is not None]
    if not handlers:
        yield required(path, "must specify a handler type")
    for extra in handlers[1:]:
        yield forbidden(f"{path}.{extra}", "may not specify more than 1 handler type")
    for handler in ("httpGet", "tcpSocket"):
        if probe.get(handler) is not None:
            yield from _validate_target_port(probe[handler].get("port", 0), f"{path}.{handler}.port")
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        value = probe.get(field)
        if isinstance(value, int) and value < 0:
            yield invalid(f"{path}.{field}", value, "must be greater than or equal to 0")
    if name != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _validate_target_port(port: Any, path: str) -> Iterator[FieldError]:
    """Yield the problems of a port number or name."""
    if isinstance(port, int):
        if not 1 <= port <= 65535:
            yield invalid(path, port, _PORT_RANGE)
        return
    for problem in port_name_problems(port):
        yield invalid(path, port, problem)


def _validate_resources(resources: JSONObject, path: str) -> Iterator[FieldError]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for word, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            parsed = parse_quantity(text)
            if parsed is not None and parsed[0] < 0:
                yield invalid(f"{path}.{word}[{name}]", text, "must be greater than or equal to 0")
            if "/" not in name and not _is_standard_resource(name):
                yield invalid(f"{path}.{word}[{name}]", name, "must be a standard resource type or fully qualified")
                yield invalid(f"{path}.{word}[{name}]", name, "must be a standard resource for containers")
            else:
                for problem in qualified_name_problems(name):
                    yield invalid(f"{path}.{word}[{name}]", name, problem)
    if any(_is_extended(n) and n not in limits for n in requests):
        yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    for name, text in requests.items():
        wanted, most = parse_quantity(text), parse_quantity(limits.get(name, ""))
        if wanted is not None and most is not None and wanted[0] > most[0]:
            yield invalid(f"{path}.requests", text, f"must be less than or equal to {name} limit of {limits[name]}")


def _is_extended(name: str) -> bool:
    return "/" in name and not name.startswith("kubernetes.io/")


def _is_standard_resource(name: str) -> bool:
    return name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-")
