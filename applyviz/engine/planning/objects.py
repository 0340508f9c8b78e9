"""Planning one object: read it, calculate the writes with the very flow that would send them, have them tried.

Rule: `docs/architecture.md`, invariants 1, 2 and 5. The flow's reads are asked of the caller; its writes
become the plan's requests and are answered by a dry run of the first one where that is allowed, else by
calculation. Nothing is sent but reads and dry runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import ApplyVizError, ConflictError, ManifestError, MergeError
from applyviz.engine.objects.exchange import MERGE_PATCH, Answer, Request
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.context import PlanContext
from applyviz.engine.planning.decisions import Decided, Dispute, apply_decisions
from applyviz.engine.planning.noise import is_same_object
from applyviz.engine.planning.notes import add_notes
from applyviz.engine.planning.plan import Certainty, ObjectChange, Operation, Versions
from applyviz.engine.planning.rehearsal import Rehearsal
from applyviz.engine.planning.verdicts import (
    Judgement,
    Verdict,
    describe_conflicts,
    describe_refusal,
    judge_dry_run,
    missing_namespace,
    read_conflicts,
)
from applyviz.engine.requests.clientside import apply_client_side
from applyviz.engine.requests.flow import AnswerError, Flow, Outcome, is_not_found
from applyviz.engine.requests.members import Member, place_member
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, DryRun
from applyviz.engine.requests.serverside import apply_server_side
from applyviz.engine.schema.model import KindSchema, SchemaOrigin

_TRIES = 3


def unknown_kind(member: Member) -> KindSchema:
    """How a kind without any schema is treated: as a custom resource that takes anything."""
    return KindSchema(member.resource.gvk, None, SchemaOrigin.NONE, is_custom=True, is_strategic=False)


@dataclass
class _Desk:
    """Answers a flow while its object is planned, and keeps what the plan needs of it."""

    member: Member
    options: ApplyOptions
    context: PlanContext
    rehearsal: Rehearsal
    live: JSONObject | None = None
    was_read: bool = False
    read_failure: Answer | None = None
    requests: list[Request] = field(default_factory=list)
    refused: Request | None = None
    judgement: Judgement | None = None
    calculated: JSONObject | None = None
    warnings: tuple[str, ...] = ()

    def answer(self, request: Request) -> Flow[Answer]:
        """Answer one request of the flow."""
        if request.is_write:
            return (yield from self._write(request))
        if request.ref is None:
            # The namespace check of a create: its answer decides nothing.
            return Answer(200, {})
        return self.rehearsal.answer(request) if self.was_read else (yield from self._read(request))

    def _read(self, request: Request) -> Flow[Answer]:
        self.was_read = True
        gvk = self.member.resource.gvk
        if (gvk.group, gvk.kind) in self.context.kinds_created:
            return self.rehearsal.answer(request)
        answer = yield request
        if answer.is_ok:
            self.live = self.rehearsal.live = dict(answer.body)
        elif not is_not_found(answer):
            self.read_failure = answer
        return answer

    def _write(self, request: Request) -> Flow[Answer]:
        calculated = self.rehearsal.answer(request)
        if calculated.is_ok and request.method != "DELETE":
            self.calculated = dict(calculated.body)
        answer = calculated
        if self.judgement is None:
            answer = yield from self._try(request, calculated)
        elif self.judgement.verdict is not Verdict.UNTRIED:
            self.judgement = Judgement(Verdict.UNTRIED, "only the first of several writes can be tried")
        if answer.is_ok:
            self.requests.append(request)
        else:
            self.refused = request
        return answer

    def _try(self, request: Request, calculated: Answer) -> Flow[Answer]:
        """Have the first write tried by the server; the calculated answer stands in where it cannot be."""
        reason = self._reason_against()
        if reason:
            self.judgement = Judgement(Verdict.UNTRIED, reason)
            return calculated
        tried = yield request.as_dry_run()
        self.judgement = judge_dry_run(tried)
        if self.judgement.verdict is Verdict.REFUSED and missing_namespace(tried) in self.context.namespaces_created:
            name = missing_namespace(tried)
            self.judgement = Judgement(Verdict.UNTRIED, f"namespace {name} is created by the same set")
        gvk = self.member.resource.gvk
        if self.judgement.verdict is Verdict.REFUSED and (gvk.group, gvk.kind) in self.context.kinds_changed:
            self.judgement = Judgement(Verdict.UNTRIED, f"kind {gvk.kind} is defined anew by the same set")
        if self.judgement.verdict is Verdict.UNTRIED:
            return calculated
        if tried.is_ok:
            self.rehearsal.live = dict(tried.body)
            self.warnings = tried.warnings
        return tried

    def _reason_against(self) -> str:
        gvk = self.member.resource.gvk
        if (gvk.group, gvk.kind) in self.context.kinds_created:
            return f"kind {gvk.kind} is defined by the same set"
        if not self.context.can_dry_run:
            return self.context.dry_run_reason or "no dry run was asked for"
        return ""


def _start(member: Member, options: ApplyOptions, context: PlanContext) -> Flow[Outcome]:
    if options.mode is ApplyMode.SERVER:
        return apply_server_side(member.obj, resource=member.resource, options=options, deletion=context.deletion)
    return apply_client_side(
        member.obj, resource=member.resource, kind=member.kind, options=options, deletion=context.deletion
    )


def _drive(flow: Flow[Outcome], desk: _Desk) -> Flow[Outcome]:
    request = next(flow)
    while True:
        answer = yield from desk.answer(request)
        try:
            request = flow.send(answer)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome


def _name_method(desk: _Desk, operation: Operation) -> str:
    if operation is Operation.RECREATE:
        return "delete + create"
    if desk.options.mode is ApplyMode.SERVER:
        return "server-side apply"
    request = next((r for r in (*desk.requests, desk.refused) if r is not None), None)
    if desk.live is None or (request is not None and request.method == "POST"):
        return "create"
    if request is not None:
        return "JSON merge patch" if request.content_type == MERGE_PATCH else "strategic merge patch"
    kind = desk.member.kind
    return "strategic merge patch" if kind is not None and kind.is_strategic else "JSON merge patch"


def _certainty(desk: _Desk) -> tuple[Certainty, str]:
    if desk.judgement is None:
        return Certainty.CONFIRMED, "nothing needs to be sent"
    if desk.judgement.verdict is Verdict.UNTRIED:
        return Certainty.CALCULATED, desk.judgement.reason
    return Certainty.CONFIRMED, ""


def _find_last_applied(desk: _Desk) -> JSONObject | None:
    if desk.options.mode is ApplyMode.SERVER or desk.live is None:
        return None
    try:
        return last_applied.find(desk.live)
    except MergeError:
        return None


def _describe(desk: _Desk, operation: Operation, after: JSONObject | None) -> ObjectChange:
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


def _conclude(desk: _Desk, outcome: Outcome) -> ObjectChange:
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


def _conclude_conflicts(desk: _Desk, answer: Answer) -> ObjectChange:
    """The whole object is refused; `merged` is what taking over would give, `after` stays as it is."""
    conflicts = describe_conflicts(answer)
    try:
        desk.rehearsal.check_conflicts(desk.refused)
    except ConflictError as error:
        conflicts = error.conflicts
    desk.calculated = desk.rehearsal.taken_over(desk.refused)
    change = _describe(desk, Operation.REFUSED, desk.live)
    requests = (*change.requests, *((desk.refused,) if desk.refused else ()))
    return replace(change, requests=requests, conflicts=conflicts)


def _conclude_error(desk: _Desk, error: ApplyVizError) -> ObjectChange:
    answer = error.answer if isinstance(error, AnswerError) else None
    if desk.read_failure is not None:
        text = f"the live object could not be read: {describe_refusal(desk.read_failure)}"
        change = _describe(desk, Operation.ERROR, None)
        return replace(change, certainty=Certainty.UNKNOWN, certainty_reason=text, error=text)
    if answer is not None and read_conflicts(answer):
        return _conclude_conflicts(desk, answer)
    text = describe_refusal(answer) if answer is not None else str(error)
    return replace(_describe(desk, Operation.ERROR, desk.live), requests=(), error=text)


def _plan_once(
    member: Member, options: ApplyOptions, context: PlanContext, follows: ObjectChange | None
) -> Flow[tuple[ObjectChange, _Desk]]:
    rehearsal = Rehearsal(member.kind or unknown_kind(member), context.now, subresource=options.subresource)
    desk = _Desk(member, options, context, rehearsal)
    if follows is not None:
        desk.was_read, desk.live = True, follows.versions.after
        desk.rehearsal.live = follows.versions.after
        desk.judgement = Judgement(Verdict.UNTRIED, "it builds on another write of the same plan")
    try:
        outcome = yield from _drive(_start(member, options, context), desk)
    except ApplyVizError as error:
        return _conclude_error(desk, error), desk
    return _conclude(desk, outcome), desk


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
