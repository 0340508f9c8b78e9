"""The Requests tab: every object that the plan writes, with its requests, in plan order.

The page of each object shows the bodies; this tab has one line per object, and the archive with all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.object_links import link_change
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.web.reviews.pane.requests import present_request
from applyviz.workflow.plans.live_values import view_of

PER_PAGE = 50
_NOT_SENT = (Operation.UNCHANGED.value, Operation.BLOCKED.value, Operation.ERROR.value)


@dataclass(frozen=True, slots=True)
class RequestLine:
    """One request for an object."""

    method: str
    path: str
    query: str
    content_type: str
    about: object


@dataclass(frozen=True, slots=True)
class ObjectRequests:
    """One object and its requests."""

    look: Appearance
    kind: str
    name: str
    namespace: str
    url: str
    lines: tuple[RequestLine, ...]


@dataclass(frozen=True, slots=True)
class RequestsTab:
    """One page of objects; `first` and `last` count from 1."""

    rows: tuple[ObjectRequests, ...]
    first: int
    last: int
    total: int
    archive_url: str
    earlier_url: str
    later_url: str


def _present_row(context: PlanContext, row: ObjectChange) -> ObjectRequests:
    change = view_of(context.plan).read(row)
    shown = [present_request(request) for request in change.requests if request.is_write]
    lines = tuple(
        RequestLine(r.method, r.path, "&".join(f"{q.name}={q.value}" for q in r.query), r.content_type, r.about)
        for r in shown
    )
    return ObjectRequests(
        look=OBJECT_STYLES[change.operation],
        kind=row.kind,
        name=row.name,
        namespace=row.namespace,
        url=link_change(context.plan, row.position, "requests"),
        lines=lines,
    )


def _load(context: PlanContext, positions: Sequence[int]) -> list[ObjectChange]:
    rows = context.plan.changes.filter(position__in=positions).defer("sealed").order_by("position")
    return list(rows)


def present_requests(context: PlanContext, *, page: int) -> RequestsTab:
    """Return one page of the tab; a page beyond the last one shows the last one."""
    written = [c.position for c in context.changes if c.operation not in _NOT_SENT]
    pages = max(1, -(-len(written) // PER_PAGE))
    page = min(page, pages)
    start = (page - 1) * PER_PAGE
    chosen = written[start : start + PER_PAGE]
    here = reverse("reviews:show-requests", args=context.address)
    return RequestsTab(
        rows=tuple(_present_row(context, row) for row in _load(context, chosen)),
        first=start + 1 if chosen else 0,
        last=start + len(chosen),
        total=len(written),
        archive_url=reverse("reviews:keep-requests", args=context.address) if context.is_complete else "",
        earlier_url=f"{here}?page={page - 1}" if page > 1 else "",
        later_url=f"{here}?page={page + 1}" if page < pages else "",
    )
