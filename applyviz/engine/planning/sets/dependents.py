"""Add to each deletion of a set what goes with it, and find what refers to it and stays.

Rule: `requests/dependents.py`. The kinds of a namespace are listed once for all deletions in it, after everything else
is planned, and only for plans that people read. A deleted namespace is listed too, and the objects of a deleted kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from applyviz.engine.objects.kinds import CRD, NAMESPACE, find_stored
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import DELETIONS, Operation, PlannedObject
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.write_risks import name_object
from applyviz.engine.references.listing import list_selections
from applyviz.engine.references.resolving import ReferenceIndex
from applyviz.engine.requests.dependents import (
    Dependent,
    DependentList,
    find_dependents,
    list_dependents,
    list_kinds,
    list_owner_uids,
    read_volume,
)
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.options import Propagation
from applyviz.engine.risks.deletions import DEPENDENTS, FINALIZERS, IN_USE, is_built_in
from applyviz.engine.risks.model import RelatedObjects, Risk
from applyviz.engine.risks.rules import sort_risks
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import Resource, SchemaOrigin

_NAMED = 8
_POD = ("", "Pod")
_SERVICE, _CLAIM = ("", "Service"), ("", "PersistentVolumeClaim")


def deletes(change: PlannedObject) -> bool:
    """Return whether a change deletes its live object."""
    return change.is_ended or any(request.method == "DELETE" for request in change.requests)


def _is(change: PlannedObject, kind: tuple[str, str]) -> bool:
    return find_stored(*change.ref.key[:2]) == kind


def _list_defined(change: PlannedObject) -> tuple[Resource, ...]:
    """Return the kind that a live definition defines, at one version; none if it serves no version."""
    return CRDSource([change.versions.live or {}], origin=SchemaOrigin.SOURCE_CRD).list_resources()[:1]


def list_searches(changes: Iterable[PlannedObject], context: PlanningContext) -> list[Flow[DependentList]]:
    """Return a flow for each kind of each namespace in which something is deleted, or that is deleted itself."""
    if not context.has_notes:
        return []
    deleted = [change for change in changes if deletes(change)]
    gone = frozenset(change.ref.key for change in deleted if change.operation in DELETIONS)
    inside = {change.ref.namespace for change in deleted}
    namespaces = sorted((inside | {change.ref.name for change in deleted if _is(change, NAMESPACE)}) - {""})
    kinds = list_kinds(context.catalog) if namespaces else []
    flows = [list_dependents(kind, namespace, gone) for namespace in namespaces for kind in kinds]
    defined = [kind for change in deleted if _is(change, CRD) for kind in _list_defined(change)]
    return [*flows, *(list_dependents(kind, "") for kind in defined), *_read_volumes(deleted, context)]


def _find_volume(change: PlannedObject) -> str:
    """Return the volume that a claim is bound to; "" for none and for other kinds."""
    is_bound = _is(change, _CLAIM) and get_at(change.versions.live, ("status", "phase")) == "Bound"
    return str(get_at(change.versions.live, ("spec", "volumeName"), "")) if is_bound else ""


def _read_volumes(deleted: Iterable[PlannedObject], context: PlanningContext) -> list[Flow[DependentList]]:
    resource = context.catalog.find_resource(GroupVersionKind("", "v1", "PersistentVolume"))
    names = dict.fromkeys(filter(None, map(_find_volume, deleted)))
    return [read_volume(resource, name) for name in names] if resource is not None else []


def _find_uses(change: PlannedObject, lists: Sequence[DependentList]) -> Iterator[Risk]:
    """Yield the risk that a deleted object is in use: a Service with endpoints, a bound claim."""
    named, volume = name_object(change.ref), _find_volume(change)
    serving = [one for one in lists if one.serving and one.namespace == change.ref.namespace]
    ready = sum(one.serving.get(change.ref.name, 0) for one in serving) if _is(change, _SERVICE) else 0
    if ready:
        stays = "" if change.operation in DELETIONS else "yes"
        yield IN_USE.at(facts={**named, "count": str(ready), "stays": stays})
    if volume:
        read = (obj for one in lists for obj in one.volumes if get_at(obj, ("metadata", "name")) == volume)
        policy = str(get_at(next(read, None), ("spec", "persistentVolumeReclaimPolicy"), ""))
        yield IN_USE.at(facts={**named, "volume": volume, "policy": policy})


def _find_uid(change: PlannedObject) -> str:
    return str(get_at(change.versions.live, ("metadata", "uid"), ""))


def _name(found: Sequence[Dependent]) -> str:
    names = ", ".join(f"{one.ref.gvk.kind} {one.ref.name}" for one in islice(found, _NAMED))
    return names if len(found) <= _NAMED else f"{names} and {len(found) - _NAMED} more"


def _count(lists: Iterable[DependentList]) -> str:
    """Return how many objects there are, by kind: `2 ConfigMap, 500+ Pod`; "nothing" for none."""
    counted = sorted((one.resource.gvk.kind, f"{one.count}{'' if one.is_whole else '+'}") for one in lists if one.count)
    return ", ".join(f"{count} {kind}" for kind, count in counted) or "nothing"


def _list_kinds(found: Iterable[Dependent], lists: Iterable[DependentList]) -> str:
    """Return the kinds of the objects that go, and of those that could not be read: `apps/ReplicaSet core/Pod`."""
    kinds = {one.ref.gvk for one in found} | {one.resource.gvk for one in lists if not one.is_whole}
    return " ".join(sorted({f"{gvk.group or 'core'}/{gvk.kind}" for gvk in kinds}))


def _name_unread(lists: Iterable[DependentList]) -> str:
    return ", ".join(one.resource.plural for one in lists if not one.is_whole)


def _find_finalizers(named: Mapping[str, str], lists: Iterable[DependentList]) -> Iterator[Risk]:
    """Yield the risk that what goes with a namespace or a definition has finalizers that controllers must remove."""
    found = [
        (finalizer, f"{count} {one.resource.gvk.kind}")
        for one in lists
        for finalizer, count in one.finalizers.items()
        if not is_built_in(finalizer)
    ]
    texts = [f"{finalizer} ({objects})" for finalizer, objects in sorted(found)]
    if texts:
        more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
        yield FINALIZERS.at(facts={**named, "content": ", ".join(texts[:_NAMED]) + more})


def _find_content(change: PlannedObject, lists: Sequence[DependentList]) -> Iterator[Risk]:
    """Yield the risks that count what a deleted namespace or definition takes with it, and name what holds it."""
    named = name_object(change.ref)
    if _is(change, NAMESPACE):
        inside = [found for found in lists if found.namespace == change.ref.name]
        facts = {"reach": "namespace", "objects": _count(inside), "unread": _name_unread(inside)}
    else:
        group, kind = (
            get_at(change.versions.live, path, "") for path in (("spec", "group"), ("spec", "names", "kind"))
        )
        inside = [found for found in lists if not found.namespace and found.resource.gvk[::2] == (group, kind)]
        objects = _count(inside) if inside else "unknown"
        facts = {"reach": "kind", "defined": str(kind), "objects": objects, "unread": _name_unread(inside)}
    yield DEPENDENTS.at(facts={**named, **facts})
    yield from _find_finalizers(named, inside)


def _find_propagation(change: PlannedObject) -> str:
    """Return what happens to the dependents of a deleted object; a write that ends a deletion names no policy."""
    deletion = next((request for request in change.requests if request.method == "DELETE"), None)
    named = get_at(deletion.body, ("propagationPolicy",), "") if deletion is not None else Propagation.BACKGROUND
    return str(named)


def _find_risks(change: PlannedObject, gone: set[str], lists: Sequence[DependentList]) -> Iterator[Risk]:
    named = name_object(change.ref)
    yield from _find_uses(change, lists)
    propagation = _find_propagation(change)
    if _is(change, NAMESPACE) or _is(change, CRD):
        yield from _find_content(change, lists)
        return
    if not change.ref.namespace:
        if propagation != Propagation.ORPHAN:
            yield DEPENDENTS.at(facts={**named, "reach": "cluster"})
        return
    here = [found for found in lists if found.namespace == change.ref.namespace]
    found = find_dependents(_find_uid(change), gone, here)
    unread = _name_unread(here)
    if found or unread:
        facts = {"count": str(len(found)), "objects": _name(found), "propagation": propagation, "unread": unread}
        kinds = "" if propagation == Propagation.ORPHAN else _list_kinds(found, here)
        yield DEPENDENTS.at(facts={**named, **facts, "kinds": kinds})


def _follow_owners(changes: Iterable[PlannedObject], lists: Iterable[DependentList]) -> list[DependentList]:
    """Return the lists with the owners that objects have after the updates of the plan."""
    planned: dict[tuple[str, str, str], dict[str, Dependent]] = {}
    for change in changes:
        if change.operation is Operation.UPDATE and change.versions.after is not None:
            found = Dependent(change.ref, _find_uid(change), list_owner_uids(change.versions.after))
            planned.setdefault(change.ref.key[:3], {})[found.uid] = found
    return [_follow(one, planned.get((*one.resource.gvk[::2], one.namespace), {})) for one in lists]


def _follow(found: DependentList, planned: Mapping[str, Dependent]) -> DependentList:
    known = {one.uid for one in found.found}
    added = (one for uid, one in planned.items() if uid not in known)
    return replace(found, found=(*(planned.get(one.uid, one) for one in found.found), *added)) if planned else found


def add_dependents(changes: Sequence[PlannedObject], lists: Sequence[DependentList]) -> tuple[PlannedObject, ...]:
    """Return the changes; each deletion has the risk that names the objects which belong to it.

    - Prune comes after all updates, so the owners that these set count; other deletions may come before them.
    """
    gone, followed = {_find_uid(change) for change in changes if deletes(change)}, _follow_owners(changes, lists)
    noted = []
    for change in changes:
        if deletes(change):
            risks = _find_risks(change, gone, followed if change.operation is Operation.PRUNE else lists)
            change = replace(change, risks=sort_risks((*change.risks, *risks)))
        noted.append(change)
    return tuple(noted)


def _list_going(changes: Sequence[PlannedObject], lists: Sequence[DependentList]) -> set[str]:
    """Return the uids of all objects that are deleted: by the plan, and with others."""
    deleted = [change for change in changes if deletes(change)]
    gone = {_find_uid(change) for change in deleted}
    owners = [change for change in deleted if _find_propagation(change) != Propagation.ORPHAN]
    return gone | {one.uid for change in owners for one in find_dependents(_find_uid(change), gone, lists)}


def _find_losing(
    changes: Sequence[PlannedObject], lists: Sequence[DependentList], going: Collection[str]
) -> Iterator[tuple[tuple[str, str], JSONObject]]:
    """Yield the objects whose selector matches pods that go and no others, by their namespace and selector.

    - Where the live pods of a namespace are not all known, others may be left, so nothing is said of it.
    """
    deleted = ReferenceIndex({c.ref.key: c.versions.live for c in changes if deletes(c) and c.versions.live})
    known = {one.namespace for one in lists if one.resource.gvk[::2] == _POD and one.is_whole}
    for obj in (obj for one in lists for obj in one.selecting):
        for selection in list_selections(ObjectRef.from_object(obj), obj):
            pods = (pod for one in lists if one.namespace == selection.namespace for pod in one.pods)
            left = any(pod.uid not in going and selection.selector.matches(pod.labels) for pod in pods)
            if selection.namespace in known and not left and any(True for _ in deleted.select(selection)):
                yield (selection.namespace, str(selection.selector)), obj


def add_referring(
    changes: Sequence[PlannedObject], lists: Sequence[DependentList], related: RelatedObjects
) -> RelatedObjects:
    """Return the related objects with those that refer to a deleted object, or lose their pods, and stay."""
    going = _list_going(changes, lists)
    spaces = {change.ref.name for change in changes if deletes(change) and _is(change, NAMESPACE)}
    known = {ObjectRef.from_object(obj).key for obj in related.neighbors}
    found: dict[tuple[str, str, str, str], JSONObject] = {}
    losing = list(_find_losing(changes, lists, going))
    for obj in (*(obj for one in lists for obj in one.referring), *(obj for _selection, obj in losing)):
        ref, uid = ObjectRef.from_object(obj), get_at(obj, ("metadata", "uid"), "")
        if uid not in going and ref.namespace not in spaces and ref.key not in known:
            found[ref.key] = obj
    unmatched = related.knowledge.unmatched | {selection for selection, _obj in losing}
    knowledge = replace(related.knowledge, unmatched=unmatched)
    return replace(related, neighbors=(*related.neighbors, *found.values()), knowledge=knowledge)
