"""The columns of Pods, of what makes and scales them, of nodes, quotas and events.

Rule: k8s.io/kubernetes `pkg/printers/internalversion/printers.go`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.sandbox.api.ages import render_since
from applyviz.sandbox.api.columns import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Cell,
    TableColumn,
    at,
    find_conditions,
    labels_at,
    list_some,
    selector_at,
    since,
    size_of,
    text_at,
)
from applyviz.sandbox.api.pod_cells import pod_status, readiness_gates, ready_containers, restarts

_ROLE = "node-role.kubernetes.io/"
_JOB_WORDS = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _zero(*path: str) -> Cell:
    return at(*path, default=0)


def _ready(obj: JSONObject, now: datetime) -> str:
    return f"{get_at(obj, ('status', 'readyReplicas')) or 0}/{get_at(obj, ('spec', 'replicas')) or 0}"


def _containers(*path: str) -> tuple[TableColumn, TableColumn]:
    """Return the names and images of the containers of a Pod or of a template."""

    def read(key: str) -> Cell:
        return lambda obj, now: ",".join(c.get(key, "") for c in get_at(obj, (*path, "spec", "containers")) or ())

    return TableColumn("Containers", read("name"), is_wide=True), TableColumn("Images", read("image"), is_wide=True)


def _selected(*path: str) -> tuple[TableColumn, ...]:
    return (*_containers("spec", "template"), TableColumn("Selector", selector_at(*path), is_wide=True))


def _completions(obj: JSONObject, now: datetime) -> str:
    succeeded = get_at(obj, ("status", "succeeded")) or 0
    wanted, parallel = get_at(obj, ("spec", "completions")), get_at(obj, ("spec", "parallelism")) or 0
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    return f"{succeeded}/1 of {parallel}" if parallel > 1 else f"{succeeded}/1"


def _job_status(obj: JSONObject, now: datetime) -> str:
    conditions = find_conditions(obj)
    if ended := next((word for word in ("Complete", "Failed") if conditions.get(word) == "True"), ""):
        return ended
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((word for word in _JOB_WORDS if conditions.get(word) == "True"), "Running")


def _duration(obj: JSONObject, now: datetime) -> str:
    status = obj.get("status") or {}
    end = status.get("completionTime")
    return render_since(status.get("startTime"), datetime.fromisoformat(end) if end else now, "")


def _reference(obj: JSONObject, now: datetime) -> str:
    target = get_at(obj, ("spec", "scaleTargetRef")) or {}
    return f"{target.get('kind')}/{target.get('name')}"


def _percent(value: int | None, default: str) -> str:
    return default if value is None else f"{value}%"


def _metric(spec: JSONObject, status: JSONObject) -> str:
    """Return current and wanted value of one metric of an autoscaler."""
    key = f"{spec['type'][:1].lower()}{spec['type'][1:]}"
    source = spec.get(key) or {}
    target, current = source.get("target") or {}, get_at(status, (key, "current")) or {}
    is_resource = spec["type"] in ("Resource", "ContainerResource")
    prefix = f"{source.get('name')}: " if is_resource else ""
    if "averageValue" in target:
        average = " (avg)" if spec["type"] in ("External", "Object") else ""
        return f"{prefix}{current.get('averageValue', UNKNOWN)}/{target['averageValue']}{average}"
    if not is_resource:
        return f"{current.get('value', UNKNOWN)}/{target.get('value')}"
    used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    return f"{prefix}{_percent(used, UNKNOWN)}/{_percent(wanted, '<auto>')}"


def _metrics(obj: JSONObject, now: datetime) -> str:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    wanted = spec.get("targetCPUUtilizationPercentage")  # version 1 has this metric only
    texts = (
        [] if wanted is None else [f"cpu: {_percent(status.get('currentCPUUtilizationPercentage'), UNKNOWN)}/{wanted}%"]
    )
    current = status.get("currentMetrics") or ()
    for position, metric in enumerate(spec.get("metrics") or ()):
        texts.append(_metric(metric, current[position] if position < len(current) else {}))
    return list_some(texts, NONE, most=2, mark=", ")


def _suspend(obj: JSONObject, now: datetime) -> str:
    value = get_at(obj, ("spec", "suspend"))
    return UNSET if value is None else str(bool(value))


def _pod_ip(obj: JSONObject, now: datetime) -> str:
    addresses = get_at(obj, ("status", "podIPs")) or ()
    return (addresses[0].get("ip") if addresses else "") or NONE


def _quota(*, is_limit: bool) -> Cell:
    def read(obj: JSONObject, now: datetime) -> str:
        hard, used = get_at(obj, ("status", "hard")) or {}, get_at(obj, ("status", "used")) or {}
        chosen = [name for name in sorted(hard) if name.startswith("limits.") == is_limit]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in chosen)

    return read


def _node_status(obj: JSONObject, now: datetime) -> str:
    ready = find_conditions(obj).get("Ready")
    word = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return word + (",SchedulingDisabled" if get_at(obj, ("spec", "unschedulable")) else "")


def _node_roles(obj: JSONObject, now: datetime) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    return ",".join(sorted(filter(None, {*roles, labels.get("kubernetes.io/role", "")}))) or NONE


def _node_address(kind: str) -> Cell:
    def read(obj: JSONObject, now: datetime) -> str:
        entries = get_at(obj, ("status", "addresses")) or ()
        return next((str(e.get("address")) for e in entries if e.get("type") == kind), NONE)

    return read


def _kernel(obj: JSONObject, now: datetime) -> str:
    info = get_at(obj, ("status", "nodeInfo")) or {}
    architecture = f" ({info['architecture']})" if info.get("architecture") else ""
    return (info.get("kernelVersion") or UNKNOWN) + architecture


def _controller(obj: JSONObject, now: datetime) -> str:
    owner = next((o for o in obj["metadata"].get("ownerReferences") or () if o.get("controller")), None)
    if owner is None:
        return NONE
    group = owner["apiVersion"].rpartition("/")[0]
    return f"{owner['kind']}.{group}".rstrip(".").lower() + f"/{owner['name']}"


def _event_object(obj: JSONObject, now: datetime) -> str:
    target = obj.get("involvedObject") or obj.get("regarding") or {}
    name = target.get("name")
    return str(target.get("kind", "")).lower() + (f"/{name}" if name else "")


def _event_path(obj: JSONObject, now: datetime) -> str:
    return str((obj.get("involvedObject") or obj.get("regarding") or {}).get("fieldPath", ""))


def _event_source(obj: JSONObject, now: datetime) -> str:
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else str(component)


def _first_seen(obj: JSONObject, now: datetime) -> str:
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime")
    return render_since(first, now)


def _last_seen(obj: JSONObject, now: datetime) -> str:
    last = get_at(obj, ("series", "lastObservedTime")) or obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    return render_since(last, now) if last else _first_seen(obj, now)


def _event_count(obj: JSONObject, now: datetime) -> int:
    return get_at(obj, ("series", "count")) or obj.get("count") or obj.get("deprecatedCount") or 1


def _event_message(obj: JSONObject, now: datetime) -> str:
    return str(obj.get("message") or obj.get("note") or "").strip()


_REPLICAS = (
    TableColumn("Desired", _zero("spec", "replicas"), "integer"),
    TableColumn("Current", _zero("status", "replicas"), "integer"),
    TableColumn("Ready", _zero("status", "readyReplicas"), "integer"),
    AGE,
)
WORKLOAD_COLUMNS: Mapping[str, Sequence[TableColumn]] = {
    "pods": (
        NAME,
        TableColumn("Ready", ready_containers),
        TableColumn("Status", pod_status),
        TableColumn("Restarts", restarts),
        AGE,
        TableColumn("IP", _pod_ip, is_wide=True),
        TableColumn("Node", at("spec", "nodeName"), is_wide=True),
        TableColumn("Nominated Node", at("status", "nominatedNodeName"), is_wide=True),
        TableColumn("Readiness Gates", readiness_gates, is_wide=True),
    ),
    "podtemplates": (
        NAME,
        *(column._replace(is_wide=False) for column in _containers("template")),
        TableColumn("Pod Labels", labels_at("template", "metadata", "labels")),
    ),
    "replicationcontrollers": (
        NAME,
        *_REPLICAS,
        *_containers("spec", "template"),
        TableColumn("Selector", labels_at("spec", "selector"), is_wide=True),
    ),
    "replicasets": (NAME, *_REPLICAS, *_selected("spec", "selector")),
    "deployments": (
        NAME,
        TableColumn("Ready", _ready),
        TableColumn("Up-to-date", _zero("status", "updatedReplicas")),
        TableColumn("Available", _zero("status", "availableReplicas")),
        AGE,
        *_selected("spec", "selector"),
    ),
    "statefulsets": (NAME, TableColumn("Ready", _ready), AGE, *_containers("spec", "template")),
    "daemonsets": (
        NAME,
        TableColumn("Desired", _zero("status", "desiredNumberScheduled"), "integer"),
        TableColumn("Current", _zero("status", "currentNumberScheduled"), "integer"),
        TableColumn("Ready", _zero("status", "numberReady"), "integer"),
        TableColumn("Up-to-date", _zero("status", "updatedNumberScheduled"), "integer"),
        TableColumn("Available", _zero("status", "numberAvailable"), "integer"),
        TableColumn("Node Selector", labels_at("spec", "template", "spec", "nodeSelector")),
        AGE,
        *_selected("spec", "selector"),
    ),
    "controllerrevisions": (
        NAME,
        TableColumn("Controller", _controller),
        TableColumn("Revision", _zero("revision")),
        AGE,
    ),
    "jobs": (
        NAME,
        TableColumn("Status", _job_status),
        TableColumn("Completions", _completions),
        TableColumn("Duration", _duration),
        AGE,
        *_selected("spec", "selector"),
    ),
    "cronjobs": (
        NAME,
        TableColumn("Schedule", at("spec", "schedule")),
        TableColumn("Timezone", text_at("spec", "timeZone", default=NONE)),
        TableColumn("Suspend", _suspend, "boolean"),
        TableColumn("Active", size_of(("status", "active")), "integer"),
        TableColumn("Last Schedule", since("status", "lastScheduleTime", default=NONE)),
        AGE,
        *_containers("spec", "jobTemplate", "spec", "template"),
        TableColumn("Selector", selector_at("spec", "jobTemplate", "spec", "selector"), is_wide=True),
    ),
    "horizontalpodautoscalers": (
        NAME,
        TableColumn("Reference", _reference),
        TableColumn("Targets", _metrics),
        TableColumn("MinPods", text_at("spec", "minReplicas")),
        TableColumn("MaxPods", _zero("spec", "maxReplicas")),
        TableColumn("Replicas", _zero("status", "currentReplicas")),
        AGE,
    ),
    "poddisruptionbudgets": (
        NAME,
        TableColumn("Min Available", text_at("spec", "minAvailable", default="N/A")),
        TableColumn("Max Unavailable", text_at("spec", "maxUnavailable", default="N/A")),
        TableColumn("Allowed Disruptions", _zero("status", "disruptionsAllowed"), "integer"),
        AGE,
    ),
    "resourcequotas": (
        NAME,
        TableColumn("Request", _quota(is_limit=False)),
        TableColumn("Limit", _quota(is_limit=True)),
        AGE,
    ),
    "nodes": (
        NAME,
        TableColumn("Status", _node_status),
        TableColumn("Roles", _node_roles),
        AGE,
        TableColumn("Version", at("status", "nodeInfo", "kubeletVersion", default="")),
        TableColumn("Internal-IP", _node_address("InternalIP"), is_wide=True),
        TableColumn("External-IP", _node_address("ExternalIP"), is_wide=True),
        TableColumn("OS-Image", at("status", "nodeInfo", "osImage", default=UNKNOWN), is_wide=True),
        TableColumn("Kernel-Version", _kernel, is_wide=True),
        TableColumn(
            "Container-Runtime", at("status", "nodeInfo", "containerRuntimeVersion", default=UNKNOWN), is_wide=True
        ),
    ),
    "events": (
        TableColumn("Last Seen", _last_seen),
        TableColumn("Type", at("type", default="")),
        TableColumn("Reason", at("reason", default="")),
        TableColumn("Object", _event_object),
        TableColumn("Subobject", _event_path, is_wide=True),
        TableColumn("Source", _event_source, is_wide=True),
        TableColumn("Message", _event_message),
        TableColumn("First Seen", _first_seen, is_wide=True),
        TableColumn("Count", _event_count, is_wide=True),
        NAME._replace(is_wide=True),
    ),
}
SCALE_COLUMNS: Sequence[TableColumn] = (
    NAME._replace(format=""),
    TableColumn("Desired", _zero("spec", "replicas"), "integer"),
    TableColumn("Available", _zero("status", "replicas"), "integer"),
    AGE,
)
