"""The ApplySets of a cluster: who belongs to which set, objects in two sets, parents without members.

Only labels and annotations are read, and only objects with a label of ApplySets are listed. The label part-of names one
set; an object is in two where two parents have the same id, and where the last run of one set applied an object that
now carries the label of another: each run takes it to its own set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.known_names import PART_OF
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import APPLIED
from applyviz.engine.requests.applyset import ID, ApplySetError, find_parent
from applyviz.engine.requests.applyset_survey import FoundSet, ParentFault, ParentlessSet, read_set, survey
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.options import PruneMode
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, Cluster, Review
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.live.inventory import Listing, LiveGaps
from applyviz.workflow.plans.changes import ref_of

_MOST_RUNS = 50
_Key = tuple[str, str, str, str]
_Labeled = tuple[ObjectRef, JSONObject]


class SharedObject(Struct, frozen=True):
    """An object in two sets: the parent that its label names, and the other one; `run` applied it there, 0 for none."""

    ref: ObjectRef
    parent: ObjectRef
    other: ObjectRef
    run: int = 0


class ClusterSets(LiveGaps, frozen=True):
    """The ApplySets of a cluster among the objects that a person may view."""

    sets: tuple[FoundSet, ...] = ()
    parentless: tuple[ParentlessSet, ...] = ()
    shared: tuple[SharedObject, ...] = ()


def _keep_visible(found: Iterable[_Labeled], cluster: Cluster, for_user: Visitor) -> list[_Labeled]:
    found = list(found)
    seen = access.list_visible_scopes(for_user, {ScopeEntry(cluster.slug, ref.namespace) for ref, _obj in found})
    return [(ref, obj) for ref, obj in found if ScopeEntry(cluster.slug, ref.namespace) in seen]


def _hide_namespaces(sets: Iterable[FoundSet], cluster: Cluster, for_user: Visitor) -> tuple[FoundSet, ...]:
    """Return the sets with the recorded namespaces that this person may view."""
    sets = tuple(sets)
    named = {ScopeEntry(cluster.slug, name) for one in sets for name in one.namespaces}
    seen = access.list_visible_scopes(for_user, named)
    return tuple(
        replace(one, namespaces=tuple(n for n in one.namespaces if ScopeEntry(cluster.slug, n) in seen)) for one in sets
    )


def _list_last_runs(cluster: Cluster, catalog: Catalog, for_user: Visitor) -> Mapping[_Key, ApplyRun]:
    """Return the last applied run of each set that a person may see, by the key of its parent."""
    visible = Review.objects.filter(access.select_reviews(for_user)).values("pk")
    runs = ApplyRun.objects.filter(
        plan__target__cluster=cluster,
        plan__review__in=visible,
        state=RunState.APPLIED,
        plan__options__prune__mode=PruneMode.APPLYSET.value,
    )
    found: dict[_Key, ApplyRun] = {}
    for run in runs.select_related("plan").order_by("-number")[:_MOST_RUNS]:
        options = options_from_json(run.plan.options)
        try:
            parent = find_parent(options.prune.applyset, namespace=options.namespace, catalog=catalog)
        except ApplySetError:  # the cluster no longer serves its kind
            continue
        found.setdefault(parent.ref.key, run)
    return found


def _find_same_id(sets: Iterable[FoundSet]) -> Iterator[SharedObject]:
    """Yield the members of parents with the same id."""
    first: dict[str, FoundSet] = {}
    for one in sets:
        if ParentFault.SHARED_ID in one.faults and one.id in first:
            for member in one.members:
                yield SharedObject(member.ref, first[one.id].parent, one.parent)
        first.setdefault(one.id, one)


def _find_taken(sets: Iterable[FoundSet], runs: Mapping[_Key, ApplyRun]) -> Iterator[SharedObject]:
    """Yield the objects that the last run of a set applied, and that carry the label of another set now."""
    sets = tuple(sets)
    parent_of = {member.ref.key: one.parent for one in sets for member in one.members}
    for one in sets:
        run = runs.get(one.parent.key)
        rows = run.plan.changes.filter(operation__in=APPLIED) if run is not None else ()
        for row in rows:
            ref = ref_of(row)
            parent = parent_of.get(ref.key)
            if run is not None and parent is not None and parent.key not in (one.parent.key, ref.key):
                yield SharedObject(ref, parent, one.parent, run.number)


def read_applysets(cluster: Cluster, *, for_user: Visitor) -> ClusterSets:
    """Read the ApplySets of a cluster in the scopes of this person; without an answer, return the problem."""
    person: Person = access.require(for_user, Action.VIEW)
    try:
        with impersonation.open_reader(cluster, for_user=person) as reader:
            listing = Listing(reader, cluster.server)
            parents = _keep_visible(listing.walk(ID), cluster, for_user)
            members = _keep_visible(listing.walk(PART_OF), cluster, for_user)
    except (ClusterError, NotPossibleError) as error:
        return ClusterSets(problem=str(error))
    found = survey(parents, ((ref, obj) for ref, obj in members if read_set(obj)))
    found = replace(found, sets=_hide_namespaces(found.sets, cluster, for_user))
    runs = _list_last_runs(cluster, listing.catalog, for_user)
    shared = (*_find_same_id(found.sets), *_find_taken(found.sets, runs))
    unread = tuple(dict.fromkeys(listing.unread))
    return ClusterSets(found.sets, found.parentless, shared, unread=unread, is_cut=listing.is_cut)
