"""Inventory of a cluster: its objects with their field managers; field values are dropped at once.

Each kind is listed page by page, in the order of the resources; named objects are read one by one. A kind that
may not be listed is named and not counted as empty; a very large cluster is read up to a limit. Events, leases and
endpoints are left out, because controllers write them all the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from applyviz import clock
from applyviz.clusters import discovery, facts
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.schema.model import Resource
from applyviz.engine.schema.sources import SourceChain
from applyviz.records.models import Cluster
from applyviz.workflow.clusters import impersonation, masking_settings
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.live.shown_owners import date_owners, show_owners
from applyviz.workflow.plans.live_values import find_readable

UNLISTED = frozenset({"Event", "Lease", "Endpoints", "EndpointSlice", "ControllerRevision", "APIService"})
_PAGE = 500
MOST_OBJECTS = 5_000


class LiveObject(Struct, frozen=True):
    """One object of a cluster and its owners."""

    ref: ObjectRef
    owners: tuple[Owner, ...]


class LiveGaps(Struct, frozen=True, kw_only=True):
    """The gaps in what was read of a cluster: `unread` names kinds that could not be listed, `problem` why none could.

    - `is_cut`: there are more objects than were read, or are shown.
    """

    unread: tuple[str, ...] = ()
    problem: str = ""
    is_cut: bool = False


class Inventory(LiveGaps, frozen=True):
    """The objects of a cluster."""

    objects: tuple[LiveObject, ...] = ()


class Holding(Struct, frozen=True):
    """The fields of one object that one field manager owns with one operation."""

    ref: ObjectRef
    owner: Owner
    fields: tuple[str, ...]
    shared_with: tuple[str, ...]


class Holdings(LiveGaps, frozen=True):
    """All fields that one field manager owns in a cluster."""

    objects: tuple[Holding, ...] = ()


@dataclass
class Listing:
    """Lists the live objects of a cluster, all of them or named ones, and collects what could not be read."""

    reader: ClusterReader
    server: str = ""
    most: int = MOST_OBJECTS
    unread: list[str] = field(default_factory=list)
    is_cut: bool = False
    count: int = 0

    def __post_init__(self) -> None:
        """Raise `ClusterError` when the cluster does not answer, so that no object counts as missing."""
        facts.require_answer(self.reader, self.server)
        self.catalog: SourceChain = discovery.load_catalog(self.reader)

    def walk(self, selector: str = "") -> Iterator[tuple[ObjectRef, JSONObject]]:
        """Yield each object with its name; requests the first pages of all kinds in parallel, further ones in turn.

        - `selector`: a label selector that the objects match.
        """
        resources = _choose_resources(self.catalog.list_resources())
        query = {"limit": str(_PAGE), **({"labelSelector": selector} if selector else {})}
        requests = [Request("GET", r.path(), query, purpose="list") for r in resources]
        for resource, answer in zip(resources, self.reader.try_send_all(requests), strict=True):
            yield from self._walk_kind(resource, answer, query)

    def read(self, refs: Sequence[ObjectRef]) -> Iterator[tuple[ObjectRef, JSONObject]]:
        """Yield the named objects that exist, at the versions of their names; requests some in parallel."""
        self.is_cut = self.is_cut or len(refs) > self.most
        served = [(ref, self.catalog.find_resource(ref.gvk)) for ref in refs[: self.most]]
        known = [(ref, resource.path(ref.namespace, ref.name)) for ref, resource in served if resource is not None]
        for batch in (known[at : at + _PAGE] for at in range(0, len(known), _PAGE)):
            answers = self.reader.try_send_all([Request("GET", path, purpose="read") for _ref, path in batch])
            for (ref, _path), answer in zip(batch, answers, strict=True):
                if answer.is_ok and isinstance(answer.body, dict):
                    self.count += 1
                    yield ref, answer.body
                elif answer.status != 404 and ref.gvk.kind not in self.unread:
                    self.unread.append(ref.gvk.kind)

    def _walk_kind(
        self, resource: Resource, answer: Answer, query: Mapping[str, str]
    ) -> Iterator[tuple[ObjectRef, JSONObject]]:
        while True:
            if not answer.is_ok:
                if answer.status != 404:
                    self.unread.append(resource.gvk.kind)
                return
            for item in get_at(answer.body, ("items",), []) or ():
                if self.count >= self.most:
                    self.is_cut = True
                    return
                self.count += 1
                named = ObjectRef.from_object(item)
                whole = {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, **item}
                yield ObjectRef(resource.gvk, named.namespace, named.name), whole
            rest = get_at(answer.body, ("metadata", "continue"), "")
            if not rest:
                return
            following = {**query, "continue": str(rest)}
            answer = self.reader.try_send(Request("GET", resource.path(), following, purpose="list"))


def _read_owner(entry: JSONObject) -> Owner:
    texts = (entry.get(name) for name in ("manager", "operation", "apiVersion", "subresource", "time"))
    return Owner(*(text if isinstance(text, str) else "" for text in texts))


def _read_object(ref: ObjectRef, item: JSONObject) -> LiveObject:
    entries = get_at(item, ("metadata", "managedFields"), [])
    return LiveObject(ref, tuple(_read_owner(entry) for entry in entries if isinstance(entry, dict)))


def _choose_resources(found: tuple[Resource, ...]) -> list[Resource]:
    chosen: dict[tuple[str, str], Resource] = {}
    for resource in found:
        is_listed = not resource.verbs or "list" in resource.verbs
        if is_listed and resource.gvk.kind not in UNLISTED:
            chosen.setdefault((resource.gvk.group, resource.gvk.kind), resource)
    return list(chosen.values())


def _order(ref: ObjectRef) -> tuple[str, str, str]:
    return ref.gvk.kind, ref.namespace, ref.name


def _find_hidden(cluster: Cluster, refs: Iterable[ObjectRef], person: Person) -> frozenset[ObjectRef]:
    """Return the Secrets whose owners a person must not see, because an owner changes when a value changes.

    - A person who is mapped to a Kubernetes user lists as that user, and gets only what that user may read.
    """
    if not impersonation.find_identity(person, cluster).is_own:
        return frozenset()
    secrets = {ref: (ref.namespace, ref.name) for ref in refs if not ref.gvk.group and ref.gvk.kind == "Secret"}
    readable = find_readable(cluster, list(secrets.values()), person, can_ask=False)
    return frozenset(ref for ref, name in secrets.items() if name not in readable)


def read_inventory(cluster: Cluster, *, for_user: Visitor) -> Inventory:
    """Read the objects of a cluster in the scopes of this person; without an answer, return the problem."""
    person = access.require(for_user, Action.VIEW)
    try:
        with impersonation.open_reader(cluster, for_user=person) as reader:
            listing = Listing(reader, cluster.server)
            objects = [_read_object(ref, item) for ref, item in listing.walk()]
    except (ClusterError, NotPossibleError) as error:
        return Inventory(problem=str(error))
    seen = access.list_visible_scopes(for_user, {ScopeEntry(cluster.slug, one.ref.namespace) for one in objects})
    objects = [one for one in objects if ScopeEntry(cluster.slug, one.ref.namespace) in seen]
    hidden = _find_hidden(cluster, (one.ref for one in objects), person)
    objects = [replace(one, owners=()) if one.ref in hidden else one for one in objects]
    objects.sort(key=lambda one: _order(one.ref))
    return Inventory(tuple(objects), unread=tuple(listing.unread), is_cut=listing.is_cut)


def _find_holdings(ref: ObjectRef, item: JSONObject, manager: str) -> Iterator[Holding]:
    owners = read_owners(item)
    for owned in owners.entries:
        if owned.owner.manager != manager:
            continue
        paths = tuple(owned.fields)
        others = (one for one in owners.entries if one.owner.manager != manager)
        shared = {one.owner.manager for one in others if any(map(one.fields.has, paths))}
        yield Holding(ref, owned.owner, tuple(render_path(path) for path in paths), tuple(sorted(shared)))


def read_holdings(cluster: Cluster, manager: str, *, for_user: Visitor) -> Holdings:
    """Read all fields that one field manager owns in a cluster, object by object, in the scopes of this person."""
    person = access.require(for_user, Action.VIEW)
    holdings: list[Holding] = []
    try:
        with impersonation.open_reader(cluster, for_user=person) as reader:
            listing = Listing(reader, cluster.server)
            policy = masking_settings.policy_for(cluster)
            ahead = reader.measure_ahead(clock.now())
            for ref, item in listing.walk():
                if all(owner.manager != manager for owner in _read_object(ref, item).owners):
                    continue
                found = _find_holdings(ref, show_owners(item, ref, policy, listing.catalog), manager)
                holdings.extend(replace(one, owner=date_owners([one.owner], ahead)[0]) for one in found)
    except (ClusterError, NotPossibleError) as error:
        return Holdings(problem=str(error))
    seen = access.list_visible_scopes(for_user, {ScopeEntry(cluster.slug, one.ref.namespace) for one in holdings})
    holdings = [one for one in holdings if ScopeEntry(cluster.slug, one.ref.namespace) in seen]
    hidden = _find_hidden(cluster, (one.ref for one in holdings), person)
    holdings = [one for one in holdings if one.ref not in hidden]
    holdings.sort(key=lambda one: (*_order(one.ref), one.owner.operation, one.owner.subresource))
    return Holdings(tuple(holdings), unread=tuple(listing.unread), is_cut=listing.is_cut)
