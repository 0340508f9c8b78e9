"""Planning one object: read it, calculate the writes with the very flow that would send them, have them tried.

Rule: `docs/architecture.md`, invariants 1, 2 and 5. The flow's reads are asked of the caller; its writes
become the plan's requests and are answered by a dry run of the first one where that is allowed, else by
calculation. Nothing is sent but reads and dry runs.
"""

from __future__ import annotations

from dataclasses import replace

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import ApplyVizError, ManifestError
from applyviz.engine.objects.fieldsets import FieldSetMemo
from applyviz.engine.planning.conflicts.server_errors import locate
from applyviz.engine.planning.digest.effects import PlainPath
from applyviz.engine.planning.model.plan import Certainty, ObjectChange, Operation, Versions
from applyviz.engine.planning.objects.change_builder import conclude, conclude_error
from applyviz.engine.planning.objects.conflict_resolution import Case, note_settled, settle
from applyviz.engine.planning.objects.conflict_rules import RuleWay
from applyviz.engine.planning.objects.context import PlanContext
from applyviz.engine.planning.objects.notes import add_notes, find_own_hazards
from applyviz.engine.planning.objects.request_answerer import Desk, unknown_kind
from applyviz.engine.planning.simulation.dry_run_result import Judgement, Verdict
from applyviz.engine.planning.simulation.estimated_answers import Rehearsal
from applyviz.engine.requests.client_side import apply_client_side
from applyviz.engine.requests.flow import Flow, Outcome
from applyviz.engine.requests.members import Member, place_member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, DryRun
from applyviz.engine.requests.server_side import apply_server_side

_TRIES = 3


def _start(member: Member, options: ApplyOptions, context: PlanContext) -> Flow[Outcome]:
    if options.mode is ApplyMode.SERVER:
        return apply_server_side(
            member.obj, resource=member.resource, kind=member.kind, options=options, deletion=context.deletion
        )
    return apply_client_side(
        member.obj, resource=member.resource, kind=member.kind, options=options, deletion=context.deletion
    )


def _drive(flow: Flow[Outcome], desk: Desk) -> Flow[Outcome]:
    request = next(flow)
    while True:
        answer = yield from desk.answer(request)
        try:
            request = flow.send(answer)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome


def _plan_once(
    member: Member, options: ApplyOptions, context: PlanContext, follows: ObjectChange | None
) -> Flow[tuple[ObjectChange, Desk]]:
    kind, around = member.kind or unknown_kind(member), (context.server, member.resource)
    rehearsal = Rehearsal(kind, context.now, None, options.subresource, FieldSetMemo(), *around)
    desk = Desk(member, options, context, rehearsal)
    if follows is not None:
        is_written = follows.operation is not Operation.REFUSED
        desk.was_read, desk.live = True, follows.versions.after if is_written else follows.versions.live
        desk.rehearsal.live = desk.live
        desk.judgement = Judgement(Verdict.UNTRIED, "it builds on another write of the same plan")
    try:
        outcome = yield from _drive(_start(member, options, context), desk)
    except ApplyVizError as error:
        return conclude_error(desk, error), desk
    return conclude(desk, outcome), desk


def plan_member(
    member: Member,
    *,
    options: ApplyOptions,
    context: PlanContext,
    document: ManifestDocument | None = None,
    follows: ObjectChange | None = None,
) -> Flow[ObjectChange]:
    """Plan one object that has its place; read again when it changed while it was planned.

    - `follows`: an earlier change of the same object in the same plan, which this one builds on.
    """
    options = replace(options, dry_run=DryRun.NONE)
    change, desk = yield from _plan_once(member, options, context, follows)
    for _ in range(_TRIES - 1):
        if desk.judgement is None or desk.judgement.verdict is not Verdict.CHANGED:
            break
        change, desk = yield from _plan_once(member, options, context, follows)
    if not context.has_notes:
        return change
    memo = desk.rehearsal.memo
    return add_notes(change, member, document=document, options=options, context=context, memo=memo)


def _plan_settled(
    member: Member, *, options: ApplyOptions, context: PlanContext, document: ManifestDocument
) -> Flow[ObjectChange]:
    """Plan one object; when its conflicts are settled by decisions or rules, plan it again as they say."""
    change = yield from plan_member(member, options=options, context=context, document=document)
    settled = settle(Case(change, member, document, options, context))
    if settled is None:
        return change
    if settled.is_open:
        return note_settled(change, settled)
    decided = replace(member, obj=settled.manifest)
    options = replace(options, takes_over=options.takes_over or settled.takes_over)
    following = yield from plan_member(decided, options=options, context=context, document=document)
    if following.operation is Operation.REFUSED:  # somebody moved meanwhile: what is open now is shown
        again = settle(Case(following, member, document, options, context))
        return note_settled(following, again or settled)
    return note_settled(following, settled)


def _list_ignored(change: ObjectChange, context: PlanContext) -> tuple[PlainPath, ...]:
    rules = (r for r in context.rules if r.way is RuleWay.IGNORE and r.covers(change.ref))
    return tuple(dict.fromkeys(rule.plain_path for rule in rules))


def plan_object(document: ManifestDocument, *, options: ApplyOptions, context: PlanContext) -> Flow[ObjectChange]:
    """Plan one document; whatever is wrong with it is in the change, nothing is raised."""
    try:
        member = place_member(document.obj, options=options, catalog=context.catalog)
    except ManifestError as error:
        change = ObjectChange(
            ref=document.ref,
            operation=Operation.ERROR,
            versions=Versions(manifest=document.obj),
            hazards=find_own_hazards(document, context) if context.has_notes else (),
            certainty=Certainty.UNKNOWN,
            certainty_reason=error.reason,
            error=error.reason,
        )
    else:
        change = yield from _plan_settled(member, options=options, context=context, document=document)
    ignored = _list_ignored(change, context)
    complaints = locate(change.complaints, document)
    return replace(
        change, position=document.position, end_line=document.end_line, ignored=ignored, complaints=complaints
    )
