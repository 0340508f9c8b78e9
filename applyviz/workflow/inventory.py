"""What lives in a cluster: its objects with their field managers, values left behind at once.

Kinds are asked one list each, in the order of the cluster's own resources; what may not be listed is named
and not counted as empty. Events, leases and endpoints are left out: controllers write them all the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from applyviz.clusters import connect, discovery
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.schema.model import Resource
from applyviz.records.models import Cluster
from applyviz.workflow import access
from applyviz.workflow.access import Action, Visitor
from applyviz.workflow.places import Place

_LEFT_OUT = frozenset({"Event", "Lease", "Endpoints", "EndpointSlice", "ControllerRevision", "APIService"})
_LIMIT = "500"


@dataclass(frozen=True, slots=True)
class LiveObject:
    """One object of a cluster, its owners and when it was made."""

    ref: ObjectRef
    owners: tuple[Owner, ...]
    created: str


@dataclass(frozen=True, slots=True)
class Inventory:
    """Objects of a cluster; `unread` names kinds that could not be listed, `problem` why nothing could."""

    objects: tuple[LiveObject, ...] = ()
    unread: tuple[str, ...] = ()
    problem: str = ""


def _read_owner(entry: JSONObject) -> Owner:
    texts = (entry.get(name) for name in ("manager", "operation", "apiVersion", "subresource", "time"))
    return Owner(*(text if isinstance(text, str) else "" for text in texts))


def _read_object(item: JSONObject, resource: Resource) -> LiveObject:
    entries = get_at(item, ("metadata", "managedFields"), [])
    named = ObjectRef.from_object(item)
    created = get_at(item, ("metadata", "creationTimestamp"), "")
    return LiveObject(
        ref=ObjectRef(resource.gvk, named.namespace, named.name),
        owners=tuple(_read_owner(entry) for entry in entries if isinstance(entry, dict)),
        created=created if isinstance(created, str) else "",
    )


def _choose_resources(found: tuple[Resource, ...]) -> list[Resource]:
    chosen: dict[tuple[str, str], Resource] = {}
    for resource in found:
        is_listed = not resource.verbs or "list" in resource.verbs
        if is_listed and resource.gvk.kind not in _LEFT_OUT:
            chosen.setdefault((resource.gvk.group, resource.gvk.kind), resource)
    return list(chosen.values())


def _read_answers(resources: list[Resource], answers: list[Answer]) -> Iterator[LiveObject | str]:
    for resource, answer in zip(resources, answers, strict=True):
        if not answer.is_ok:
            if answer.status != 404:
                yield resource.gvk.kind
            continue
        for item in get_at(answer.body, ("items",), []):
            yield _read_object(item, resource)


def _list(reader: ClusterReader) -> Inventory:
    resources = _choose_resources(discovery.load_catalog(reader).list_resources())
    requests = [Request("GET", resource.path(), {"limit": _LIMIT}, purpose="list") for resource in resources]
    found = list(_read_answers(resources, reader.try_send_all(requests)))
    objects = [one for one in found if isinstance(one, LiveObject)]
    objects.sort(key=lambda one: (one.ref.gvk.kind, one.ref.namespace, one.ref.name))
    return Inventory(tuple(objects), tuple(one for one in found if isinstance(one, str)))


def read_inventory(cluster: Cluster, *, for_user: Visitor) -> Inventory:
    """The objects of a cluster in places of this person; one that does not answer gives the problem instead."""
    access.require(for_user, Action.LOOK)
    try:
        with connect.open_reader(cluster) as reader:
            found = _list(reader)
    except ClusterError as error:
        return Inventory(problem=str(error))
    seen = access.sees_places(for_user, {Place(cluster.slug, one.ref.namespace) for one in found.objects})
    kept = tuple(one for one in found.objects if Place(cluster.slug, one.ref.namespace) in seen)
    return replace(found, objects=kept)
