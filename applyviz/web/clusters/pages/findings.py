"""Read models of scan findings: outside changes, drift, deleted and unmanaged objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import urlencode

from django.db.models import Count, QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from applyviz.engine.objects.owners import Owner
from applyviz.records.enums import FindingSort
from applyviz.records.models import Cluster, ClusterScan, LiveFinding
from applyviz.web.components.badges import Appearance
from applyviz.web.components.object_links import CORE, NO_NAMESPACE, link_object
from applyviz.web.components.owners import OwnerChip, present_owner
from applyviz.web.components.pagers import ListPage, cut_page
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.live import scans
from applyviz.workflow.live.scan_lists import count_findings, find_last_scans, find_later_runs

Text = str | Promise
FEW, SHOWN, MOST = 20, 50, 2_000
FIELDS_SHOWN = 6
NAMED, LONGEST = 3, 40
_STYLES = {
    FindingSort.CHANGED: Appearance("!", gettext_lazy("changed outside review"), "warn"),
    FindingSort.DRIFTED: Appearance("≠", gettext_lazy("drifted"), "change"),
    FindingSort.MISSING: Appearance("−", gettext_lazy("deleted outside review"), "remove"),  # noqa: RUF001 - a minus
    FindingSort.UNREVIEWED: Appearance("?", gettext_lazy("unmanaged"), "calm"),
}
TITLES = {
    FindingSort.CHANGED: gettext_lazy("Changed outside review"),
    FindingSort.DRIFTED: gettext_lazy("Drift from the last run"),
    FindingSort.MISSING: gettext_lazy("Deleted outside review"),
    FindingSort.UNREVIEWED: gettext_lazy("Unmanaged objects"),
}


class FindingField(Struct, frozen=True):
    """One field of a finding; sides are None for a change whose earlier value is unknown."""

    path: str
    promised: str | None = None
    live: str | None = None


class FindingRow(Struct, frozen=True):
    """One finding."""

    style: Appearance
    object: str
    object_url: str
    owner: OwnerChip | None
    manager_url: str
    at: datetime | None
    fields: tuple[FindingField, ...]
    more_fields: int
    run: int | None
    run_url: str
    adopt_url: str
    is_gone: bool


class FindingGroup(Struct, frozen=True):
    """The newest findings of one kind, and their number."""

    sort: str
    title: Text
    rows: tuple[FindingRow, ...]
    total: int
    url: str


class Findings(Struct, frozen=True):
    """The findings in a cluster, and the last scan of all of it; `scan` None: it was never scanned.

    - `later_run` is the number of a run that ended after the last scan was requested, None without one.
    """

    scan: ClusterScan | None
    is_looking: bool
    groups: tuple[FindingGroup, ...]
    can_scan: bool
    total: int
    later_run: int | None = None


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _present_field(one: object) -> FindingField:
    if isinstance(one, dict):
        sides = (_text(one[side]) if side in one else _("nothing") for side in ("promised", "live"))
        return FindingField(str(one.get("path")), *sides)
    return FindingField(str(one))


def _adopt_url(finding: LiveFinding, slug: str) -> str:
    parts = [finding.group or CORE, finding.kind, finding.namespace or NO_NAMESPACE, finding.name]
    if finding.sort == FindingSort.MISSING or any("/" in part for part in parts):
        return ""
    return reverse("clusters:adopt-object", args=[slug, *parts])


def present_finding(finding: LiveFinding, *, for_user: Person) -> FindingRow:
    """Return one row; with the address that brings the object under review if this person may write there."""
    slug = finding.cluster.slug
    can_adopt = access.can(for_user, Action.WRITE, (ScopeEntry(slug, finding.namespace),))
    where = f"{finding.namespace}/" if finding.namespace else ""
    owner = Owner(finding.manager, finding.operation, "", finding.subresource, "")
    return FindingRow(
        style=_STYLES[FindingSort(finding.sort)],
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


def _name(row: LiveFinding) -> tuple[str, str, str, str]:
    return row.group, row.kind, row.namespace, row.name


def join_drift(changed: Sequence[LiveFinding], drifted: Sequence[LiveFinding]) -> list[LiveFinding]:
    """Add the values from drift to outside changes of the same fields; return the remaining drift.

    - An outside change is also drift: it is shown once, with its author. Rows are not saved.
    """
    values = {_name(row): {f["path"]: f for f in row.fields if isinstance(f, dict)} for row in drifted}
    shown: dict[tuple[str, str, str, str], set[str]] = {}
    for row in changed:
        known = values.get(_name(row), {})
        found = [f for f in row.fields if f in known]
        shown.setdefault(_name(row), set()).update(found)
        row.fields = [known.get(f, f) for f in row.fields]
    left = []
    for row in drifted:
        row.fields = [f for f in row.fields if f.get("path") not in shown.get(_name(row), ())]
        if row.fields:
            left.append(row)
    return left


def present_rows(found: Iterable[LiveFinding], *, for_user: Person) -> tuple[FindingRow, ...]:
    """Return rows of findings."""
    return tuple(present_finding(one, for_user=for_user) for one in found)


def _read_open(cluster: Cluster, *, for_user: Person) -> tuple[dict[FindingSort, list[LiveFinding]], dict[str, int]]:
    """Return the newest open findings of each kind, what is both an outside change and drift once; and all counts."""
    found = scans.list_findings(for_user=for_user).filter(cluster=cluster).select_related("cluster")
    counts = dict(found.order_by().values_list("sort").annotate(count=Count("id")))
    by_sort = {sort: list(found.filter(sort=sort)[:MOST]) if counts.get(sort.value) else [] for sort in FindingSort}
    drifted = len(by_sort[FindingSort.DRIFTED])
    by_sort[FindingSort.DRIFTED] = join_drift(by_sort[FindingSort.CHANGED], by_sort[FindingSort.DRIFTED])
    if drifted:
        counts[FindingSort.DRIFTED.value] -= drifted - len(by_sort[FindingSort.DRIFTED])
    return by_sort, counts


def present_findings(cluster: Cluster, *, for_user: Person) -> Findings:
    """Return the newest open findings of each kind."""
    scan = scans.find_last(cluster, for_user=for_user)
    by_sort, counts = _read_open(cluster, for_user=for_user)
    groups = (
        FindingGroup(
            sort.value,
            TITLES[sort],
            present_rows(by_sort[sort][:FEW], for_user=for_user),
            counts[sort.value],
            reverse("clusters:list-findings", args=[cluster.slug, sort.value]),
        )
        for sort in FindingSort
        if counts.get(sort.value)
    )
    later = find_later_runs([cluster]).get(cluster.pk) if scan is not None else None
    return Findings(
        scan=scan,
        is_looking=scan is not None and scan.finished_at is None,
        groups=tuple(groups),
        can_scan=access.may_use(for_user, Action.WRITE, cluster.slug),
        total=sum(counts.values()),
        later_run=later.number if later is not None else None,
    )


class FindingsPage(Struct, frozen=True):
    """One page of the open findings of one kind; `typed` limits them, `read` of `total` were looked through."""

    sort: str
    title: Text
    typed: str
    total: int
    read: int
    url: str
    page: ListPage[FindingRow]


def _has_words(finding: LiveFinding, words: Sequence[str]) -> bool:
    """Whether object, field manager or paths of fields contain every word; values are not looked at."""
    paths = (str(one.get("path")) if isinstance(one, dict) else str(one) for one in finding.fields)
    named = (finding.group, finding.kind, f"{finding.namespace}/{finding.name}", finding.manager)
    text = " ".join((*named, *paths)).casefold()
    return all(word in text for word in words)


def present_kind(cluster: Cluster, sort: FindingSort, *, typed: str, number: str, for_user: Person) -> FindingsPage:
    """Return a page of the open findings of one kind, the newest first."""
    by_sort, counts = _read_open(cluster, for_user=for_user)
    words = typed.casefold().split()
    found = [one for one in by_sort[sort] if _has_words(one, words)]
    cut = cut_page(found, number, SHOWN)
    query = f"&{urlencode({'q': typed})}" if typed else ""
    return FindingsPage(
        sort=sort.value,
        title=TITLES[sort],
        typed=typed,
        total=counts.get(sort.value, 0),
        read=len(by_sort[sort]),
        url=reverse("clusters:list-findings", args=[cluster.slug, sort.value]),
        page=ListPage.of(cut, present_rows(cut.object_list, for_user=for_user), query),
    )


class DriftRow(Struct, frozen=True):
    """One cluster on the home page with its drift.

    - `named`: its objects with who changed what; () where they are more than three.
    """

    name: str
    url: str
    counts: tuple[tuple[Appearance, int], ...]
    at: datetime | None
    later_run: int | None = None
    named: tuple[str, ...] = ()


def present_drifted(*, for_user: Person) -> tuple[DriftRow, ...]:
    """Return the clusters that differ from their last reviewed state."""
    wanted = [FindingSort.CHANGED, FindingSort.DRIFTED, FindingSort.MISSING]
    by_cluster: dict[int, list[tuple[Appearance, int]]] = {}
    for cluster_id, counts in count_findings(for_user=for_user).items():
        listed = [(_STYLES[sort], counts[sort]) for sort in wanted if counts[sort]]
        if listed:
            by_cluster[cluster_id] = listed
    if not by_cluster:
        return ()
    found = scans.list_findings(for_user=for_user).filter(sort__in=wanted).order_by()
    named = _name_drifted(found, [pk for pk, counts in by_cluster.items() if sum(n for _, n in counts) <= NAMED])
    clusters = list(Cluster.objects.filter(pk__in=list(by_cluster)).order_by("slug").defer("credential"))
    ended, later = find_last_scans(clusters), find_later_runs(clusters)
    return tuple(
        DriftRow(
            cluster.name,
            reverse("clusters:show-cluster", args=[cluster.slug]) + "#findings",
            tuple(by_cluster[cluster.pk]),
            ended[cluster.pk].finished_at if cluster.pk in ended else None,
            later[cluster.pk].number if cluster.pk in ended and cluster.pk in later else None,
            named.get(cluster.pk, ()),
        )
        for cluster in clusters
    )


def _name_drifted(found: QuerySet[LiveFinding], few: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the objects of clusters with few findings, each with who changed it and from what to what."""
    if not few:
        return {}
    by_cluster: dict[int, list[LiveFinding]] = {}
    for row in found.filter(cluster__in=few).order_by("kind", "namespace", "name"):
        by_cluster.setdefault(row.cluster_id, []).append(row)
    named = {}
    for pk, rows in by_cluster.items():
        drifted = [row for row in rows if row.sort == FindingSort.DRIFTED]
        others = [row for row in rows if row.sort != FindingSort.DRIFTED]
        changed = [row for row in others if row.sort == FindingSort.CHANGED]
        shown = [*others, *join_drift(changed, drifted)]
        names = dict.fromkeys(_name(row) for row in shown)
        named[pk] = tuple(_describe_object([row for row in shown if _name(row) == name]) for name in names)
    return named


def _describe_object(rows: Sequence[LiveFinding]) -> str:
    """Return an object in words: "Deployment/web, by helm, 1.4 → 1.5", with the values of a single field."""
    managers = ", ".join(dict.fromkeys(row.manager for row in rows if row.manager))
    fields = list({one.path: one for row in rows for one in map(_present_field, row.fields)}.values())
    parts = [f"{rows[0].kind}/{rows[0].name}"]
    if managers:
        parts.append(_("by %(names)s") % {"names": managers})
    if len(fields) == 1 and fields[0].promised is not None and fields[0].live is not None:
        parts.append(_shorten(fields[0].promised, fields[0].live))
    elif fields:
        parts.append(ngettext("%(n)d field", "%(n)d fields", len(fields)) % {"n": len(fields)})
    return ", ".join(parts)


def _shorten(promised: str, live: str) -> str:
    """Return both values without what they share before their tag: an image is named once."""
    first, second = promised.rpartition(":"), live.rpartition(":")
    if first[0] and first[0] == second[0]:
        promised, live = first[2], second[2]
    return " → ".join(text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in (promised, live))
