"""Whether plans and runs may start on a cluster: not on a paused one, and an archived one is history only."""

from __future__ import annotations

from applyviz.records.models import Cluster
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.blockers import ClusterArchived, ClusterPaused, PlanBlocker
from applyviz.workflow.foundation.errors import NotPossibleError

STOPS = (ClusterArchived, ClusterPaused)
"""The blockers that end only when an administrator acts on the cluster, and not with time."""


def find_stop(cluster: Cluster) -> tuple[PlanBlocker, ...]:
    """Return why no plan and no run may start on a cluster now; empty when they may."""
    if cluster.archived_at is not None:
        return (ClusterArchived(cluster.name),)
    return (ClusterPaused(cluster.name, cluster.pause_reason),) if cluster.paused_at is not None else ()


def require_open(cluster: Cluster) -> None:
    """Raise `NotPossibleError` on a cluster where no plan and no run may start."""
    cluster.refresh_from_db(fields=["name", "paused_at", "pause_reason", "archived_at"])
    found = find_stop(cluster)
    if found:
        raise NotPossibleError(sentences.describe(found[0]))
