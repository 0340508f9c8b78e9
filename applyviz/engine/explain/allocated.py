"""Explain a field that the manifest leaves empty and that the server fills in: its value is known after the write.

Rule: `pkg/registry` of k8s.io/kubernetes, `core/service` (addresses and ports), `batch/job` (a selector that contains
the uid) and `certificates` (who asks). Without the field in the manifest there is no row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from applyviz.engine.explain.reasons import FieldOperation, Reason, Stage
from applyviz.engine.explain.rows import Row
from applyviz.engine.explain.verdict import LeafExplanation
from applyviz.engine.explain.versions import ObjectVersions
from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.schema.walk import MISSING

_ALLOCATED = LeafExplanation(FieldOperation.ALLOCATED, Reason.ALLOCATED, stage=Stage.SERVER)
_SPEC = "f:spec"
_Need: TypeAlias = Callable[[JSONObject], bool]


def has_allocated(versions: ObjectVersions) -> bool:
    """Return whether the server fills in fields of this kind that no plan can know."""
    return versions.group_kind in _NEEDED


def judge_allocated(versions: ObjectVersions, path: FieldPath, row: Row) -> LeafExplanation | None:
    """Return that the server fills in a value that neither the manifest nor the plan has; None for any other leaf."""
    after, live, wanted, _, _, _, _, _ = row
    if wanted is MISSING or live is not MISSING or after is not MISSING or path[:1] != (_SPEC,):
        return None
    is_needed = _NEEDED[versions.group_kind].get(path[-1])
    if is_needed is None or not _is_hollow(wanted):
        return None
    return _ALLOCATED if is_needed(map_or_empty((versions.result or {}).get("spec"))) else None


def _is_hollow(value: JSONValue) -> bool:
    return not value or (isinstance(value, Mapping) and all(_is_hollow(below) for below in value.values()))


def _needs_address(spec: JSONObject) -> bool:
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def _needs_ports(spec: JSONObject) -> bool:
    is_balanced = spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort" or is_balanced


def _needs_check(spec: JSONObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _needs_selector(spec: JSONObject) -> bool:
    return spec.get("manualSelector") is not True


def _always(spec: JSONObject) -> bool:
    return True


_NEEDED: Mapping[tuple[str, str], Mapping[str, _Need]] = {
    ("", "Service"): {
        "f:clusterIP": _needs_address,
        "f:clusterIPs": _needs_address,
        "f:nodePort": _needs_ports,
        "f:healthCheckNodePort": _needs_check,
    },
    ("batch", "Job"): {"f:selector": _needs_selector},
    ("certificates.k8s.io", "CertificateSigningRequest"): {"f:username": _always, "f:groups": _always},
}
