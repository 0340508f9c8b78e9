"""Validate updates of Jobs: what may still change of their policies, their counts and their pod templates.

Rule: ValidateJobSpecUpdate and validatePodTemplateUpdate of k8s.io/kubernetes `pkg/apis/batch/validation`, with the
default feature gates of v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.equality import find_topology, is_equal
from applyviz.kubernetes.parity.internal_types import print_pod_spec, print_pod_template
from applyviz.kubernetes.parity.status import IMMUTABLE, FieldError, invalid, invalid_struct
from applyviz.kubernetes.v1_36.validation.jobs import validate_job_spec

_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_JOB = ("batch/v1", "Job", "spec")
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def validate_job_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of an update: most fields are immutable.

    - Those of the new spec are among them, although the server validates that before, too.
    """
    spec, before = obj["spec"], live["spec"]
    yield from validate_job_spec(spec)
    yield from _validate_completions(spec, before)
    yield from _fix("selector", spec, before)
    template, stored = spec["template"], before["template"]
    if not _is_template_mutable(live):
        if not is_equal(template, stored, find_topology(*_JOB, "template")):
            yield invalid_struct("spec.template", print_pod_template(template), IMMUTABLE)
    elif not is_equal(
        template["spec"],
        _with_mutable_fields(stored["spec"], template["spec"]),
        find_topology(*_JOB, "template", "spec"),
    ):
        yield invalid_struct("spec.template.spec", print_pod_spec(template["spec"]), IMMUTABLE)
    for name in _FIXED:  # in the order in which the server checks them
        if name not in _POLICIES:
            yield from _fix(name, spec, before)
        elif not is_equal(_without_empty(spec.get(name)), _without_empty(before.get(name)), find_topology(*_JOB, name)):
            yield invalid_struct(f"spec.{name}", _POLICIES[name](spec.get(name)), IMMUTABLE)


def _without_empty(policy: JSONObject | None) -> JSONObject | None:
    """Return the policy with null for no rules: to the server, an empty list is the same."""
    return None if policy is None else {**policy, "rules": policy.get("rules") or None}


def _as_success_policy(policy: JSONObject | None) -> JSONObject | None:
    """Return the policy as the Go struct that the server prints: every field, by its name in Go."""
    if policy is None:
        return None
    rules = policy.get("rules")
    return {"Rules": None if rules is None else [_as_success_rule(rule) for rule in rules]}


def _as_success_rule(rule: JSONObject) -> JSONObject:
    return {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}


def _as_failure_policy(policy: JSONObject | None) -> JSONObject | None:
    """Return the policy as the Go struct that the server prints: every field, by its name in Go."""
    if policy is None:
        return None
    rules = policy.get("rules")
    return {"Rules": None if rules is None else [_as_failure_rule(rule) for rule in rules]}


def _as_failure_rule(rule: JSONObject) -> JSONObject:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
    return {
        "Action": rule.get("action") or "",
        "OnExitCodes": None if codes is None else _as_exit_codes(codes),
        "OnPodConditions": None if conditions is None else [_as_condition(one) for one in conditions],
    }


def _as_exit_codes(codes: JSONObject) -> JSONObject:
    name, operator = codes.get("containerName"), codes.get("operator") or ""
    return {"ContainerName": name, "Operator": operator, "Values": codes.get("values")}


def _as_condition(condition: JSONObject) -> JSONObject:
    return {"Type": condition.get("type") or "", "Status": condition.get("status") or ""}


_POLICIES = {"podFailurePolicy": _as_failure_policy, "successPolicy": _as_success_policy}


def _fix(name: str, spec: JSONObject, before: JSONObject) -> Iterator[FieldError]:
    if not is_equal(spec.get(name), before.get(name), find_topology(*_JOB, name)):
        yield invalid(f"spec.{name}", spec.get(name), IMMUTABLE)


def _validate_completions(spec: JSONObject, before: JSONObject) -> Iterator[FieldError]:
    wanted = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        yield from _fix("completions", spec, before)
    elif wanted is not None and wanted not in (before.get("completions"), spec.get("parallelism")):
        yield invalid("spec.completions", wanted, "can only be modified in tandem with spec.parallelism")


def _is_template_mutable(live: JSONObject) -> bool:
    """Return whether a Job is suspended and has no running pods, so that parts of its template may change."""
    status = live.get("status") or {}
    conditions = {c.get("type"): c.get("status") for c in status.get("conditions") or ()}
    is_idle = not status.get("startTime") or conditions.get("Suspended") == "True"
    return bool(live["spec"].get("suspend")) and is_idle and not status.get("active")


def _with_mutable_fields(stored: JSONObject, spec: JSONObject) -> JSONObject:
    """Return the stored pod spec of a suspended Job with the fields of the new one that may change.

    - These are scheduling directives and the resources of containers.
    """
    kept = {name: value for name, value in stored.items() if name not in (*_SCHEDULING, "affinity")}
    kept |= {name: spec[name] for name in _SCHEDULING if name in spec}
    affinity = _with_node_affinity(stored.get("affinity"), spec.get("affinity"))
    if affinity is not None:
        kept["affinity"] = affinity
    for name in ("containers", "initContainers"):
        before, after = stored.get(name) or [], spec.get(name) or []
        if before and len(before) == len(after):
            kept[name] = [
                _with_resources(b, a) if a.get("name") == b.get("name") else b
                for b, a in zip(before, after, strict=True)
            ]
    return kept


def _with_node_affinity(stored: JSONObject | None, wanted: JSONObject | None) -> JSONObject | None:
    rest = {name: value for name, value in (stored or {}).items() if name != "nodeAffinity"}
    if wanted is None:
        return rest or None
    return {**rest, **({"nodeAffinity": wanted["nodeAffinity"]} if "nodeAffinity" in wanted else {})}


def _with_resources(stored: JSONObject, wanted: JSONObject) -> JSONObject:
    rest = {name: value for name, value in stored.items() if name != "resources"}
    return {**rest, **({"resources": wanted["resources"]} if "resources" in wanted else {})}
