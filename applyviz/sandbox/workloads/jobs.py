"""The controller of Jobs: Pods that work for some seconds and succeed, unless their image crashes.

Rule: k8s.io/kubernetes `pkg/controller/job`: so many at once, so many in total, so many failures. Left out: indexes,
failure and success policies, the finalizers that track Pods, deadlines. CronJobs start nothing.
"""

from __future__ import annotations

from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.kubernetes.parity.status import StatusError
from applyviz.sandbox.lifecycle.finalizers import is_deleted
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads import conditions
from applyviz.sandbox.workloads.controller_client import ControllerClient, is_active
from applyviz.sandbox.workloads.moments import seconds_between
from applyviz.sandbox.workloads.pod_sets import choose_surplus, create_pod, delete_pod, is_ready, make_pod

_COMPONENT = "job-controller"
_RETRY = 10.0


def reconcile_job(client: ControllerClient, key: ObjectKey, job: JSONObject) -> float | None:
    """Take one step and write the status; return when to look again, None when something changes."""
    if is_deleted(job) or _is_over(job):
        return None
    pods = client.list_owned(job, "pods")
    phases = [get_at(pod, ("status", "phase")) for _, pod in pods]
    done, failed = phases.count("Succeeded"), phases.count("Failed")
    active = [(k, pod) for k, pod in pods if is_active(pod)]
    wanted, limit = _count_wanted(job, done, len(active)), job["spec"].get("backoffLimit", 6)
    outcome = _judge(job, done, failed, limit, is_idle=not active)
    if outcome is not None or job["spec"].get("suspend"):
        wanted = 0
    is_retry = wanted > len(active) and failed > 0 and not _has_waited(client, pods)
    for pod in choose_surplus(active, max(len(active) - wanted, 0)):
        delete_pod(client, job, pod, _COMPONENT)
    if not is_retry:
        _create(client, job, wanted - len(active))
    _write_status(client, key, job, done, failed, outcome)
    return _RETRY if is_retry else None


def _is_over(job: JSONObject) -> bool:
    return conditions.is_true(job, "Complete") or conditions.is_true(job, "Failed")


def _count_wanted(job: JSONObject, done: int, active: int) -> int:
    at_once, total = job["spec"].get("parallelism", 1), job["spec"].get("completions")
    if total is None:
        return active if done else int(at_once)  # after a success, what works may finish
    return int(min(at_once, total - done))


def _judge(job: JSONObject, done: int, failed: int, limit: int, *, is_idle: bool) -> tuple[str, str, str] | None:
    total = job["spec"].get("completions")
    if failed > limit:
        return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    is_done = done >= total if total is not None else done > 0 and is_idle
    return ("Complete", "CompletionsReached", "Reached expected number of succeeded pods") if is_done else None


def _has_waited(client: ControllerClient, pods: list[tuple[ObjectKey, JSONObject]]) -> bool:
    """Return whether the pause after the last Pod is over; real pauses double, these do not."""
    newest = max(str(pod["metadata"]["creationTimestamp"]) for _, pod in pods)
    return seconds_between(newest, client.cluster.clock()) >= _RETRY


def _create(client: ControllerClient, job: JSONObject, missing: int) -> None:
    try:
        for _ in range(missing):
            create_pod(client, job, make_pod(job, job["spec"]["template"]), _COMPONENT)
    except StatusError:
        return  # it is recorded, and the controller looks again when something changes


def _suspend(stored: list[JSONObject], status: str, reason: str, message: str, now: str) -> list[JSONObject]:
    entry = {
        "type": "Suspended",
        "status": status,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
    return conditions.set_condition(stored, entry)


def _list_final_conditions(kind: str, reason: str, message: str, now: str) -> list[JSONObject]:
    """Return the two conditions of a Job that ended: the early one, and the final one."""
    first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    return [{"type": name, "status": "True", **times, "reason": reason, "message": message} for name in (first, kind)]


def _finish(client: ControllerClient, job: JSONObject, values: MutableObject, outcome: tuple[str, str, str]) -> None:
    """Record the event of a Job that ended, and in `values` when it completed."""
    kind, reason, message = outcome
    if kind == "Complete":
        values["completionTime"] = client.now()
        client.record_event(job, "Completed", "Job completed", component=_COMPONENT)
    else:
        client.record_event(job, reason, message, component=_COMPONENT, is_warning=True)


def _write_status(
    client: ControllerClient,
    key: ObjectKey,
    job: JSONObject,
    done: int,
    failed: int,
    outcome: tuple[str, str, str] | None,
) -> None:
    stored, now = job.get("status") or {}, client.now()
    pods = [pod for _, pod in client.list_owned(job, "pods")]
    active = [pod for pod in pods if is_active(pod)]
    values: MutableObject = {
        "active": len(active),
        "ready": sum(1 for pod in active if is_ready(pod)),
        "succeeded": done,
        "failed": failed,
        "terminating": sum(1 for pod in pods if is_deleted(pod)),
        "uncountedTerminatedPods": {},
        "conditions": list(stored.get("conditions") or ()),
    }
    if job["spec"].get("suspend"):
        values["conditions"] = _suspend(values["conditions"], "True", "JobSuspended", "Job suspended", now)
    else:
        values["startTime"] = stored.get("startTime") or now
        if conditions.find(values["conditions"], "Suspended") is not None:
            values["conditions"] = _suspend(values["conditions"], "False", "JobResumed", "Job resumed", now)
    if outcome is not None:
        values["conditions"] += _list_final_conditions(*outcome, now)
        _finish(client, job, values, outcome)
    client.write_status(key, conditions.without_zeros(values, "ready", "terminating"))
