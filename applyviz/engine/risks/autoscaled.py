"""The manifest sets a replica count that an autoscaler writes too, or drops it so that the server resets it.

A count that falls because its sole owner dropped it is a risk with or without an autoscaler.

Rule: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/ (migrating Deployments to autoscaling)
and https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership: a sole owner that drops
`spec.replicas` resets it to its default. The autoscaler is found by its object, live or in the set, or by what its
controller wrote through the scale subresource; other writers of scale are people.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.risks.advice import Advice
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.owners import is_sole_owner, list_entries, owns_at
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import position_of
from applyviz.engine.schema.walk import MISSING

_SCALERS = ("HorizontalPodAutoscaler", "ScaledObject")
_CONTROLLERS = ("kube-controller-manager", "keda", "keda-operator")
_SPEC, _REPLICAS = ("spec", "replicas"), fields("spec", "replicas")

_ADVICE_OF_STEP = {
    "": Advice.REPLICAS_OMIT,
    "new": Advice.REPLICAS_OMIT_NEW,
    "hand over": Advice.REPLICAS_HAND_OVER,
    "forget": Advice.REPLICAS_FORGET,
}


# By whether an autoscaler scales the object, and whether the manifest sets the field to null.
_DROPPED = {
    (False, False): "The manifest no longer sets replicas: ",
    (False, True): "The manifest sets replicas to null: ",
    (True, False): "{scaler} scales this object, and the manifest no longer sets replicas: ",
    (True, True): "{scaler} scales this object, and the manifest sets replicas to null: ",
}


def _describe_reset(f: Facts) -> str:
    if f["reset"] == "unset":
        return "the field is removed."
    live, reset = read_digits(f["live"]), read_digits(f["reset"])
    is_more = live is not None and reset is not None and reset > live
    return "it rises from {live} to {reset}." if is_more else "it drops from {live} to {reset}."


def _describe_scaled(f: Facts) -> Templates:
    advice = _ADVICE_OF_STEP[f["step"]].value
    if "reset" in f:
        first = _DROPPED[bool(f["scaler"]), bool(f.get("is_null"))]
        keep = (Advice.REPLICAS_KEEP.value,) if f["step"] else ()  # the live count stays without the null
        return (first + _describe_reset(f), *keep, advice)
    live = ("It is {live} now.",) if f.get("live") else ()
    return ("{scaler} scales this object, but the manifest also sets replicas: {wanted}.", *live, advice)


AUTOSCALED_FIELD = RiskKind("autoscaled-field", "Replicas managed elsewhere", _describe_scaled, policy_order=190)


def _is_target(scaler: JSONObject, subject: RiskSubject) -> bool:
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


def _scaler_by_object(subject: RiskSubject) -> str:
    for kind in _SCALERS:
        for obj in subject.related.of_kind(kind):
            if _is_target(obj, subject):
                return f"{kind} {ObjectRef.from_object(obj).name}"
    return ""


def _scaler_by_owner(subject: RiskSubject) -> str:
    for entry in list_entries(subject.live):
        is_scale = entry.get("subresource") == "scale" and entry.get("manager") in _CONTROLLERS
        if is_scale and owns_at(entry, _REPLICAS):
            return "An autoscaler"
    return ""


def _names_replicas(obj: JSONObject | None) -> bool:
    """Return whether an object has the field, even as null."""
    return get_at(obj, _SPEC, MISSING) is not MISSING


def _find_step(subject: RiskSubject) -> str:
    """Return the step before the manifest can drop the field: how its value is kept, "" if no step is needed."""
    if get_at(subject.live, _SPEC) is None:
        return "new"
    if subject.is_server_side:
        return "hand over" if is_sole_owner(subject, _REPLICAS) else ""
    # A null in the annotation counts: kubectl clears what the annotation names and the manifest no longer does.
    return "forget" if _names_replicas(subject.last_applied) else ""


def _find_reset(subject: RiskSubject) -> str:
    """Return the count that a dropped field falls back to, "" if the live count stays."""
    live, result = get_at(subject.live, _SPEC), get_at(subject.result, _SPEC)
    if live is None or subject.result is None:
        return ""
    has_default = subject.ref.gvk.group in ("", "apps")
    after = result if result is not None else 1 if has_default else "unset"
    return "" if after == live else str(after)


def _is_workload(subject: RiskSubject) -> bool:
    """Return whether `replicas` counts pods, as the built-in kinds and every object with a pod template use it."""
    return subject.ref.gvk.group in ("", "apps") or get_at(subject.live, ("spec", "template", "spec")) is not None


@rule(210)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of `spec.replicas` on a scaled object: set by the manifest, or dropped by its sole owner."""
    if subject.manifest is None:
        return
    wanted = get_at(subject.manifest, _SPEC)
    reset = _find_reset(subject) if wanted is None else ""
    if wanted is None and not reset:
        return
    scaler = _scaler_by_object(subject) or _scaler_by_owner(subject)
    if not scaler and not (reset and _is_workload(subject)):
        return
    live = get_at(subject.live, _SPEC)
    step, facts = _find_step(subject), {"scaler": scaler, "live": "" if live is None else str(live)}
    if wanted is None:
        is_null = _names_replicas(subject.manifest)
        dropped = "hand over" if subject.is_server_side else "forget"  # a reset field has no other owner
        facts |= {"reset": reset, "is_null": "yes" if is_null else "", "step": step if is_null else dropped}
    else:
        facts |= {"wanted": str(wanted), "step": step}
    level = RiskLevel.MEDIUM if wanted is not None else RiskLevel.HIGH
    yield AUTOSCALED_FIELD.at(_REPLICAS, facts, position_of(subject, _SPEC), level=level)
