"""Read models of the list of clusters, and of one cluster with its objects and field managers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, ngettext
from msgspec import Struct

from applyviz.engine.objects.owners import Owner
from applyviz.engine.requests.replacement import name_object
from applyviz.records.models import Cluster, PolicyVersion, Review
from applyviz.web.components.badges import Appearance
from applyviz.web.components.object_links import link_object
from applyviz.web.components.owners import OwnerChip, present_owner
from applyviz.web.components.pagers import ListPage, cut_page
from applyviz.workflow import policies
from applyviz.workflow.clusters.cluster_access import VERBS, ClusterReadiness, ClusterState
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.scopes import fits
from applyviz.workflow.live.inventory import Inventory, LiveGaps, LiveObject


class ClusterRow(Struct, frozen=True):
    """One cluster in the list."""

    name: str
    slug: str
    url: str
    kind: str
    server: str
    version: str
    reviews: int
    policies: tuple[str, ...]
    note: str = ""


class ClusterObjectRow(Struct, frozen=True):
    """One live object."""

    name: str
    namespace: str
    owners: tuple[tuple[OwnerChip, str], ...]
    history_url: str
    key: str = ""


class KindGroup(Struct, frozen=True):
    """The live objects of one kind: those on this page, out of all that match."""

    kind: str
    rows: tuple[ClusterObjectRow, ...]
    total: int

    @property
    def is_whole(self) -> bool:
        """Return whether this page shows all of them."""
        return len(self.rows) == self.total


class LiveObjects(Struct, frozen=True):
    """The live objects by kind: one page of those that match the filter, out of all."""

    kinds: tuple[KindGroup, ...]
    page: ListPage[LiveObject]
    total: int
    typed: str
    reading: LiveGaps
    adopt_url: str = ""


class ManagerRow(Struct, frozen=True):
    """One field manager and the number of objects of which it owns fields."""

    chip: OwnerChip
    url: str
    objects: int


class FieldManagers(Struct, frozen=True):
    """The field managers of a cluster, those of most objects first."""

    rows: tuple[ManagerRow, ...]
    reading: LiveGaps


def _name_state(cluster: Cluster) -> str:
    if cluster.archived_at is not None:
        return gettext("archived")
    return gettext("paused") if cluster.paused_at is not None else ""


def present_row(cluster: Cluster, review_count: int, in_force: Sequence[PolicyVersion]) -> ClusterRow:
    return ClusterRow(
        name=cluster.name,
        slug=cluster.slug,
        url=reverse("clusters:show-cluster", args=[cluster.slug]),
        kind=cluster.get_kind_display(),
        server=cluster.server,
        version=cluster.version,
        reviews=review_count,
        policies=tuple(row.policy.slug for row in in_force if fits(row.cluster_pattern, cluster.slug)),
        note=_name_state(cluster),
    )


def present_clusters(clusters: QuerySet[Cluster], *, for_user: Person) -> tuple[ClusterRow, ...]:
    """Return the rows of the list; of reviews only those count that this person may see."""
    seen = Q(targets__review__in=Review.objects.filter(access.select_reviews(for_user)).values("pk"))
    counted = clusters.annotate(review_count=Count("targets__review", filter=seen, distinct=True))
    in_force = tuple(policies.list_in_force())
    rows = sorted(counted, key=lambda cluster: cluster.archived_at is not None)
    return tuple(present_row(c, c.review_count, in_force) for c in rows)


def _distinct(owners: Iterable[Owner]) -> tuple[OwnerChip, ...]:
    seen = {o.identity: o for o in owners}
    return tuple(present_owner(o) for o in seen.values())


def _present_object(one: LiveObject, cluster: Cluster) -> ClusterObjectRow:
    ref = one.ref
    chips = tuple(
        (chip, reverse("clusters:field-manager", args=[cluster.slug, chip.name]) if chip.name else "")
        for chip in _distinct(one.owners)
    )
    return ClusterObjectRow(
        name=ref.name,
        namespace=ref.namespace,
        owners=chips,
        history_url=link_object(cluster.slug, ref.gvk.group, ref.gvk.kind, ref.namespace, ref.name),
        key=name_object(ref),
    )


def present_managers(cluster: Cluster, inventory: Inventory) -> FieldManagers:
    """Return the field managers of the live objects."""
    chips: dict[str, OwnerChip] = {}
    counts: Counter[str] = Counter()
    for one in inventory.objects:
        named = {owner.manager: owner for owner in one.owners if owner.manager}
        counts.update(list(named))
        for name, owner in named.items():
            chips.setdefault(name, present_owner(owner))
    rows = tuple(
        ManagerRow(chips[name], reverse("clusters:field-manager", args=[cluster.slug, name]), count)
        for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    )
    return FieldManagers(rows, inventory)


def _fits(one: LiveObject, words: Sequence[str]) -> bool:
    ref = one.ref
    texts = (ref.gvk.kind, ref.namespace, ref.name, *(owner.manager for owner in one.owners))
    return all(any(word in text.casefold() for text in texts) for word in words)


def present_objects(
    cluster: Cluster, inventory: Inventory, typed: str = "", number: object = None, *, can_adopt: bool = False
) -> LiveObjects:
    """Return a page of the live objects by kind; each typed word is part of a kind, namespace, name or field manager.

    - `number`: the page, as the address names it.
    - `can_adopt`: whether the reader may tick objects and bring them under review.
    """
    words = typed.casefold().replace("/", " ").split()
    by_kind: dict[str, list[LiveObject]] = {}
    for one in inventory.objects:
        if _fits(one, words):
            by_kind.setdefault(one.ref.gvk.kind, []).append(one)
    cut = cut_page(tuple(chain.from_iterable(by_kind.values())), number)
    page: ListPage[LiveObject] = ListPage.of(cut, cut.object_list, "&" + urlencode({"q": typed}) if typed else "")
    kinds = groupby(page.rows, key=lambda one: one.ref.gvk.kind)
    return LiveObjects(
        kinds=tuple(
            KindGroup(kind, tuple(_present_object(one, cluster) for one in found), len(by_kind[kind]))
            for kind, found in kinds
        ),
        page=page,
        total=len(inventory.objects),
        typed=typed,
        reading=inventory,
        adopt_url=reverse("clusters:adopt-objects", args=[cluster.slug]) if can_adopt else "",
    )


def can_add(person: Person) -> bool:
    """Return whether this person may add a cluster."""
    return access.can(person, Action.MANAGE)


class RightRow(Struct, frozen=True):
    """The permissions on objects of one kind: a word for each verb."""

    kind: str
    group: str
    verdicts: tuple[tuple[str, Appearance], ...]


class OwnRight(Struct, frozen=True):
    """One act of this person on the cluster; `where` names the only namespaces in which they may do it."""

    text: Promise
    style: Appearance
    where: str


class StatePage(Struct, frozen=True):
    """Cluster status, identity, its permissions there, and the permissions of this person here."""

    health: Appearance
    version: str
    identity: str
    verbs: tuple[str, ...]
    rights: tuple[RightRow, ...]
    own: tuple[OwnRight, ...]
    problem: str
    server_message: str = ""
    identity_source: str = ""


_YES, _NO, _UNTOLD = (
    Appearance("✓", gettext_lazy("yes"), "add"),
    Appearance("×", gettext_lazy("no"), "calm"),  # noqa: RUF001 - a cross
    Appearance("?", gettext_lazy("unknown"), "warn"),
)
_HEALTH = {
    ClusterReadiness.READY: Appearance("✓", gettext_lazy("ready"), "add"),
    ClusterReadiness.NOT_READY: Appearance("×", gettext_lazy("not ready"), "remove"),  # noqa: RUF001 - a cross
    ClusterReadiness.UNKNOWN: Appearance("?", gettext_lazy("unknown"), "warn"),
}
_OWN: tuple[tuple[Action, Promise], ...] = (
    (Action.VIEW, gettext_lazy("view reviews, runs and history")),
    (Action.WRITE, gettext_lazy("open reviews")),
    (Action.APPROVE, gettext_lazy("approve other people's plans")),
    (Action.APPLY, gettext_lazy("start apply runs")),
    (Action.AUDIT, gettext_lazy("verify and export the audit log")),
)


def _verdict(allowed: bool | None) -> Appearance:
    return _UNTOLD if allowed is None else _YES if allowed else _NO


def _present_own(cluster: Cluster, person: Person) -> Iterator[OwnRight]:
    for action, text in _OWN:
        names = access.list_namespaces(person, action, cluster.slug)
        only = ngettext("only in namespace %(names)s", "only in namespaces %(names)s", len(names))
        where = only % {"names": ", ".join(names)} if names else ""
        yield OwnRight(text, _verdict(access.may_use(person, action, cluster.slug)), where)


def present_state(cluster: Cluster, state: ClusterState, *, for_user: Person) -> StatePage:
    """Return the state of a cluster for its page."""
    rights = tuple(
        RightRow(row.plural, row.group, tuple(zip(VERBS, map(_verdict, row.allowed), strict=True)))
        for row in state.rights
    )
    return StatePage(
        health=_HEALTH[state.health],
        version=state.version or cluster.version,
        identity=state.identity,
        verbs=VERBS,
        rights=rights,
        own=tuple(_present_own(cluster, for_user)),
        problem=state.problem,
        server_message=state.server_message,
        identity_source=gettext("from your identity mapping")
        if state.is_impersonated
        else gettext("cluster credential (no impersonation)"),
    )
