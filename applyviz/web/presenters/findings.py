"""What scans of a cluster found, for pages: live changes that no run explains, drift, what is gone or unreviewed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz.engine.objects.owners import Owner
from applyviz.records.enums import FindingSort
from applyviz.records.models import Cluster, ClusterScan, LiveFinding
from applyviz.web.presenters.objectlinks import CORE, NO_NAMESPACE, link_object
from applyviz.web.presenters.operations import Look
from applyviz.web.presenters.owners import OwnerChip, present_owner
from applyviz.workflow import access, scans
from applyviz.workflow.access import Action, Person

SHOWN = 50
FIELDS_SHOWN = 6
_LOOKS = {
    FindingSort.CHANGED: Look("!", gettext_lazy("changed live"), "warn"),
    FindingSort.DRIFTED: Look("≠", gettext_lazy("drifted"), "change"),
    FindingSort.MISSING: Look("−", gettext_lazy("deleted live"), "remove"),  # noqa: RUF001 - a minus
    FindingSort.UNREVIEWED: Look("?", gettext_lazy("never reviewed"), "calm"),
}
TITLES = {
    FindingSort.CHANGED: gettext_lazy("Live changes that no review explains"),
    FindingSort.DRIFTED: gettext_lazy("Drift: fields that are not as they were applied"),
    FindingSort.MISSING: gettext_lazy("Applied here, and no longer there"),
    FindingSort.UNREVIEWED: gettext_lazy("Objects that no review ever applied"),
}


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field of a finding; sides are None for a change, whose values before nobody kept."""

    path: str
    promised: str | None = None
    live: str | None = None


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding."""

    look: Look
    cluster: str
    object: str
    object_url: str
    owner: OwnerChip | None
    manager_url: str
    at: datetime | None
    fields: tuple[FieldRow, ...]
    more_fields: int
    run: int | None
    run_url: str
    adopt_url: str
    is_gone: bool


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one sort, the newest of them, and how many there are."""

    sort: str
    title: Any
    rows: tuple[FindingRow, ...]
    total: int
    url: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What the last scan of a cluster found; `scan` None: nobody looked yet."""

    scan: ClusterScan | None
    is_looking: bool
    groups: tuple[FindingGroup, ...]
    can_scan: bool
    total: int


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _present_field(one: object) -> FieldRow:
    if isinstance(one, dict):
        sides = (_text(one[side]) if side in one else _("nothing") for side in ("promised", "live"))
        return FieldRow(str(one.get("path")), *sides)
    return FieldRow(str(one))


def _adopt_url(finding: LiveFinding, slug: str) -> str:
    parts = [finding.group or CORE, finding.kind, finding.namespace or NO_NAMESPACE, finding.name]
    if finding.sort == FindingSort.MISSING or any("/" in part for part in parts):
        return ""
    return reverse("clusters:adopt-object", args=[slug, *parts])


def present_finding(finding: LiveFinding, *, can_adopt: bool) -> FindingRow:
    """One row."""
    slug = finding.cluster.slug
    where = f"{finding.namespace}/" if finding.namespace else ""
    owner = Owner(finding.manager, finding.operation, "", finding.subresource, "")
    return FindingRow(
        look=_LOOKS[FindingSort(finding.sort)],
        cluster=slug,
        object=f"{finding.kind} {where}{finding.name}",
        object_url=link_object(slug, finding.group, finding.kind, finding.namespace, finding.name),
        owner=present_owner(owner) if finding.manager else None,
        manager_url=reverse("clusters:field-manager", args=[slug, finding.manager]) if finding.manager else "",
        at=finding.changed_at or finding.first_seen,
        fields=tuple(_present_field(one) for one in finding.fields[:FIELDS_SHOWN]),
        more_fields=max(len(finding.fields) - FIELDS_SHOWN, 0),
        run=finding.run,
        run_url=reverse("runs:show-run", args=[finding.run]) if finding.run else "",
        adopt_url=_adopt_url(finding, slug) if can_adopt else "",
        is_gone=finding.gone_at is not None,
    )


def present_rows(found: Iterable[LiveFinding], *, for_user: Person) -> tuple[FindingRow, ...]:
    """Rows of findings."""
    can_adopt = access.can(for_user, Action.WRITE)
    return tuple(present_finding(one, can_adopt=can_adopt) for one in found)


def present_findings(cluster: Cluster, *, for_user: Person, only: FindingSort | None = None) -> Findings:
    """What is there now, sort by sort; `only` one of them, then all of its rows."""
    scan = scans.find_last(cluster, for_user=for_user)
    found = scans.list_findings(for_user=for_user).filter(cluster=cluster).select_related("cluster")
    counts = dict(found.order_by().values_list("sort").annotate(count=Count("id")))
    groups = []
    for sort in FindingSort if only is None else (only,):
        count = counts.get(sort.value, 0)
        rows = found.filter(sort=sort)[: SHOWN if only is None else 2_000] if count else []
        url = reverse("clusters:list-findings", args=[cluster.slug, sort.value])
        groups.append(FindingGroup(sort.value, TITLES[sort], present_rows(rows, for_user=for_user), count, url))
    return Findings(
        scan=scan,
        is_looking=scan is not None and scan.finished_at is None,
        groups=tuple(group for group in groups if group.total or only is not None),
        can_scan=access.can(for_user, Action.WRITE),
        total=sum(counts.values()),
    )


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One cluster on the first page: what drifted there."""

    name: str
    url: str
    counts: tuple[tuple[Look, int], ...]
    at: datetime | None


def present_drifted(*, for_user: Person) -> tuple[DriftRow, ...]:
    """The clusters where something is not as a review left it."""
    wanted = [FindingSort.CHANGED, FindingSort.DRIFTED, FindingSort.MISSING]
    found = scans.list_findings(for_user=for_user).filter(sort__in=wanted).order_by()
    counted = found.values_list("cluster_id", "sort").annotate(count=Count("id"))
    by_cluster: dict[int, list[tuple[Look, int]]] = {}
    for cluster_id, sort, count in sorted(counted, key=lambda row: wanted.index(FindingSort(row[1]))):
        by_cluster.setdefault(cluster_id, []).append((_LOOKS[FindingSort(sort)], count))
    if not by_cluster:
        return ()
    clusters = Cluster.objects.filter(pk__in=list(by_cluster)).order_by("slug").defer("credential")
    last = dict(
        ClusterScan.objects.filter(cluster__in=list(by_cluster), finished_at__isnull=False)
        .order_by("id")
        .values_list("cluster_id", "finished_at")
    )
    return tuple(
        DriftRow(
            cluster.name,
            reverse("clusters:show-cluster", args=[cluster.slug]) + "#findings",
            tuple(by_cluster[cluster.pk]),
            last.get(cluster.pk),
        )
        for cluster in clusters
    )
