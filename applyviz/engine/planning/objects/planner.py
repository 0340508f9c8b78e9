"""Plan one object: read it, calculate its writes with the flow that would send them, and dry-run them.

Rule: `docs/architecture.md`, invariants 1, 2 and 5. The flow's reads go to the caller; its writes become the requests
of the plan and are answered by a dry run of the first one where that is allowed, else by calculation. Only reads and
dry runs are sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import ApplyVizError, ManifestError
from applyviz.engine.objects.fieldsets import FieldSetMemo
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.server_errors import locate
from applyviz.engine.planning.digest.effects import PlainPath
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject, Versions
from applyviz.engine.planning.objects.change_builder import build_change, build_error
from applyviz.engine.planning.objects.conflict_resolution import Case, note_resolved, resolve_conflicts
from applyviz.engine.planning.objects.conflict_rules import RuleResolution
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.handovers import give_up_fields, note_edits, refuse_new, take_fields
from applyviz.engine.planning.objects.notes import add_notes, find_own_risks
from applyviz.engine.planning.objects.request_answerer import RequestAnswerer, unknown_kind
from applyviz.engine.planning.simulation.dry_run_result import DryRunResult, DryRunVerdict
from applyviz.engine.planning.simulation.estimated_answers import EstimatedAnswers
from applyviz.engine.requests.client_side import apply_client_side
from applyviz.engine.requests.flow import Flow, FlowOutcome
from applyviz.engine.requests.members import Member, place_member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, DryRun
from applyviz.engine.requests.replacement import choose, read_deletion
from applyviz.engine.requests.server_side import apply_server_side

_MAX_ATTEMPTS = 3
ApplyFlow: TypeAlias = Callable[[Member, ApplyOptions, PlanningContext], Flow[FlowOutcome]]
MemberPlan: TypeAlias = Callable[[Member, ManifestDocument, ApplyOptions, PlanningContext], Flow[PlannedObject]]
_INVALID = 422


def start_apply(member: Member, options: ApplyOptions, context: PlanningContext) -> Flow[FlowOutcome]:
    """Return the flow that applies an object by the mode of the options."""
    deletion = context.deletion or read_deletion(options)
    apply = apply_server_side if options.mode is ApplyMode.SERVER else apply_client_side
    return apply(member.obj, resource=member.resource, kind=member.kind, options=options, deletion=deletion)


def _drive(flow: Flow[FlowOutcome], answerer: RequestAnswerer) -> Flow[FlowOutcome]:
    request = next(flow)
    while True:
        answer = yield from answerer.answer(request)
        try:
            request = flow.send(answer)
        except StopIteration as stop:
            outcome: FlowOutcome = stop.value
            return outcome


def _plan_once(
    member: Member, options: ApplyOptions, context: PlanningContext, follows: PlannedObject | None, start: ApplyFlow
) -> Flow[tuple[PlannedObject, RequestAnswerer]]:
    kind, around = member.kind or unknown_kind(member), (context.server, member.resource)
    estimated = EstimatedAnswers(kind, context.now, None, options.subresource, FieldSetMemo(), *around)
    answerer = RequestAnswerer(member, options, context, estimated)
    if follows is not None:
        is_written = follows.operation is not Operation.BLOCKED
        answerer.was_read, answerer.live = True, follows.versions.after if is_written else follows.versions.live
        answerer.estimated.live = answerer.live
        answerer.dry_run = DryRunResult(DryRunVerdict.UNTRIED, "it builds on another write of the same plan")
    try:
        outcome = yield from _drive(start(member, options, context), answerer)
    except ApplyVizError as error:
        return build_error(answerer, error), answerer
    return build_change(answerer, outcome), answerer


def plan_member(
    member: Member,
    *,
    options: ApplyOptions,
    context: PlanningContext,
    document: ManifestDocument | None = None,
    follows: PlannedObject | None = None,
    start: ApplyFlow = start_apply,
) -> Flow[PlannedObject]:
    """Plan one object with a known address; read it again if it changed meanwhile.

    - `follows`: an earlier change of the same object in the same plan, on which this one builds.
    - `start`: the flow whose requests are planned.
    """
    options = choose(member.ref, member.obj, replace(options, dry_run=DryRun.NONE).of_object(member.ref.key))
    change, answerer = yield from _plan_once(member, options, context, follows, start)
    for _ in range(_MAX_ATTEMPTS - 1):
        if answerer.dry_run is None or answerer.dry_run.verdict is not DryRunVerdict.CHANGED:
            break
        change, answerer = yield from _plan_once(member, options, context, follows, start)
    if not context.has_notes:
        return change
    memo = answerer.estimated.memo
    return add_notes(change, member, document=document, options=options, context=context, memo=memo)


def _offer_replacement(
    change: PlannedObject, member: Member, options: ApplyOptions, context: PlanningContext
) -> Flow[PlannedObject]:
    """Return a refused change with the note that replacing the object would help, if it would."""
    refused = change.refusal is not None and change.refusal.status == _INVALID and change.versions.live is not None
    if not refused or not context.has_notes:
        return change
    options = replace(options, is_replacing_on_error=True)
    trial = yield from plan_member(member, options=options, context=replace(context, has_notes=False))
    if trial.operation is not Operation.REPLACE:
        return change
    return replace(change, can_be_replaced=True, refused_fields=trial.refused_fields)


def _plan_settled(
    member: Member, *, options: ApplyOptions, context: PlanningContext, document: ManifestDocument
) -> Flow[PlannedObject]:
    """Plan one object; if resolutions or rules resolve its conflicts, plan it again accordingly."""
    change = yield from plan_member(member, options=options, context=context, document=document)
    change = yield from _offer_replacement(change, member, options, context)
    resolved = resolve_conflicts(Case(change, member, document, options, context))
    if resolved is None:
        return change
    if resolved.is_open:
        return note_resolved(change, resolved)
    decided = replace(member, obj=resolved.manifest)
    options = replace(options, takes_over=options.takes_over or resolved.takes_over)
    following = yield from plan_member(decided, options=options, context=context, document=document)
    if following.operation is Operation.BLOCKED:  # live changed meanwhile: show the open conflicts
        again = resolve_conflicts(Case(following, member, document, options, context))
        return note_resolved(following, again or resolved)
    return note_resolved(following, resolved)


def _list_ignored(change: PlannedObject, context: PlanningContext) -> tuple[PlainPath, ...]:
    rules = (r for r in context.rules if r.resolution is RuleResolution.IGNORE and r.covers(change.ref))
    return tuple(dict.fromkeys(rule.plain_path for rule in rules))


def fail_document(document: ManifestDocument, reason: str) -> PlannedObject:
    """Return the change of a document that cannot be planned."""
    return PlannedObject(
        ref=document.ref,
        operation=Operation.ERROR,
        versions=Versions(manifest=document.obj),
        certainty=Certainty.UNKNOWN,
        certainty_reason=reason,
        error=reason,
    )


def plan_placed(
    document: ManifestDocument, plan: MemberPlan, *, options: ApplyOptions, context: PlanningContext
) -> Flow[PlannedObject]:
    """Plan the object that a document names; problems become part of the change, nothing is raised."""
    try:
        member = place_member(document.obj, options=options, catalog=context.catalog)
    except ManifestError as error:
        change = fail_document(document, error.reason)
    else:
        change = yield from plan(member, document, options, context)
    return replace(change, position=document.position, end_line=document.end_line)


def plan_object(document: ManifestDocument, *, options: ApplyOptions, context: PlanningContext) -> Flow[PlannedObject]:
    """Plan one document; problems become part of the change, nothing is raised."""
    try:
        member = place_member(document.obj, options=options, catalog=context.catalog)
    except ManifestError as error:
        risks = find_own_risks(document, context) if context.has_notes else ()
        change = replace(fail_document(document, error.reason), risks=risks)
    else:
        given_up = give_up_fields(member, options)
        taken = yield from take_fields(given_up.member, options)
        options = replace(options, taken_fields=taken.list_kept())
        change = yield from _plan_settled(taken.member, options=options, context=context, document=document)
        if given_up.edits and change.operation is Operation.CREATE:
            change = refuse_new(change)
        change = note_edits(change, (*given_up.edits, *taken.edits), document, context)
    ignored = _list_ignored(change, context)
    server_errors = locate(change.server_errors, document)
    return replace(
        change, position=document.position, end_line=document.end_line, ignored=ignored, server_errors=server_errors
    )
