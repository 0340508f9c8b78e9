"""Build the change of one planned object for storage and display.

Rule: `docs/architecture.md`, invariant 2: every change names its method, its schema source, and its certainty with the
reason.
"""

from __future__ import annotations

from contextlib import suppress

from applyviz.engine.merge.calculation import PatchSteps
from applyviz.engine.objects.errors import ApplyVizError, Conflict, ConflictError, MergeError, OwnershipError
from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Answer, Request
from applyviz.engine.objects.sharing import share_equal
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership.last_applied import renew, with_record
from applyviz.engine.planning.conflicts.resolutions import FieldConflict, leave_all
from applyviz.engine.planning.conflicts.server_errors import read_server_errors
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject, Refusal, Versions
from applyviz.engine.planning.model.server_managed import is_same_object
from applyviz.engine.planning.objects.endings import end_object
from applyviz.engine.planning.objects.request_answerer import RequestAnswerer
from applyviz.engine.planning.simulation.dry_run_result import (
    DryRunVerdict,
    describe_conflicts,
    describe_refusal,
    read_conflicts,
)
from applyviz.engine.planning.simulation.kubectl import unbind
from applyviz.engine.requests.client_side import compute_patch, find_original
from applyviz.engine.requests.flow import AnswerError, FlowOutcome
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.requests.server_side import keeps_record
from applyviz.engine.risks.model import RiskSubject
from applyviz.engine.risks.repeating import describe_idle_patch
from applyviz.engine.schema.model import SchemaOrigin

_OWNERS_ARE_ESTIMATED = "the server confirmed the values; field ownership is estimated"
_REST_IS_ESTIMATED = "the dry run stopped at the conflict; the rest is calculated locally"
REJECTED = "the API server rejected the request"


def _name_method(answerer: RequestAnswerer, operation: Operation) -> str:
    if operation is Operation.REPLACE:
        return "replace"
    if answerer.options.mode is ApplyMode.SERVER:
        return "server-side apply"
    request = next((r for r in (*answerer.requests, answerer.refused) if r is not None), None)
    if answerer.live is None or (request is not None and request.method == "POST"):
        return "create"
    if request is not None:
        return "JSON merge patch" if request.content_type == MERGE_PATCH else "strategic merge patch"
    kind = answerer.member.kind
    return "strategic merge patch" if kind is not None and kind.is_strategic else "JSON merge patch"


def _certainty(answerer: RequestAnswerer) -> tuple[Certainty, str]:
    if answerer.dry_run is None:
        return Certainty.CONFIRMED, "nothing needs to be sent"
    if answerer.dry_run.verdict is DryRunVerdict.UNTRIED:
        return Certainty.ESTIMATED, answerer.dry_run.reason
    return Certainty.CONFIRMED, _OWNERS_ARE_ESTIMATED if answerer.has_moved else ""


def _find_last_applied(answerer: RequestAnswerer) -> JSONObject | None:
    if answerer.options.mode is ApplyMode.SERVER or answerer.live is None:
        return None
    try:
        found = find_original(answerer.live, kind=answerer.member.kind, options=answerer.options)
    except MergeError:
        return None
    shared: JSONObject | None = share_equal(found, answerer.live)
    return shared


def _describe(answerer: RequestAnswerer, operation: Operation, after: JSONObject | None) -> PlannedObject:
    """Return the parts of a change that do not depend on its outcome."""
    certainty, reason = _certainty(answerer)
    return PlannedObject(
        ref=answerer.member.ref,
        operation=operation,
        versions=Versions(_find_last_applied(answerer), answerer.member.obj, answerer.live, answerer.calculated, after),
        requests=tuple(answerer.requests),
        certainty=certainty,
        certainty_reason=reason,
        schema_origin=answerer.member.kind.origin if answerer.member.kind else SchemaOrigin.NONE,
        method=_name_method(answerer, operation),
        warnings=answerer.warnings,
    )


def _explain_idle_patch(answerer: RequestAnswerer) -> str:
    """Return why kubectl would send a patch that changes nothing; "" if it would send none.

    - Nothing is said of a Secret: whether kubectl sends a patch depends on its live values.
    """
    member, options = answerer.member, answerer.options
    sent = [r for r in answerer.requests if r.content_type in (STRATEGIC_MERGE_PATCH, MERGE_PATCH)]
    if not sent or options.is_patching or options.is_recording or member.ref.key[:2] == ("", "Secret"):
        return ""
    subject = RiskSubject(member.ref, manifest=member.obj, live=answerer.live, kind=member.kind)
    what = describe_idle_patch(subject, unbind(sent[0]).body) or "the order of the entries"
    return f"nothing changes, so nothing is sent; kubectl would send {what}"


def build_change(answerer: RequestAnswerer, outcome: FlowOutcome) -> PlannedObject:
    """Return the change of a completed flow; a change without effect sends nothing."""
    after = answerer.estimated.live if answerer.requests else answerer.live
    if any(r.method == "DELETE" for r in answerer.requests):
        operation = Operation.REPLACE
    elif answerer.live is None:
        operation = Operation.CREATE
    else:
        is_written = answerer.options.is_patching and answerer.options.subresource == "status"
        has_status = answerer.member.kind is not None and answerer.member.kind.has_status and not is_written
        same = after is None or is_same_object(answerer.live, after, has_status=has_status)
        operation = Operation.UNCHANGED if same else Operation.UPDATE
    change = replace(_describe(answerer, operation, after), calculation=outcome.calculation)
    warnings = tuple(dict.fromkeys((*outcome.warnings, *change.warnings)))
    if answerer.has_ended and operation is not Operation.REPLACE:
        return replace(end_object(change), warnings=warnings)
    if operation is Operation.UNCHANGED:
        reason = "; ".join(filter(None, (change.certainty_reason, _explain_idle_patch(answerer))))
        return replace(change, warnings=warnings, requests=(), certainty_reason=reason)
    if operation is Operation.REPLACE:  # the owners of the old object's fields do not matter any more
        first = next(n for n, r in enumerate(change.requests) if r.method == "DELETE")
        change = replace(change, requests=change.requests[first:], refused_fields=answerer.refused_fields)
    return replace(change, warnings=warnings)


def _apply_unconflicted(answerer: RequestAnswerer, conflicts: tuple[Conflict, ...]) -> Versions | None:
    """Return what becomes of the non-conflicting part of a blocked object; None if it cannot be separated.

    - Rule: a server fills in defaults before anything is stored, so no merge result is shown as the object afterwards.
    """
    # Only an apply to a live object can conflict, so both a request and an object exist.
    request, live = answerer.refused or Request("PATCH", ""), answerer.estimated.live or {}
    estimated = answerer.estimated
    manager = request.query.get("fieldManager", "")
    conflict_row = FieldConflict(
        live, request.body or {}, estimated.kind, manager, estimated.now, estimated.subresource
    )
    manifest = leave_all(conflict_row, conflicts)
    if manifest is None:
        return None
    request = replace(request, body=manifest)
    merged = estimated.answer(request)
    found = estimated.complete(request, merged)
    results: tuple[JSONObject, ...] = (merged.body, found.body if found.is_ok else live)
    if answerer.options.has_preconditions and answerer.live and keeps_record(answerer.live, answerer.options):
        results = tuple(with_record(result, renew(result, manifest)) for result in results)
    return Versions(merged=results[0], after=results[1])


def _build_conflicts(answerer: RequestAnswerer, answer: Answer) -> PlannedObject:
    """Return the change of a blocked object; its result keeps the live values of conflicting fields."""
    conflicts = describe_conflicts(answer)
    result: Versions | None = None
    # The engine cannot read what the server can, so only the server's message is available.
    with suppress(OwnershipError):
        try:
            answerer.estimated.check_conflicts(answerer.refused)
        except ConflictError as error:
            conflicts = error.conflicts
            result = _apply_unconflicted(answerer, conflicts)
    answerer.calculated = None if result is None else result.merged
    change = _describe(answerer, Operation.BLOCKED, answerer.live if result is None else result.after)
    requests = (*change.requests, *((answerer.refused,) if answerer.refused else ()))
    if answerer.dry_run is not None and answerer.dry_run.verdict is DryRunVerdict.CONFLICTS:
        change = replace(change, certainty=Certainty.ESTIMATED, certainty_reason=_REST_IS_ESTIMATED)
    return replace(change, requests=requests, conflicts=conflicts)


def _explain_error(answerer: RequestAnswerer) -> str:
    """Return who says that the object cannot be applied: the server, an estimate of its answer, or the engine."""
    if answerer.dry_run is not None and answerer.dry_run.verdict is DryRunVerdict.REFUSED:
        return REJECTED
    return (answerer.dry_run.reason if answerer.dry_run else "") or "it could not be planned"


def _calculate_again(answerer: RequestAnswerer) -> PatchSteps | None:
    """Return the steps of a three-way patch that the server refused; None if another request was refused."""
    request, live, options = answerer.refused, answerer.live, answerer.options
    if request is None or live is None or request.method != "PATCH" or options.mode is ApplyMode.SERVER:
        return None
    if options.is_patching or options.is_recording or request.content_type == JSON_PATCH:
        return None
    return compute_patch(answerer.member.obj, live, kind=answerer.member.kind, options=options).calculation


def build_error(answerer: RequestAnswerer, error: ApplyVizError) -> PlannedObject:
    """Return the change of a failed flow: blocked by conflicts, or an error in plain words."""
    answer = error.answer if isinstance(error, AnswerError) else None
    if answerer.read_failure is not None:
        text = f"the live object could not be read: {describe_refusal(answerer.read_failure)}"
        change = _describe(answerer, Operation.ERROR, None)
        refusal = Refusal(answerer.read_failure.status, answerer.read_failure.reason)
        return replace(change, certainty=Certainty.UNKNOWN, certainty_reason=text, error=text, refusal=refusal)
    if answer is not None and read_conflicts(answer):
        return _build_conflicts(answerer, answer)
    text = describe_refusal(answer) if answer is not None else str(error)
    server_errors = read_server_errors(answer.message if answer is not None else text, answer)
    change = replace(
        _describe(answerer, Operation.ERROR, answerer.live),
        requests=(),
        error=text,
        server_errors=server_errors,
        calculation=_calculate_again(answerer),
        certainty=Certainty.NONE,
        certainty_reason=_explain_error(answerer),
    )
    return change if answer is None else replace(change, refusal=Refusal(answer.status, answer.reason))
