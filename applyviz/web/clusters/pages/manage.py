"""Read model of the page on which administrators manage one cluster."""

from __future__ import annotations

from django.urls import reverse
from msgspec import Struct

from applyviz.records.enums import ReviewState, ScheduledStartState
from applyviz.records.models import Cluster, Review, ScheduledStart
from applyviz.workflow.clusters import lifecycle


class ManagementPage(Struct, frozen=True):
    """The management page: the cluster, the account of its credential there, and the address of each form.

    - `open_reviews` and `scheduled` (runs) are what a pause or an archived cluster holds up.
    """

    cluster: Cluster
    account: str
    open_reviews: int
    scheduled: int
    urls: dict[str, str]


_FORMS = ("replace-credential", "test-connection", "rename-cluster", "pause-cluster", "resume-cluster",
          "archive-cluster", "restore-cluster")  # fmt: skip


def present_management(cluster: Cluster) -> ManagementPage:
    """Return the page of one cluster for its administrators."""
    return ManagementPage(
        cluster,
        account=lifecycle.describe_account(cluster.account),
        open_reviews=Review.objects.filter(targets__cluster=cluster, state=ReviewState.OPEN).count(),
        scheduled=ScheduledStart.objects.filter(
            plan__target__cluster=cluster, state=ScheduledStartState.WAITING
        ).count(),
        urls={name.partition("-")[0]: reverse(f"clusters:{name}", args=[cluster.slug]) for name in _FORMS},
    )
