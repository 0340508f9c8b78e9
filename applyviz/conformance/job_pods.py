"""Which active pods of a Job Kubernetes deletes, as facts that prove or refute a risk; nothing here asks a rule.

Rule: the Job controller (`pkg/controller/job/job_controller.go`). It is asked about every count of pods that the Job
might have, up to the active ones: one that was not too many and is now means that a pod goes.
"""

from __future__ import annotations

from applyviz.conformance.inputs import Planned
from applyviz.engine.objects.values import JSONObject


def deletes_job_pods(planned: Planned) -> bool:
    """Return whether pods of a live Job go because of a write, at once or once its new deadline has passed."""
    versions, change = planned.change.versions, planned.change
    if (change.ref.gvk.group, change.ref.gvk.kind) != ("batch", "Job") or versions.live is None:
        return False
    spec, status = versions.live["spec"], versions.live.get("status") or {}
    after, active = (versions.after or versions.live)["spec"], status.get("active") or 0
    is_of_kubernetes = spec.get("managedBy") in (None, "kubernetes.io/job-controller")
    if not change.has_effect or not is_of_kubernetes or not active:
        return False
    is_limited = any(_is_surplus(after, status, n) and not _is_surplus(spec, status, n) for n in range(1, active + 1))
    deadlines = [one.get("activeDeadlineSeconds") or float("inf") for one in (after, spec)]
    return is_limited or (deadlines[0] < deadlines[1] and not after.get("suspend"))


def _is_surplus(spec: JSONObject, status: JSONObject, pods: int) -> bool:
    """Return whether so many active pods are more than a Job keeps."""
    if spec.get("suspend") or (status.get("failed") or 0) > spec.get("backoffLimit", 6):
        return True
    total, succeeded = spec.get("completions"), status.get("succeeded") or 0
    if total is None:
        return not succeeded and bool(pods > spec.get("parallelism", 1))
    if spec.get("completionMode") == "Indexed":
        succeeded = len([index for index in _list_indexes(status) if index < total])
    return bool(pods > spec.get("parallelism", 1) or pods + succeeded > total)


def _list_indexes(status: JSONObject) -> list[int]:
    """Return the indexes that have succeeded, which a status writes as `1,3-5`."""
    spans = [part.split("-") for part in (status.get("completedIndexes") or "").split(",") if part]
    return [index for span in spans for index in range(int(span[0]), int(span[-1]) + 1)]
