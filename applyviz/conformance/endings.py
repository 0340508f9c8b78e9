"""Whether an object is gone after the requests of its plan, although none is a deletion: decided by sending them.

A separate cluster with the objects of the input answers each question, so that no answer changes another.
"""

from __future__ import annotations

from applyviz.conformance.inputs import HeldCluster, Planned
from applyviz.engine.objects.values import get_at


def is_gone(planned: Planned) -> bool:
    """Return whether a write ends the deletion of an object that had begun before."""
    change = planned.change
    if not get_at(change.versions.live, ("metadata", "deletionTimestamp")) or not change.has_effect:
        return False
    if change.conflicts or any(request.method == "DELETE" for request in change.requests):
        return False
    cluster = HeldCluster(planned.given)
    cluster.run(change)
    return cluster.find(change) is None
