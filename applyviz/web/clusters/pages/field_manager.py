"""Read model of one field manager in a cluster: its objects by kind, their fields, and their other owners."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from django.urls import reverse
from msgspec import Struct

from applyviz.engine.objects.owners import Owner
from applyviz.records.models import Cluster
from applyviz.web.components.object_links import link_object
from applyviz.web.components.owners import OwnerChip, present_owner
from applyviz.web.components.pagers import ListPage, cut_page
from applyviz.workflow.live.inventory import Holding, Holdings, LiveGaps

FIELDS_SHOWN = 400


class HoldingRow(Struct, frozen=True):
    """The fields that it owns of one object with one operation."""

    name: str
    namespace: str
    url: str
    how: OwnerChip
    fields: tuple[str, ...]
    field_count: int
    shared_with: tuple[tuple[str, str], ...]


class HoldingKind(Struct, frozen=True):
    """Its objects of one kind: those on this page, out of all."""

    kind: str
    rows: tuple[HoldingRow, ...]
    total: int


class HoldingsPage(Struct, frozen=True):
    """The page of a field manager."""

    cluster: str
    cluster_url: str
    manager: OwnerChip
    kinds: tuple[HoldingKind, ...]
    page: ListPage[Holding]
    object_count: int
    field_count: int
    reading: LiveGaps
    history_url: str


def _present(one: Holding, cluster: Cluster) -> HoldingRow:
    ref = one.ref
    others = tuple((name, reverse("clusters:field-manager", args=[cluster.slug, name])) for name in one.shared_with)
    return HoldingRow(
        name=ref.name,
        namespace=ref.namespace,
        url=link_object(cluster.slug, ref.gvk.group, ref.gvk.kind, ref.namespace, ref.name),
        how=present_owner(one.owner),
        fields=one.fields[:FIELDS_SHOWN],
        field_count=len(one.fields),
        shared_with=others,
    )


def _name_kind(one: Holding) -> str:
    return one.ref.gvk.kind


def present_holdings(cluster: Cluster, manager: str, holdings: Holdings, number: object = None) -> HoldingsPage:
    """Return the page of a field manager; `number`: the page of its objects, as the address names it."""
    cut = cut_page(holdings.objects, number)
    page: ListPage[Holding] = ListPage.of(cut, cut.object_list)
    totals = Counter(map(_name_kind, holdings.objects))
    kinds = tuple(
        HoldingKind(kind, tuple(_present(one, cluster) for one in group), totals[kind])
        for kind, group in groupby(page.rows, key=_name_kind)
    )
    return HoldingsPage(
        cluster=cluster.name,
        cluster_url=reverse("clusters:show-cluster", args=[cluster.slug]),
        manager=present_owner(Owner(manager, "", "", "", "")),
        kinds=kinds,
        page=page,
        object_count=len({one.ref.key for one in holdings.objects}),
        field_count=sum(len(one.fields) for one in holdings.objects),
        reading=holdings,
        history_url=reverse("history:show-manager", args=[manager]),
    )
