"""Drop values that only a real server can choose: addresses and ports of a Service, who asks for a certificate, uids.

Neither an estimate nor a dry run can predict these values: the write gets other ones than the dry run. A plan makes no
promise about them. Rule: `pkg/registry/core/service` (allocation) and `pkg/registry/batch/job` (labels and selector
that contain the uid) of k8s.io/kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.known_names import REQUESTER
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at

_ALLOCATED = ("clusterIP", "clusterIPs", "healthCheckNodePort", "loadBalancerIP")


def without_allocated(obj: JSONObject, manifest: JSONObject, live: JSONObject) -> JSONObject:
    """Return a Service without the addresses that the server picks: neither requested nor already there."""
    spec = obj.get("spec")
    if obj.get("kind") != "Service" or obj.get("apiVersion") != "v1" or not isinstance(spec, Mapping):
        return obj
    asked = {k: v for k, v in map_or_empty(manifest.get("spec")).items() if v not in (None, "", [], 0)}
    known = {**map_or_empty(live.get("spec")), **asked}  # the server keeps an address that a patch clears
    if known.get("clusterIP"):
        known["clusterIPs"] = [known["clusterIP"]]  # a list with the same content
    kept = {k: v for k, v in spec.items() if k not in _ALLOCATED or known.get(k) is not None}
    ports = kept.get("ports")
    if isinstance(ports, list):
        stated = (get_at(obj, ("spec", "ports")) for obj in (live, manifest))
        named = [get_at(port, ("nodePort",)) for given in stated if isinstance(given, list) for port in given]
        kept["ports"] = [
            {k: v for k, v in p.items() if k != "nodePort" or v in named} if isinstance(p, Mapping) else p
            for p in ports
        ]
    return {**obj, "spec": kept}


def _without_requester(obj: JSONObject) -> JSONObject:
    """Return a new request for a certificate without who asks: another person may start the run."""
    spec = obj.get("spec")
    if obj.get("kind") != "CertificateSigningRequest" or not isinstance(spec, Mapping):
        return obj
    return {**obj, "spec": {name: value for name, value in spec.items() if name not in REQUESTER}}


def without_chosen(obj: JSONObject, manifest: JSONObject, live: JSONObject | None) -> JSONObject:
    """Return an object without the values that only the real server can choose; `live` is None for a new object."""
    if live is not None:
        return without_allocated(obj, manifest, live)
    kept = _without_requester(without_allocated(obj, manifest, {}))
    uid = get_at(obj, ("metadata", "uid"))
    if isinstance(uid, str) and uid:
        kept = dict(_list_without(kept, uid))
    metadata = {k: v for k, v in map_or_empty(kept.get("metadata")).items() if k != "creationTimestamp"}
    return {**kept, "metadata": metadata}


def _drop(value: JSONValue, uid: str) -> JSONValue:
    """Return a value without the entries that contain the uid."""
    if isinstance(value, list):
        return [_drop(item, uid) for item in value]
    return dict(_list_without(value, uid)) if isinstance(value, Mapping) else value


def _list_without(value: Mapping[str, JSONValue], uid: str) -> Iterator[tuple[str, JSONValue]]:
    for name, item in value.items():
        if item == uid:
            continue
        found = _drop(item, uid)
        if found != {} or item == {}:  # also drop a value that contained nothing else: the selector of a Job
            yield name, found
