"""The clusters on the first page: how each is, what differs there, what happened, and when changes may run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz import clock
from applyviz.records.enums import FindingSort
from applyviz.records.models import Cluster, ClusterScan, PolicyVersion
from applyviz.web.clusters.pages.activity import ActivityStrip, present_activity
from applyviz.web.components.badges import Appearance
from applyviz.workflow import policies
from applyviz.workflow.clusters.registration import list_clusters
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.scopes import fits
from applyviz.workflow.live.scan_lists import count_findings, find_last_scans
from applyviz.workflow.policies import rules_from_json
from applyviz.workflow.policies.windows import find_closed, find_opening

SHOWN, AS_STRIPS, AS_ROWS = 100, 12, 15
_OUTSIDE = (FindingSort.CHANGED, FindingSort.MISSING)
_PAUSED = Appearance("!", gettext_lazy("paused"), "warn")
_UNREAD = Appearance("×", gettext_lazy("not readable"), "remove")  # noqa: RUF001 the cross is drawn
_UNKNOWN = Appearance("?", gettext_lazy("not scanned yet"), "calm")
_SCANNED = Appearance("✓", gettext_lazy("scanned"), "add")


class ClusterHealth(Struct, frozen=True):
    """One cluster; changes may run at `opens_at`, or `when` says whether they may run now, and `opens` why.

    - `is_counted`: whether a scan could read the cluster, and counted what drifted and what was changed outside review.
    """

    name: str
    kind: str
    version: str
    url: str
    style: Appearance
    at: datetime | None
    problem: str
    drifted: int
    outside: int
    is_counted: bool
    activity: ActivityStrip
    when: str
    opens: str
    opens_at: datetime | None


def _find_opening(cluster: Cluster, in_force: Sequence[PolicyVersion]) -> tuple[str, str, datetime | None]:
    if cluster.paused_at is not None:
        return _("Not now"), _("until an administrator resumes it"), None
    rules = [rules_from_json(row.rules) for row in in_force if fits(row.cluster_pattern, cluster.slug)]
    windows = [rule.windows for rule in rules if rule.windows]
    freezes = [freeze for rule in rules for freeze in rule.freezes]
    now = clock.now()
    closed = find_closed(windows, freezes, now)
    if closed:
        return _("Not now"), sentences.describe(closed[0]), find_opening(windows, freezes, now)
    if windows:
        return _("Now"), _("the change window is open"), None
    return _("Any time"), _("no windows or freezes") if not freezes else _("no freeze at the moment"), None


def _find_look(cluster: Cluster, scan: ClusterScan | None) -> Appearance:
    if cluster.paused_at is not None:
        return _PAUSED
    if scan is None:
        return _UNKNOWN
    return _UNREAD if scan.problem else _SCANNED


def present_health(person: Person) -> tuple[ClusterHealth, ...]:
    """Return the clusters that a person may see, trouble first; the number of queries does not grow with them."""
    clusters = list(list_clusters(for_user=person).filter(archived_at=None)[:SHOWN])
    if not clusters:
        return ()
    read, counted = find_last_scans(clusters), count_findings(for_user=person)
    strips, in_force = present_activity(clusters, for_user=person), tuple(policies.list_in_force())
    rows = []
    for cluster in clusters:
        scan, counts = read.get(cluster.pk), counted.get(cluster.pk, Counter[str]())
        when, why, at = _find_opening(cluster, in_force)
        rows.append(
            ClusterHealth(
                cluster.name,
                cluster.get_kind_display(),
                cluster.version,
                reverse("clusters:show-cluster", args=[cluster.slug]),
                _find_look(cluster, scan),
                scan.finished_at if scan else None,
                scan.problem if scan else "",
                counts[FindingSort.DRIFTED],
                sum(counts[sort] for sort in _OUTSIDE),
                bool(counts) or (scan is not None and not scan.problem),
                strips[cluster.pk],
                when,
                why,
                at,
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.style.tone == "add", -row.outside, -row.drifted)))
