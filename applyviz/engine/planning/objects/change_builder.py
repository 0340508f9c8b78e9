"""What became of one planned object: the change as it is stored and shown.

Rule: `docs/architecture.md`, invariant 2: every change names its method, its schema source, how certain it is
and why.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from applyviz.engine.objects.errors import ApplyVizError, Conflict, ConflictError, MergeError, OwnershipError
from applyviz.engine.objects.exchange import MERGE_PATCH, Answer, Request
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.conflicts.resolutions import Dispute, leave_all
from applyviz.engine.planning.conflicts.server_errors import read_complaints
from applyviz.engine.planning.model.plan import Certainty, ObjectChange, Operation, Refusal, Versions
from applyviz.engine.planning.model.server_managed import is_same_object
from applyviz.engine.planning.objects.request_answerer import Desk
from applyviz.engine.planning.simulation.dry_run_result import (
    Verdict,
    describe_conflicts,
    describe_refusal,
    read_conflicts,
)
from applyviz.engine.requests.client_side import find_original
from applyviz.engine.requests.flow import AnswerError, Outcome
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.schema.model import SchemaOrigin

_OWNERS_ARE_ESTIMATED = "the server confirmed the values; field ownership is estimated"
_REST_IS_ESTIMATED = "the dry run stopped at the conflict; the rest is calculated locally"
REJECTED = "the API server rejected the request"


def _name_method(desk: Desk, operation: Operation) -> str:
    if operation is Operation.RECREATE:
        return "replace"
    if desk.options.mode is ApplyMode.SERVER:
        return "server-side apply"
    request = next((r for r in (*desk.requests, desk.refused) if r is not None), None)
    if desk.live is None or (request is not None and request.method == "POST"):
        return "create"
    if request is not None:
        return "JSON merge patch" if request.content_type == MERGE_PATCH else "strategic merge patch"
    kind = desk.member.kind
    return "strategic merge patch" if kind is not None and kind.is_strategic else "JSON merge patch"


def _certainty(desk: Desk) -> tuple[Certainty, str]:
    if desk.judgement is None:
        return Certainty.CONFIRMED, "nothing needs to be sent"
    if desk.judgement.verdict is Verdict.UNTRIED:
        return Certainty.ESTIMATED, desk.judgement.reason
    return Certainty.CONFIRMED, _OWNERS_ARE_ESTIMATED if desk.has_moved else ""


def _find_last_applied(desk: Desk) -> JSONObject | None:
    if desk.options.mode is ApplyMode.SERVER or desk.live is None:
        return None
    try:
        return find_original(desk.live, kind=desk.member.kind, options=desk.options)
    except MergeError:
        return None


def _describe(desk: Desk, operation: Operation, after: JSONObject | None) -> ObjectChange:
    """What every change has in common, whatever became of it."""
    certainty, reason = _certainty(desk)
    return ObjectChange(
        ref=desk.member.ref,
        operation=operation,
        versions=Versions(_find_last_applied(desk), desk.member.obj, desk.live, desk.calculated, after),
        requests=tuple(desk.requests),
        certainty=certainty,
        certainty_reason=reason,
        schema_origin=desk.member.kind.origin if desk.member.kind else SchemaOrigin.NONE,
        method=_name_method(desk, operation),
        warnings=desk.warnings,
    )


def conclude(desk: Desk, outcome: Outcome) -> ObjectChange:
    """The change of a flow that came to its end; what changes nothing sends nothing."""
    after = desk.rehearsal.live if desk.requests else desk.live
    if any(r.method == "DELETE" for r in desk.requests):
        operation = Operation.RECREATE
    elif desk.live is None:
        operation = Operation.CREATE
    else:
        has_status = desk.member.kind is not None and desk.member.kind.has_status
        same = after is None or is_same_object(desk.live, after, has_status=has_status)
        operation = Operation.UNCHANGED if same else Operation.UPDATE
    change = _describe(desk, operation, after)
    warnings = tuple(dict.fromkeys((*outcome.warnings, *change.warnings)))
    requests = () if operation is Operation.UNCHANGED else change.requests
    return replace(change, warnings=warnings, requests=requests)


def _settle(desk: Desk, conflicts: tuple[Conflict, ...]) -> JSONObject | None:
    """What the rest of a refused object comes to; None when that cannot be told apart from its conflicts."""
    # Only an apply to a live object meets conflicts: there is a request, and there is an object.
    request, live = desk.refused or Request("PATCH", ""), desk.rehearsal.live or {}
    manager = request.query.get("fieldManager", "")
    dispute = Dispute(
        live, request.body or {}, desk.rehearsal.kind, manager, desk.rehearsal.now, desk.rehearsal.subresource
    )
    return leave_all(dispute, conflicts)


def _conclude_conflicts(desk: Desk, answer: Answer) -> ObjectChange:
    """The whole object is refused; its result is what comes of the rest while disputed fields stay as they are."""
    conflicts = describe_conflicts(answer)
    result: JSONObject | None = None
    # Where the engine cannot read what the server can, the server's own words are all there is.
    with suppress(OwnershipError):
        try:
            desk.rehearsal.check_conflicts(desk.refused)
        except ConflictError as error:
            conflicts = error.conflicts
            result = _settle(desk, conflicts)
    desk.calculated = result
    change = _describe(desk, Operation.REFUSED, desk.live if result is None else result)
    requests = (*change.requests, *((desk.refused,) if desk.refused else ()))
    if desk.judgement is not None and desk.judgement.verdict is Verdict.CONFLICTS:
        change = replace(change, certainty=Certainty.ESTIMATED, certainty_reason=_REST_IS_ESTIMATED)
    return replace(change, requests=requests, conflicts=conflicts)


def _explain_error(desk: Desk) -> str:
    """Return who says that the object cannot be applied: the server, an estimate of its answer, or nobody but us."""
    if desk.judgement is not None and desk.judgement.verdict is Verdict.REFUSED:
        return REJECTED
    return (desk.judgement.reason if desk.judgement else "") or "it could not be planned"


def conclude_error(desk: Desk, error: ApplyVizError) -> ObjectChange:
    """The change of a flow that failed: refused for conflicts, or an error in plain words."""
    answer = error.answer if isinstance(error, AnswerError) else None
    if desk.read_failure is not None:
        text = f"the live object could not be read: {describe_refusal(desk.read_failure)}"
        change = _describe(desk, Operation.ERROR, None)
        refusal = Refusal(desk.read_failure.status, desk.read_failure.reason)
        return replace(change, certainty=Certainty.UNKNOWN, certainty_reason=text, error=text, refusal=refusal)
    if answer is not None and read_conflicts(answer):
        return _conclude_conflicts(desk, answer)
    text = describe_refusal(answer) if answer is not None else str(error)
    complaints = read_complaints(answer.message if answer is not None else text, answer)
    change = replace(
        _describe(desk, Operation.ERROR, desk.live),
        requests=(),
        error=text,
        complaints=complaints,
        certainty=Certainty.NONE,
        certainty_reason=_explain_error(desk),
    )
    return change if answer is None else replace(change, refusal=Refusal(answer.status, answer.reason))
