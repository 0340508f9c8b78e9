"""Find what goes with an object that is deleted, or deleted and created again: data and addresses; and what delays it.

Rule: the API server removes an object only when its finalizers are gone; storage and addresses are released with their
claims and Services. The objects that belong to it are found by `requests/dependents.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.walking import field_path, list_at, position_of

_HOLD_DATA: Mapping[tuple[str, str], str] = {
    ("", "Namespace"): "everything in it",
    ("", "Node"): "the pods that run on it",
    ("", "PersistentVolumeClaim"): "the data of its volume, unless the reclaim policy keeps it",
    ("", "PersistentVolume"): "the data of the volume, unless the reclaim policy keeps it",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "every object of its kind",
}
_FOREGROUND = "foregroundDeletion"
_BUILT_IN = frozenset((_FOREGROUND, "orphan", "kubernetes", "customresourcecleanup.apiextensions.k8s.io"))
_MOST_ENTRIES = 5


def _find_data(ref: ObjectRef, live: JSONObject) -> str:
    key = (ref.gvk.group, ref.gvk.kind)
    if key == ("apps", "StatefulSet"):
        retention = get_at(live, ("spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"))
        claims = list_at(live, "spec", "volumeClaimTemplates")
        return "the volume claims of its pods" if retention == "Delete" and claims else ""
    return _HOLD_DATA.get(key, "")


def _list_addresses(live: JSONObject, manifest: JSONObject) -> Iterator[str]:
    """Yield the addresses of an object that its manifest does not state."""
    if live.get("kind") == "Service":
        address = get_at(live, ("spec", "clusterIP"))
        if address not in (None, "", "None", get_at(manifest, ("spec", "clusterIP"))):
            yield f"cluster IP {address}"
        stated = {get_at(port, ("nodePort",)) for port in list_at(manifest, "spec", "ports")}
        ports = [get_at(port, ("nodePort",)) for port in list_at(live, "spec", "ports")]
        yield from (f"node port {port}" for port in ports if port and port not in stated)
    for entry in list_at(live, "status", "loadBalancer", "ingress"):
        address = get_at(entry, ("ip",)) or get_at(entry, ("hostname",))
        if address:
            yield f"external address {address}"


def _is_built_in(finalizer: str) -> bool:
    """Return whether Kubernetes itself removes a finalizer."""
    return finalizer in _BUILT_IN or finalizer.startswith("kubernetes.io/")


def find_terminating(named: Mapping[str, str], live: JSONObject) -> Iterator[Risk]:
    """Yield a risk for an object that is being deleted already."""
    since = get_at(live, ("metadata", "deletionTimestamp"))
    if since:
        yield Risk(RiskKind.TERMINATING, RiskLevel.MEDIUM, facts={**named, "since": str(since)})


def find_unfiled(named: Mapping[str, str], live: JSONObject, manifest: JSONObject) -> Iterator[Risk]:
    """Yield a risk for the entries of a ConfigMap or a Secret that exist only in the cluster; only names are kept."""
    if named["kind"] not in ("ConfigMap", "Secret") or "/" in str(live.get("apiVersion")):
        return
    parts = ("data", "binaryData", "stringData")
    present, filed = ({name for part in parts for name in get_at(obj, (part,)) or ()} for obj in (live, manifest))
    missing = sorted(present - filed)
    if missing:
        more = len(missing) - _MOST_ENTRIES
        text = ", ".join(missing[:_MOST_ENTRIES]) + (f" and {more} more" if more > 0 else "")
        yield Risk(RiskKind.UNFILED_DATA, RiskLevel.HIGH, facts={**named, "entries": text, "count": str(len(missing))})


def find_released(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the loss of the load balancer of a Service whose type changes: the cloud takes it and its address back."""
    ref, live, after = subject.ref, subject.live, subject.after
    if (ref.gvk.group, ref.gvk.kind) != ("", "Service") or live is None or after is None or subject.is_merge_only:
        return
    was, now = (get_at(obj, ("spec", "type")) for obj in (live, after))
    if was == "LoadBalancer" and now != was:
        named = {"kind": ref.gvk.kind, "name": ref.name, "addresses": "its load balancer and its address", "stays": ""}
        where = ("spec", "type")
        yield Risk(RiskKind.ADDRESS_LOST, RiskLevel.HIGH, field_path(where), named, position_of(subject, where))


def find_losses(
    ref: ObjectRef, live: JSONObject, manifest: JSONObject | None, *, is_foreground: bool, seconds: int
) -> Iterator[Risk]:
    """Yield what is lost with the live object, and what its deletion waits for.

    - `manifest`: of the object that is created again; None if it only goes.
    - `seconds`: how long the run waits until the object is gone.
    """
    named = {"kind": ref.gvk.kind, "name": ref.name}
    data = _find_data(ref, live)
    if data:
        yield Risk(RiskKind.DATA_LOST, RiskLevel.HIGH, facts={**named, "what": data})
    addresses = list(_list_addresses(live, manifest or {}))
    if addresses:
        level = RiskLevel.HIGH if addresses[-1].startswith("external") else RiskLevel.MEDIUM
        facts = {**named, "addresses": ", ".join(addresses), "stays": "" if manifest is None else "yes"}
        yield Risk(RiskKind.ADDRESS_LOST, level, facts=facts)
    finalizers = [str(name) for name in list_at(live, "metadata", "finalizers")]
    if is_foreground and _FOREGROUND not in finalizers:
        finalizers.append(_FOREGROUND)
    if finalizers:
        verb = "is" if len(finalizers) == 1 else "are"
        facts = {"finalizers": ", ".join(finalizers), "verb": verb, "seconds": str(seconds)}
        foreign = [name for name in finalizers if not _is_built_in(name)]
        facts |= {"controllers": ", ".join(foreign)} if foreign else {}
        yield Risk(RiskKind.FINALIZERS, RiskLevel.MEDIUM, facts={**named, **facts})
