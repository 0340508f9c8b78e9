"""The requests of an object in order, reads included: which answer the plan expects, and what follows from another.

Rule: `engine/planning/model/request_sequence.py`. A write appears with its body; a read is one line.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.request_sequence import NOT_FOUND, SequenceStep, StepPurpose, list_sequence
from applyviz.web.reviews.pane.requests import RequestRow


class SequenceRow(Struct, frozen=True):
    """One request: a read as a line with its answer, or a write with its `request`.

    - `has_calculation`: the calculation follows this read.
    """

    number: int
    method: str
    path: str
    status: int
    about: str
    request: RequestRow | None = None
    has_calculation: bool = False


def _describe_read(change: PlannedObject, status: int) -> str:
    if change.operation is Operation.WITHHELD:
        return _("The next request is not shown to you, because you may not read this Secret.")
    if not status:
        return _("The plan could not read the object.")
    method = " → ".join(dict.fromkeys(request.method for request in change.requests if request.is_write))
    if change.operation is Operation.NOT_FOUND:
        return _("The object does not exist, so there is nothing to delete.")
    if status == NOT_FOUND:
        return _("The object does not exist, so it is created. If it exists when the run reads it, the run stops.")
    if change.operation is Operation.BLOCKED:
        return _("The object exists. The %(method)s is sent only after its conflicts are resolved.") % {
            "method": method
        }
    if not change.has_effect:
        return _("The object exists. Nothing is sent.")
    return _(
        "The object exists, so %(method)s follows. If another client wrote in between, the server answers 409. The run "
        "then reads the object again, and sends the request again while its effect is the approved one, up to five "
        "times."
    ) % {"method": method}


def describe_step(change: PlannedObject, step: SequenceStep) -> str:
    """Return what a read is for, and what its answer leads to."""
    if step.purpose is StepPurpose.SCHEMA:
        return _(
            "The schema says how lists and maps merge. It is read once per group and version, and kept by its hash."
        )
    if step.purpose is StepPurpose.WAIT:
        return _("Repeated until the object is gone, or the deadline passes.")
    return _describe_read(change, step.status)


def present_sequence(change: PlannedObject, requests: Sequence[RequestRow]) -> tuple[SequenceRow, ...]:
    """Return the requests in order; `requests` are those of the change with their bodies, in its order."""
    rows = {id(request): row for request, row in zip(change.requests, requests, strict=True)}
    return tuple(
        SequenceRow(
            number=number,
            method=step.method,
            path=step.path,
            status=step.status if step.request is None else 0,
            about=describe_step(change, step) if step.request is None else "",
            request=rows[id(step.request)] if step.request is not None else None,
            has_calculation=step.purpose is StepPurpose.READ,
        )
        for number, step in enumerate(list_sequence(change), 1)
    )
