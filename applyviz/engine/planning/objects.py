"""Planning one object: read it, calculate the writes with the very flow that would send them, have them tried.

Rule: `docs/architecture.md`, invariants 1, 2 and 5. The flow's reads are asked of the caller; its writes
become the plan's requests and are answered by a dry run of the first one where that is allowed, else by
calculation. Nothing is sent but reads and dry runs.
"""

from __future__ import annotations

from dataclasses import replace

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import ApplyVizError, ManifestError
from applyviz.engine.planning.conclusions import conclude, conclude_error
from applyviz.engine.planning.context import PlanContext
from applyviz.engine.planning.decisions import Decided, Dispute, apply_decisions
from applyviz.engine.planning.desk import Desk, unknown_kind
from applyviz.engine.planning.notes import add_notes
from applyviz.engine.planning.plan import Certainty, ObjectChange, Operation, Versions
from applyviz.engine.planning.rehearsal import Rehearsal
from applyviz.engine.planning.verdicts import Judgement, Verdict
from applyviz.engine.requests.clientside import apply_client_side
from applyviz.engine.requests.flow import Flow, Outcome
from applyviz.engine.requests.members import Member, place_member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, DryRun
from applyviz.engine.requests.serverside import apply_server_side

_TRIES = 3


def _start(member: Member, options: ApplyOptions, context: PlanContext) -> Flow[Outcome]:
    if options.mode is ApplyMode.SERVER:
        return apply_server_side(member.obj, resource=member.resource, options=options, deletion=context.deletion)
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
    rehearsal = Rehearsal(member.kind or unknown_kind(member), context.now, subresource=options.subresource)
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
    return add_notes(change, member, document=document, options=options, context=context)


def _decide(change: ObjectChange, member: Member, options: ApplyOptions, context: PlanContext) -> Decided | None:
    """What the decisions on the conflicts of a change come to; None when they leave it refused."""
    decisions = context.decisions.get(change.ref.key, ())
    if change.operation is not Operation.REFUSED or not decisions or change.versions.live is None:
        return None
    dispute = Dispute(
        change.versions.live,
        member.obj,
        member.kind or unknown_kind(member),
        options.field_manager,
        context.now,
        options.subresource,
    )
    decided = apply_decisions(dispute, decisions)
    return None if decided.open_conflicts else decided


def _plan_decided(
    member: Member, *, options: ApplyOptions, context: PlanContext, document: ManifestDocument
) -> Flow[ObjectChange]:
    """Plan one object; when its conflicts are decided, plan it again as decided."""
    change = yield from plan_member(member, options=options, context=context, document=document)
    decided = _decide(change, member, options, context)
    if decided is None:
        return change
    member = replace(member, obj=decided.manifest)
    options = replace(options, takes_over=decided.takes_over)
    return (yield from plan_member(member, options=options, context=context, document=document))


def plan_object(document: ManifestDocument, *, options: ApplyOptions, context: PlanContext) -> Flow[ObjectChange]:
    """Plan one document; whatever is wrong with it is in the change, nothing is raised."""
    try:
        member = place_member(document.obj, options=options, catalog=context.catalog)
    except ManifestError as error:
        change = ObjectChange(
            ref=document.ref,
            operation=Operation.ERROR,
            versions=Versions(manifest=document.obj),
            certainty=Certainty.UNKNOWN,
            certainty_reason=error.reason,
            error=error.reason,
        )
    else:
        change = yield from _plan_decided(member, options=options, context=context, document=document)
    return replace(change, position=document.position, end_line=document.end_line)
