"""Validate ports of containers, by number and by name.

Rule: validateContainerPorts in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.status import FieldError, duplicate, invalid, not_supported, required

PORT_RANGE = "must be between 1 and 65535, inclusive"
PROTOCOLS = ("SCTP", "TCP", "UDP")


def port_name_problems(name: str) -> list[str]:
    """Return why a text is not a port name (IANA service name)."""
    problems = []
    if len(name) > 15:
        problems.append("must be no more than 15 characters")
    if not re.search(r"\A[-a-z0-9]+\Z", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def validate_ports(ports: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    """Yield the problems of the ports of a container."""
    names: set[str] = set()
    for i, port in enumerate(ports):
        at, name, number = f"{path}[{i}]", port.get("name", ""), port.get("containerPort", 0)
        problems = port_name_problems(name) if name else []
        yield from (invalid(f"{at}.name", name, problem) for problem in problems)
        if name and not problems:
            if name in names:
                yield duplicate(f"{at}.name", name)
            names.add(name)
        if not number:
            yield required(f"{at}.containerPort")
        elif not 1 <= number <= 65535:
            yield invalid(f"{at}.containerPort", number, PORT_RANGE)
        host = port.get("hostPort", 0)
        if host and not 1 <= host <= 65535:
            yield invalid(f"{at}.hostPort", host, PORT_RANGE)
        if port.get("protocol") not in PROTOCOLS:
            yield not_supported(f"{at}.protocol", port.get("protocol", ""), PROTOCOLS)


def validate_host_ports(containers: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    """Yield the ports of a host that are taken twice."""
    taken: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            mark = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if mark in taken:
                yield duplicate(f"{path}[{i}].ports[{j}].hostPort", mark)
            taken.add(mark)
