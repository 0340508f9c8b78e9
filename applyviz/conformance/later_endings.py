"""Whether an update lets Kubernetes delete objects later, as facts; nothing here asks a rule.

Rule: the controllers of Jobs, CronJobs, StatefulSets, volumes and tokens, and the garbage collector. Each of them reads
one field, which lets fewer objects stay, or lets them stay for a shorter time, than the live one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

from applyviz.conformance import renumbered
from applyviz.conformance.inputs import Planned
from applyviz.engine.objects.values import JSONObject, get_at


def ends_objects(planned: Planned) -> bool:
    """Return whether Kubernetes deletes a live object, or objects that belong to it, because of a write."""
    live, after = planned.change.versions.live, planned.change.versions.after
    if live is None or after is None or not planned.change.has_effect:
        return False
    gvk = planned.change.ref.gvk
    ends = _BY_KIND.get((gvk.group, gvk.kind))
    return _is_released(live, after) or (ends is not None and ends(live, after))


def _is_released(live: JSONObject, after: JSONObject) -> bool:
    """Return whether a live object that is being deleted loses a finalizer."""
    before, now = (set(get_at(obj, ("metadata", "finalizers")) or ()) for obj in (live, after))
    return get_at(live, ("metadata", "deletionTimestamp")) is not None and not before <= now


def _shortens_life(live: JSONObject, after: JSONObject) -> bool:
    before, now = (get_at(obj, ("spec", "ttlSecondsAfterFinished")) for obj in (live, after))
    return now is not None and now < (inf if before is None else before)


def _keeps_fewer_jobs(live: JSONObject, after: JSONObject) -> bool:
    limits = {"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}
    before, now = ([get_at(obj, ("spec", name), few) for name, few in limits.items()] for obj in (live, after))
    return any(less < more for less, more in zip(now, before, strict=True))


def _deletes_claims(live: JSONObject, after: JSONObject) -> bool:
    if not get_at(after, ("spec", "volumeClaimTemplates")):
        return False
    before, now = (get_at(obj, ("spec", "persistentVolumeClaimRetentionPolicy")) or {} for obj in (live, after))
    if any(now[name] == "Delete" != before.get(name) for name in now):
        return True
    is_cleaned: bool = now.get("whenScaled") == "Delete"
    return is_cleaned and renumbered.loses_pods(live, after)


def _deletes_volume(live: JSONObject, after: JSONObject) -> bool:
    before, now = (get_at(obj, ("spec", "persistentVolumeReclaimPolicy")) for obj in (live, after))
    return bool(now != before and now != "Retain")


def _names_other_account(live: JSONObject, after: JSONObject) -> bool:
    names = ("kubernetes.io/service-account.name", "kubernetes.io/service-account.uid")
    before, now = ([get_at(obj, ("metadata", "annotations", name)) for name in names] for obj in (live, after))
    is_token: bool = live.get("type") == "kubernetes.io/service-account-token"
    return is_token and before != now


_BY_KIND: Mapping[tuple[str, str], Callable[[JSONObject, JSONObject], bool]] = {
    ("batch", "Job"): _shortens_life,
    ("batch", "CronJob"): _keeps_fewer_jobs,
    ("apps", "StatefulSet"): _deletes_claims,
    ("", "PersistentVolume"): _deletes_volume,
    ("", "Secret"): _names_other_account,
}
