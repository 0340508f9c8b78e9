"""Validate updates of Pods: nearly all of a Pod is immutable.

Rule: ValidatePodUpdate in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.kubernetes.parity.equality import find_topology, is_equal
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid

_POD_UPDATE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_TERMS = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_KEPT_TOLERATION = "existing toleration can not be modified except its tolerationSeconds"


def validate_pod_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of an update of a Pod."""
    spec, before = obj["spec"], live["spec"]
    for name in ("containers", "initContainers"):
        if len(spec.get(name) or ()) != len(before.get(name) or ()):
            yield forbidden(f"spec.{name}", "pod updates may not add or remove containers")
            return
        for i, container in enumerate(spec.get(name) or ()):
            image = container.get("image", "")
            if image != image.strip():
                yield invalid(f"spec.{name}[{i}].image", image, "must not have leading or trailing whitespace")
    deadline, former = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if deadline is None and former is not None:
        yield invalid("spec.activeDeadlineSeconds", None, "must not update from a positive integer to nil value")
    elif deadline is not None and former is not None and former < deadline:
        yield invalid("spec.activeDeadlineSeconds", deadline, "must be less than or equal to previous value")
        return
    yield from _validate_tolerations(spec.get("tolerations") or [], before.get("tolerations") or [])
    known = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    added = {gate.get("name"): i for i, gate in enumerate(spec.get("schedulingGates") or ())}  # of two, the last one
    for name, i in added.items():
        if name not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden(f"spec.schedulingGates[{i}].name", detail)
    yield from _validate_scheduling(spec, before)
    at = find_topology("v1", "Pod", "spec")
    if not is_equal(_without_mutable(spec, before), _without_mutable(before, before), at):
        yield forbidden("spec", _POD_UPDATE)


def _validate_tolerations(now: list[JSONObject], before: list[JSONObject]) -> Iterator[FieldError]:
    kept = [_without_seconds(toleration) for toleration in now]
    if any(_without_seconds(toleration) not in kept for toleration in before):
        yield forbidden("spec.tolerations", _KEPT_TOLERATION)


def _without_seconds(toleration: JSONObject) -> JSONObject:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _without_mutable(spec: JSONObject, before: JSONObject) -> MutableObject:
    kept = {name: value for name, value in spec.items() if name not in _FREE}
    for name in ("containers", "initContainers"):
        if kept.get(name):
            kept[name] = [{k: v for k, v in c.items() if k != "image"} for c in kept[name]]
    seconds = "terminationGracePeriodSeconds"
    if before.get(seconds, 0) < 0 and kept.get(seconds) == 1:
        kept[seconds] = before[seconds]
    if before.get("schedulingGates"):
        kept.pop("nodeSelector", None)
        kept["affinity"] = _restore_node_affinity(spec.get("affinity"), before.get("affinity"))
    return kept


def _restore_node_affinity(now: JSONObject | None, before: JSONObject | None) -> JSONObject | None:
    """Return the affinity of a Pod with the node affinity that it had."""
    former = {"nodeAffinity": before["nodeAffinity"]} if before and "nodeAffinity" in before else {}
    others = {name: value for name, value in (now or {}).items() if name != "nodeAffinity"}
    if now is None or (before is None and not others and now):
        return former or None
    return {**others, **former}


def _validate_scheduling(spec: JSONObject, before: JSONObject) -> Iterator[FieldError]:
    """Yield what a Pod that waits for its gates may not change: it may only be kept off more nodes."""
    if not before.get("schedulingGates"):
        return
    selector = spec.get("nodeSelector")
    if not _is_extended(selector, before.get("nodeSelector")):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", selector, detail)
    terms, former = (get_at(one, _TERMS) or [] for one in (spec, before))
    path = ".".join(("spec", *_TERMS))
    if former and len(terms) != len(former):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(path, terms or None, detail)
        return
    for i, (term, old) in enumerate(zip(terms, former, strict=False)):
        if not _is_longer(term, old):
            yield invalid(f"{path}[{i}]", term, "only additions are allowed (no mutations or deletions)")


def _is_longer(term: JSONObject, old: JSONObject) -> bool:
    """Return whether a term only gets conditions after those that it has; one without any matches nothing and stays."""
    if not (old.get("matchExpressions") or old.get("matchFields")):
        return not (term.get("matchExpressions") or term.get("matchFields"))
    parts = (((old.get(name) or []), (term.get(name) or [])) for name in ("matchExpressions", "matchFields"))
    return all(now[: len(before)] == before for before, now in parts)


def _is_extended(now: JSONObject | None, before: JSONObject | None) -> bool:
    """Return whether a node selector only gets more entries, as that of a Pod that waits for its gates may."""
    return all((now or {}).get(name) == value for name, value in (before or {}).items())
