"""Answer for the components of a control plane, which no client stores: `kubectl get componentstatuses`.

Rule: `pkg/registry/core/componentstatus` of k8s.io/kubernetes: the server asks each component how it is. Of a sandbox
all are healthy. Their lists have no revision and no pages, and cannot be watched.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import MutableObject
from applyviz.kubernetes.parity.status import not_found
from applyviz.sandbox.api.columns import NAME, TableColumn
from applyviz.sandbox.api.list_options import read_list_options
from applyviz.sandbox.storage.resources import ResourceTarget
from applyviz.sandbox.storage.routing import Route

PLURAL = "componentstatuses"
_COMPONENTS = ("scheduler", "controller-manager", "etcd-0")


def _make(name: str) -> MutableObject:
    condition = {"type": "Healthy", "status": "True", "message": "ok"}
    return {"kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": name}, "conditions": [condition]}


def read_components(request: Request, route: Route, target: ResourceTarget) -> Answer:
    """GET of one component, or of all that the selectors match."""
    if not route.name:
        is_chosen = read_list_options(target, request.query).is_chosen
        chosen = [one for one in map(_make, _COMPONENTS) if is_chosen(one)]
        items = [{name: one[name] for name in ("metadata", "conditions")} for one in chosen]
        return Answer(200, {"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": items})
    if route.name not in _COMPONENTS:
        raise not_found("", "componentstatus", route.name)
    return Answer(200, _make(route.name))


COLUMNS: Mapping[str, tuple[TableColumn, ...]] = {
    PLURAL: (
        NAME,
        TableColumn("Status", lambda obj, now: "Healthy"),
        TableColumn("Message", lambda obj, now: "ok"),
        TableColumn("Error", lambda obj, now: ""),
    )
}
