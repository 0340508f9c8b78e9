"""Derive the requests and limits of a Pod as the server does.

Rule: `SetDefaults_Pod` of k8s.io/kubernetes (requests default to limits) and KEP-2837 (resources of the whole Pod).
Only Pods themselves are defaulted, never templates.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from applyviz.engine.objects.values import MutableObject
from applyviz.kubernetes.parity.quantities import canonical_quantity, parse_quantity


def _value(text: Any) -> Decimal:
    parsed = parse_quantity(str(text))
    return parsed[0] if parsed else Decimal(0)


def _sum_requests(spec: MutableObject) -> dict[str, str]:
    totals: dict[str, list[str]] = {}
    for container in spec.get("containers") or ():
        for name, text in (container.get("resources", {}).get("requests") or {}).items():
            totals.setdefault(name, []).append(text)
    result = {}
    for name, texts in totals.items():
        if len(texts) == 1:
            result[name] = texts[0]
            continue
        is_binary = (parse_quantity(texts[0]) or (0, ""))[1] == "binary"
        total = sum((_value(t) for t in texts), Decimal(0))
        plain = canonical_quantity(f"{int(total) / 1024:.0f}Ki" if is_binary and total % 1024 == 0 else f"{total:f}")
        result[name] = plain or texts[0]
    return result


def default_pod_resources(spec: MutableObject) -> None:
    """Set default requests: of containers from their limits, of the Pod from the sums, then from its limits."""
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    whole = spec.get("resources")
    if whole and whole.get("limits"):
        sums = {k: v for k, v in _sum_requests(spec).items() if k in ("cpu", "memory")}
        whole["requests"] = {**whole["limits"], **sums, **(whole.get("requests") or {})}
