"""Reads that show where the references of a set lead, and their answers as knowledge.

Asked are the objects that the set names and does not hold, the objects of its namespaces that refer to each other, and
whether a selector that no pod template of the set matches has a live pod. Only namespaces of the set are read: others
may be none of the reader's business. Of Secrets the names of entries are kept and their values dropped at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.request_paths import is_segment, make_path
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.references.listing import list_references, list_selections
from applyviz.engine.references.model import Key
from applyviz.engine.references.reading import list_entries, map_at, text_at
from applyviz.engine.references.resolving import Knowledge, ReferenceIndex
from applyviz.engine.schema.model import ResourceSource

READERS: Final = ("Deployment", "StatefulSet", "DaemonSet", "CronJob")
"""The kinds whose pods may read a ConfigMap for long; all of them are listed."""
_LISTED: Final = (
    *(("apps", kind) for kind in READERS[:3]),
    ("batch", "CronJob"),
    ("", "Service"),
    ("networking.k8s.io", "Ingress"),
    ("policy", "PodDisruptionBudget"),
)
# Kinds of a set that live neighbors refer to, or that refer to them.
_TOUCHED: Final = frozenset({"ConfigMap", "Secret", *READERS, *(kind for _, kind in _LISTED), "NetworkPolicy"})
_MOST_OBJECTS: Final = 400
_MOST_NAMESPACES: Final = 20
_PAGE: Final = "500"
_FEW: Final = "50"
_KEPT: Final = ("name", "namespace", "labels", "ownerReferences")


class ReferenceRead(Struct, frozen=True):
    """One read and what its answer is about: one object, all objects of a kind, or the pods of a selector.

    - `members`: the objects of the set, whose own live pods do not answer for a selector: they are replaced.
    """

    request: Request
    key: Key | None = None
    selector: str = ""
    kind: str = ""
    namespace: str = ""
    members: frozenset[Key] = frozenset()


def _place(obj: JSONObject, resources: ResourceSource, namespace: str) -> ObjectRef:
    """Return the reference of an object of the set, with the namespace that it will have."""
    ref = ObjectRef.from_object(obj)
    resource = resources.find_preferred(ref.gvk.group, ref.gvk.kind)
    if resource is not None and not resource.is_namespaced:
        return ref._replace(namespace="")
    return ref if ref.namespace else ref._replace(namespace=namespace)


def _read_objects(
    placed: Mapping[Key, tuple[ObjectRef, JSONObject]], resources: ResourceSource, namespaces: frozenset[str]
) -> Iterator[ReferenceRead]:
    wanted: dict[Key, None] = {}
    for ref, obj in placed.values():
        wanted.update((reference.target, None) for reference in list_references(ref, obj))
    for key in wanted:
        group, kind, namespace, name = key
        resource = resources.find_preferred(group, kind)
        if key in placed or resource is None or (resource.is_namespaced and namespace not in namespaces):
            continue
        if not is_segment(name):  # no object can have this name
            continue
        ref = ObjectRef(resource.gvk, namespace, name)
        path = resource.path(namespace if resource.is_namespaced else "", name)
        yield ReferenceRead(Request("GET", path, ref=ref, purpose="read"), key=key)


def _read_lists(
    placed: Iterable[Key], resources: ResourceSource, namespaces: frozenset[str]
) -> Iterator[ReferenceRead]:
    touched = dict.fromkeys(key[2] for key in placed if key[1] in _TOUCHED and key[2] in namespaces)
    for namespace in list(touched)[:_MOST_NAMESPACES]:
        for group, kind in _LISTED:
            resource = resources.find_preferred(group, kind)
            if resource is not None:
                request = Request("GET", resource.path(namespace), {"limit": _PAGE}, purpose="list")
                yield ReferenceRead(request, kind=kind, namespace=namespace)


def _read_pods(placed: Mapping[Key, tuple[ObjectRef, JSONObject]]) -> Iterator[ReferenceRead]:
    index = ReferenceIndex({key: obj for key, (_, obj) in placed.items()})
    for ref, obj in placed.values():
        for selection in list_selections(ref, obj):
            # A plain map of labels is a selector of the query as it stands; a set of requirements is not asked for.
            is_plain = selection.selector.equals and not selection.selector.requirements
            if is_plain and not any(True for _ in index.select(selection)):
                asked = ",".join("=".join(equal) for equal in selection.selector.equals)
                query = {"labelSelector": asked, "limit": _FEW}
                path = make_path("", "v1", "pods", namespace=selection.namespace)
                request = Request("GET", path, query, purpose="list")
                yield ReferenceRead(request, None, str(selection.selector), "", selection.namespace, frozenset(placed))


def list_reference_reads(
    objects: Iterable[JSONObject], resources: ResourceSource, *, namespace: str = "default"
) -> tuple[ReferenceRead, ...]:
    """Return the reads whose answers `read_references` takes; `namespace` is that of objects that name none."""
    placed = {}
    for obj in objects:
        ref = _place(obj, resources, namespace)
        placed[ref.key] = (ref, obj)
    namespaces = frozenset(key[2] for key in placed) - {""}
    named = list(_read_objects(placed, resources, namespaces))[:_MOST_OBJECTS]
    return (*named, *_read_lists(placed, resources, namespaces), *_read_pods(placed))


def _strip(obj: JSONObject) -> JSONObject:
    """An object without what no reference needs: status, field owners, and values of ConfigMaps and Secrets."""
    metadata = {name: value for name, value in map_at(obj, "metadata").items() if name in _KEPT}
    kept = {name: value for name, value in obj.items() if name not in ("status", "metadata", "stringData")}
    entries = {part: dict.fromkeys(map_at(obj, part), "") for part in ("data", "binaryData")}
    return {**kept, "metadata": metadata, **entries}


def _list_items(body: JSONObject, kind: str) -> Iterator[JSONObject]:
    # Items of a typed list leave kind and version to the list.
    inherited = {"apiVersion": body.get("apiVersion"), "kind": kind}
    for _, item in list_entries(body.get("items")):
        yield _strip({**inherited, **item})


def _is_of_set(pod: JSONObject, members: frozenset[Key]) -> bool:
    """Return whether a live pod is an object of the set, or made by one."""
    namespace = text_at(pod, "metadata", "namespace")
    keys = {ObjectRef.from_object(pod).key}
    for _, owner in list_entries(map_at(pod, "metadata").get("ownerReferences")):
        group, name = text_at(owner, "apiVersion").rpartition("/")[0], text_at(owner, "name")
        keys.add((group, text_at(owner, "kind"), namespace, name))
        # Pods of a Deployment are owned by a ReplicaSet that is named after it.
        keys.add((group, "Deployment", namespace, name.rpartition("-")[0]))
    return not keys.isdisjoint(members)


def read_references(
    reads: Sequence[ReferenceRead], answers: Sequence[Answer]
) -> tuple[tuple[JSONObject, ...], Knowledge]:
    """Return the live objects of the answers, stripped, and what is known of those that are not there."""
    live: dict[Key, JSONObject] = {}
    absent, refused = set(), {}
    unmatched, listed = set(), set()
    for read, answer in zip(reads, answers, strict=True):
        body: JSONObject = answer.body if isinstance(answer.body, Mapping) else {}
        if read.key is not None:
            if answer.is_ok:
                live[read.key] = _strip(body)
            elif answer.status == 404:
                absent.add(read.key)
            else:
                refused[read.key] = answer.status
        elif answer.is_ok:
            items = [item for item in _list_items(body, read.kind or "Pod") if not _is_of_set(item, read.members)]
            live.update((ObjectRef.from_object(item).key, item) for item in items)
            is_complete = not text_at(body, "metadata", "continue")
            if read.selector and not items and is_complete:
                unmatched.add((read.namespace, read.selector))
            if read.kind and is_complete:
                listed.add((read.kind, read.namespace))
    knowledge = Knowledge(frozenset(absent), refused, frozenset(unmatched), listed=frozenset(listed))
    return tuple(live.values()), knowledge
