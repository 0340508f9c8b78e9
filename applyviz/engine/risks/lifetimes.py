"""Find the fields that let Kubernetes delete objects later: a policy that keeps these objects must count them.

Rule: a finished Job goes when `ttlSecondsAfterFinished` has passed; a CronJob keeps as many finished Jobs as its limits
say; a StatefulSet deletes the claims of its pods by `persistentVolumeClaimRetentionPolicy`; a volume goes with its
claim where its reclaim policy is not Retain; an object that is being deleted goes with its last finalizer; the token
controller deletes the token of an account that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from applyviz.engine.objects.kinds import Kind
from applyviz.engine.objects.ordinals import list_missing, read_ordinals
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import field_path, list_at, metadata_of, position_of, texts_of

_RETENTION = ("spec", "persistentVolumeClaimRetentionPolicy")
_REPLICAS, _START = ("spec", "replicas"), ("spec", "ordinals", "start")
_FINISHED_JOBS: Final = {"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}
_ACCOUNT = ("kubernetes.io/service-account.name", "kubernetes.io/service-account.uid")
_TOKEN_TYPE = "kubernetes.io/service-account-token"
ENDED_KINDS: Final[Mapping[Kind, Kind]] = {
    ("apps", "StatefulSet"): ("", "PersistentVolumeClaim"),
    ("batch", "CronJob"): ("batch", "Job"),
}
"""The kind whose objects a field of another kind lets Kubernetes delete; every other object goes itself."""


def _describe(f: Facts) -> Templates:
    sentences = {
        "ttl": "Kubernetes deletes Job {name} {value} seconds after it has finished, at once if that time has passed.",
        "history": "CronJob {name} keeps fewer finished Jobs ({value}): Kubernetes deletes the older ones.",
        "whenDeleted": "When StatefulSet {name} is deleted, Kubernetes deletes the volume claims of its pods.",
        "whenScaled": "When StatefulSet {name} is scaled down, Kubernetes deletes the claims of the pods that go.",
        "scale": "StatefulSet {name} is scaled to {value}: Kubernetes deletes the claims of the pods that go.",
        "renumbered": (
            "StatefulSet {name} counts its pods from {value}: Kubernetes deletes the claims of the pods that go."
        ),
        "volume": "Kubernetes deletes volume {name} and its data when its claim is deleted.",
        "finalizers": "{kind} {name} is being deleted, and goes at once where nothing else waits for {value}.",
        "token": "Kubernetes deletes Secret {name} if the service account that it names does not exist.",
    }
    return (sentences[f["why"]],)


ENDS_OBJECTS = RiskKind(
    "ends-objects", "Deleted by Kubernetes later", _describe, level=RiskLevel.HIGH, policy_order=167
)
_Found = tuple[tuple[str, ...], str, str]


def _number(value: JSONValue, default: float) -> float:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _of_job(live: JSONObject, result: JSONObject) -> Iterator[_Found]:
    path = ("spec", "ttlSecondsAfterFinished")
    was, now = (_number(get_at(obj, path), float("inf")) for obj in (live, result))
    if now < was:
        yield path, "ttl", str(now)


def _of_cron_job(live: JSONObject, result: JSONObject) -> Iterator[_Found]:
    for name, default in _FINISHED_JOBS.items():
        path = ("spec", name)
        was, now = (_number(get_at(obj, path), default) for obj in (live, result))
        if now < was:
            yield path, "history", f"{name} {now}"


def _of_stateful_set(live: JSONObject, result: JSONObject) -> Iterator[_Found]:
    if not list_at(result, "spec", "volumeClaimTemplates"):
        return
    for name in ("whenDeleted", "whenScaled"):
        path = (*_RETENTION, name)
        if get_at(result, path) == "Delete" and get_at(live, path) != "Delete":
            yield path, name, ""
    was, now = (read_ordinals(obj) for obj in (live, result))
    if get_at(result, (*_RETENTION, "whenScaled")) != "Delete" or not list_missing(was, now):
        return
    if was.start != now.start:
        yield _START, "renumbered", str(now.start)
    else:
        yield _REPLICAS, "scale", str(len(now))


def _of_volume(live: JSONObject, result: JSONObject) -> Iterator[_Found]:
    path = ("spec", "persistentVolumeReclaimPolicy")
    was, now = (get_at(obj, path) for obj in (live, result))
    if now != was and now in ("Delete", "Recycle"):
        yield path, "volume", ""


def _of_token(live: JSONObject, result: JSONObject) -> Iterator[_Found]:
    if live.get("type") != _TOKEN_TYPE:
        return
    was, now = (texts_of(obj, "annotations") for obj in (live, result))
    for name in _ACCOUNT:
        if was.get(name) != now.get(name):
            yield ("metadata", "annotations", name), "token", ""


_OF_KIND: Final = {
    ("batch", "Job"): _of_job,
    ("batch", "CronJob"): _of_cron_job,
    ("apps", "StatefulSet"): _of_stateful_set,
    ("", "PersistentVolume"): _of_volume,
    ("", "Secret"): _of_token,
}


def _of_any(live: JSONObject, result: JSONObject) -> Iterator[_Found]:
    if not metadata_of(live).get("deletionTimestamp"):
        return
    left = list_at(result, "metadata", "finalizers")
    gone = [str(name) for name in list_at(live, "metadata", "finalizers") if name not in left]
    if gone:
        yield ("metadata", "finalizers"), "finalizers", ", ".join(gone)


@rule(267)
def find_ended(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of each field of a live object that lets Kubernetes delete it, or objects that belong to it."""
    live, result = subject.live, subject.result
    if live is None or result is None:
        return
    of_kind = _OF_KIND.get(subject.ref.key[:2])
    found = [*(of_kind(live, result) if of_kind else ()), *_of_any(live, result)]
    for path, why, value in found:
        facts = {"kind": subject.ref.gvk.kind, "name": subject.ref.name, "why": why, "value": value}
        yield ENDS_OBJECTS.at(field_path(path), facts, position_of(subject, path))
