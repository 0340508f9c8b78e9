"""The life of a Pod: scheduled, containers created, running and ready; or why not.

Rule: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/ with the reasons and conditions of scheduler and
kubelet. One node takes every Pod: node selectors, affinity, taints, requests and probes are not evaluated, except that
`initialDelaySeconds` of a readiness probe delays readiness. Init containers are done at once. A step is pure: from a
Pod and the moment to its next status, its Events, and when to look again.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from msgspec import Struct

from applyviz.engine.objects.known_names import ENDED_PHASES
from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.sandbox.workloads import conditions
from applyviz.sandbox.workloads.images import ImageFate, read_fate
from applyviz.sandbox.workloads.moments import seconds_between
from applyviz.sandbox.workloads.pod_needs import Lookup, find_claim_problem, find_container_problem, find_volume_problem

NODE, NODE_ADDRESS = "sandbox", "192.0.2.10"
_CREATE, _BACK_OFF, _WORK = 2.0, 8.0, 4.0
END_SECONDS = 2.0
"""How long a deleted Pod takes to end: its containers stop at once, whatever its grace period is."""
_LONGEST_DELAY = 30


class PodEvent(Struct, frozen=True):
    """An Event of a Pod."""

    reason: str
    message: str
    component: str = "kubelet"
    is_warning: bool = False
    field: str = ""


class PodStep(Struct, frozen=True):
    """What happens to a Pod at a moment.

    - `status`: None where nothing changes; `wait`: seconds until the next look, None until something it needs changes.
    """

    status: MutableObject | None = None
    events: tuple[PodEvent, ...] = ()
    wait: float | None = None
    is_bound: bool = False


def advance(pod: JSONObject, find: Lookup, now: datetime, text: str) -> PodStep:
    """Return the next step of a Pod that is neither deleted nor finished; `text` is the moment as metadata has it."""
    status: MutableObject = dict(pod.get("status") or {})
    if status.get("phase") in ENDED_PHASES:
        return PodStep()
    if not pod["spec"].get("nodeName"):
        return _schedule(pod, status, find, text)
    if not status.get("containerStatuses"):  # another scheduler chose the node
        return PodStep(_create(pod, status, text), wait=_CREATE)
    if status.get("phase") == "Pending":
        return _start(pod, status, find, text)
    if _runs_once(pod):
        return _finish(pod, status, now, text)
    return _become_ready(pod, status, now, text)


def _schedule(pod: JSONObject, status: MutableObject, find: Lookup, text: str) -> PodStep:
    problem = find_claim_problem(pod, find)
    if not problem:
        placed = f"Successfully assigned {pod['metadata']['namespace']}/{pod['metadata']['name']} to {NODE}"
        status["conditions"] = _set(status, text, PodScheduled=("True", "", ""))
        event = PodEvent("Scheduled", placed, "default-scheduler")
        return PodStep(_create(pod, status, text), (event,), _CREATE, is_bound=True)
    message = f"0/1 nodes are available: {problem}"
    current = conditions.find(status.get("conditions"), "PodScheduled")
    if current is not None and current.get("message") == message:
        return PodStep()
    status["conditions"] = _set(status, text, PodScheduled=("False", "Unschedulable", message))
    return PodStep(status, (PodEvent("FailedScheduling", message, "default-scheduler", is_warning=True),))


def _create(pod: JSONObject, status: MutableObject, text: str) -> MutableObject:
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    status.update(
        hostIP=NODE_ADDRESS,
        hostIPs=[{"ip": NODE_ADDRESS}],
        startTime=text,
        containerStatuses=[_container(c, waiting) for c in pod["spec"]["containers"]],
    )
    return {**status, "conditions": _set(status, text, Initialized=("True", "", ""), **_unready(pod, status))}


def _start(pod: JSONObject, status: MutableObject, find: Lookup, text: str) -> PodStep:
    """Start all containers, or say for each why it does not start."""
    blocked = find_volume_problem(pod, find)
    if blocked:
        return PodStep(events=(PodEvent("FailedMount", blocked, is_warning=True),))
    current = {str(c["name"]): c for c in status["containerStatuses"]}
    results = [_start_container(pod, c, current[c["name"]], find, text) for c in pod["spec"]["containers"]]
    fresh = {**status, "containerStatuses": [status for status, _ in results]}
    events = tuple(event for _, found in results for event in found)
    if all("running" in c["state"] or ("lastState" in c and c["lastState"]) for c in fresh["containerStatuses"]):
        address = _address(pod)
        fresh.update(phase="Running", podIP=address, podIPs=[{"ip": address}])
    fresh["conditions"] = _set(fresh, text, **_unready(pod, fresh))
    if fresh == status:
        return PodStep()
    is_settled = fresh["phase"] == "Pending" and not any(
        get_at(c, ("state", "waiting", "reason")) == "ErrImagePull" for c in fresh["containerStatuses"]
    )
    return PodStep(fresh, events, None if is_settled else _delay(pod, fresh))


def _delay(pod: JSONObject, status: JSONObject) -> float:
    """Return how long a started Pod takes to be ready, or a failed pull to back off."""
    if status["phase"] == "Pending":
        return _BACK_OFF
    if _runs_once(pod):
        return _WORK
    delays = (get_at(c, ("readinessProbe", "initialDelaySeconds")) or 0 for c in pod["spec"]["containers"])
    return 1.0 + min(max(delays), _LONGEST_DELAY)


def _start_container(
    pod: JSONObject, container: JSONObject, current: JSONObject, find: Lookup, text: str
) -> tuple[JSONObject, tuple[PodEvent, ...]]:
    if "running" in current["state"]:
        return current, ()
    image, fate = str(container["image"]), read_fate(str(container["image"]))
    field = f"spec.containers{{{container['name']}}}"
    if fate in (ImageFate.INVALID, ImageFate.MISSING):
        return _fail_to_pull(container, current, fate, field)
    missing = find_container_problem(pod, container, find)
    if missing:
        waiting = {"waiting": {"reason": "CreateContainerConfigError", "message": missing}}
        failed = PodEvent("Failed", f"Error: {missing}", is_warning=True, field=field)
        return (current, ()) if current["state"] == waiting else (_container(container, waiting), (failed,))
    if fate is ImageFate.CRASHES:
        return _crash(container, field, text)
    running = _container(container, {"running": {"startedAt": text}}, is_started=True, pod=pod)
    text = f"The sandbox pretends that container {container['name']} runs {image}"
    return running, (PodEvent("Started", text, field=field),)


def _fail_to_pull(
    container: JSONObject, current: JSONObject, fate: ImageFate, field: str
) -> tuple[JSONObject, tuple[PodEvent, ...]]:
    image, reason = container["image"], get_at(current, ("state", "waiting", "reason"))
    if fate is ImageFate.INVALID:
        message = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}"'
        if reason == "InvalidImageName":
            return current, ()
        failed = PodEvent("InspectFailed", message, is_warning=True, field=field)
        return _container(container, {"waiting": {"reason": "InvalidImageName", "message": message}}), (failed,)
    if reason == "ImagePullBackOff":
        return current, ()
    if reason == "ErrImagePull":
        message = f'Back-off pulling image "{image}"'
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
        return _container(container, waiting), (
            PodEvent("BackOff", message, field=field),
            PodEvent("Failed", "Error: ImagePullBackOff", is_warning=True, field=field),
        )
    message = (
        f'Failed to pull image "{image}": not found (the sandbox pulls no image with {ImageFate.MISSING} in its name)'
    )
    return _container(container, {"waiting": {"reason": "ErrImagePull", "message": message}}), (
        PodEvent("Failed", message, is_warning=True, field=field),
        PodEvent("Failed", "Error: ErrImagePull", is_warning=True, field=field),
    )


def _crash(container: JSONObject, field: str, text: str) -> tuple[JSONObject, tuple[PodEvent, ...]]:
    message = f"back-off 5m0s restarting failed container={container['name']}"
    ended = {"exitCode": 1, "reason": "Error", "startedAt": text, "finishedAt": text}
    found = _container(container, {"waiting": {"reason": "CrashLoopBackOff", "message": message}})
    text = f"Back-off restarting failed container {container['name']}"
    event = PodEvent("BackOff", text, is_warning=True, field=field)
    return {**found, "lastState": {"terminated": ended}, "restartCount": 5}, (event,)


def _become_ready(pod: JSONObject, status: MutableObject, now: datetime, text: str) -> PodStep:
    images = {str(c["name"]): read_fate(str(c["image"])) for c in pod["spec"]["containers"]}
    fresh = [
        {**c, "ready": "running" in c["state"] and images[c["name"]] is ImageFate.RUNS}
        for c in status["containerStatuses"]
    ]
    if fresh == status["containerStatuses"]:
        return _report_unready(images, status)
    left = _delay(pod, status) - max(_since_start(c, now) for c in fresh)
    if left > 0:
        return PodStep(wait=left)
    status["containerStatuses"] = fresh
    status["conditions"] = _set(status, text, **_unready(pod, status))
    return PodStep(status, _report_unready(images, status).events)


def _report_unready(images: dict[str, ImageFate], status: JSONObject) -> PodStep:
    waiting = [name for name, fate in images.items() if fate is ImageFate.UNREADY]
    if not waiting or any(c.get("ready") for c in status["containerStatuses"] if c["name"] in waiting):
        return PodStep()
    message = f"Readiness probe failed: the name of its image contains {ImageFate.UNREADY}"
    return PodStep(
        events=tuple(
            PodEvent("Unhealthy", message, is_warning=True, field=f"spec.containers{{{name}}}") for name in waiting
        )
    )


def _finish(pod: JSONObject, status: MutableObject, now: datetime, text: str) -> PodStep:
    """End the Pod of a Job: with success, or after a crash with failure; a Pod that is not ready works on."""
    states = [c["state"] for c in status["containerStatuses"]]
    fates = {read_fate(str(c["image"])) for c in pod["spec"]["containers"]}
    if ImageFate.UNREADY in fates:
        return PodStep()
    left = _WORK - max(_since_start(c, now) for c in status["containerStatuses"])
    if left > 0 and any("running" in state for state in states):
        return PodStep(wait=left)
    has_failed = ImageFate.CRASHES in fates
    code, reason = (1, "Error") if has_failed else (0, "Completed")
    ended = {"terminated": {"exitCode": code, "reason": reason, "startedAt": text, "finishedAt": text}}
    status["containerStatuses"] = [
        {**c, "state": ended, "ready": False, "started": False, "lastState": {}} for c in status["containerStatuses"]
    ]
    status["phase"] = "Failed" if has_failed else "Succeeded"
    why = ("False", "PodFailed" if has_failed else "PodCompleted", "")
    status["conditions"] = _set(status, text, Ready=why, ContainersReady=why)
    return PodStep(status)


def _since_start(container: JSONObject, now: datetime) -> float:
    started = get_at(container, ("state", "running", "startedAt"))
    return seconds_between(str(started), now) if started else 0.0


def _runs_once(pod: JSONObject) -> bool:
    """Return whether a Pod does some work and ends; a bare Pod that does not restart is one too."""
    return str(pod["spec"].get("restartPolicy", "Always")) != "Always"


def _container(
    container: JSONObject, state: JSONObject, *, is_started: bool = False, pod: JSONObject | None = None
) -> JSONObject:
    mark = f"simulated://{_digest(pod, container['name'])}" if pod is not None else ""
    return {
        "name": container["name"],
        "state": state,
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": container["image"],
        "imageID": "",
        "started": is_started,
        **({"containerID": mark} if mark else {}),
    }


def _digest(pod: JSONObject, name: str) -> str:
    return hashlib.sha256(f"{pod['metadata']['uid']}/{name}".encode()).hexdigest()


def _address(pod: JSONObject) -> str:
    """Return an address of the Pod: always the same, of the usual network of Pods, where nothing answers."""
    digest = bytes.fromhex(_digest(pod, ""))
    return f"10.244.{digest[0]}.{digest[1] % 254 + 1}"


_Fresh = tuple[str, str, str]


def _unready(pod: JSONObject, status: JSONObject) -> dict[str, _Fresh]:
    names = [c["name"] for c in status["containerStatuses"] if not c["ready"]]
    not_ready = ("False", "ContainersNotReady", f"containers with unready status: [{' '.join(names)}]")
    found: _Fresh = not_ready if names else ("True", "", "")
    return {"ContainersReady": found, "Ready": found}


def _set(status: JSONObject, text: str, **fresh: _Fresh) -> list[JSONObject]:
    current: list[JSONObject] = list(status.get("conditions") or ())
    for kind, entry in fresh.items():
        current = conditions.set_condition(current, _make_condition(kind, entry, text))
    return current


def _make_condition(kind: str, entry: _Fresh, text: str) -> JSONObject:
    notes = {name: value for name, value in zip(("reason", "message"), entry[1:], strict=True) if value}
    return {"type": kind, "status": entry[0], "lastProbeTime": None, "lastTransitionTime": text, **notes}


def read_log(pod: JSONObject, name: str) -> tuple[str, str]:
    """Return the log of a container and "", or "" and why there is none; `name` "" is the first container.

    - The only line says that nothing runs; a Pod without a node has none.
    """
    containers = [str(c["name"]) for c in pod["spec"]["containers"]]
    chosen, full = name or containers[0], pod["metadata"]["name"]
    if chosen not in containers:
        return "", f"container {chosen} is not valid for pod {full}"
    if not pod["spec"].get("nodeName"):
        return "", ""
    current = next((c for c in (pod.get("status") or {}).get("containerStatuses") or () if c["name"] == chosen), None)
    waiting = get_at(current, ("state", "waiting", "reason"))
    if current is None or waiting:
        words = {"ImagePullBackOff": "trying and failing to pull image", "ErrImagePull": "image can't be pulled"}
        why = words.get(waiting, waiting or "PodInitializing")
        return (
            "",
            f'container "{chosen}" in pod "{full}" is waiting to start: {why}',
        )
    return f"This is a sandbox: it runs no containers, so {chosen} prints nothing.\n", ""
