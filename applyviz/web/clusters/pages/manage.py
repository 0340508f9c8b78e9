"""Read model of the page on which administrators manage one cluster."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse
from msgspec import Struct

from applyviz.records.enums import ReviewState, ScheduledStartState
from applyviz.records.models import Cluster, Review, ScheduledStart
from applyviz.workflow.clusters import lifecycle


class ManagementPage(Struct, frozen=True):
    """The management page: facts of the cluster, its state, and the address of each form.

    - `open_reviews` and `scheduled` (runs) are what a pause or an archived cluster holds up.
    """

    name: str
    slug: str
    server: str
    uid: str
    account: str
    is_sandbox: bool
    paused_at: datetime | None
    pause_reason: str
    archived_at: datetime | None
    open_reviews: int
    scheduled: int
    urls: dict[str, str]


_FORMS = ("replace-credential", "test-connection", "rename-cluster", "pause-cluster", "resume-cluster",
          "archive-cluster", "restore-cluster")  # fmt: skip


def present_management(cluster: Cluster) -> ManagementPage:
    """Return the page of one cluster for its administrators."""
    return ManagementPage(
        name=cluster.name,
        slug=cluster.slug,
        server=cluster.server,
        uid=cluster.uid,
        account=lifecycle.describe_account(cluster.account),
        is_sandbox=cluster.is_sandbox,
        paused_at=cluster.paused_at,
        pause_reason=cluster.pause_reason,
        archived_at=cluster.archived_at,
        open_reviews=Review.objects.filter(targets__cluster=cluster, state=ReviewState.OPEN).count(),
        scheduled=ScheduledStart.objects.filter(
            plan__target__cluster=cluster, state=ScheduledStartState.WAITING
        ).count(),
        urls={name.partition("-")[0]: reverse(f"clusters:{name}", args=[cluster.slug]) for name in _FORMS},
    )
