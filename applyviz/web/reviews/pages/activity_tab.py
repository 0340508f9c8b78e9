"""The Activity tab: audit entries and comments of a review, newest first.

Writes to single objects are left out: the page of the run lists them.
"""

from __future__ import annotations

from django.db.models import QuerySet
from django.urls import reverse
from msgspec import Struct

from applyviz import moments
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry
from applyviz.web.history.pages.entries import EntryRow, find_starters, present_entry
from applyviz.web.reviews.pages.comments import CommentThread, present_review_thread
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.web.reviews.pages.sources.visitor_chain import VisitorChain, present_chain
from applyviz.workflow.approvals import comments as use_cases
from applyviz.workflow.foundation import access
from applyviz.workflow.plans.live_history import SILENT, is_silent, show_entries

SHOWN = 100
_OF_OBJECTS = (AuditAction.OBJECT_INTENT, AuditAction.OBJECT_RESULT)


class ActivityTab(Struct, frozen=True):
    """The newest entries, their number, the comments, and how the files became objects."""

    entries: tuple[EntryRow, ...]
    total: int
    history_url: str
    thread: CommentThread
    chain: VisitorChain


def _select_entries(context: PlanContext) -> QuerySet[AuditEntry]:
    entries = AuditEntry.objects.filter(review=context.plan.review.number).exclude(action__in=_OF_OBJECTS)
    return access.visible_entries(entries, context.person)


def count_entries(context: PlanContext) -> int:
    """Return the number of entries of the tab, for every reader without those that are hidden from some."""
    counted = _select_entries(context).exclude(SILENT)
    return moments.read_once(_name_count(context), counted.count)


def _name_count(context: PlanContext) -> tuple[str, int]:
    return ("entries of review", context.plan.review_id)


def list_latest(context: PlanContext, count: int) -> tuple[EntryRow, ...]:
    """Return the newest entries; where these are all, their number is known for `count_entries`."""
    found = list(_select_entries(context).defer("words").order_by("-id")[:count])
    if len(found) < count:
        moments.keep(_name_count(context), sum(not is_silent(entry) for entry in found))
    shown = show_entries(found, context.person)
    starters = find_starters(shown)
    return tuple(present_entry(entry, starters) for entry in shown)


def present_activity(context: PlanContext) -> ActivityTab:
    """Return the tab."""
    plan = context.plan
    return ActivityTab(
        entries=list_latest(context, SHOWN),
        total=count_entries(context),
        history_url=f"{reverse('history:list-entries')}?review={plan.review.number}",
        thread=present_review_thread(
            plan,
            list(use_cases.list_comments(plan)),
            context.changes,
            for_user=context.person,
        ),
        chain=present_chain(plan),
    )
