"""The Requests tab: every object that the plan writes, with its requests, in plan order.

The page of each object shows the bodies and the calculation; this tab has one line per request, reads included, and
the archive with all bodies. Parameters that all writes with one method share are above the table, not in each line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.db.models import Q
from django.urls import reverse
from msgspec import Struct

from applyviz.engine.objects.exchange import Request
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.request_sequence import SequenceStep, list_sequence
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.web.reviews.pane.requests import Words, describe_purpose
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


class RequestLine(Struct, frozen=True):
    """One request for an object.

    - `parameters`: those of a write that others do not share, as an address has them.
    - `status`: the answer that a read needs, 0 for a write; `read`: the read before a write, with its answer.
    """

    method: str
    path: str
    parameters: str
    about: Words
    status: int = 0
    read: str = ""


class SharedParameters(Struct, frozen=True):
    """The query parameters that all writes with one method share, as an address has them."""

    method: str
    parameters: str


class ObjectRequests(Struct, frozen=True):
    """One object and its requests."""

    style: Appearance
    kind: str
    name: str
    namespace: str
    url: str
    lines: tuple[RequestLine, ...]


class RequestsTab(Struct, frozen=True):
    """One page of objects; `first` and `last` count from 1.

    - `schemas`: method and address of the schemas of these objects, which are read before the objects.
    - `shared`: parameters that the lines do not repeat; `has_query`: whether a line has others.
    - `effect`: the effect of every line if they all have the same.
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
    effect: str = ""


def _list_parameters(request: Request) -> list[str]:
    return [f"{name}={value}" for name, value in request.query.items()]


def _find_shared(requests: Sequence[Request]) -> dict[str, list[str]]:
    """Return by method the parameters that all its writes share; a method with a single write shares nothing."""
    writes = Counter(request.method for request in requests)
    counts = Counter((request.method, one) for request in requests for one in _list_parameters(request))
    shared: dict[str, list[str]] = {}
    for (method, one), count in counts.items():
        if count == writes[method] > 1:
            shared.setdefault(method, []).append(one)
    return shared


def _find_effect(lines: Iterable[RequestLine]) -> str:
    """Return the effect that several lines share; "" if there are others, or only one line."""
    effects = Counter(str(line.about) for line in lines)
    return next(iter(effects)) if len(effects) == 1 and effects.total() > 1 else ""


def _present_lines(
    change: PlannedObject, steps: Sequence[SequenceStep], shared: Mapping[str, Sequence[str]]
) -> Iterator[RequestLine]:
    """Yield the requests of an object; the line of a write also names the read before it."""
    read = f"{steps[0].method} {steps[0].status}" if len(steps) > 1 else ""
    for step in steps[1:] if read else steps:
        if step.request is None:
            yield RequestLine(step.method, step.path, "", describe_step(change, step), step.status)
        else:
            own = [one for one in _list_parameters(step.request) if one not in shared.get(step.method, ())]
            yield RequestLine(step.method, step.path, "&".join(own), describe_purpose(step.request), read=read)
        read = ""


def _present_row(
    context: PlanContext, row: ObjectChange, change: PlannedObject, lines: Iterable[RequestLine]
) -> ObjectRequests:
    return ObjectRequests(
        style=OBJECT_STYLES[change.operation],
        kind=row.kind,
        name=row.name,
        namespace=row.namespace,
        url=link_alone(context.plan, row.position, "requests"),
        lines=tuple(lines),
    )


def present_requests(context: PlanContext, *, page: int) -> RequestsTab:
    """Return one page of the tab; a page beyond the last one shows the last one."""
    written = [c.position for c in context.changes if c.operation not in _NOT_SENT]
    pages = max(1, -(-len(written) // PER_PAGE))
    page = min(page, pages)
    start = (page - 1) * PER_PAGE
    chosen = written[start : start + PER_PAGE]
    here = reverse("reviews:show-requests", args=context.address)
    changes = [(row, read_masked(row)) for row in list_rows(context.plan, Q(position__in=chosen), with_documents=True)]
    steps = [list_sequence(change) for _row, change in changes]
    shared = _find_shared([step.request for each in steps for step in each if step.request is not None])
    rows = tuple(
        _present_row(context, row, change, _present_lines(change, [s for s in each if not s.is_schema], shared))
        for (row, change), each in zip(changes, steps, strict=True)
    )
    return RequestsTab(
        rows=rows,
        shared=tuple(SharedParameters(method, "&".join(parameters)) for method, parameters in shared.items()),
        has_query=any(line.parameters for row in rows for line in row.lines),
        effect=_find_effect(line for row in rows for line in row.lines),
        schemas=tuple(dict.fromkeys((step.method, step.path) for each in steps for step in each if step.is_schema)),
        first=start + 1 if chosen else 0,
        last=start + len(chosen),
        total=len(written),
        archive_url=reverse("reviews:keep-requests", args=context.address) if context.is_complete else "",
        earlier_url=f"{here}?page={page - 1}" if page > 1 else "",
        later_url=f"{here}?page={page + 1}" if page < pages else "",
    )
