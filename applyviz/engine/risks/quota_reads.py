"""Read the ResourceQuotas and LimitRanges of the namespaces in which a set runs pods.

Rule: a quota limits what all pods of its namespace request, and a LimitRange sets what a container leaves out,
https://kubernetes.io/docs/concepts/policy/resource-quotas/. Lists that cannot be read are kept with their status, so
that a page can say that a quota was not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.schema.model import ResourceSource

WORKLOADS: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Pod")
_READ: Final = tuple(GroupVersionKind("", "v1", kind) for kind in ("ResourceQuota", "LimitRange"))
_MOST_NAMESPACES: Final = 20


class QuotaRead(Struct, frozen=True):
    """One list of quotas or of limit ranges in one namespace."""

    request: Request
    kind: str
    namespace: str


class LiveQuotas(Struct, frozen=True):
    """The quotas and limit ranges of some namespaces.

    - `unread`: the status of the answer for each namespace whose quotas could not be read.
    """

    quotas: tuple[JSONObject, ...] = ()
    ranges: tuple[JSONObject, ...] = ()
    unread: Mapping[str, int] = field(default_factory=dict)


def list_quota_reads(
    refs: Iterable[ObjectRef], resources: ResourceSource, *, namespace: str = "default"
) -> tuple[QuotaRead, ...]:
    """Return the reads whose answers `read_quotas` takes; `namespace` is that of objects without one."""
    spaces = dict.fromkeys(ref.namespace or namespace for ref in refs if ref.gvk.kind in WORKLOADS)
    reads = []
    for gvk in _READ:
        resource = resources.find_resource(gvk)
        if resource is not None:
            for name in list(spaces)[:_MOST_NAMESPACES]:
                request = Request("GET", resource.path(name), {"limit": "500"}, purpose="list")
                reads.append(QuotaRead(request, gvk.kind, name))
    return tuple(reads)


def _list_items(read: QuotaRead, answer: Answer) -> list[JSONObject]:
    items = answer.body.get("items") if isinstance(answer.body, Mapping) else None
    return [
        {**item, "kind": read.kind} for item in (items if isinstance(items, list) else ()) if isinstance(item, Mapping)
    ]


def read_quotas(reads: Sequence[QuotaRead], answers: Sequence[Answer]) -> LiveQuotas:
    """Return the quotas and limit ranges of the answers, and the namespaces whose quotas could not be read."""
    found: dict[str, list[JSONObject]] = {"ResourceQuota": [], "LimitRange": []}
    unread = {}
    for read, answer in zip(reads, answers, strict=True):
        if answer.is_ok:
            found[read.kind] += _list_items(read, answer)
        elif read.kind == "ResourceQuota":
            unread[read.namespace] = answer.status
    return LiveQuotas(tuple(found["ResourceQuota"]), tuple(found["LimitRange"]), unread)
