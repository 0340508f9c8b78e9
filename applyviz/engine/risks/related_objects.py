"""Read the live objects that risk rules need besides the set.

These are the autoscalers of the namespaces that the set touches, the namespaces and definitions of the set itself (only
absent ones have to come first), and the definitions of its custom resources. Objects that may not be read are left out:
a rule then reports less, but nothing wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.kinds import CRD, NAMESPACE
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.risks.model import RelatedObjects
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import Resource, ResourceSource

_WATCHING: Final = (GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"),)
_DEFINITION: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_FOUNDATIONS: Final = frozenset((NAMESPACE, CRD))
_WORKLOADS: Final = frozenset(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"))
# From this number of namespaces on, one list over all namespaces is cheaper than one list for each.
_MANY_NAMESPACES: Final = 8


def _list(resource: Resource, namespace: str) -> Request:
    return Request("GET", resource.path(namespace), {"limit": "500"}, purpose="list")


def find_related_requests(
    refs: Iterable[ObjectRef], resources: ResourceSource, *, namespace: str = "default"
) -> tuple[Request, ...]:
    """Return the reads whose answers `read_related` takes; `namespace` is that of objects without one."""
    requests: list[Request] = []
    namespaces: dict[str, None] = {}
    definitions = resources.find_resource(_DEFINITION)
    defining: dict[str, None] = {}
    for ref in refs:
        resource = resources.find_resource(ref.gvk)
        if resource is None:
            continue
        if (ref.gvk.group, ref.gvk.kind) in _FOUNDATIONS:
            path = resource.path("", ref.name)
            requests.append(Request("GET", path, ref=ref, purpose="read"))
        elif definitions is not None and bundled().find_resource(ref.gvk) is None:
            defining[definitions.path("", f"{resource.plural}.{ref.gvk.group}")] = None
        elif resource.is_namespaced and ref.gvk.kind in _WORKLOADS:
            namespaces[ref.namespace or namespace] = None
    asked = {request.path for request in requests}
    requests.extend(Request("GET", path, purpose="read") for path in defining if path not in asked)
    for gvk in _WATCHING:
        resource = resources.find_resource(gvk)
        if resource is not None and namespaces:
            wanted = namespaces if len(namespaces) < _MANY_NAMESPACES else {"": None}
            requests.extend(_list(resource, name) for name in wanted)
    return tuple(requests)


def _objects(body: object) -> list[JSONObject]:
    if not isinstance(body, Mapping):
        return []
    if not isinstance(body.get("items"), list):
        return [body]
    # Items of a typed list omit the kind and version of the list.
    kind = str(body.get("kind", "")).removesuffix("List")
    inherited = {"apiVersion": body.get("apiVersion"), "kind": kind}
    return [{**inherited, **item} for item in body["items"] if isinstance(item, Mapping)]


def read_related(answers: Sequence[Answer | Exception]) -> RelatedObjects:
    """Return the live objects of the successful answers."""
    live = [obj for a in answers if isinstance(a, Answer) and a.is_ok for obj in _objects(a.body)]
    return RelatedObjects(live=tuple(live))
