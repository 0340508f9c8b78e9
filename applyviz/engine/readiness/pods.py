"""The pods of a workload: how many are ready, and why the others do not start.

Rule: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-states. A reason is a word of the
kubelet or of the scheduler and is shown unchanged; their messages may repeat anything that a container printed, so they
are kept separately and only for pods that read no Secret. The counts of a workload do not say which pods are new: at
most the ready pods beyond the old ones are counted, so never too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.readiness.conditions import find_condition, is_condition, read_count

_REASON = re.compile(r"[A-Za-z]{1,64}")
_STARTING = frozenset({"ContainerCreating", "PodInitializing"})
_LONGEST = 300
# For each kind: existing pods, pods of the new template, ready pods, desired pods.
_COUNTED: Mapping[str, tuple[str, str, str, str]] = {
    "Deployment": ("replicas", "updatedReplicas", "readyReplicas", ""),
    "StatefulSet": ("replicas", "updatedReplicas", "readyReplicas", ""),
    "ReplicaSet": ("replicas", "replicas", "readyReplicas", ""),
    "DaemonSet": ("currentNumberScheduled", "updatedNumberScheduled", "numberReady", "desiredNumberScheduled"),
}


class PodCounts(Struct, frozen=True):
    """The pods of a workload: ready ones of the new template, all ready ones, and the desired number."""

    new: int
    ready: int
    wanted: int


class PodProblem(Struct, frozen=True):
    """Why some pods of a workload do not start: one reason, how many pods, one of them, its container and image."""

    reason: str
    pods: int
    pod: str
    container: str = ""
    image: str = ""
    message: str = ""


def count_pods(obj: JSONObject) -> PodCounts | None:
    """Return the pods of a workload from the counts in its status; None for kinds without counts.

    - Until the controller has observed the latest change, no pod is new.
    """
    names = _COUNTED.get(str(obj.get("kind", "")))
    if names is None:
        return None
    there, updated, ready = (read_count(obj, name) for name in names[:3])
    replicas = get_at(obj, ("spec", "replicas"))
    wanted = read_count(obj, names[3]) if names[3] else replicas if isinstance(replicas, int) else 1
    observed, generation = get_at(obj, ("status", "observedGeneration")), get_at(obj, ("metadata", "generation"))
    if isinstance(observed, int) and isinstance(generation, int) and observed < generation:
        return PodCounts(0, ready, wanted)
    old = max(0, there - updated)
    return PodCounts(max(0, min(updated, ready - old)), ready, wanted)


def write_selector(obj: JSONObject) -> str:
    """Return the selector of a workload as a `labelSelector` query; "" if it selects nothing."""
    labels = get_at(obj, ("spec", "selector", "matchLabels")) or {}
    parts = [f"{key}={value}" for key, value in sorted(labels.items())]
    for rule in get_at(obj, ("spec", "selector", "matchExpressions")) or ():
        key, operator, values = rule.get("key", ""), rule.get("operator", ""), ",".join(rule.get("values") or ())
        written = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        parts.append(written.get(operator, f"!{key}"))
    return ",".join(parts)


def reads_secrets(pod: JSONObject) -> bool:
    """Return whether a pod reads a Secret, so that messages about it may repeat its values."""

    def search(value: JSONValue) -> bool:
        if isinstance(value, Mapping):
            return any(name in value for name in ("secretKeyRef", "secretRef", "secret")) or any(
                map(search, value.values())
            )
        return isinstance(value, list) and any(map(search, value))

    return search(pod.get("spec"))


def name_reason(text: JSONValue) -> str:
    """Return a reason in the form that clusters use, "" for other text, which is untrusted."""
    return text if isinstance(text, str) and _REASON.fullmatch(text) else ""


def _find_problem(pod: JSONObject, messages: Mapping[str, tuple[str, str]]) -> PodProblem | None:
    name = str(get_at(pod, ("metadata", "name"), ""))
    has_words = not reads_secrets(pod)
    for state in ("initContainerStatuses", "containerStatuses"):
        for status in get_at(pod, ("status", state)) or ():
            waiting = get_at(status, ("state", "waiting")) or get_at(status, ("state", "terminated")) or {}
            reason = name_reason(waiting.get("reason"))
            if not reason or reason in _STARTING or reason == "Completed":
                continue
            message = str(waiting.get("message", ""))[:_LONGEST] if has_words else ""
            return PodProblem(reason, 1, name, str(status.get("name", "")), str(status.get("image", "")), message)
    if is_condition(pod, "PodScheduled", "False"):
        found = find_condition(pod, "PodScheduled") or {}
        message = str(found.get("message", ""))[:_LONGEST] if has_words else ""
        return PodProblem(name_reason(found.get("reason")) or "Unschedulable", 1, name, message=message)
    if name in messages and not is_condition(pod, "Ready"):
        reason, message = messages[name]
        return PodProblem(reason, 1, name, message=message[:_LONGEST] if has_words else "")
    return None


def read_events(events: Iterable[JSONObject]) -> Mapping[str, tuple[str, str]]:
    """Return the reason and the sentence of the last warning about each pod, by its name."""
    found: dict[str, tuple[str, str, str]] = {}
    for event in events:
        pod, reason = get_at(event, ("involvedObject", "name"), ""), name_reason(event.get("reason"))
        at = str(event.get("lastTimestamp") or event.get("eventTime") or "")
        if event.get("type") == "Warning" and reason and (pod not in found or at >= found[pod][0]):
            found[str(pod)] = at, reason, str(event.get("message", ""))
    return {pod: (reason, message) for pod, (_, reason, message) in found.items()}


def find_pod_problems(pods: Sequence[JSONObject], events: Iterable[JSONObject] = ()) -> tuple[PodProblem, ...]:
    """Return why pods of a workload do not start, the most frequent reason first; pods that end are left out."""
    messages = read_events(events)
    found: dict[tuple[str, str], list[PodProblem]] = {}
    for pod in pods:
        problem = None if get_at(pod, ("metadata", "deletionTimestamp")) else _find_problem(pod, messages)
        if problem is not None:
            found.setdefault((problem.reason, problem.container), []).append(problem)
    problems = [
        PodProblem(first.reason, len(alike), first.pod, first.container, first.image, first.message)
        for first, alike in ((alike[0], alike) for alike in found.values())
    ]
    return tuple(sorted(problems, key=lambda one: (-one.pods, one.reason, one.pod)))
