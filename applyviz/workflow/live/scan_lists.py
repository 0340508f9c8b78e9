"""Read the results of scans of many clusters, for lists: the number of queries does not grow with the clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from django.db.models import Count, Exists, Max, OuterRef, Subquery

from applyviz import moments
from applyviz.records.models import ApplyRun, Cluster, ClusterScan
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.live.scans import find_distinct, list_findings


def count_findings(*, for_user: Visitor) -> Mapping[int, Counter[str]]:
    """Return the number of open findings of each kind that a person may see, by cluster; each change counts once."""

    def count() -> dict[int, Counter[str]]:
        counted: dict[int, Counter[str]] = {}
        rows = find_distinct(list_findings(for_user=for_user).order_by()).values_list("cluster_id", "sort")
        for cluster, sort, number in rows.annotate(number=Count("id")):
            counted.setdefault(cluster, Counter())[sort] = number
        return counted

    return moments.read_on_page(("number of findings", for_user.pk), count)


def find_last_scans(clusters: Iterable[Cluster]) -> dict[int, ClusterScan]:
    """Return the newest finished scan of the whole of each cluster, by the id of the cluster."""
    ended = ClusterScan.objects.filter(cluster__in=clusters, finished_at__isnull=False, since=None)
    last = ended.order_by().values("cluster").annotate(last=Max("id")).values("last")
    return {scan.cluster_id: scan for scan in ClusterScan.objects.filter(pk__in=last)}


def find_later_runs(clusters: Iterable[Cluster]) -> dict[int, ApplyRun]:
    """Return the run on each cluster that ended last, unless a scan that has ended was requested since."""
    ended = ApplyRun.objects.filter(plan__target__cluster=OuterRef("pk")).exclude(finished_at=None)
    newest = Subquery(ended.order_by("-finished_at").values("pk")[:1])
    last = Cluster.objects.filter(pk__in=[one.pk for one in clusters]).annotate(last=newest).values("last")
    same = {"cluster": OuterRef("plan__target__cluster"), "created_at__gte": OuterRef("finished_at")}
    seen = ClusterScan.objects.filter(**same).exclude(finished_at=None)
    found = ApplyRun.objects.filter(~Exists(seen), pk__in=last).select_related("plan__target")
    return {run.plan.target.cluster_id: run for run in found}
