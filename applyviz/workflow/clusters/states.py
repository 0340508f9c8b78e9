"""Whether plans and runs may start on a cluster: not on a paused one, and an archived one is history only."""

from __future__ import annotations

from django.utils.translation import gettext as _

from applyviz.records.models import Cluster
from applyviz.workflow.foundation.errors import NotPossibleError


def find_stop(cluster: Cluster) -> tuple[str, ...]:
    """Return why no plan and no run may start on a cluster now; empty when they may."""
    if cluster.archived_at is not None:
        return (_("%(name)s is archived. An administrator can restore it on its page") % {"name": cluster.name},)
    if cluster.paused_at is None:
        return ()
    facts = {"name": cluster.name, "reason": cluster.pause_reason}
    if cluster.pause_reason:
        return (_("%(name)s is paused (%(reason)s). An administrator can resume it on its page") % facts,)
    return (_("%(name)s is paused. An administrator can resume it on its page") % facts,)


def require_open(cluster: Cluster) -> None:
    """Raise `NotPossibleError` on a cluster where no plan and no run may start."""
    cluster.refresh_from_db(fields=["name", "paused_at", "pause_reason", "archived_at"])
    found = find_stop(cluster)
    if found:
        raise NotPossibleError(found[0])
