"""Validation of workloads: Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, CronJobs, Pods.

Rule: `pkg/apis/apps/validation`, `pkg/apis/batch/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.kubernetes.parity.equality import find_topology, is_equal
from applyviz.kubernetes.parity.name_formats import label_problems
from applyviz.kubernetes.parity.status import (
    IMMUTABLE,
    FieldError,
    forbidden,
    invalid,
    invalid_struct,
    not_supported,
    required,
)
from applyviz.kubernetes.v1_36.validation import jobs
from applyviz.kubernetes.v1_36.validation.claims import validate_claim_spec
from applyviz.kubernetes.v1_36.validation.job_updates import validate_job_update
from applyviz.kubernetes.v1_36.validation.pod_updates import validate_pod_update
from applyviz.kubernetes.v1_36.validation.pods import validate_pod_spec
from applyviz.kubernetes.v1_36.validation.selectors import order_selector, validate_selector
from applyviz.kubernetes.v1_36.validation.templates import (
    check_int_or_percent,
    check_not_negative,
    check_whole,
    selects,
    validate_pod_template,
)

_AMOUNT = re.compile(r"[0-9]+%|[+-]?[0-9]+")
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


def _validate_template(spec: JSONObject, path: str, word: str, *, owner: str) -> Iterator[FieldError]:
    """Yield the problems of selector and template; `word` and `owner` are the server's names of the kind."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    problems = list(validate_selector(selector, f"{path}.selector"))
    if selector is None and word != "daemonset":
        yield required(f"{path}.selector")
    yield from problems
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid_struct(f"{path}.selector", order_selector(selector), f"empty selector is invalid for {word}")
    if problems and word != "daemonset":
        detail = "" if word == "statefulset" else "invalid label selector"
        yield invalid_struct(f"{path}.selector", order_selector(selector), detail)
        return
    labels = (template.get("metadata") or {}).get("labels")
    if selector is None or (selector and not problems and not selects(selector, labels or {})):
        yield invalid(f"{path}.template.metadata.labels", labels, "`selector` does not match template `labels`")
    yield from validate_pod_template(template, f"{path}.template")
    yield from _check_always(template, path, owner)


def _check_always(template: JSONObject, path: str, owner: str) -> Iterator[FieldError]:
    """Yield what no template of Pods that run for ever may say."""
    inner = template.get("spec") or {}
    if inner.get("restartPolicy") not in ("Always", None):
        yield not_supported(f"{path}.template.spec.restartPolicy", inner["restartPolicy"], ("Always",))
    if "activeDeadlineSeconds" in inner:
        detail = f"activeDeadlineSeconds in {owner} is not Supported"
        yield forbidden(f"{path}.template.spec.activeDeadlineSeconds", detail)


def _is_zero(value: JSONValue) -> bool:
    """Return whether a number or a percentage is 0; the server counts any other text as 0."""
    if isinstance(value, str):
        return not _AMOUNT.fullmatch(value) or not value.strip("+-0%")
    return value == 0


def _order_strategy(strategy: JSONObject) -> JSONObject:
    """Return a strategy as the server prints its struct."""
    rolling = strategy.get("rollingUpdate")
    amounts = ("maxUnavailable", "maxSurge")
    ordered = None if rolling is None else {n[0].upper() + n[1:]: rolling.get(n, 0) for n in amounts}
    return {"Type": strategy.get("type", ""), "RollingUpdate": ordered}


def _deployment(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    yield from check_not_negative(spec, "replicas", "spec")
    yield from _validate_template(spec, "spec", "deployment", owner="ReplicaSet")
    strategy = spec.get("strategy") or {}
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate" and rolling is not None:
        yield forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
    elif kind == "RollingUpdate":
        yield from _validate_rolling(rolling or {}, "spec.strategy.rollingUpdate")
    elif kind not in ("Recreate", "RollingUpdate"):
        # The server reports `spec.strategy` here, with its own struct as the value.
        yield not_supported("spec.strategy", _order_strategy(strategy), ("Recreate", "RollingUpdate"))
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
    yield from _validate_template(spec, "spec", "daemonset", owner="DaemonSet")
    yield from check_not_negative(spec, "minReadySeconds", "spec")
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") not in ("RollingUpdate", "OnDelete"):
        yield not_supported("spec.updateStrategy", _order_strategy(strategy), ("RollingUpdate", "OnDelete"))
    elif strategy.get("type") == "RollingUpdate":
        yield from _validate_rolling_daemon(strategy.get("rollingUpdate") or {}, "spec.updateStrategy.rollingUpdate")
    yield from check_not_negative(spec, "revisionHistoryLimit", "spec")


def _validate_rolling_daemon(rolling: JSONObject, path: str) -> Iterator[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for name in ("maxUnavailable", "maxSurge"):
        yield from check_int_or_percent(rolling.get(name), f"{path}.{name}")
    if _is_zero(unavailable) and _is_zero(surge):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")
    if not _is_zero(unavailable) and not _is_zero(surge):
        yield invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    yield from check_whole(unavailable, f"{path}.maxUnavailable")
    yield from check_whole(surge, f"{path}.maxSurge")


def _validate_claims(spec: JSONObject) -> Iterator[FieldError]:
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        yield from validate_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}].spec")


def _new_stateful_set(obj: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of claims, which are immutable and so are checked only once."""
    yield from _stateful_set(obj)
    name = obj["spec"].get("serviceName")
    yield from (invalid("spec.serviceName", name, problem) for problem in (label_problems(name) if name else ()))
    yield from _validate_claims(obj["spec"])


def _print_rolling_set(rolling: JSONObject | None) -> JSONObject | None:
    """Return the rolling update of a StatefulSet as the server prints its struct."""
    if rolling is None:
        return None
    return {"Partition": rolling.get("partition") or 0, "MaxUnavailable": rolling.get("maxUnavailable")}


def _stateful_set(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    policy, strategy = spec.get("podManagementPolicy"), spec.get("updateStrategy") or {}
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    kind = strategy.get("type")
    if kind == "OnDelete" and strategy.get("rollingUpdate") is not None:
        rolling = _print_rolling_set(strategy["rollingUpdate"])
        detail = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid_struct("spec.updateStrategy.rollingUpdate", rolling, detail)
    elif kind not in ("RollingUpdate", "OnDelete"):
        shown = {"Type": kind, "RollingUpdate": _print_rolling_set(strategy.get("rollingUpdate"))}
        yield invalid_struct("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'")
    for name in ("replicas", "minReadySeconds"):  # the server checks no revisionHistoryLimit here
        yield from check_not_negative(spec, name, "spec")
    if kind == "RollingUpdate":
        yield from check_not_negative(
            strategy.get("rollingUpdate") or {}, "partition", "spec.updateStrategy.rollingUpdate"
        )
    policies = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for name in ("whenDeleted", "whenScaled"):
        if policies.get(name) not in ("Retain", "Delete", None):
            at = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            yield not_supported(at, policies[name], ("Retain", "Delete"))
    yield from check_not_negative(spec.get("ordinals") or {}, "start", "spec.ordinals")
    claims = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in dict.fromkeys(c["metadata"].get("name", "") for c in spec.get("volumeClaimTemplates") or ())
    ]
    if claims:
        # Claims count as volumes of the template; a claim hides the template's volume of the same name.
        inner = spec["template"].get("spec") or {}
        names = {c["name"] for c in claims}
        volumes = [*claims, *(v for v in inner.get("volumes") or () if v.get("name") not in names)]
        spec = {**spec, "template": {**spec["template"], "spec": {**inner, "volumes": volumes}}}
    yield from _validate_template(spec, "spec", "statefulset", owner="StatefulSet")


def _replica_set(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    for name in ("replicas", "minReadySeconds"):
        yield from check_not_negative(spec, name, "spec")
    yield from _validate_template(spec, "spec", "deployment", owner="ReplicaSet")


def _replication_controller(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    selector, template = spec.get("selector") or {}, spec.get("template")
    for name in ("minReadySeconds", "replicas"):
        yield from check_not_negative(spec, name, "spec")
    if not selector:
        yield required("spec.selector")
    if template is None:
        yield required("spec.template")
        return
    labels = (template.get("metadata") or {}).get("labels")
    if not selects({"matchLabels": selector}, labels or {}):
        yield invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    yield from validate_pod_template(template, "spec.template")
    yield from _check_always(template, "spec", "ReplicationController")


def _pod_template(obj: JSONObject) -> Iterator[FieldError]:
    yield from validate_pod_template(obj.get("template") or {}, "template")


def _pod(obj: JSONObject) -> Iterator[FieldError]:
    yield from validate_pod_spec(obj["spec"], "spec", is_pod=True)


def _new_pod(obj: JSONObject) -> Iterator[FieldError]:
    yield from _pod(obj)
    if obj["spec"].get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")


def _immutable(*names: str) -> Callable[[JSONObject, JSONObject], Iterator[FieldError]]:
    def check(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
        for name in names:
            if not is_same_json(obj["spec"].get(name), live["spec"].get(name)):
                value = obj["spec"].get(name)
                yield invalid_struct(f"spec.{name}", order_selector(value), IMMUTABLE)

    return check


def _stateful_set_update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    names = {*obj["spec"], *live["spec"]} - _STATEFUL_SET_FREE
    topologies = {name: find_topology("apps/v1", "StatefulSet", "spec", name) for name in names}
    if any(not is_equal(obj["spec"].get(n), live["spec"].get(n), at) for n, at in topologies.items()):
        yield forbidden("spec", _STATEFUL_SET_UPDATE)


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "deployments": _deployment,
    "statefulsets": _new_stateful_set,
    "daemonsets": _daemon_set,
    "replicasets": _replica_set,
    "replicationcontrollers": _replication_controller,
    "podtemplates": _pod_template,
    "pods": _new_pod,
    **jobs.CREATE,
}
# The rules for a changed object that replace those for a new one.
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {
    "statefulsets": _stateful_set,
    "pods": _pod,
}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {
    "deployments": _immutable("selector"),
    "daemonsets": _immutable("selector"),
    "replicasets": _immutable("selector"),
    "statefulsets": _stateful_set_update,
    "jobs": validate_job_update,
    "pods": validate_pod_update,
}
