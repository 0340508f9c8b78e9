"""Where the pages of one object are: its life, whose address names cluster, group, kind, namespace and name; its plan.

The core group is written `core`, a cluster-scoped object's namespace `-`; neither can be a real one's name.
"""

from __future__ import annotations

from django.urls import reverse

from applyviz.records.models import Plan

CORE, NO_NAMESPACE = "core", "-"


def link_object(cluster: str, group: str, kind: str, namespace: str, name: str) -> str:
    """The address of an object's page; "" for what has no name that an address could hold."""
    parts = [group or CORE, kind, namespace or NO_NAMESPACE, name]
    if not (cluster and kind and name) or any("/" in part or "\n" in part for part in parts):
        return ""
    return reverse("history:show-object", args=[cluster, *parts])


def link_change(plan: Plan, position: int, tab: str = "changes") -> str:
    """The address of one object of a plan, in one of its views."""
    return reverse("reviews:show-object", args=[plan.review.number, plan.number, position, tab])
