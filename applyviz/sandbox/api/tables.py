"""Render lists as tables, as `kubectl get` shows them.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables and the printers of
k8s.io/kubernetes. Every kind has NAME and AGE; common kinds have their usual columns; custom kinds show the
`additionalPrinterColumns` of their definition, for plain paths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.sandbox.storage.resources import ResourceTarget

Cell = Callable[[JSONObject], Any]
Column = tuple[str, str, Cell]


def render_age(seconds: float) -> str:
    """Return a duration as kubectl prints it."""
    whole = max(int(seconds), 0)
    minutes, hours = whole // 60, whole // 3600
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _pair(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    return _pair(days // 365, "y", days % 365, "d") if days < 2920 else f"{days // 365}y"


def _pair(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def _at(*path: str, default: Any = "<none>") -> Cell:
    def read(obj: JSONObject) -> Any:
        value = get_at(obj, path)
        return default if value in (None, "") else value

    return read


def _ready(obj: JSONObject) -> str:
    wanted = get_at(obj, ("spec", "replicas"))
    return f"{get_at(obj, ('status', 'readyReplicas')) or 0}/{0 if wanted is None else wanted}"


def _size(*names: str) -> Cell:
    return lambda obj: sum(len(obj.get(n) or {}) for n in names)


def _ports(obj: JSONObject) -> str:
    texts = []
    for port in get_at(obj, ("spec", "ports")) or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port')}{node}/{port.get('protocol')}")
    return ",".join(texts) or "<none>"


def _external(obj: JSONObject) -> str:
    spec = obj.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("externalIPs"):
        return ",".join(spec["externalIPs"])
    ingress = get_at(obj, ("status", "loadBalancer", "ingress")) or ()
    addresses = ",".join(i.get("ip") or i.get("hostname") or "" for i in ingress)
    return addresses or ("<pending>" if spec.get("type") == "LoadBalancer" else "<none>")


def _hosts(obj: JSONObject) -> str:
    hosts = [r.get("host") for r in get_at(obj, ("spec", "rules")) or () if r.get("host")]
    return ",".join(hosts) or "*"


def _containers_ready(obj: JSONObject) -> str:
    statuses = get_at(obj, ("status", "containerStatuses")) or ()
    ready = sum(1 for s in statuses if s.get("ready"))
    return f"{ready}/{len(get_at(obj, ('spec', 'containers')) or ())}"


def _pod_status(obj: JSONObject) -> str:
    """Return the word that `kubectl get pods` shows: why a container waits or ended, else the phase."""
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for status in get_at(obj, ("status", "containerStatuses")) or ():
        for state in ("waiting", "terminated"):
            reason = get_at(status, ("state", state, "reason"))
            if reason:
                return str(reason)
    return str(get_at(obj, ("status", "phase")) or "<none>")


def _restarts(obj: JSONObject) -> str:
    return str(sum(s.get("restartCount", 0) for s in get_at(obj, ("status", "containerStatuses")) or ()))


def _reference(obj: JSONObject) -> str:
    target = get_at(obj, ("spec", "scaleTargetRef")) or {}
    return f"{target.get('kind')}/{target.get('name')}"


def _selector(obj: JSONObject) -> str:
    labels = get_at(obj, ("spec", "podSelector", "matchLabels")) or {}
    return ",".join(f"{k}={v}" for k, v in sorted(labels.items())) or "<none>"


def _zero(*path: str) -> Cell:
    return _at(*path, default=0)


COLUMNS: Mapping[str, Sequence[Column]] = {
    "deployments": (
        ("Ready", "string", _ready),
        ("Up-to-date", "integer", _zero("status", "updatedReplicas")),
        ("Available", "integer", _zero("status", "availableReplicas")),
    ),
    "statefulsets": (("Ready", "string", _ready),),
    "replicasets": (
        ("Desired", "integer", _zero("spec", "replicas")),
        ("Current", "integer", _zero("status", "replicas")),
        ("Ready", "integer", _zero("status", "readyReplicas")),
    ),
    "daemonsets": (
        ("Desired", "integer", _zero("status", "desiredNumberScheduled")),
        ("Current", "integer", _zero("status", "currentNumberScheduled")),
        ("Ready", "integer", _zero("status", "numberReady")),
    ),
    "pods": (
        ("Ready", "string", _containers_ready),
        ("Status", "string", _pod_status),
        ("Restarts", "string", _restarts),
    ),
    "services": (
        ("Type", "string", _at("spec", "type")),
        ("Cluster-IP", "string", _at("spec", "clusterIP")),
        ("External-IP", "string", _external),
        ("Port(s)", "string", _ports),
    ),
    "configmaps": (("Data", "integer", _size("data", "binaryData")),),
    "secrets": (("Type", "string", _at("type")), ("Data", "integer", _size("data"))),
    "namespaces": (("Status", "string", _at("status", "phase")),),
    "ingresses": (("Class", "string", _at("spec", "ingressClassName")), ("Hosts", "string", _hosts)),
    "networkpolicies": (("Pod-Selector", "string", _selector),),
    "horizontalpodautoscalers": (
        ("Reference", "string", _reference),
        ("MinPods", "string", _at("spec", "minReplicas")),
        ("MaxPods", "integer", _at("spec", "maxReplicas")),
        ("Replicas", "integer", _zero("status", "currentReplicas")),
    ),
    "poddisruptionbudgets": (
        ("Min Available", "string", _at("spec", "minAvailable", default="N/A")),
        ("Max Unavailable", "string", _at("spec", "maxUnavailable", default="N/A")),
        ("Allowed Disruptions", "integer", _zero("status", "disruptionsAllowed")),
    ),
    "jobs": (
        (
            "Completions",
            "string",
            lambda o: f"{get_at(o, ('status', 'succeeded')) or 0}/{get_at(o, ('spec', 'completions')) or 1}",
        ),
    ),
    "cronjobs": (
        ("Schedule", "string", _at("spec", "schedule")),
        ("Suspend", "boolean", lambda o: str(bool(get_at(o, ("spec", "suspend"))))),
    ),
    "persistentvolumeclaims": (
        ("Status", "string", _at("status", "phase")),
        ("StorageClass", "string", _at("spec", "storageClassName", default="")),
    ),
    "customresourcedefinitions": (("Created At", "date", _at("metadata", "creationTimestamp")),),
}


def _custom_columns(target: ResourceTarget) -> list[Column]:
    versions = (target.definition or {}).get("spec", {}).get("versions") or ()
    entry: JSONObject = next((v for v in versions if v["name"] == target.gvk.version), {})
    found: list[Column] = []
    for column in entry.get("additionalPrinterColumns") or ():
        path = tuple(p for p in column.get("jsonPath", "").split(".") if p)
        if column.get("type") != "date":
            found.append((column.get("name", ""), column.get("type", "string"), _at(*path, default="")))
    return found


def only_metadata(obj: JSONObject) -> MutableObject:
    """Return an object as its metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def render_table(
    target: ResourceTarget, body: JSONObject, now: datetime, *, include: str = "Metadata"
) -> MutableObject:
    """Return the table of a list or of one object; `include` is Metadata, Object or None."""
    is_list = isinstance(body.get("items"), list)
    items: Sequence[JSONObject] = body["items"] if is_list else [body]
    columns: Sequence[Column] = _custom_columns(target) if target.struct is None else COLUMNS.get(target.plural, ())
    definitions = [_define("Name", "string", "name"), *(_define(n, t) for n, t, _ in columns), _define("Age", "string")]
    rows = []
    for item in items:
        row: MutableObject = {"cells": _cells(item, columns, now)}
        if include != "None":
            typed = {"kind": target.gvk.kind, "apiVersion": target.gvk.api_version, **item}
            row["object"] = typed if include == "Object" else only_metadata(item)
        rows.append(row)
    metadata = body["metadata"] if is_list else {"resourceVersion": body["metadata"].get("resourceVersion", "")}
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _define(name: str, kind: str, form: str = "") -> MutableObject:
    return {"name": name, "type": kind, "format": form, "description": name, "priority": 0}


def _cells(item: JSONObject, columns: Sequence[Column], now: datetime) -> list[Any]:
    meta = item["metadata"]
    created = meta.get("creationTimestamp")
    age = render_age((now - datetime.fromisoformat(created)).total_seconds()) if created else "<unknown>"
    return [meta.get("name", ""), *(read(item) for _, _, read in columns), age]
