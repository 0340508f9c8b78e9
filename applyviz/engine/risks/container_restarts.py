"""The image of a container changes in a pod that stays: the kubelet restarts this container, and no other.

Rule: https://kubernetes.io/docs/concepts/workloads/pods/#pod-update-and-replacement (what an update may change),
https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/ (a new image of a sidecar restarts the container
and not the pod) and https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#detailed-behavior (a new image
of an init container restarts nothing). The kubelet restarts a running container whatever the restart policy says
(`pkg/kubelet/kuberuntime/kuberuntime_manager.go`), unless the pod has ended or is being deleted. A mirror pod is a copy
of a static pod of the kubelet, which runs what its file says
(https://kubernetes.io/docs/tasks/configure-pod-container/static-pod/).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.known_names import ENDED_PHASES
from applyviz.engine.objects.paths import fields, key
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.risks.model import Risk, RiskKind, RiskSubject
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import list_at, position_of

_MIRROR = ("metadata", "annotations", "kubernetes.io/config.mirror")
_STATUSES = {"containers": "containerStatuses", "initContainers": "initContainerStatuses"}

CONTAINER_RESTARTS = RiskKind(
    "container-restarts",
    "Container restarts",
    "The image changes, so the kubelet restarts container {container}; its pod stays.",
)


def _index(obj: JSONObject | None, *path: str) -> dict[str, JSONObject]:
    """Return the entries of a list by their names."""
    return {str(one.get("name")): one for one in list_at(obj, *path) if isinstance(one, Mapping)}


def _is_kept_running(pod: JSONObject) -> bool:
    """Return whether the kubelet starts the containers of a live pod as its object says."""
    has_ended = get_at(pod, ("status", "phase")) in ENDED_PHASES
    return not has_ended and not get_at(pod, ("metadata", "deletionTimestamp")) and get_at(pod, _MIRROR) is None


def _is_running(live: JSONObject, part: str, name: str) -> bool:
    """Return whether a container runs; before the kubelet reports it, whether the pod has a node."""
    status = _index(live, "status", _STATUSES[part]).get(name)
    if status is None:
        return bool(get_at(live, ("spec", "nodeName")))
    return get_at(status, ("state", "running")) is not None


@rule(245)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the running containers of a live pod that get another image; of init containers, only sidecars run on."""
    live, result = subject.live, subject.result
    if subject.ref.key[:2] != ("", "Pod") or live is None or result is None or subject.manifest is None:
        return
    if not _is_kept_running(live):
        return
    for part in _STATUSES:
        before, wanted = _index(live, "spec", part), list(_index(subject.manifest, "spec", part))
        for name, container in _index(result, "spec", part).items():
            image = before.get(name, container).get("image")
            is_restarted = part == "containers" or container.get("restartPolicy") == "Always"
            if image == container.get("image") or not is_restarted or not _is_running(live, part, name):
                continue
            plain = ("spec", part, wanted.index(name), "image") if name in wanted else ("spec", part)
            path = (*fields("spec", part), key({"name": name}), *fields("image"))
            yield CONTAINER_RESTARTS.at(path, {"container": name}, position_of(subject, plain))
