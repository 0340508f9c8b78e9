"""The manifest sets a replica count that an autoscaler writes too.

Rule: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/ (migrating Deployments to
autoscaling: leave `spec.replicas` out). The autoscaler is known by its object or by its writes through the
scale subresource.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.hazards.model import Hazard, HazardKind, Severity, Subject
from applyviz.engine.hazards.walking import metadata_of, position_of
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at

_SCALERS = ("HorizontalPodAutoscaler", "ScaledObject")


def _is_target(scaler: JSONObject, subject: Subject) -> bool:
    target = get_at(scaler, ("spec", "scaleTargetRef"))
    if not target or target.get("name") != subject.ref.name:
        return False
    kind = target.get("kind") or "Deployment"
    group = GroupVersionKind.from_api_version(target.get("apiVersion") or "", kind).group
    own = subject.ref.gvk
    if kind != own.kind or (target.get("apiVersion") and group != own.group):
        return False
    namespace = ObjectRef.from_object(scaler).namespace
    return not namespace or not subject.ref.namespace or namespace == subject.ref.namespace


def _scaler_by_object(subject: Subject) -> str:
    for kind in _SCALERS:
        for obj in subject.neighbours.of_kind(kind):
            if _is_target(obj, subject):
                return f"{kind} {ObjectRef.from_object(obj).name}"
    return ""


def _scaler_by_owner(subject: Subject) -> str:
    entries = metadata_of(subject.live).get("managedFields")
    for entry in entries if isinstance(entries, list) else ():
        is_scale = entry.get("subresource") == "scale" and entry.get("manager") != subject.field_manager
        if is_scale and get_at(entry, ("fieldsV1", "f:spec", "f:replicas")) is not None:
            return f"{entry.get('manager')} (scale)"
    return ""


def find(subject: Subject) -> Iterator[Hazard]:
    """`spec.replicas` in the manifest of an object that is scaled by somebody else."""
    wanted = get_at(subject.manifest, ("spec", "replicas"))
    if wanted is None:
        return
    scaler = _scaler_by_object(subject) or _scaler_by_owner(subject)
    if not scaler:
        return
    live = get_at(subject.live, ("spec", "replicas"))
    is_change = live is not None and live != get_at(subject.result, ("spec", "replicas"), live)
    facts = {"scaler": scaler, "wanted": str(wanted), "live": "" if live is None else str(live)}
    severity = Severity.DANGER if is_change else Severity.WARNING
    position = position_of(subject, ("spec", "replicas"))
    yield Hazard(HazardKind.AUTOSCALED_FIELD, severity, fields("spec", "replicas"), facts, position)
