"""Events for an open page while its plan is calculated and while its run is in progress.

A plan sends each planned object as an item of the list, in the order of arrival, and its progress; at its end the page
reloads itself. A run sends only that something changed.
"""

from __future__ import annotations

import json

from django.template.loader import render_to_string
from django.urls import reverse

from applyviz.records.enums import PlanState
from applyviz.records.models import Plan
from applyviz.web.frame.streams import StreamEvent
from applyviz.web.reviews.pages.object_groups import LISTED, present_item
from applyviz.workflow.plans.live_values import LiveView


def _read_count(cursor: str) -> int:
    return int(cursor) if cursor.isascii() and cursor.isdigit() else 0


def find_arrivals(plan_id: int, cursor: str) -> StreamEvent | None:
    """Return the objects that were planned since `place`, the number of objects sent before."""
    plan = Plan.objects.select_related("review").defer("summary", "tag_key").get(pk=plan_id)
    if plan.state != PlanState.PLANNING:
        return StreamEvent("done", "{}", cursor or "0", is_last=True)
    sent = _read_count(cursor)
    count = plan.changes.count()
    if count == sent:
        return None
    if count < sent:  # another worker started the calculation again
        return StreamEvent("moved", "{}", str(count))
    rows = plan.changes.defer("document", "sealed").order_by("position")[sent : max(sent, min(count, LISTED))]
    items = [
        present_item(
            row,
            url=reverse("reviews:show-object", args=[plan.review.number, plan.number, row.position, "changes"]),
            is_current=False,
        )
        for row in LiveView().show(rows)  # a stream has no reader: it sends only what everyone may see
    ]
    html = render_to_string("reviews/_planned_objects.html", {"items": items})
    data = {"html": html, "done": count, "expected": plan.expected}
    return StreamEvent("objects", json.dumps(data), str(count))
