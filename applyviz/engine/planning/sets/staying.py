"""Find the objects that one could expect prune to delete, and that stay: each exists, and each with the reason.

Rule: kubectl looks only at the kinds of the allowlist, in the namespaces that the files name now, for the selector, and
at objects with last-applied; by ApplySet, at objects with the label of the set. It says nothing of the others. They
are the objects that match without the annotation, and those of the last run of the same set that prune does not find.
Kinds that the options except are never pruned: kubectl has no such choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.kinds import list_kind_names
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Staying, StayReason
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.requests import applyset
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow
from applyviz.engine.requests.options import ApplyOptions, PruneMode
from applyviz.engine.requests.prune import Prunable, read_allowlist

MOST_READ = 50
"""So many objects of the last run are read; of more, the others are not named."""
_Name = tuple[str, str, str, str]
# Kubernetes itself writes these into namespaces, some with the labels of what they belong to.
_OF_KUBERNETES = frozenset((("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice")))
_ROOT_CERTIFICATES = "kube-root-ca.crt"


class Searched(Struct, frozen=True):
    """The reach of a prune: the kinds of its allowlist and the namespaces that the files name."""

    options: ApplyOptions
    kinds: frozenset[tuple[str, str]] = frozenset()
    namespaces: frozenset[str] = frozenset()

    def explain(self, ref: ObjectRef) -> StayReason:
        """Return why an object that exists was not found."""
        if self.options.prune.mode is PruneMode.APPLYSET:
            return StayReason.NO_MEMBER
        if ref.key[:2] not in self.kinds:
            return StayReason.KIND
        if ref.namespace and ref.namespace not in self.namespaces:
            return StayReason.NAMESPACE
        return StayReason.SELECTOR if self.options.selector else StayReason.NOT_APPLIED


def describe_search(options: ApplyOptions, context: PlanningContext, namespaces: Iterable[str] = ()) -> Searched:
    """Return what the options make prune look at."""
    kinds = frozenset(one.gvk[::2] for one in read_allowlist(options.prune.allowlist, context.catalog)[0])
    return Searched(options, kinds, frozenset(namespaces))


def is_excepted(found: Prunable, options: ApplyOptions) -> bool:
    """Return whether the options keep the kind of an object that prune found."""
    return not list_kind_names(*found.ref.key[:2]).isdisjoint(options.prune.excepted)


def list_excepted(found: Iterable[Prunable], options: ApplyOptions) -> tuple[Staying, ...]:
    """Return the objects that would be pruned if the options did not except their kind."""
    wanted = (one for one in found if one.is_applied and is_excepted(one, options))
    return tuple(Staying(one.ref, StayReason.EXCEPTED) for one in wanted)


def _is_of_controllers(found: Prunable) -> bool:
    ref = found.ref
    owners = get_at(found.obj, ("metadata", "ownerReferences")) or ()
    is_owned = any(owner.get("controller") is True for owner in owners)
    return is_owned or ref.key[:2] in _OF_KUBERNETES or ref.name == _ROOT_CERTIFICATES


def list_unmarked(found: Iterable[Prunable]) -> tuple[Staying, ...]:
    """Return the objects that match but were not applied by kubectl's records; what controllers made is left out."""
    wanted = (one for one in found if not one.is_applied and not _is_of_controllers(one))
    return tuple(Staying(one.ref, StayReason.NOT_APPLIED) for one in wanted)


def _list_missing(
    documents: Iterable[ManifestDocument], options: ApplyOptions, context: PlanningContext, known: Collection[_Name]
) -> Iterator[ObjectRef]:
    """Yield the objects of the last run that neither the files nor `known` have."""
    if context.earlier is None:
        return
    filed = {(*d.ref.key[:2], namespace, d.ref.name) for d in documents for namespace in (d.ref.namespace, "")}
    filed |= {(*d.ref.key[:2], d.ref.namespace or options.namespace, d.ref.name) for d in documents}
    yield from (ref for ref in context.earlier.objects if ref.key not in filed and ref.key not in known)


def _could_go(obj: JSONObject) -> bool:
    """Return whether one could expect prune to delete an object: not what is being deleted, nor the parent of a set."""
    labels = get_at(obj, ("metadata", "labels")) or {}
    return not get_at(obj, ("metadata", "deletionTimestamp")) and applyset.ID not in labels


def find_lost(
    documents: Iterable[ManifestDocument], searched: Searched, context: PlanningContext, known: Iterable[ObjectRef]
) -> Flow[tuple[Staying, ...]]:
    """Return the objects of the last run that left the files, that prune does not find, and that exist.

    - `documents`: all of the source, also those that a selector leaves out; `known`: what prune found, or the parent.
    """
    options = searched.options
    names = frozenset(ref.key for ref in known)
    found = []
    for ref in list(_list_missing(documents, options, context, names))[:MOST_READ]:
        resource = context.catalog.find_resource(ref.gvk)
        if resource is None:
            continue
        answer = yield RequestTarget(resource, ref.namespace, ref.name, options).read()
        if answer.is_ok and _could_go(answer.body):
            found.append(Staying(ref, searched.explain(ref)))
    return tuple(found)
