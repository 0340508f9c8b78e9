"""What a page is told while its plan is calculated, and while its run goes on.

A plan tells each object as it is planned, as an item of the list and in the order of arrival, and how far it is;
at its end the page asks for itself. A run tells only that something moved.
"""

from __future__ import annotations

import json

from django.db.models import Count
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, Plan
from applyviz.web.presenters.objects import LISTED, present_item
from applyviz.web.streams import Event
from applyviz.workflow.livevalues import LiveView


def _read_count(place: str) -> int:
    return int(place) if place.isascii() and place.isdigit() else 0


def find_arrivals(plan_id: int, place: str) -> Event | None:
    """What was planned since `place`, the number of objects told before."""
    plan = Plan.objects.select_related("review").defer("summary", "tag_key").get(pk=plan_id)
    if plan.state != PlanState.PLANNING:
        return Event("done", "{}", place or "0", is_last=True)
    told = _read_count(place)
    count = plan.changes.count()
    if count == told:
        return None
    if count < told:  # a worker was lost, and another one began anew
        return Event("moved", "{}", str(count))
    rows = plan.changes.defer("document", "sealed").order_by("position")[told : max(told, min(count, LISTED))]
    items = [
        present_item(
            row,
            url=reverse("reviews:show-object", args=[plan.review.number, plan.number, row.position, "changes"]),
            is_current=False,
        )
        for row in LiveView().show(rows)  # a stream has no reader: what it tells, everybody may know
    ]
    html = render_to_string("reviews/_arrivals.html", {"items": items})
    data = {"html": html, "done": count, "expected": plan.expected}
    return Event("objects", json.dumps(data), str(count))


def find_moves(run_id: int, place: str) -> Event | None:
    """Whether anything of a run moved since `place`, which says how it stood."""
    run = ApplyRun.objects.only("pk", "state", "lease_until").get(pk=run_id)
    counted = run.results.order_by("outcome", "rollout").values_list("outcome", "rollout").annotate(number=Count("pk"))
    is_lost = run.lease_until is not None and run.lease_until < timezone.now()
    told = (f"{outcome}/{rollout}={number}" for outcome, rollout, number in counted)
    stands = "|".join([run.state, "lost" if is_lost else "", *told])
    if run.state not in RunState.unfinished():
        return Event("done", "{}", stands, is_last=True)
    return Event("moved", "{}", stands) if stands != place else None
