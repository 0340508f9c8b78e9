"""Events for an open page while its plan is calculated and while its run is in progress.

A plan sends how many of its objects are planned; at its end the page reloads itself. A run sends only that something
changed.
"""

from __future__ import annotations

import json

from applyviz.engine.objects.golang import read_digits
from applyviz.records.enums import PlanState
from applyviz.records.models import Plan
from applyviz.web.frame.streams import StreamEvent


def _read_count(cursor: str) -> int:
    return read_digits(cursor) or 0


def find_arrivals(plan_id: int, cursor: str) -> StreamEvent | None:
    """Return how many objects are planned, if that changed since `cursor`, the number that was sent before."""
    plan = Plan.objects.defer("tag_key").get(pk=plan_id)
    if plan.state != PlanState.PLANNING:
        return StreamEvent("done", "{}", cursor or "0", is_last=True)
    sent = _read_count(cursor)
    count = plan.changes.count()
    if count == sent:
        return None
    if count < sent:  # another worker started the calculation again
        return StreamEvent("moved", "{}", str(count))
    return StreamEvent("objects", json.dumps({"done": count, "expected": plan.expected}), str(count))
