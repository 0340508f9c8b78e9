"""How many Pods a rolling update may add and take away.

Rule: k8s.io/kubernetes `pkg/controller/deployment/util`: a surge is rounded up, what may be unavailable is rounded
down, and if both are zero, one Pod may be unavailable.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from applyviz.engine.objects.shares import scale_share
from applyviz.engine.objects.values import JSONObject, get_at


class RolloutLimits(Struct, frozen=True):
    """The limits of a rollout; without a rolling update both are zero."""

    wanted: int
    surge: int
    unavailable: int

    @classmethod
    def of(cls, deployment: JSONObject) -> RolloutLimits:
        """Read the limits of a Deployment."""
        wanted = deployment["spec"].get("replicas", 1)
        rolling = get_at(deployment, ("spec", "strategy", "rollingUpdate")) or {}
        if not is_rolling(deployment):
            return cls(wanted, 0, 0)
        surge = scale_share(rolling.get("maxSurge"), wanted, is_rounded_up=True) or 0
        unavailable = scale_share(rolling.get("maxUnavailable"), wanted, is_rounded_up=False) or 0
        return cls(wanted, surge, min(unavailable, wanted) if surge or unavailable else min(1, wanted))

    @property
    def most(self) -> int:
        """The most Pods that there may be."""
        return self.wanted + self.surge

    @property
    def fewest(self) -> int:
        """The fewest Pods that must be available."""
        return self.wanted - self.unavailable


def is_rolling(deployment: JSONObject) -> bool:
    """Return whether a Deployment replaces its Pods step by step."""
    return str(get_at(deployment, ("spec", "strategy", "type"), "RollingUpdate")) == "RollingUpdate"


def count_wanted(sets: Sequence[JSONObject]) -> int:
    """Return how many Pods ReplicaSets want together."""
    return sum(s["spec"].get("replicas", 1) for s in sets)


def count(sets: Sequence[JSONObject], name: str) -> int:
    """Return the sum of a number in the status of ReplicaSets."""
    return sum((s.get("status") or {}).get(name) or 0 for s in sets)


def grow(limits: RolloutLimits, new: JSONObject | None, every: Sequence[JSONObject], *, rolls: bool) -> int:
    """Return how many Pods the new ReplicaSet should want now."""
    replica_set = new["spec"].get("replicas", 1) if new is not None else 0
    if not rolls or replica_set > limits.wanted:
        return limits.wanted
    room = limits.most - count_wanted(every)
    return replica_set + min(room, limits.wanted - replica_set) if room > 0 else replica_set


def shrink(limits: RolloutLimits, new: JSONObject, old: Sequence[JSONObject]) -> list[int]:
    """Return how many Pods each old ReplicaSet should want now, oldest first: unhealthy Pods go first."""
    wants = [s["spec"].get("replicas", 1) for s in old]
    unavailable = new["spec"].get("replicas", 1) - ((new.get("status") or {}).get("availableReplicas") or 0)
    surplus = sum(wants) + new["spec"].get("replicas", 1) - limits.fewest - unavailable
    if surplus <= 0:
        return wants
    available = [(s.get("status") or {}).get("availableReplicas") or 0 for s in old]
    for n, want in enumerate(wants):
        cut = min(surplus, max(want - available[n], 0))
        wants[n], surplus = want - cut, surplus - cut
    free = sum(available) + ((new.get("status") or {}).get("availableReplicas") or 0) - limits.fewest
    for n, want in enumerate(wants):
        cut = max(min(want, free), 0)
        wants[n], free = want - cut, free - cut
    return wants


def share_out(limits: RolloutLimits, sets: Sequence[JSONObject]) -> list[int]:
    """Return how many Pods each ReplicaSet should want after the Deployment was scaled during a rollout.

    - Every one gets its share of the difference, the rest goes to the largest.
    """
    wants = [s["spec"].get("replicas", 1) for s in sets]
    total = sum(wants)
    allowed = limits.most if limits.wanted > 0 else 0
    if not total:
        return wants
    left = difference = allowed - total
    for n in sorted(range(len(wants)), key=lambda n: -wants[n]):
        share = round(wants[n] * allowed / total) - wants[n]
        share = min(share, left) if difference > 0 else max(share, left)
        wants[n], left = max(wants[n] + share, 0), left - share
    if left and wants:
        largest = max(range(len(wants)), key=lambda n: wants[n])
        wants[largest] = max(wants[largest] + left, 0)
    return wants
