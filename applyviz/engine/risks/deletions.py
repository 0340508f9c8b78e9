"""Find what goes with an object that is deleted, or deleted and created again: data and addresses; and what delays it.

Rule: the API server removes an object only when its finalizers are gone; until then it accepts writes, which do not
keep the object (https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/). Storage and addresses
are released with their claims and Services. The objects that belong to it are found by `requests/dependents.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.kinds import CRD, NAMESPACE, Kind
from applyviz.engine.objects.known_names import FOREGROUND
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import field_path, list_at, position_of

_HOLD_DATA: Mapping[tuple[str, str], str] = {
    NAMESPACE: "everything in it",
    ("", "Node"): "the pods that run on it",
    ("", "PersistentVolumeClaim"): "the data of its volume, unless the reclaim policy keeps it",
    ("", "PersistentVolume"): "the data of the volume, unless the reclaim policy keeps it",
    CRD: "every object of its kind",
}
_BUILT_IN = frozenset(
    (
        FOREGROUND,
        "orphan",
        "kubernetes",
        "customresourcecleanup.apiextensions.k8s.io",
        "batch.kubernetes.io/job-tracking",
    )
)
_MOST_ENTRIES = 5


def _describe_deleted(f: Facts) -> Templates:
    if "applyset" in f:
        return ("{kind} {name} is deleted: it is a member of ApplySet {applyset}, and the set no longer contains it.",)
    if "selector" in f:
        return ("{kind} {name} is deleted: it was applied, {selector} selects it, and the set no longer contains it.",)
    if "finalizers" in f:
        by_count = {
            "0": "{kind} {name} is deleted: its deletion has begun, and this write ends it.",
            "1": "{kind} {name} is deleted: its deletion only waits for {finalizers}, and this write removes it.",
        }
        many = "{kind} {name} is deleted: its deletion only waits for {finalizers}, and this write removes them."
        return (by_count.get(f["count"], many),)
    return ("{kind} {name} is deleted.",)


def _describe_replaced(f: Facts) -> Templates:
    lost = (
        "{kind} {name} is deleted and re-created: it gets a new uid, and anything that exists only in the live "
        "object is lost."
    )
    again = ("The new Job runs from the beginning.",) if f.get("runs") else ()
    return (lost, *again, "The server refuses to change {fields}.") if f.get("fields") else (lost, *again)


def _describe_dependents(f: Facts) -> Templates:
    unread = ("Not checked, because they could not be listed: {unread}.",) if f.get("unread") else ()
    if f.get("reach") == "namespace":
        return ("Everything in Namespace {name} is deleted with it: currently {objects}.", *unread)
    if f.get("reach") == "kind":
        return ("Every {defined} in the cluster is deleted with its definition: currently {objects}.", *unread)
    if f.get("reach"):
        return ("Objects of any namespace that belong to {kind} {name} are deleted with it; they are not listed.",)
    if f["propagation"] == "Orphan":
        by_count = {"0": (), "1": ("{objects} belongs to {kind} {name} and stays, without an owner.",)}
        return (*by_count.get(f["count"], ("{objects} belong to {kind} {name} and stay, without an owner.",)), *unread)
    by_count = {"0": (), "1": ("{objects} belongs to {kind} {name} and is deleted with it.",)}
    return (*by_count.get(f["count"], ("{objects} belong to {kind} {name} and are deleted with it.",)), *unread)


def _describe_finalizers(f: Facts) -> Templates:
    if "content" in f:
        return (
            "{kind} {name} stays until the finalizers of what goes with it are removed: {content}.",
            "Controllers have to remove them: if one is not running, the deletion never ends.",
        )
    stays = "{kind} {name} stays until {finalizers} {verb} removed; the run waits up to {seconds} seconds."
    if not f.get("controllers"):
        return (stays,)
    return (stays, "A controller has to remove {controllers}: if none is running, the deletion never ends.")


def _describe_used(f: Facts) -> Templates:
    if "volume" not in f:
        meanwhile = "cannot reach them" + (" until it is created again." if f.get("stays") else " by it any more.")
        return ("{kind} {name} has ready endpoints ({count}): clients " + meanwhile,)
    after = {
        "Delete": ", whose reclaim policy is Delete: the volume and its data go with it.",
        "Retain": ", whose reclaim policy is Retain: the data stays, but a new claim does not bind to this volume.",
    }
    return ("{kind} {name} is bound to volume {volume}" + after.get(f["policy"], "."),)


def _describe_terminating(f: Facts) -> Templates:
    if f["how"] == "deletion":
        return ("{kind} {name} has been terminating since {since}: the run only waits until it is gone.",)
    if f["how"] == "replacement":
        return ("{kind} {name} has been terminating since {since}: the run waits until it is gone, and re-creates it.",)
    again = "Once it is gone, an apply creates it again."
    if f["how"] == "ending":
        return ("{kind} {name} has been terminating since {since}: this write ends its deletion.", again)
    waits = ("It stays until {finalizers} {verb} removed.",) if f.get("finalizers") else ()
    kept = "{kind} {name} has been terminating since {since}: no write keeps it."
    return (kept, *waits, again)


DELETED = RiskKind("prune", "Object deleted", _describe_deleted, level=RiskLevel.HIGH, policy_order=10)
REPLACED = RiskKind(
    "replace", "Replaced (delete and re-create)", _describe_replaced, level=RiskLevel.HIGH, policy_order=20
)
DEPENDENTS = RiskKind("dependents", "Other objects belong to it", _describe_dependents)


def list_going_kinds(risk: Risk) -> tuple[Kind, ...]:
    """Return the kinds of the objects that go with a deleted one because they belong to it, as its risk names them."""
    named = risk.facts.get("kinds", "").split() if risk.kind is DEPENDENTS else ()
    parts = (one.partition("/") for one in named)
    return tuple(("" if group == "core" else group, kind) for group, _slash, kind in parts)


DATA_LOST = RiskKind(
    "data-lost", "Data is lost", "Deleting {kind} {name} also deletes {what}.", level=RiskLevel.HIGH, policy_order=30
)
ADDRESS_LOST = RiskKind(
    "address-lost",
    "Address is lost",
    lambda f: (
        "{kind} {name} gives up {addresses}: clients that keep using it fail."
        if f["stays"] == ""
        else "{kind} {name} gives up {addresses} and gets another one: clients that keep using the old one fail.",
    ),
    level=RiskLevel.HIGH,
)
FINALIZERS = RiskKind("finalizers", "Finalizers delay the deletion", _describe_finalizers)
TERMINATING = RiskKind("terminating", "Already being deleted", _describe_terminating)
UNFILED_DATA = RiskKind(
    "unfiled-data",
    "Data not in any manifest",
    lambda f: (
        "The live entry {entries} is not in the manifest: applying it again does not restore it."
        if f["count"] == "1"
        else "{count} live entries are not in the manifest: {entries}. Applying it again does not restore them.",
    ),
    level=RiskLevel.HIGH,
)
IN_USE = RiskKind("in-use", "In use", _describe_used, level=RiskLevel.HIGH, policy_order=170)


def _find_data(ref: ObjectRef, live: JSONObject) -> str:
    key = (ref.gvk.group, ref.gvk.kind)
    if key == ("apps", "StatefulSet"):
        retention = get_at(live, ("spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"))
        claims = list_at(live, "spec", "volumeClaimTemplates")
        return "the volume claims of its pods" if retention == "Delete" and claims else ""
    return _HOLD_DATA.get(key, "")


def _list_cluster_addresses(service: JSONObject) -> Iterator[str]:
    """Yield the cluster IPs of a Service: the first one, and all of them where there are two families."""
    for address in (get_at(service, ("spec", "clusterIP")), *list_at(service, "spec", "clusterIPs")):
        if isinstance(address, str):
            yield address


def _list_addresses(live: JSONObject, manifest: JSONObject) -> Iterator[str]:
    """Yield the addresses of an object that its manifest does not state."""
    if live.get("kind") == "Service":
        given = ("", "None", *_list_cluster_addresses(manifest))
        addresses = dict.fromkeys(_list_cluster_addresses(live))
        yield from (f"cluster IP {address}" for address in addresses if address not in given)
        stated = [get_at(port, ("nodePort",)) for port in list_at(manifest, "spec", "ports")]
        ports = [get_at(port, ("nodePort",)) for port in list_at(live, "spec", "ports")]
        yield from (f"node port {port}" for port in ports if port and port not in stated)
        health = get_at(live, ("spec", "healthCheckNodePort"))
        if health and health != get_at(manifest, ("spec", "healthCheckNodePort")):
            yield f"health check node port {health}"
    for entry in list_at(live, "status", "loadBalancer", "ingress"):
        address = get_at(entry, ("ip",)) or get_at(entry, ("hostname",))
        if address:
            yield f"external address {address}"


def _is_given_again(address: str, manifest: JSONObject) -> bool:
    """Return whether a new object gets an address of the kind that the old one gives up."""
    if manifest.get("kind") != "Service":
        return True
    kind = str(get_at(manifest, ("spec", "type"), "ClusterIP"))
    if address.startswith("cluster IP"):
        return kind != "ExternalName" and str(get_at(manifest, ("spec", "clusterIP"))) != "None"
    if address.startswith("health check"):
        return kind == "LoadBalancer" and str(get_at(manifest, ("spec", "externalTrafficPolicy"))) == "Local"
    return kind == "LoadBalancer" or (kind == "NodePort" and address.startswith("node port"))


def is_built_in(finalizer: str) -> bool:
    """Return whether Kubernetes itself removes a finalizer."""
    return finalizer in _BUILT_IN or finalizer.startswith("kubernetes.io/")


def _read_start(live: JSONObject) -> str:
    """Return when the deletion of an object began, "" if it is not being deleted.

    - `deletionTimestamp` is when the grace period ends. A time that no server writes is returned unchanged.
    """
    ends = get_at(live, ("metadata", "deletionTimestamp"))
    seconds = get_at(live, ("metadata", "deletionGracePeriodSeconds"))
    if not isinstance(ends, str) or not isinstance(seconds, int):
        return str(ends or "")
    try:
        began = datetime.fromisoformat(ends) - timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return ends
    return began.isoformat(timespec="seconds").replace("+00:00", "Z")


def find_terminating(ref: ObjectRef, live: JSONObject, how: str, left: Iterable[JSONValue] = ()) -> Iterator[Risk]:
    """Yield a risk for a live object that is being deleted already.

    - `how`: it is written by an `apply`, its `deletion` or `replacement` is planned, or a write is the `ending` of its
      deletion; `left`: finalizers that stay.
    """
    since = _read_start(live)
    if since:
        facts = {"kind": ref.gvk.kind, "name": ref.name, "since": since, "how": how}
        names = [str(name) for name in left]
        facts |= {"finalizers": ", ".join(names), "verb": "is" if len(names) == 1 else "are"} if names else {}
        level = RiskLevel.HIGH if how == "apply" else RiskLevel.MEDIUM
        yield TERMINATING.at(facts=facts, level=level)


@rule(268)
def find_going(subject: RiskSubject) -> Iterator[Risk]:
    """Yield a risk for an object that is being deleted already, whatever is planned for it: no write keeps it."""
    if subject.live is not None and subject.manifest is None:
        yield from find_terminating(subject.ref, subject.live, "deletion")
    elif subject.live is not None:
        left = list_at(subject.result or subject.live, "metadata", "finalizers")
        yield from find_terminating(subject.ref, subject.live, "apply", left)


def find_unfiled(named: Mapping[str, str], live: JSONObject, manifest: JSONObject) -> Iterator[Risk]:
    """Yield a risk for the entries of a ConfigMap or a Secret that exist only in the cluster; only names are kept."""
    if named["kind"] not in ("ConfigMap", "Secret") or "/" in str(live.get("apiVersion")):
        return
    parts = ("data", "binaryData", "stringData")
    present, filed = (
        {name for part in parts for name in map_or_empty(get_at(obj, (part,)))} for obj in (live, manifest)
    )
    missing = sorted(present - filed)
    if missing:
        more = len(missing) - _MOST_ENTRIES
        text = ", ".join(missing[:_MOST_ENTRIES]) + (f" and {more} more" if more > 0 else "")
        yield UNFILED_DATA.at(facts={**named, "entries": text, "count": str(len(missing))})


@rule(200)
def find_released(subject: RiskSubject) -> Iterator[Risk]:
    """Yield what a Service gives up when its type changes: its load balancer, its node ports, its cluster IP."""
    ref, live, after = subject.ref, subject.live, subject.after
    if (ref.gvk.group, ref.gvk.kind) != ("", "Service") or live is None or after is None or subject.is_merge_only:
        return
    where = ("spec", "type")
    was, now = (get_at(obj, where) for obj in (live, after))
    if was == now:
        return
    is_balanced = was == "LoadBalancer"  # the cloud takes its address back
    lost = ["its load balancer and its address"] if is_balanced else []
    lost += [one for one in _list_addresses(live, after) if not (is_balanced and one.startswith("external"))]
    if lost:
        named = {"kind": ref.gvk.kind, "name": ref.name, "addresses": ", ".join(lost), "stays": ""}
        level = RiskLevel.HIGH if is_balanced else RiskLevel.MEDIUM
        yield ADDRESS_LOST.at(field_path(where), named, position_of(subject, where), level=level)


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
        yield DATA_LOST.at(facts={**named, "what": data})
    addresses = list(_list_addresses(live, manifest or {}))
    if addresses:
        level = RiskLevel.HIGH if addresses[-1].startswith("external") else RiskLevel.MEDIUM
        stays = manifest is not None and all(_is_given_again(address, manifest) for address in addresses)
        facts = {**named, "addresses": ", ".join(addresses), "stays": "yes" if stays else ""}
        yield ADDRESS_LOST.at(facts=facts, level=level)
    finalizers = [str(name) for name in list_at(live, "metadata", "finalizers")]
    if is_foreground and FOREGROUND not in finalizers:
        finalizers.append(FOREGROUND)
    if finalizers:
        verb = "is" if len(finalizers) == 1 else "are"
        facts = {"finalizers": ", ".join(finalizers), "verb": verb, "seconds": str(seconds)}
        foreign = [name for name in finalizers if not is_built_in(name)]
        facts |= {"controllers": ", ".join(foreign)} if foreign else {}
        yield FINALIZERS.at(facts={**named, **facts})
