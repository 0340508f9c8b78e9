"""The tabs of a review, in their order. Each tab is a page and has an address.

A tab is there when its page exists: add a member to `ReviewTab`, an entry to `TABS`, an address named
`show-<tab>` of the view `show_tab`, and what reads its page to `_READERS` in `reviews.views.tabs`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.records.models import Plan
from applyviz.web.components.plan_counts import count_effects
from applyviz.web.components.tabs import TabLink
from applyviz.web.reviews.pages.activity_tab import count_entries
from applyviz.web.reviews.pages.plan_context import PlanContext


class ReviewTab(StrEnum):
    """The tabs by the names in addresses and the cookie."""

    OVERVIEW = "overview"
    CHANGES = "changes"
    ADDONS = "addons"
    GRAPH = "graph"
    OWNERS = "owners"
    REQUESTS = "requests"
    ACTIVITY = "activity"


class TabEntry(Struct, frozen=True):
    """One tab: its label and its number; None for a tab without one, or while the number is unknown.

    - `is_shown`: whether a plan has this tab; the current tab is always there.
    """

    tab: ReviewTab
    word: Promise
    count: Callable[[PlanContext], int | None] | None = None
    is_shown: Callable[[PlanContext], bool] = lambda _context: True


def _count_changes(context: PlanContext) -> int | None:
    counts: dict[str, int] = context.plan.counts
    return sum(counts.values()) - counts.get("unchanged", 0) if context.is_complete else None


def _count_requests(context: PlanContext) -> int | None:
    return count_effects(context.plan) if context.is_complete else None


def _count_addons(context: PlanContext) -> int | None:
    channel = context.options.channel
    return len(channel.applied) if channel is not None else None


def has_addons(context: PlanContext) -> bool:
    """Return whether the plan is one of a kOps channel."""
    return context.options.channel is not None


TABS = (
    TabEntry(ReviewTab.OVERVIEW, _("Overview")),
    TabEntry(ReviewTab.CHANGES, _("Changes"), _count_changes),
    TabEntry(ReviewTab.ADDONS, _("Addons"), _count_addons, has_addons),
    TabEntry(ReviewTab.GRAPH, _("Graph")),
    TabEntry(ReviewTab.OWNERS, _("Owners")),
    TabEntry(ReviewTab.REQUESTS, _("Requests"), _count_requests),
    TabEntry(ReviewTab.ACTIVITY, _("Activity"), count_entries),
)


def link_tab(plan: Plan, tab: ReviewTab) -> str:
    """Return the address of a tab of a plan."""
    return reverse(f"reviews:show-{tab.value}", args=[plan.review.number, plan.number])


def present_tabs(context: PlanContext, current: ReviewTab | None) -> tuple[TabLink, ...]:
    """Return all tabs of a plan; `current` is None on a page of the review outside the tabs."""
    return tuple(
        TabLink(
            entry.word,
            link_tab(context.plan, entry.tab),
            entry.tab is current,
            entry.count(context) if entry.count else None,
        )
        for entry in TABS
        if entry.tab is current or entry.is_shown(context)
    )
