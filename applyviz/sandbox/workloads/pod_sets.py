"""The steps that all controllers of Pods share: make a Pod from a template, count Pods, choose which to delete.

Rule: k8s.io/kubernetes `pkg/controller/controller_utils.go`. Two things keep a Pod from being created, with the words
of the server: a ServiceAccount that does not exist, and the limit of a sandbox. A Pod that others made is not adopted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from applyviz.engine.objects.values import JSONObject, MutableObject, canonical_json, clone
from applyviz.kubernetes.parity.status import StatusError, forbidden_request
from applyviz.sandbox.lifecycle.finalizers import is_deleted
from applyviz.sandbox.storage.cluster import SUFFIX_LETTERS
from applyviz.sandbox.storage.store import ObjectKey
from applyviz.sandbox.workloads import conditions
from applyviz.sandbox.workloads.controller_client import ControllerClient, is_active, make_owner
from applyviz.sandbox.workloads.moments import seconds_between

MOST_PODS = 300
"""How many Pods the controllers of one sandbox create: a simulation costs time and space, whatever `replicas` says."""
HASH = "pod-template-hash"
_RANKS = {"Pending": 0, "Unknown": 1, "Running": 2}


def hash_template(template: JSONObject) -> str:
    """Return the hash of a template, in the form of a real one: FNV-1a in the letters of generated names.

    - A real controller hashes its Go structs; the digits here are others.
    """
    number = 2166136261
    for byte in canonical_json(template).encode():
        number = ((number ^ byte) * 16777619) & 0xFFFFFFFF
    return "".join(SUFFIX_LETTERS[ord(digit) % len(SUFFIX_LETTERS)] for digit in str(number))


class PodTally(Struct, frozen=True):
    """The active Pods of an owner; `wait`: seconds until one more becomes available, None if none will by itself."""

    pods: tuple[tuple[ObjectKey, JSONObject], ...]
    ready: int
    available: int
    terminating: int
    wait: float | None

    def __len__(self) -> int:
        return len(self.pods)


def is_ready(pod: JSONObject) -> bool:
    """Return whether a Pod is ready."""
    return conditions.is_true(pod, "Ready")


def is_available(pod: JSONObject, min_ready: int, now: datetime) -> bool:
    """Return whether a Pod was ready for so many seconds."""
    return is_ready(pod) and _left(pod, min_ready, now) <= 0


def _left(pod: JSONObject, min_ready: int, now: datetime) -> float:
    ready = conditions.find(pod["status"].get("conditions"), "Ready") or {}
    return min_ready - seconds_between(str(ready.get("lastTransitionTime")), now) if min_ready else 0.0


def tally_pods(client: ControllerClient, owner: JSONObject) -> PodTally:
    """Count the active Pods that an owner controls."""
    min_ready, now = owner["spec"].get("minReadySeconds") or 0, client.cluster.clock()
    stored = client.list_owned(owner, "pods")
    pods = tuple((key, pod) for key, pod in stored if is_active(pod))
    ending = sum(1 for _, pod in stored if is_deleted(pod))
    ready = [pod for _, pod in pods if is_ready(pod)]
    left = [seconds for pod in ready if (seconds := _left(pod, min_ready, now)) > 0]
    return PodTally(pods, len(ready), len(ready) - len(left), ending, min(left) if left else None)


def make_pod(owner: JSONObject, template: JSONObject, *, name: str = "") -> MutableObject:
    """Return a Pod of a template, as a controller creates it; without a name the server generates one."""
    meta = template.get("metadata") or {}
    metadata: MutableObject = {
        name: clone(meta[name]) for name in ("labels", "annotations", "finalizers") if meta.get(name)
    }
    named = {"name": name} if name else {"generateName": f"{owner['metadata']['name']}-"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **named,
            "namespace": owner["metadata"]["namespace"],
            **metadata,
            "ownerReferences": make_owner(owner),
        },
        "spec": clone(template["spec"]),
    }


def create_pod(client: ControllerClient, owner: JSONObject, pod: JSONObject, component: str) -> JSONObject:
    """Create a Pod and record it; raises `StatusError` with the words of the server, recorded too."""
    name = pod["metadata"].get("name") or pod["metadata"]["generateName"]
    try:
        _refuse_pod(client, pod, name)
        made = client.create("pods", pod)
    except StatusError as error:
        message = f"Error creating: {error.message}"
        client.record_event(owner, "FailedCreate", message, component=component, is_warning=True)
        raise
    text = f"Created pod: {made['metadata']['name']}"
    client.record_event(owner, "SuccessfulCreate", text, component=component)
    return made


def _refuse_pod(client: ControllerClient, pod: JSONObject, name: str) -> None:
    namespace, account = pod["metadata"]["namespace"], pod["spec"].get("serviceAccountName") or "default"
    # Every namespace of a real cluster has an account `default`; a sandbox creates none.
    if account != "default" and client.get(ObjectKey("", "serviceaccounts", namespace, account)) is None:
        detail = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
        raise forbidden_request("", "pods", name, detail)
    if len(client.cluster.store.list("", "pods")) >= MOST_PODS:
        limit = f"requested: pods=1, used: pods={MOST_PODS}, limited: pods={MOST_PODS}"
        raise forbidden_request("", "pods", name, f"exceeded quota: sandbox, {limit}")


def delete_pod(client: ControllerClient, owner: JSONObject, key: ObjectKey, component: str) -> None:
    """Delete a Pod and record it."""
    client.delete(key, None)
    client.record_event(owner, "SuccessfulDelete", f"Deleted pod: {key.name}", component=component)


def choose_surplus(pods: Sequence[tuple[ObjectKey, JSONObject]], count: int) -> list[ObjectKey]:
    """Return the Pods that go first: not scheduled, pending, not ready, then the newest."""

    def rank(pair: tuple[ObjectKey, JSONObject]) -> tuple[bool, int, bool]:
        pod = pair[1]
        phase = (pod.get("status") or {}).get("phase", "")
        return bool(pod["spec"].get("nodeName")), _RANKS.get(phase, 2), is_ready(pod)

    newest = sorted(pods, key=lambda pair: (pair[1]["metadata"]["creationTimestamp"], pair[0].name), reverse=True)
    return [key for key, _ in sorted(newest, key=rank)[:count]]
