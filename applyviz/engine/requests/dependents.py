"""List the objects that belong to others, so that a plan can say what goes with a deleted object.

Rule: https://kubernetes.io/docs/concepts/architecture/garbage-collection/. An object belongs to the owners in its
`ownerReferences`, which are in the same namespace or cluster-scoped; it goes when all its owners are gone. The API has
no search by owner, so each kind of a namespace is listed once. Left out: Events, and the metrics of running pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, field

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.references.listing import list_references, list_selections
from applyviz.engine.references.model import Key, ReferenceKind
from applyviz.engine.references.pods import find_pod_template
from applyviz.engine.requests.flow import Catalog, Flow
from applyviz.engine.schema.model import Resource

MOST = 500
"""How many objects of one kind are read in a namespace; more are not searched."""
_LEFT_OUT = frozenset({("", "Event"), ("events.k8s.io", "Event")})
_METRICS = "metrics.k8s.io"
_SLICE = ("discovery.k8s.io", "EndpointSlice")
# They name nothing, and their values are not kept.
_SECRET = ("", "Secret")
_WITHOUT_REFERENCES = frozenset({("", "ConfigMap"), _SECRET})


class Dependent(Struct, frozen=True):
    """One live object with the uids of its owners."""

    ref: ObjectRef
    uid: str
    owners: frozenset[str]


class PodLabels(Struct, frozen=True):
    """The labels of a live pod, or of the pods that a live object makes, with the uid of the object."""

    uid: str
    labels: JSONObject


class DependentList(Struct, frozen=True):
    """The objects of one kind in one namespace that have owners; `is_whole` is False if not all could be read.

    - `count`: how many objects were read; `namespace` "" stands for all namespaces.
    - `referring`: the objects that refer to one that is deleted, whole; `selecting`: those that select pods, whole.
    - `pods`: whose pods have which labels, where objects are deleted.
    - `finalizers`: how many objects have each finalizer; of Secrets nothing is kept.
    - `serving`: the number of ready endpoints of each Service; `volumes`: volumes that were read one by one.
    """

    resource: Resource
    namespace: str
    found: tuple[Dependent, ...] = ()
    is_whole: bool = True
    count: int = 0
    referring: tuple[JSONObject, ...] = ()
    selecting: tuple[JSONObject, ...] = ()
    pods: tuple[PodLabels, ...] = ()
    serving: Mapping[str, int] = field(default_factory=dict)
    finalizers: Mapping[str, int] = field(default_factory=dict)
    volumes: tuple[JSONObject, ...] = ()


def list_kinds(catalog: Catalog) -> list[Resource]:
    """Return the namespaced kinds that can be listed, each at one version."""
    kinds: dict[tuple[str, str], Resource] = {}
    for resource in catalog.list_resources():
        key = (resource.gvk.group, resource.gvk.kind)
        can_list = not resource.verbs or "list" in resource.verbs
        if resource.is_namespaced and can_list and key not in _LEFT_OUT and resource.gvk.group != _METRICS:
            kinds.setdefault(key, resource)
    return list(kinds.values())


def list_owner_uids(obj: JSONObject) -> frozenset[str]:
    """Return the uids of the owners of an object."""
    return frozenset(str(get_at(owner, ("uid",))) for owner in get_at(obj, ("metadata", "ownerReferences")) or ())


def _read(resource: Resource, namespace: str, items: Iterable[JSONObject]) -> Iterator[Dependent]:
    for item in items:
        owners = list_owner_uids(item)
        if owners:
            ref = ObjectRef(resource.gvk, namespace, get_at(item, ("metadata", "name"), ""))
            yield Dependent(ref, get_at(item, ("metadata", "uid"), ""), owners)


def _find_referring(items: Iterable[JSONObject], gone: Collection[Key]) -> Iterator[JSONObject]:
    """Yield the objects that name one of the deleted objects, other than as their owner."""
    for obj in items:
        named = list_references(ObjectRef.from_object(obj), obj)
        if any(one.target in gone and one.kind is not ReferenceKind.OWNER for one in named):
            yield obj


def _find_selecting(items: Iterable[JSONObject]) -> Iterator[JSONObject]:
    """Yield the objects that select pods by their labels."""
    return (obj for obj in items if list_selections(ObjectRef.from_object(obj), obj))


def _read_pods(items: Iterable[JSONObject]) -> Iterator[PodLabels]:
    for item in items:
        template = find_pod_template(item)
        if template is not None:
            yield PodLabels(get_at(item, ("metadata", "uid"), ""), template.labels)


def _count_serving(resource: Resource, items: Iterable[JSONObject]) -> Mapping[str, int]:
    """Return the number of ready endpoints of each Service; {} for a kind other than EndpointSlice."""
    found: Counter[str] = Counter()
    for item in items if resource.gvk[::2] == _SLICE else ():
        ready = [e for e in get_at(item, ("endpoints",)) or () if get_at(e, ("conditions", "ready")) is not False]
        found[str(get_at(item, ("metadata", "labels", "kubernetes.io/service-name"), ""))] += len(ready)
    return dict(found)


def _count_finalizers(resource: Resource, items: Iterable[JSONObject]) -> Mapping[str, int]:
    """Return how many objects have each finalizer."""
    found: Counter[str] = Counter()
    for item in items if resource.gvk[::2] != _SECRET else ():
        found.update({str(name) for name in get_at(item, ("metadata", "finalizers")) or ()})
    return dict(found)


def read_volume(resource: Resource, name: str) -> Flow[DependentList]:
    """Return one volume, as a list without anything else; without the volume if it cannot be read."""
    answer = yield Request("GET", resource.path("", name), purpose="read")
    return DependentList(resource, "", volumes=(answer.body,) if answer.is_ok else ())


def list_dependents(resource: Resource, namespace: str, gone: Collection[Key] = ()) -> Flow[DependentList]:
    """Return the objects of one kind in one namespace that have owners; an unreadable kind is not an error.

    - `gone`: the deleted objects; the objects that refer to them, or that may lose their pods, are wanted too.
    """
    answer = yield Request("GET", resource.path(namespace), {"limit": str(MOST)}, purpose="list")
    if not answer.is_ok:
        return DependentList(resource, namespace, is_whole=answer.status == 404)
    items = get_at(answer.body, ("items",)) or ()
    is_whole = not get_at(answer.body, ("metadata", "continue"))
    read = DependentList(
        resource,
        namespace,
        tuple(_read(resource, namespace, items)),
        is_whole,
        len(items),
        serving=_count_serving(resource, items),
        finalizers=_count_finalizers(resource, items),
    )
    if not gone or resource.gvk[::2] in _WITHOUT_REFERENCES:
        return read
    whole = [{"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, **item} for item in items]
    referring, selecting = tuple(_find_referring(whole, gone)), tuple(_find_selecting(whole))
    return replace(read, referring=referring, selecting=selecting, pods=tuple(_read_pods(whole)))


def find_dependents(uid: str, gone: Collection[str], lists: Iterable[DependentList]) -> list[Dependent]:
    """Return the objects that go with the object of a uid, directly or through others.

    - `gone`: the uids of all objects that are deleted; one that has another owner stays.
    """
    known = [one for found in lists for one in found.found]
    going, result = {uid}, list[Dependent]()
    while True:
        more = [d for d in known if d.uid not in going and d.owners & going and d.owners <= {*going, *gone}]
        if not more:
            return result
        going |= {d.uid for d in more}
        result += more
