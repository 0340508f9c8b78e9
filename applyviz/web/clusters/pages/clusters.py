"""Read models of the list of clusters, and of one cluster with its objects and field managers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, QuerySet
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from applyviz.engine.objects.owners import Owner
from applyviz.records.models import Cluster, PolicyVersion
from applyviz.web.clusters.pages.activity import ActivityStrip, present_activity
from applyviz.web.clusters.pages.findings import Findings, present_findings
from applyviz.web.components.badges import Appearance
from applyviz.web.components.object_links import link_object
from applyviz.web.components.owners import OwnerChip, present_owner
from applyviz.web.reviews.pages.review_list import ReviewRow, present_review, show_newest, with_latest_plan
from applyviz.workflow import policies
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.clusters.cluster_access import VERBS, ClusterState, Health
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.scopes import fits
from applyviz.workflow.live.inventory import Inventory, LiveObject
from applyviz.workflow.plans import reviews

REVIEWS_SHOWN = 10


_DAYS = 90


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
    note: str = ""


@dataclass(frozen=True, slots=True)
class ClusterObjectRow:
    """One live object."""

    name: str
    namespace: str
    owners: tuple[tuple[OwnerChip, str], ...]
    created: str
    history_url: str


@dataclass(frozen=True, slots=True)
class KindGroup:
    """The live objects of one kind."""

    kind: str
    rows: tuple[ClusterObjectRow, ...]


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """The page of a cluster."""

    cluster: ClusterRow
    uid: str
    kinds: tuple[KindGroup, ...]
    total: int
    unread: tuple[str, ...]
    problem: str
    reviews: tuple[ReviewRow, ...]
    findings: Findings
    activity: ActivityStrip
    is_cut: bool
    managers: tuple[tuple[str, str, int], ...]
    manage_url: str
    paused_at: datetime | None
    pause_reason: str
    archived_at: datetime | None
    is_masking: bool
    can_manage: bool


def _name_state(cluster: Cluster) -> str:
    if cluster.archived_at is not None:
        return gettext("archived")
    return gettext("paused") if cluster.paused_at is not None else ""


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
        note=_name_state(cluster),
    )


def present_clusters(clusters: QuerySet[Cluster]) -> tuple[ClusterRow, ...]:
    """Return the rows of the list."""
    counted = clusters.annotate(review_count=Count("targets"), last=Max("targets__review__updated_at"))
    in_force = tuple(policies.list_in_force())
    rows = sorted(counted, key=lambda cluster: cluster.archived_at is not None)
    return tuple(_present_cluster(c, c.review_count, in_force) for c in rows)


def _distinct(owners: Iterable[Owner]) -> tuple[OwnerChip, ...]:
    seen = {(o.manager, o.operation, o.subresource): o for o in owners}
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
        created=one.created,
        history_url=link_object(cluster.slug, ref.gvk.group, ref.gvk.kind, ref.namespace, ref.name),
    )


def _count_managers(inventory: Inventory, cluster: Cluster) -> tuple[tuple[str, str, int], ...]:
    counts = Counter(name for one in inventory.objects for name in {owner.manager for owner in one.owners} if name)
    return tuple(
        (name, reverse("clusters:field-manager", args=[cluster.slug, name]), count)
        for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    )


def _group_kinds(inventory: Inventory, cluster: Cluster) -> tuple[KindGroup, ...]:
    kinds: dict[str, list[ClusterObjectRow]] = {}
    for one in inventory.objects:
        kinds.setdefault(one.ref.gvk.kind, []).append(_present_object(one, cluster))
    return tuple(KindGroup(kind, tuple(rows)) for kind, rows in kinds.items())


def present_cluster(cluster: Cluster, inventory: Inventory, *, for_user: Person) -> ClusterPage:
    """Return the page of one cluster."""
    found = reviews.list_reviews(for_user=for_user).prefetch_related(None).filter(targets__cluster=cluster)
    latest = list(with_latest_plan(found)[:REVIEWS_SHOWN])
    statuses = show_newest(latest, for_user=for_user)
    rows = tuple(present_review(review, statuses, for_user=for_user) for review in latest)
    return ClusterPage(
        cluster=_present_cluster(cluster, len(rows), tuple(policies.list_in_force())),
        uid=cluster.uid,
        kinds=_group_kinds(inventory, cluster),
        total=len(inventory.objects),
        unread=inventory.unread,
        problem=inventory.problem,
        reviews=rows,
        findings=present_findings(cluster, for_user=for_user),
        activity=present_activity([cluster], for_user=for_user, days=_DAYS)[cluster.pk],
        is_cut=inventory.is_cut,
        managers=_count_managers(inventory, cluster),
        manage_url=reverse("clusters:manage-cluster", args=[cluster.slug]) if can_add(for_user) else "",
        paused_at=cluster.paused_at,
        pause_reason=cluster.pause_reason,
        archived_at=cluster.archived_at,
        is_masking=masking_settings.policy_for(cluster).has_plain,
        can_manage=can_add(for_user),
    )


def can_add(person: Person) -> bool:
    """Return whether this person may add a cluster."""
    return access.can(person, Action.MANAGE)


@dataclass(frozen=True, slots=True)
class RightRow:
    """The permissions on objects of one kind: a word for each verb."""

    kind: str
    group: str
    verdicts: tuple[tuple[str, Appearance], ...]


@dataclass(frozen=True, slots=True)
class StatePage:
    """Cluster status, identity, its permissions there, and the permissions of this person here."""

    health: Appearance
    version: str
    identity: str
    verbs: tuple[str, ...]
    rights: tuple[RightRow, ...]
    own: tuple[tuple[Any, Appearance], ...]
    problem: str
    server_message: str = ""
    is_impersonated: bool = False


_YES, _NO, _UNTOLD = (
    Appearance("✓", gettext_lazy("yes"), "add"),
    Appearance("×", gettext_lazy("no"), "calm"),  # noqa: RUF001 - a cross
    Appearance("?", gettext_lazy("unknown"), "warn"),
)
_HEALTH = {
    Health.READY: Appearance("✓", gettext_lazy("ready"), "add"),
    Health.NOT_READY: Appearance("×", gettext_lazy("not ready"), "remove"),  # noqa: RUF001 - a cross
    Health.UNKNOWN: Appearance("?", gettext_lazy("unknown"), "warn"),
}
_OWN: tuple[tuple[Action, Any], ...] = (
    (Action.VIEW, gettext_lazy("view reviews, runs and history")),
    (Action.WRITE, gettext_lazy("open reviews")),
    (Action.APPROVE, gettext_lazy("approve other people's plans")),
    (Action.APPLY, gettext_lazy("start apply runs")),
    (Action.AUDIT, gettext_lazy("verify and export the audit log")),
)


def _verdict(allowed: bool | None) -> Appearance:
    return _UNTOLD if allowed is None else _YES if allowed else _NO


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
        own=tuple((text, _verdict(access.can(for_user, action))) for action, text in _OWN),
        problem=state.problem,
        server_message=state.server_message,
        is_impersonated=state.is_impersonated,
    )
