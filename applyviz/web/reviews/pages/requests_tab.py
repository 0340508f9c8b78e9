"""The Requests tab: every object that the plan writes, with its requests, in plan order.

The page of each object shows the bodies and the calculation; this tab has one line per request, reads included, and
the archive with all bodies. Parameters that all writes with one method share are above the table, not in each line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from django.db.models import Q
from django.urls import reverse

from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.request_sequence import SequenceStep, StepPurpose, list_sequence
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.web.reviews.pane.requests import present_request
from applyviz.web.reviews.pane.sequence import describe_step
from applyviz.workflow.plans.changes import read_masked
from applyviz.workflow.plans.live_values import list_rows

PER_PAGE = 50
_NOT_SENT = (
    Operation.UNCHANGED.value,
    Operation.BLOCKED.value,
    Operation.ERROR.value,
    Operation.LEFT_OUT.value,
)


@dataclass(frozen=True, slots=True)
class RequestLine:
    """One request for an object.

    - `status`: the answer that a read needs, 0 for a write; `read`: the read before a write, with its answer.
    """

    method: str
    path: str
    query: tuple[str, ...]
    content_type: str
    about: object
    status: int = 0
    read: str = ""

    @property
    def parameters(self) -> str:
        """Return the query as an address has it."""
        return "&".join(self.query)


@dataclass(frozen=True, slots=True)
class SharedParameters:
    """The query parameters that all writes with one method share."""

    method: str
    query: tuple[str, ...]

    @property
    def parameters(self) -> str:
        """Return the query as an address has it."""
        return "&".join(self.query)


@dataclass(frozen=True, slots=True)
class ObjectRequests:
    """One object and its requests."""

    style: Appearance
    kind: str
    name: str
    namespace: str
    url: str
    lines: tuple[RequestLine, ...]


@dataclass(frozen=True, slots=True)
class RequestsTab:
    """One page of objects; `first` and `last` count from 1.

    - `schemas`: method and address of the schemas of these objects, which are read before the objects.
    - `shared`: parameters that the lines do not repeat; `has_query`: whether a line has others.
    """

    rows: tuple[ObjectRequests, ...]
    first: int
    last: int
    total: int
    archive_url: str
    earlier_url: str
    later_url: str
    schemas: tuple[tuple[str, str], ...] = ()
    shared: tuple[SharedParameters, ...] = ()
    has_query: bool = False


def _present_lines(change: PlannedObject) -> Iterator[RequestLine]:
    """Yield the requests of an object; the read stands in the line of the write that it leads to."""
    steps = [step for step in list_sequence(change) if step.purpose is not StepPurpose.SCHEMA]
    first = steps.pop(0) if len(steps) > 1 else None
    read = f"{first.method} {first.status}" if first is not None else ""
    for step in steps:
        yield _present_line(change, step, read)
        read = ""


def _present_line(change: PlannedObject, step: SequenceStep, read: str) -> RequestLine:
    if step.request is None:
        return RequestLine(step.method, step.path, (), "", describe_step(change, step), step.status)
    found = present_request(step.request)
    query = tuple(f"{one.name}={one.value}" for one in found.query)
    return RequestLine(found.method, found.path, query, found.content_type, found.about, read=read)


def _present_row(context: PlanContext, row: ObjectChange, change: PlannedObject) -> ObjectRequests:
    return ObjectRequests(
        style=OBJECT_STYLES[change.operation],
        kind=row.kind,
        name=row.name,
        namespace=row.namespace,
        url=link_alone(context.plan, row.position, "requests"),
        lines=tuple(_present_lines(change)),
    )


def _find_shared(rows: Iterable[ObjectRequests]) -> tuple[SharedParameters, ...]:
    """Return what all writes with one method share; a method with a single write shares nothing."""
    queries: dict[str, list[tuple[str, ...]]] = {}
    for line in (line for row in rows for line in row.lines if not line.status):
        queries.setdefault(line.method, []).append(line.query)
    found = []
    for method, all_of_them in queries.items():
        counts = Counter(one for query in all_of_them for one in query)
        query = tuple(one for one in all_of_them[0] if counts[one] == len(all_of_them) > 1)
        found += [SharedParameters(method, query)] if query else []
    return tuple(found)


def _leave_out(rows: Sequence[ObjectRequests], shared: Iterable[SharedParameters]) -> tuple[ObjectRequests, ...]:
    """Return the rows without the parameters that are shared."""
    of = {one.method: one.query for one in shared}
    return tuple(
        replace(
            row,
            lines=tuple(
                replace(line, query=tuple(one for one in line.query if one not in of.get(line.method, ())))
                for line in row.lines
            ),
        )
        for row in rows
    )


def _list_schemas(changes: Iterable[PlannedObject]) -> tuple[tuple[str, str], ...]:
    steps = (step for change in changes for step in list_sequence(change) if step.purpose is StepPurpose.SCHEMA)
    return tuple(dict.fromkeys((step.method, step.path) for step in steps))


def present_requests(context: PlanContext, *, page: int) -> RequestsTab:
    """Return one page of the tab; a page beyond the last one shows the last one."""
    written = [c.position for c in context.changes if c.operation not in _NOT_SENT]
    pages = max(1, -(-len(written) // PER_PAGE))
    page = min(page, pages)
    start = (page - 1) * PER_PAGE
    chosen = written[start : start + PER_PAGE]
    here = reverse("reviews:show-requests", args=context.address)
    found = list_rows(context.plan, Q(position__in=chosen), with_documents=True)
    read = [(row, read_masked(row)) for row in found]
    whole = [_present_row(context, row, change) for row, change in read]
    shared = _find_shared(whole)
    rows = _leave_out(whole, shared)
    return RequestsTab(
        rows=rows,
        shared=shared,
        has_query=any(line.query for row in rows for line in row.lines),
        schemas=_list_schemas(change for _row, change in read),
        first=start + 1 if chosen else 0,
        last=start + len(chosen),
        total=len(written),
        archive_url=reverse("reviews:keep-requests", args=context.address) if context.is_complete else "",
        earlier_url=f"{here}?page={page - 1}" if page > 1 else "",
        later_url=f"{here}?page={page + 1}" if page < pages else "",
    )
