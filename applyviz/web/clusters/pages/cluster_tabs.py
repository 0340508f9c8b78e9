"""The page of a cluster in tabs: the head that they share, and what needs no look at the live objects."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.records.models import Cluster
from applyviz.sandbox.workloads.pod_sets import MOST_PODS
from applyviz.web.clusters.pages.activity import ActivityStrip, present_activity
from applyviz.web.clusters.pages.clusters import ClusterRow, can_add, present_row
from applyviz.web.clusters.pages.findings import Findings, present_findings
from applyviz.web.components.tabs import TabLink
from applyviz.web.reviews.pages.review_list import ReviewRow, present_review, show_newest, with_latest_plan
from applyviz.web.runs.pages.run_rows import RunRow, present_runs
from applyviz.workflow import policies, runs
from applyviz.workflow.clusters import masking_settings, sandboxes
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans import reviews

SHOWN, _DAYS = 25, 90


class ClusterTab(StrEnum):
    """The tabs by the ends of the names of their addresses."""

    OVERVIEW = "cluster"
    OBJECTS = "objects"
    MANAGERS = "managers"
    APPLYSETS = "applysets"
    RUNS = "runs"
    SETTINGS = "settings"


_WORDS: dict[ClusterTab, Promise] = {
    ClusterTab.OVERVIEW: _("Overview"),
    ClusterTab.OBJECTS: _("Objects"),
    ClusterTab.MANAGERS: _("Field managers"),
    ClusterTab.APPLYSETS: _("ApplySets"),
    ClusterTab.RUNS: _("Reviews and runs"),
    ClusterTab.SETTINGS: _("Settings"),
}


_KUBECTL_LINES = """\
export KUBECONFIG=~/Downloads/{slug}.kubeconfig && chmod 600 "$KUBECONFIG"
kubectl get deployments --all-namespaces
kubectl apply --server-side -f FILE
"""


class ClusterFrame(Struct, frozen=True):
    """The head of each tab."""

    cluster: ClusterRow
    tabs: tuple[TabLink, ...]
    manage_url: str
    paused_at: datetime | None
    pause_reason: str
    archived_at: datetime | None


class ClusterOverview(Struct, frozen=True):
    """Activity of the last days, and differences from the last runs."""

    activity: ActivityStrip
    findings: Findings
    kubeconfig_url: str = ""
    kubectl_lines: str = ""


class ClusterWork(Struct, frozen=True):
    """The newest reviews and runs, and the number of all that the reader may see."""

    reviews: tuple[ReviewRow, ...]
    review_total: int
    runs: tuple[RunRow, ...]
    run_total: int


class ClusterSettings(Struct, frozen=True):
    """How applyviz treats the cluster."""

    uid: str
    is_masking: bool
    is_sandbox: bool
    simulates_workloads: bool
    most_pods: int
    can_manage: bool


def present_frame(cluster: Cluster, tab: ClusterTab, *, for_user: Person) -> ClusterFrame:
    """Return the head of a tab."""
    return ClusterFrame(
        cluster=present_row(cluster, 0, tuple(policies.list_in_force())),
        tabs=tuple(
            TabLink(word, reverse(f"clusters:show-{one.value}", args=[cluster.slug]), one is tab)
            for one, word in _WORDS.items()
        ),
        manage_url=reverse("clusters:manage-cluster", args=[cluster.slug]) if can_add(for_user) else "",
        paused_at=cluster.paused_at,
        pause_reason=cluster.pause_reason,
        archived_at=cluster.archived_at,
    )


def present_overview(cluster: Cluster, *, for_user: Person) -> ClusterOverview:
    """Return the first tab."""
    offers = sandboxes.may_take_kubeconfig(cluster, for_user)
    return ClusterOverview(
        activity=present_activity([cluster], for_user=for_user, days=_DAYS)[cluster.pk],
        findings=present_findings(cluster, for_user=for_user),
        kubeconfig_url=reverse("clusters:download-kubeconfig", args=[cluster.slug]) if offers else "",
        kubectl_lines=_KUBECTL_LINES.format(slug=cluster.slug) if offers else "",
    )


def present_work(cluster: Cluster, *, for_user: Person) -> ClusterWork:
    """Return the reviews and runs of the cluster."""
    found = reviews.list_reviews(for_user=for_user).prefetch_related(None).filter(targets__cluster=cluster)
    latest = list(with_latest_plan(found)[:SHOWN])
    outlines = show_newest(latest, for_user=for_user)
    ran = runs.list_runs(for_user=for_user).filter(plan__target__cluster=cluster)
    return ClusterWork(
        reviews=tuple(present_review(review, outlines, for_user=for_user) for review in latest),
        review_total=len(latest) if len(latest) < SHOWN else found.count(),
        runs=present_runs(ran[:SHOWN], for_user=for_user),
        run_total=ran.count(),
    )


def present_settings(cluster: Cluster, *, for_user: Person) -> ClusterSettings:
    """Return the settings of the cluster."""
    return ClusterSettings(
        uid=cluster.uid,
        is_masking=masking_settings.policy_for(cluster).has_plain,
        is_sandbox=cluster.is_sandbox,
        simulates_workloads=cluster.simulates_workloads,
        most_pods=MOST_PODS,
        can_manage=can_add(for_user),
    )
