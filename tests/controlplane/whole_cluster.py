"""Everything that a server holds before and after a run, beside what the plan says of each object.

The whole cluster is compared, so that an object that the plan does not name is found too. Set aside: status and its
owners, what the server allots (`comparison.py`), and kinds that it writes by itself. Values of Secrets are masked in a
plan, so these are only looked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import ObjectChange, Plan
from applyviz.workflow.plans import changes
from tests.controlplane.comparison import JSONObject, differences, make_comparable
from tests.controlplane.controlplane import ControlPlane

Key = tuple[str, str, str, str]
BY_ITSELF = ("Event", "Lease", "Endpoints", "EndpointSlice", "IPAddress", "FlowSchema", "PriorityLevelConfiguration")

AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"


def list_all(plane: ControlPlane) -> dict[Key, JSONObject]:
    """Every object of the cluster, of each kind that can be listed, made comparable."""
    kinds = plane.kubectl("api-resources", "--verbs=list,get", "-o", "name").stdout.split()
    listed = plane.kubectl("get", ",".join(kinds), "-A", "-o", "json", "--show-managed-fields").stdout
    found = {}
    for obj in json.loads(listed)["items"]:
        group, _, _ = obj["apiVersion"].rpartition("/")
        if obj["kind"] not in BY_ITSELF and AUTOMANAGED not in obj["metadata"].get("labels", {}):
            key = (group, obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            found[key] = _set_aside(obj)
    return found


def _set_aside(obj: JSONObject) -> JSONObject:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "generation"}
    owners = [entry for entry in metadata.get("managedFields", []) if entry.get("subresource") != "status"]
    kept = {name: value for name, value in obj.items() if name != "status"}
    return make_comparable({"": {**kept, "metadata": {**metadata, "managedFields": owners}}}, {})[""]


def find_untrue(plan: Plan, before: dict[Key, JSONObject], after: dict[Key, JSONObject]) -> Iterator[str]:
    """Yield what came out otherwise than the plan says; of several writes of one object the last one counts."""
    named = {(row.group, row.kind, row.namespace, row.name): row for row in plan.changes.order_by("position")}
    for key, row in named.items():
        if Operation(row.operation).is_deletion:
            yield from [f"{key} is still there"] if key in after else []
        elif key not in after or (key in before) is (row.operation == Operation.CREATE):
            yield f"{key}: {row.operation}, was there: {key in before}, is there: {key in after}"
        else:
            yield from (f"{key}: {line}" for line in _compare(row, after[key]))
    for key in before.keys() | after.keys():
        if key not in named and before.get(key) != after.get(key):
            yield f"{key} changed, and the plan does not name it"


def _compare(row: ObjectChange, live: JSONObject) -> list[str]:
    planned = changes.read_masked(row).versions.after
    if row.kind == "Secret" or planned is None:
        return []
    return differences(_set_aside(dict(planned)), live)
