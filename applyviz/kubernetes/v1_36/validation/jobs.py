"""Validate Jobs and CronJobs.

Rule: `pkg/apis/batch/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from zoneinfo import available_timezones

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import qualified_name_problems, subdomain_problems
from applyviz.kubernetes.parity.status import (
    FieldError,
    FieldErrorType,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
)
from applyviz.kubernetes.v1_36.validation.cron import find_schedule_problem
from applyviz.kubernetes.v1_36.validation.templates import check_not_negative, selects, validate_pod_template

_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_MODES = ("NonIndexed", "Indexed")
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_EXIT_OPERATORS = ("In", "NotIn")
_CONDITIONS = ("False", "True", "Unknown")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_ZONE_PART = re.compile(r"[A-Za-z0-9._+-]+\Z")
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_LONGEST_MANAGER = 63
_LOCAL = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"


def cron_job_name_problems(name: str) -> list[str]:
    """Return the problems of a CronJob's name, which leaves room for the suffix of its Jobs."""
    return [*subdomain_problems(name), *(["must be no more than 52 characters"] if len(name) > 52 else ())]


def _validate_job_spec(spec: JSONObject, path: str) -> Iterator[FieldError]:
    for name in _COUNTS:
        yield from check_not_negative(spec, name, path)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from _validate_manager(spec.get("managedBy"), f"{path}.managedBy")
    mode = spec.get("completionMode")
    if mode not in (*_MODES, None):
        yield not_supported(f"{path}.completionMode", mode, _MODES)
    elif mode == "Indexed" and spec.get("completions") is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if mode in ("NonIndexed", None):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
    yield from _validate_policies(spec, path)
    yield from validate_pod_template(spec.get("template") or {}, f"{path}.template")
    yield from _validate_restart(spec, f"{path}.template.spec.restartPolicy")


def _validate_manager(name: str | None, path: str) -> Iterator[FieldError]:
    """Yield the problems of the name of the controller that runs a Job: a domain and a path."""
    if name is None:
        return
    domain, _, rest = name.partition("/")
    if not name:
        yield required(path)
    elif not domain or not rest:
        yield invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from (invalid(path, domain, problem) for problem in subdomain_problems(domain))
        if re.fullmatch(_HTTP_PATH, rest) is None:
            yield invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")
    if len(name) > _LONGEST_MANAGER:
        yield too_long(path, _LONGEST_MANAGER)


def _validate_restart(spec: JSONObject, path: str) -> Iterator[FieldError]:
    policy = (spec["template"].get("spec") or {}).get("restartPolicy")
    if policy == "Always":
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _validate_policies(spec: JSONObject, path: str) -> Iterator[FieldError]:
    failure, success = spec.get("podFailurePolicy"), spec.get("successPolicy")
    for i, rule in enumerate((failure or {}).get("rules") or ()):
        yield from _validate_failure_rule(rule, spec, f"{path}.podFailurePolicy.rules[{i}]")
    if success is not None:
        yield from _validate_success(success, spec, f"{path}.successPolicy")
    replacement = spec.get("podReplacementPolicy")
    allowed = _REPLACEMENTS if failure is None else ("Failed",)
    if replacement not in (*allowed, None):
        yield not_supported(f"{path}.podReplacementPolicy", replacement, allowed)


def _validate_success(success: JSONObject, spec: JSONObject, path: str) -> Iterator[FieldError]:
    rules, completions = success.get("rules") or [], spec.get("completions") or 0
    if spec.get("completionMode") != "Indexed":
        shown = [
            {"SucceededIndexes": r.get("succeededIndexes"), "SucceededCount": r.get("succeededCount")} for r in rules
        ]
        yield invalid(path, {"Rules": shown or None}, "requires indexed completion mode")
        return
    if not rules:
        yield required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")
    for i, rule in enumerate(rules):
        count = rule.get("succeededCount")
        if count is None and rule.get("succeededIndexes") is None:
            detail = "at least one of succeededCount or succeededIndexes must be specified"
            yield required(f"{path}.rules[{i}]", detail)
        yield from check_not_negative(rule, "succeededCount", f"{path}.rules[{i}]")
        if count is not None and count > completions:
            detail = f"must be less than or equal to {completions} (the number of specified completions)"
            yield invalid(f"{path}.rules[{i}].succeededCount", count, detail)


def _validate_failure_rule(rule: JSONObject, spec: JSONObject, path: str) -> Iterator[FieldError]:
    action, codes, conditions = rule.get("action", ""), rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if not action:
        yield required(f"{path}.action", f"valid values: {_quote(_ACTIONS)}")
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield not_supported(f"{path}.action", action, _ACTIONS)
    if codes is not None:
        yield from _validate_exit_codes(codes, f"{path}.onExitCodes", spec)
    for i, pattern in enumerate(conditions):
        yield from _validate_condition(pattern, f"{path}.onPodConditions[{i}]")
    if (codes is None) is not bool(conditions):
        some = "specifying one of OnExitCodes and OnPodConditions is required"
        detail = "specifying both OnExitCodes and OnPodConditions is not supported" if conditions else some
        yield FieldError(FieldErrorType.INVALID, path, f"Invalid value: {detail}")


def _quote(names: Sequence[str]) -> str:
    """Return names as Go prints a list of texts."""
    return "[" + " ".join(f'"{name}"' for name in names) + "]"


def _validate_exit_codes(codes: JSONObject, path: str, spec: JSONObject) -> Iterator[FieldError]:
    operator, values, name = codes.get("operator", ""), codes.get("values"), codes.get("containerName")
    if not operator:
        yield required(f"{path}.operator", f"valid values: {_quote(_EXIT_OPERATORS)}")
    elif operator not in _EXIT_OPERATORS:
        yield not_supported(f"{path}.operator", operator, _EXIT_OPERATORS)
    inner = spec["template"].get("spec") or {}
    known = {c.get("name") for kind in ("containers", "initContainers") for c in inner.get(kind) or ()}
    if name is not None and name not in known:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", name, detail)
    if not values:
        yield invalid(f"{path}.values", values, "at least one value is required")
        return
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{path}.values[{i}]", value, "must not be 0 for the In operator")
        if value in values[:i]:
            yield duplicate(f"{path}.values[{i}]", value)
    if values != sorted(values):
        yield invalid(f"{path}.values", values, "must be ordered")


def _validate_condition(pattern: JSONObject, path: str) -> Iterator[FieldError]:
    kind, status = pattern.get("type", ""), pattern.get("status", "")
    yield from (invalid(f"{path}.type", kind, problem) for problem in qualified_name_problems(kind))
    if not status:
        yield required(f"{path}.status", f"valid values: {_quote(_CONDITIONS)}")
    elif status not in _CONDITIONS:
        yield not_supported(f"{path}.status", status, _CONDITIONS)


def _job(obj: JSONObject) -> Iterator[FieldError]:
    yield from _validate_generated_selector(obj)
    yield from validate_job_spec(obj["spec"])


def validate_job_spec(spec: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of the spec of a Job, with its selector; an update lists them twice."""
    yield from _validate_job_spec(spec, "spec")
    yield from _validate_selected(spec)


def _validate_selected(spec: JSONObject) -> Iterator[FieldError]:
    """Yield the problem of a job selector that does not select the job's own pods."""
    labels = spec["template"].get("metadata", {}).get("labels")
    if spec.get("selector") is None:
        yield required("spec.selector")
    if spec.get("selector") is None or not selects(spec["selector"], labels or {}):
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


def _cron_job(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    schedule = spec.get("schedule") or ""
    if not schedule:
        yield required("spec.schedule")
    else:
        problem = find_schedule_problem(schedule)
        if problem:
            yield invalid("spec.schedule", schedule, problem)
        if "TZ" in schedule:
            detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            yield invalid("spec.schedule", schedule, detail)
    yield from _validate_zone(spec.get("timeZone"))
    if spec.get("concurrencyPolicy") not in _CONCURRENCY:
        yield not_supported("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), _CONCURRENCY)
    inner = spec["jobTemplate"]["spec"]
    yield from _validate_job_spec(inner, "spec.jobTemplate.spec")
    if inner.get("selector") is not None:
        yield invalid("spec.jobTemplate.spec.selector", inner["selector"], "`selector` will be auto-generated")
    if inner.get("manualSelector"):
        yield not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    for name in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from check_not_negative(spec, name, "spec")


def _validate_zone(zone: str | None) -> Iterator[FieldError]:
    if zone is None:
        return
    if not zone:
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif not all(_ZONE_PART.match(part) and part not in (".", "..") and part[0] != "-" for part in zone.split("/")):
        yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")
    else:
        if zone.lower() == "local":
            yield invalid("spec.timeZone", zone, _LOCAL)
        if zone != "Local" and zone not in available_timezones():
            yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")


CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {"jobs": _job, "cronjobs": _cron_job}
