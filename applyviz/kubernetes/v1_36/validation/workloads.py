"""Validation of workloads: Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, CronJobs, Pods.

Rule: `pkg/apis/apps/validation`, `pkg/apis/batch/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.kubernetes.parity.name_formats import (
    label_problems,
    subdomain_problems,
    validate_annotations,
    validate_labels,
)
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.claims import validate_claim_spec
from applyviz.kubernetes.v1_36.validation.job_updates import IMMUTABLE, validate_job_update
from applyviz.kubernetes.v1_36.validation.pods import validate_pod_spec

NOT_NEGATIVE = "must be greater than or equal to 0"
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_PERCENT = re.compile(r"[0-9]+%\Z")
_STATEFUL_SET_UPDATE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_SET_FREE = frozenset(
    {
        "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
    }
)  # fmt: skip
_POD_UPDATE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def cron_job_name_problems(name: str) -> list[str]:
    """Return the problems of a CronJob's name, which leaves room for the suffix of its Jobs."""
    return ["must be no more than 52 characters"] if len(name) > 52 else subdomain_problems(name)


def check_not_negative(spec: JSONObject, name: str, path: str) -> Iterator[FieldError]:
    """Yield the problem of an integer below zero."""
    value = spec.get(name)
    if isinstance(value, int) and value < 0:
        yield invalid(f"{path}.{name}", value, NOT_NEGATIVE)


def validate_selector(selector: JSONObject | None, path: str) -> Iterator[FieldError]:
    """Yield the problems of a label selector."""
    if selector is None:
        return
    yield from validate_labels(selector.get("matchLabels"), f"{path}.matchLabels")
    for i, expression in enumerate(selector.get("matchExpressions") or ()):
        at, operator = f"{path}.matchExpressions[{i}]", expression.get("operator", "")
        values = expression.get("values") or []
        if operator not in _OPERATORS:
            yield invalid(f"{at}.operator", operator, "not a valid selector operator")
        elif operator in ("In", "NotIn") and not values:
            yield required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist") and values:
            yield forbidden(f"{at}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


def selects(selector: JSONObject, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches labels."""
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(k) != v for k, v in wanted.items()):
        return False
    return all(_expression_holds(e, labels) for e in selector.get("matchExpressions") or ())


def _expression_holds(expression: JSONObject, labels: Mapping[str, str]) -> bool:
    key, operator, values = expression.get("key", ""), expression.get("operator"), expression.get("values") or ()
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    return (labels.get(key) in values) if operator == "In" else (labels.get(key) not in values)


def _validate_template(spec: JSONObject, path: str, word: str) -> Iterator[FieldError]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        yield required(f"{path}.selector")
    else:
        yield from validate_selector(selector, f"{path}.selector")
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            yield invalid(f"{path}.selector", selector, f"empty selector is invalid for {word}")
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector is None or (selector and not selects(selector, labels)):
        yield invalid(f"{path}.template.metadata.labels", labels or None, "`selector` does not match template `labels`")
    yield from validate_pod_template(template, f"{path}.template")


def validate_pod_template(template: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a Pod template."""
    meta = template.get("metadata") or {}
    yield from validate_labels(meta.get("labels"), f"{path}.labels")
    yield from validate_annotations(meta.get("annotations"), f"{path}.annotations")
    yield from validate_pod_spec(template.get("spec") or {}, f"{path}.spec")


def _check_restart(spec: JSONObject, path: str, allowed: tuple[str, ...]) -> Iterator[FieldError]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy is not None and policy not in allowed:
        yield not_supported(f"{path}.template.spec.restartPolicy", policy, allowed)
    if "activeDeadlineSeconds" in ((spec.get("template") or {}).get("spec") or {}):
        detail = "activeDeadlineSeconds in ReplicaSet is not Supported"
        yield forbidden(f"{path}.template.spec.activeDeadlineSeconds", detail)


def _is_zero(value: Any) -> bool:
    return value in (0, "0%", "0")


def check_int_or_percent(value: JSONValue, path: str) -> Iterator[FieldError]:
    """Yield the problems of a number or a percentage."""
    if isinstance(value, str) and not _PERCENT.match(value):
        yield invalid(
            path,
            value,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
            "used for validation is '[0-9]+%')",
        )
    elif isinstance(value, int) and value < 0:
        yield invalid(path, value, NOT_NEGATIVE)


def check_whole(value: JSONValue, path: str) -> Iterator[FieldError]:
    """Yield the problem of a percentage above 100."""
    if isinstance(value, str) and _PERCENT.match(value) and int(value[:-1]) > 100:
        yield invalid(path, value, "must not be greater than 100%")


def _deployment(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    yield from check_not_negative(spec, "replicas", "spec")
    yield from _validate_template(spec, "spec", "deployment")
    yield from _check_restart(spec, "spec", ("Always",))
    strategy = spec.get("strategy") or {}
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate" and rolling is not None:
        yield forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
    elif kind == "RollingUpdate":
        yield from _validate_rolling(rolling or {}, "spec.strategy.rollingUpdate")
    elif kind not in ("Recreate", "RollingUpdate"):
        # The server reports `spec.strategy` here, with its own struct as the value.
        yield not_supported("spec.strategy", {"Type": kind, "RollingUpdate": None}, ("Recreate", "RollingUpdate"))
    for name in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        yield from check_not_negative(spec, name, "spec")
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds") or 0
    if deadline is not None and deadline <= ready:
        yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _validate_rolling(rolling: JSONObject, path: str) -> Iterator[FieldError]:
    for name in ("maxUnavailable", "maxSurge"):
        yield from check_int_or_percent(rolling.get(name), f"{path}.{name}")
    unavailable = rolling.get("maxUnavailable")
    if _is_zero(unavailable) and _is_zero(rolling.get("maxSurge")):
        yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from check_whole(unavailable, f"{path}.maxUnavailable")


def _daemon_set(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    yield from _validate_template(spec, "spec", "daemonset")
    yield from _check_restart(spec, "spec", ("Always",))
    yield from check_not_negative(spec, "minReadySeconds", "spec")
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") not in ("RollingUpdate", "OnDelete"):
        value = {"Type": strategy.get("type"), "RollingUpdate": None}
        yield not_supported("spec.updateStrategy", value, ("RollingUpdate", "OnDelete"))
    rolling = strategy.get("rollingUpdate") or {}
    if not _is_zero(rolling.get("maxSurge", 0)) and not _is_zero(rolling.get("maxUnavailable", 0)):
        detail = "may not be set when maxUnavailable is non-zero"
        yield invalid("spec.updateStrategy.rollingUpdate.maxSurge", rolling["maxSurge"], detail)
    yield from check_not_negative(spec, "revisionHistoryLimit", "spec")


def _validate_claims(spec: JSONObject) -> Iterator[FieldError]:
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        yield from validate_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}].spec")


def _new_stateful_set(obj: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of claims, which are immutable and so are checked only once."""
    yield from _stateful_set(obj)
    yield from _validate_claims(obj["spec"])


def _stateful_set(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    policy, strategy = spec.get("podManagementPolicy"), spec.get("updateStrategy") or {}
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    kind = strategy.get("type")
    if kind == "OnDelete" and strategy.get("rollingUpdate") is not None:
        yield invalid(
            "spec.updateStrategy.rollingUpdate",
            {"Partition": strategy["rollingUpdate"].get("partition", 0), "MaxUnavailable": None},
            "only allowed for updateStrategy 'RollingUpdate'",
        )
    elif kind not in ("RollingUpdate", "OnDelete"):
        yield invalid(
            "spec.updateStrategy", {"Type": kind, "RollingUpdate": None}, "must be 'RollingUpdate' or 'OnDelete'"
        )
    for name in ("replicas", "minReadySeconds", "revisionHistoryLimit"):
        yield from check_not_negative(spec, name, "spec")
    if kind == "RollingUpdate":
        yield from check_not_negative(
            strategy.get("rollingUpdate") or {}, "partition", "spec.updateStrategy.rollingUpdate"
        )
    if spec.get("serviceName"):
        for problem in label_problems(spec["serviceName"]):
            yield invalid("spec.serviceName", spec["serviceName"], problem)
    claims = [{"name": c["metadata"].get("name", "")} for c in spec.get("volumeClaimTemplates") or ()]
    if claims:
        # Claims count as volumes of the template; a claim hides the template's volume of the same name.
        inner = spec["template"].get("spec") or {}
        names = {c["name"] for c in claims}
        volumes = [*claims, *(v for v in inner.get("volumes") or () if v.get("name") not in names)]
        spec = {**spec, "template": {**spec["template"], "spec": {**inner, "volumes": volumes}}}
    yield from _validate_template(spec, "spec", "statefulset")
    yield from _check_restart(spec, "spec", ("Always",))


def _replica_set(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    for name in ("replicas", "minReadySeconds"):
        yield from check_not_negative(spec, name, "spec")
    yield from _validate_template(spec, "spec", "deployment")
    yield from _check_restart(spec, "spec", ("Always",))


def _validate_job_spec(spec: JSONObject, path: str) -> Iterator[FieldError]:
    for name in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        yield from check_not_negative(spec, name, path)
    mode = spec.get("completionMode")
    if mode not in ("NonIndexed", "Indexed", None):
        yield not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    elif mode == "Indexed" and spec.get("completions") is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    yield from validate_pod_template(spec.get("template") or {}, f"{path}.template")
    policy = spec["template"].get("spec", {}).get("restartPolicy")
    if policy == "Always":
        yield required(f"{path}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(f"{path}.template.spec.restartPolicy", policy, ("OnFailure", "Never"))


def _job(obj: JSONObject) -> Iterator[FieldError]:
    yield from _validate_generated_selector(obj)
    yield from _validate_job_spec(obj["spec"], "spec")
    yield from _validate_selected(obj["spec"])


def _validate_selected(spec: JSONObject) -> Iterator[FieldError]:
    """Yield the problem of a job selector that does not select the job's own pods."""
    labels = spec["template"].get("metadata", {}).get("labels") or {}
    if not selects(spec.get("selector") or {}, labels):
        yield invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _validate_generated_selector(obj: JSONObject) -> Iterator[FieldError]:
    """Yield the labels that distinguish the pods of a job, if they are missing or not selected."""
    spec, meta = obj["spec"], obj["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    labels, path = spec["template"].get("metadata", {}).get("labels") or {}, "spec.template.metadata.labels"
    uid, name, prefix = meta.get("uid", ""), meta.get("name", ""), "batch.kubernetes.io/"
    wanted = {"controller-uid": uid, "job-name": name, f"{prefix}controller-uid": uid, f"{prefix}job-name": name}
    for key, value in wanted.items():
        if key not in labels:
            yield required(f"{path}[{key}]", f"must be '{value}'")
        elif labels[key] != value:
            yield invalid(f"{path}[{key}]", labels, f"must be '{value}'")
    if not selects(spec["selector"], wanted):
        yield invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


_CRON_FIELD = re.compile(r"[-*/,0-9A-Za-z?LW#]+\Z")


def _cron_job(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    schedule = spec.get("schedule") or ""
    if not schedule:
        yield required("spec.schedule")
    elif not schedule.startswith("@") and (
        len(schedule.split()) != 5 or not all(_CRON_FIELD.match(p) for p in schedule.split())
    ):
        count = len(schedule.split())
        yield invalid("spec.schedule", schedule, f"expected exactly 5 fields, found {count}: [{schedule}]")
    if spec.get("concurrencyPolicy") not in ("Allow", "Forbid", "Replace"):
        yield not_supported("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace"))
    yield from _validate_job_spec(spec["jobTemplate"]["spec"], "spec.jobTemplate.spec")
    for name in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from check_not_negative(spec, name, "spec")


def _pod(obj: JSONObject) -> Iterator[FieldError]:
    yield from validate_pod_spec(obj["spec"], "spec")


def _immutable(*names: str) -> Callable[[JSONObject, JSONObject], Iterator[FieldError]]:
    def check(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
        for name in names:
            if not is_same_json(obj["spec"].get(name), live["spec"].get(name)):
                yield invalid(f"spec.{name}", obj["spec"].get(name), IMMUTABLE)

    return check


def _stateful_set_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    names = {*obj["spec"], *live["spec"]} - _STATEFUL_SET_FREE
    if any(not is_same_json(obj["spec"].get(n), live["spec"].get(n)) for n in names):
        yield forbidden("spec", _STATEFUL_SET_UPDATE)


def _without_images(spec: JSONObject) -> dict[str, Any]:
    free = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
    kept = {k: v for k, v in spec.items() if k not in free}
    for name in ("containers", "initContainers"):
        if kept.get(name):
            kept[name] = [{k: v for k, v in c.items() if k != "image"} for c in kept[name]]
    return kept


def _pod_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    known = {gate.get("name") for gate in live["spec"].get("schedulingGates") or ()}
    for i, gate in enumerate(obj["spec"].get("schedulingGates") or ()):
        if gate.get("name") not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield forbidden(f"spec.schedulingGates[{i}].name", detail)
    if not is_same_json(_without_images(obj["spec"]), _without_images(live["spec"])):
        yield forbidden("spec", _POD_UPDATE)


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "deployments": _deployment,
    "statefulsets": _new_stateful_set,
    "daemonsets": _daemon_set,
    "replicasets": _replica_set,
    "jobs": _job,
    "cronjobs": _cron_job,
    "pods": _pod,
}
# The rules for a changed object that replace those for a new one.
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"statefulsets": _stateful_set}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {
    "deployments": _immutable("selector"),
    "daemonsets": _immutable("selector"),
    "replicasets": _immutable("selector"),
    "statefulsets": _stateful_set_update,
    "jobs": validate_job_update,
    "pods": _pod_update,
}
