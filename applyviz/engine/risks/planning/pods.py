"""Pods beside a change: old values, evictions, quotas; found in `applyviz/engine/planning`."""

from __future__ import annotations

from applyviz.engine.risks.model import RiskKind, RiskLevel

STALE_PODS = RiskKind(
    "stale-pods",
    "Running pods keep old values",
    lambda f: (
        "{workloads} reads {keys} only when its pods start, and no restart is planned: they keep the old values."
        if f["count"] == "1"
        else "{workloads} read {keys} only when their pods start, and no restart is planned: they keep the old values.",
    ),
)
NO_EVICTION = RiskKind(
    "no-eviction",
    "No eviction allowed",
    "{budget} then allows no eviction of the {pods} pods of {workloads}, so draining their nodes waits.",
)
UNREAD_KEY = RiskKind(
    "unread-key",
    "Changed key is not read",
    lambda f: (
        "{keys} changes, but no workload reads this key."
        if f["count"] == "1"
        else "{keys} change, but no workload reads these keys.",
    ),
    level=RiskLevel.INFO,
)
QUOTA_EXCEEDED = RiskKind(
    "quota",
    "Does not fit the quota",
    lambda f: (
        "ResourceQuota/{quota} limits {resource}, and a container sets none: its pods are not created."
        if f["fit"] == "unset"
        else "After apply, {namespace} needs {after} of {resource}, and ResourceQuota/{quota} allows {hard}: "
        "pods beyond it are not created.",
    ),
    level=RiskLevel.HIGH,
)
