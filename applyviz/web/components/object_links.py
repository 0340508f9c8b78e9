"""Addresses of one object: its history, named by cluster, group, kind, namespace and name; its changes in a plan.

The core group is written `core`, the namespace of a cluster-scoped object `-`; neither is a valid name.
"""

from __future__ import annotations

from functools import lru_cache

from django.urls import get_script_prefix, reverse

from applyviz.records.models import Plan

CORE, NO_NAMESPACE = "core", "-"


def link_object(cluster: str, group: str, kind: str, namespace: str, name: str) -> str:
    """Return the address of an object's page; "" for a name that an address cannot hold."""
    parts = [group or CORE, kind, namespace or NO_NAMESPACE, name]
    if not (cluster and kind and name) or any("/" in part or "\n" in part for part in parts):
        return ""
    return reverse("history:show-object", args=[cluster, *parts])


def _link_changes(plan: Plan) -> str:
    return _reverse_changes(plan.review.number, plan.number, get_script_prefix())


@lru_cache(maxsize=1_024)  # a page of a plan links to each of its objects
def _reverse_changes(review: int, plan: int, _prefix: str) -> str:
    return reverse("reviews:show-changes", args=[review, plan])


def link_change(plan: Plan, position: int) -> str:
    """Return the address of one object of a plan among all changes of the plan."""
    return f"{_link_changes(plan)}?at={position}#object-{position}"


def link_alone(plan: Plan, position: int, view: str = "") -> str:
    """Return the address of one object of a plan alone, with everything about it, in one of its views."""
    return f"{_link_changes(plan)}?only={position}{f'&view={view}' if view else ''}"


def link_field(plan: Plan, position: int, index: int) -> str:
    """Return the address of one field of an object alone."""
    return f"{link_alone(plan, position)}&field={index}#object-{position}-field-{index}"
