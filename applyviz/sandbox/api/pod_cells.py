"""What `kubectl get pods` shows of a Pod: ready containers, a word for its status, restarts.

Rule: the printer of Pods in k8s.io/kubernetes `pkg/printers/internalversion/printers.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from applyviz.engine.objects.known_names import ENDED_PHASES
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.sandbox.api.ages import render_since

_INITIALIZING = "PodInitializing"


def _statuses(pod: JSONObject, key: str) -> Sequence[JSONObject]:
    return get_at(pod, ("status", key)) or ()


def _sidecars(pod: JSONObject) -> frozenset[str]:
    """Return the names of init containers that go on running beside the others."""
    found = get_at(pod, ("spec", "initContainers")) or ()
    return frozenset(c["name"] for c in found if c.get("restartPolicy") == "Always")


def _has_condition(pod: JSONObject, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in _statuses(pod, "conditions"))


def _ended_word(terminated: JSONObject) -> str:
    signal, code = terminated.get("signal"), terminated.get("exitCode", 0)
    return str(terminated.get("reason") or (f"Signal:{signal}" if signal else f"ExitCode:{code}"))


def _init_word(pod: JSONObject) -> str:
    """Return the word of the first init container that is not done; "" when all are."""
    sidecars, count = _sidecars(pod), len(get_at(pod, ("spec", "initContainers")) or ())
    for position, status in enumerate(_statuses(pod, "initContainerStatuses")):
        state = status.get("state") or {}
        ended, waiting = state.get("terminated"), get_at(state, ("waiting", "reason"))
        if ended is not None and not ended.get("exitCode"):
            continue
        if status.get("name") in sidecars and status.get("started"):
            continue
        if ended is not None:
            return f"Init:{_ended_word(ended)}"
        return f"Init:{waiting}" if waiting not in (None, "", _INITIALIZING) else f"Init:{position}/{count}"
    return ""


def _is_running(status: JSONObject) -> bool:
    return bool(status.get("ready")) and get_at(status, ("state", "running")) is not None


def _are_shown(pod: JSONObject) -> bool:
    """Return whether the containers decide, and no longer the init containers."""
    return not _init_word(pod) or _has_condition(pod, "Initialized")


def ready_containers(pod: JSONObject, now: datetime) -> str:
    """Return how many containers are ready, of how many."""
    sidecars = _sidecars(pod)
    inits = [s for s in _statuses(pod, "initContainerStatuses") if s.get("name") in sidecars]
    ready = sum(1 for s in inits if s.get("started") and s.get("ready"))
    ready += sum(map(_is_running, _statuses(pod, "containerStatuses"))) if _are_shown(pod) else 0
    return f"{ready}/{len(get_at(pod, ('spec', 'containers')) or ()) + len(sidecars)}"


def pod_status(pod: JSONObject, now: datetime) -> str:
    """Return the word for the status: why a container waits or ended, else the phase."""
    phase, reason = get_at(pod, ("status", "phase")) or "", get_at(pod, ("status", "reason"))
    if pod["metadata"].get("deletionTimestamp"):
        if reason == "NodeLost":
            return "Unknown"
        if phase not in ENDED_PHASES:
            return "Terminating"
    is_gated = any(c.get("reason") == "SchedulingGated" for c in _statuses(pod, "conditions"))
    word = "SchedulingGated" if is_gated else str(reason or phase)
    word = _init_word(pod) or word
    return _container_word(pod, word) if _are_shown(pod) else word


def _container_word(pod: JSONObject, word: str) -> str:
    error, is_running = "", False
    for status in reversed(_statuses(pod, "containerStatuses")):
        ended, waiting = get_at(status, ("state", "terminated")), get_at(status, ("state", "waiting", "reason"))
        if waiting:
            word = str(waiting)
        elif ended is not None:
            word = _ended_word(ended)
            error = word if ended.get("exitCode") else error
        is_running = is_running or (not waiting and ended is None and _is_running(status))
    if word != "Completed":
        return word
    if is_running and _has_condition(pod, "Ready"):
        return "Running"
    return error or ("NotReady" if is_running else word)


def restarts(pod: JSONObject, now: datetime) -> str:
    """Return how often containers restarted, and how long ago the last one ended."""
    inits = _statuses(pod, "initContainerStatuses")
    if _are_shown(pod):
        sidecars = _sidecars(pod)
        counted = [*(s for s in inits if s.get("name") in sidecars), *_statuses(pod, "containerStatuses")]
    else:
        counted = [*inits]
    count = sum(s.get("restartCount", 0) for s in counted)
    ends = [end for s in counted if (end := get_at(s, ("lastState", "terminated", "finishedAt")))]
    return f"{count} ({render_since(max(ends), now)} ago)" if count and ends else str(count)


def readiness_gates(pod: JSONObject, now: datetime) -> str:
    """Return how many readiness gates are passed, of how many."""
    gates = get_at(pod, ("spec", "readinessGates")) or ()
    passed = sum(1 for gate in gates if _has_condition(pod, gate.get("conditionType", "")))
    return f"{passed}/{len(gates)}" if gates else "<none>"
