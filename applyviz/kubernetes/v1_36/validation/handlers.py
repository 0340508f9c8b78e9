"""Validate probes and lifecycle hooks of a container.

Rule: validateProbe, validateHandler and validateLifecycle in `pkg/apis/core/validation` of k8s.io/kubernetes
v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.status import NOT_NEGATIVE, FieldError, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.ports import PORT_RANGE, port_name_problems

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SECONDS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HEADER = re.compile(r"[-A-Za-z0-9]+\Z")
_NO_HEADER = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)


def validate_handlers(container: JSONObject, path: str, grace: int | None) -> Iterator[FieldError]:
    """Yield the problems of the hooks and probes of a container; `grace` is the Pod's termination grace period."""
    lifecycle = container.get("lifecycle") or {}
    for hook in ("postStart", "preStop"):
        if lifecycle.get(hook) is not None:
            yield from _validate_handler(lifecycle[hook], f"{path}.lifecycle.{hook}", grace)
    for name in PROBES:
        if container.get(name) is not None:
            yield from _validate_probe(container[name], f"{path}.{name}", name, grace)


def _validate_probe(probe: JSONObject, path: str, name: str, grace: int | None) -> Iterator[FieldError]:
    yield from _validate_handler(probe, path, grace)
    for field in _SECONDS:
        value = probe.get(field)
        if isinstance(value, int) and value < 0:
            yield invalid(f"{path}.{field}", value, NOT_NEGATIVE)
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0")
    if name == "readinessProbe":
        if seconds is not None:
            yield invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must not be set for readinessProbes")
    elif probe.get("successThreshold", 1) != 1:
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _validate_handler(handler: JSONObject, path: str, grace: int | None) -> Iterator[FieldError]:
    names = [name for name in _HANDLERS if handler.get(name) is not None]
    if not names:
        yield required(path, "must specify a handler type")
        return
    yield from _validate_action(names[0], handler[names[0]], f"{path}.{names[0]}", grace)
    for extra in names[1:]:
        yield forbidden(f"{path}.{extra}", "may not specify more than 1 handler type")


def _validate_action(name: str, action: JSONObject, path: str, grace: int | None) -> Iterator[FieldError]:
    if name == "exec":
        if not action.get("command"):
            yield required(f"{path}.command")
    elif name == "sleep":
        seconds = action.get("seconds", 0)
        if grace is not None and not 0 <= seconds <= grace:
            detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            yield invalid(path, seconds, detail)
    else:
        yield from _validate_target_port(action.get("port", 0), f"{path}.port")
    if name == "httpGet":
        if action.get("scheme") not in ("HTTP", "HTTPS", None):
            yield not_supported(f"{path}.scheme", action["scheme"], ("HTTP", "HTTPS"))
        for header in action.get("httpHeaders") or ():
            if not _HEADER.match(header.get("name", "")):
                yield invalid(f"{path}.httpHeaders", header.get("name", ""), _NO_HEADER)


def _validate_target_port(port: Any, path: str) -> Iterator[FieldError]:
    """Yield the problems of a port number or name."""
    if isinstance(port, int):
        if not 1 <= port <= 65535:
            yield invalid(path, port, PORT_RANGE)
        return
    for problem in port_name_problems(port):
        yield invalid(path, port, problem)
