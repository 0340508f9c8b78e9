"""Clusters: one row each, and one page with its objects and their field managers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Max, QuerySet
from django.urls import reverse

from applyviz.engine.objects.owners import Owner
from applyviz.records.models import Cluster, PolicyVersion
from applyviz.web.presenters.lists import ReviewRow, present_review, with_latest_plan
from applyviz.web.presenters.owners import OwnerChip, present_owner
from applyviz.workflow import access, policies, reviews
from applyviz.workflow.access import Action, Person
from applyviz.workflow.inventory import Inventory, LiveObject
from applyviz.workflow.places import fits

REVIEWS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster in the list."""

    name: str
    slug: str
    url: str
    kind: str
    server: str
    version: str
    reviews: int
    policies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """One live object."""

    name: str
    namespace: str
    owners: tuple[OwnerChip, ...]
    created: str
    history_url: str


@dataclass(frozen=True, slots=True)
class KindGroup:
    """The live objects of one kind."""

    kind: str
    rows: tuple[ObjectRow, ...]


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """Everything that the page of a cluster prints."""

    cluster: ClusterRow
    uid: str
    kinds: tuple[KindGroup, ...]
    total: int
    unread: tuple[str, ...]
    problem: str
    reviews: tuple[ReviewRow, ...]


def _present_cluster(cluster: Cluster, review_count: int, in_force: Sequence[PolicyVersion]) -> ClusterRow:
    return ClusterRow(
        name=cluster.name,
        slug=cluster.slug,
        url=reverse("clusters:show-cluster", args=[cluster.slug]),
        kind=cluster.get_kind_display(),
        server=cluster.server,
        version=cluster.version,
        reviews=review_count,
        policies=tuple(row.policy.slug for row in in_force if fits(row.cluster_pattern, cluster.slug)),
    )


def present_clusters(clusters: QuerySet[Cluster]) -> tuple[ClusterRow, ...]:
    """The rows of the list."""
    counted = clusters.annotate(review_count=Count("targets"), last=Max("targets__review__updated_at"))
    in_force = tuple(policies.list_in_force())
    return tuple(_present_cluster(c, c.review_count, in_force) for c in counted)


def _distinct(owners: Iterable[Owner]) -> tuple[OwnerChip, ...]:
    seen = {(o.manager, o.operation, o.subresource): o for o in owners}
    return tuple(present_owner(o) for o in seen.values())


def _present_object(one: LiveObject, cluster: Cluster) -> ObjectRow:
    ref = one.ref
    query = f"?cluster={cluster.slug}&kind={ref.gvk.kind}&namespace={ref.namespace}&name={ref.name}"
    return ObjectRow(
        name=ref.name,
        namespace=ref.namespace,
        owners=_distinct(one.owners),
        created=one.created,
        history_url=reverse("history:list-entries") + query,
    )


def _group_kinds(inventory: Inventory, cluster: Cluster) -> tuple[KindGroup, ...]:
    kinds: dict[str, list[ObjectRow]] = {}
    for one in inventory.objects:
        kinds.setdefault(one.ref.gvk.kind, []).append(_present_object(one, cluster))
    return tuple(KindGroup(kind, tuple(rows)) for kind, rows in kinds.items())


def present_cluster(cluster: Cluster, inventory: Inventory, *, for_user: Person) -> ClusterPage:
    """The page of one cluster."""
    found = reviews.list_reviews(for_user=for_user).prefetch_related(None).filter(targets__cluster=cluster)
    rows = tuple(present_review(review) for review in with_latest_plan(found)[:REVIEWS_SHOWN])
    return ClusterPage(
        cluster=_present_cluster(cluster, len(rows), tuple(policies.list_in_force())),
        uid=cluster.uid,
        kinds=_group_kinds(inventory, cluster),
        total=len(inventory.objects),
        unread=inventory.unread,
        problem=inventory.problem,
        reviews=rows,
    )


def can_add(person: Person) -> bool:
    """Whether this person may add a cluster."""
    return access.can(person, Action.MANAGE)
