"""The page of an apply run: progress, failures, requests in time, and the outcome of each object."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz import clock
from applyviz.engine.requests.options import SetAction
from applyviz.records.enums import AuditAction, ReviewState, RunState
from applyviz.records.models import ApplyRun, AuditEntry, JournalEntry, ObjectResult, RolloutSample
from applyviz.web.components.badges import Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.runs.pages.approval_summary import present_emergency
from applyviz.web.runs.pages.endings import describe_ending, only_deletes
from applyviz.web.runs.pages.failures import FailureSummary, present_failures
from applyviz.web.runs.pages.object_states import ObjectState, find_object_state
from applyviz.web.runs.pages.object_table import ObjectTable, present_table
from applyviz.web.runs.pages.results import ResultPane, format_duration, present_result
from applyviz.web.runs.pages.retries import AttemptRow, RetryOffer, present_attempts, present_retry
from applyviz.web.runs.pages.run_strip import COUNTED, RunStrip, present_strip
from applyviz.web.runs.pages.scheduled_starts import describe_start
from applyviz.web.runs.pages.timeline import RunTimeline, Span, present_timeline, read_samples, read_spans
from applyviz.workflow.clusters import states
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.plans import revert
from applyviz.workflow.plans.live_values import list_results
from applyviz.workflow.runs import list_attempts, measure_pauses
from applyviz.workflow.runs.rules import RunRules

STATE_STYLES: dict[RunState, Appearance] = {
    RunState.QUEUED: Appearance("·", RunState.QUEUED.label, "calm"),
    RunState.APPLYING: Appearance("▸", RunState.APPLYING.label, "change"),
    RunState.APPLIED: Appearance("✓", RunState.APPLIED.label, "add"),
    RunState.FAILED: Appearance("×", RunState.FAILED.label, "remove"),  # noqa: RUF001 the cross is drawn
    RunState.STALE: Appearance("!", RunState.STALE.label, "warn"),
    RunState.CANCELED: Appearance("−", RunState.CANCELED.label, "warn"),  # noqa: RUF001 the minus sign is drawn
}


class TrackStep(Struct, frozen=True):
    """One step of the track: a word, who or how many, and whether it is done, now, bad or next."""

    word: str
    note: str
    state: str
    glyph: str = ""


class RunBody(Struct, frozen=True):
    """The content below the tabs when all objects are shown."""

    failures: FailureSummary
    timeline: RunTimeline | None
    table: ObjectTable


class RunPane(Struct, frozen=True):
    """One object instead of all of them; `mark` is another one when it moved."""

    position: int
    mark: str
    result: ResultPane
    retry: RetryOffer | None = None


class Worker(Struct, frozen=True):
    """One worker that executed the run."""

    name: str
    at: datetime
    is_first: bool


class RunPage(Struct, frozen=True):
    """The page of a run."""

    run: ApplyRun
    review_url: str
    style: Appearance
    ending: str | Promise
    error: str
    emergency: Notice | None
    approved_by: tuple[str, ...]
    started_by: str
    scheduled: str
    took: str
    strip: RunStrip
    track: tuple[TrackStep, ...]
    body: RunBody | None
    pane: RunPane | None
    requests: int
    at: datetime
    can_cancel: bool
    is_canceling: bool
    canceled_by: str
    cancel_url: str
    next_text: str
    next_url: str
    undo_url: str
    undo_note: str
    poll_url: str
    rules: tuple[str, ...]
    workers: tuple[Worker, ...]
    attempts: tuple[AttemptRow, ...]
    retry: RetryOffer | None
    is_lost: bool

    @property
    def is_by_one_person(self) -> bool:
        """Whether who started the run is the only one who approved it."""
        return self.approved_by == (self.started_by,)


def _present_track(run: ApplyRun, results: Sequence[ObjectResult], approved_by: Sequence[str]) -> tuple[TrackStep, ...]:
    found = Counter(find_object_state(result) for result in results)
    total = sum(found[counted] for counted in COUNTED)
    state = RunState(run.state)
    is_bad = bool(found[ObjectState.FAILED]) or state in (RunState.FAILED, RunState.STALE, RunState.CANCELED)
    style = STATE_STYLES[state]
    word = _("deleted") if state is RunState.APPLIED and only_deletes(results) else str(style.word)
    failed = _("%(n)d failed") % {"n": found[ObjectState.FAILED]} if found[ObjectState.FAILED] else word
    applying = "bad" if is_bad else "done" if run.is_finished and state is RunState.APPLIED else "now"
    verified = _("%(done)d of %(all)d") % {"done": found[ObjectState.VERIFIED], "all": total}
    is_verified = state is RunState.APPLIED and found[ObjectState.VERIFIED] == total
    approver = ", ".join(approved_by) or _("without approval")
    act = _("Delete") if only_deletes(results) else _("Apply")
    glyphs = {"bad": "×", "done": "✓", "now": "▸"}  # noqa: RUF001 the cross is drawn
    return (
        TrackStep(
            _("Plan %(number)d") % {"number": run.plan.number}, run.plan.review.author.get_username(), "done", "✓"
        ),
        TrackStep(_("Approve"), approver, "done", "✓"),
        TrackStep(act, failed, applying, glyphs[applying]),
        TrackStep(_("Verify"), verified, "done" if is_verified else "next", "✓" if is_verified else ""),
    )


def present_pane(run: ApplyRun, position: int, retry: RetryOffer | None = None) -> RunPane:
    """Return one object of a run; `retry` is what can be retried of the run."""
    result = present_result(run, position)
    exchanges = [(e.entry.state, e.entry.status) for e in result.exchanges]
    mark = _mark([str(result.style.word), result.detail, result.rollout_detail, result.pod_lines, *exchanges])
    offered = retry if retry is not None and retry.can_retry and position in retry.positions else None
    return RunPane(position, mark, result, offered)


def _mark(facts: list[object]) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _describe_next(run: ApplyRun, person: Person) -> str:
    """Return the next step after a run that did not complete its plan."""
    if run.state not in (RunState.FAILED, RunState.STALE, RunState.CANCELED):
        return ""
    if run.plan.review.state != ReviewState.OPEN:
        return ""
    latest = run.plan.review.latest_plan
    if latest is not None and latest.pk != run.plan_id:
        text = _("Plan %(number)d of the review shows what changed and what is left to apply.")
        return text % {"number": latest.number}
    if access.can(person, Action.WRITE, access.scopes_of(run.plan.review)):
        return _("Re-plan in the review. The next plan shows what changed and what is left to apply.")
    return _("An author can re-plan in the review. The next plan shows what changed and what is left to apply.")


def _describe_rules(run: ApplyRun) -> tuple[str, ...]:
    """Return the rules of the run, in a few words each."""
    rules = RunRules.from_json(run.rules)
    described = [
        ngettext("%(count)d object at a time", "up to %(count)d objects at once", rules.at_once)
        % {"count": rules.at_once},
        _("continues after a failure") if rules.carries_on else _("stops at the first failure"),
    ]
    if run.plan.options.get("action") == SetAction.DELETE:
        return tuple(described)
    if rules.waits_for_rollout:
        described.append(_("up to %(seconds)d s per rollout") % {"seconds": rules.rollout_seconds})
    else:
        described.append(_("rollouts not watched"))
    return tuple(described)


def _list_workers(run: ApplyRun) -> tuple[Worker, ...]:
    """Return the workers of a run that had several; a later one of an attempt resumed it from a lost one."""
    if run.epoch < 2:
        return ()
    first = {1, *(attempt.first_epoch for attempt in list_attempts(run))}
    claims = AuditEntry.objects.filter(run=run.number, action=AuditAction.RUN_CLAIMED).order_by("pk")
    return tuple(
        Worker(str(claim.detail.get("worker", "")), claim.at, is_first=claim.detail.get("epoch", n) in first)
        for n, claim in enumerate(claims, 1)
    )


def count_requests(run: ApplyRun, results: Sequence[ObjectResult]) -> int:
    """Return how many requests the journal holds, without those about objects that are hidden from the reader."""
    hidden = [result.pk for result in results if find_object_state(result) is ObjectState.HIDDEN]
    return JournalEntry.objects.filter(result__run=run).exclude(result__in=hidden).count()


def _list_shown(results: Sequence[ObjectResult]) -> list[int]:
    return [result.pk for result in results if find_object_state(result) is not ObjectState.HIDDEN]


def _present_body(
    run: ApplyRun,
    results: Sequence[ObjectResult],
    samples: Mapping[int, Sequence[RolloutSample]],
    now: datetime,
    *,
    retry: RetryOffer | None,
    is_whole: bool,
    undo_url: str,
) -> RunBody:
    shown = set(_list_shown(results))
    spans: dict[int, Span] = {pk: span for pk, span in read_spans(run).items() if pk in shown}
    return RunBody(
        failures=present_failures(run, results, retry, undo_url=undo_url),
        timeline=present_timeline(run, results, spans, samples, now),
        table=present_table(run, results, spans, is_whole=is_whole),
    )


def _find_own_error(run: ApplyRun, results: Sequence[ObjectResult]) -> str:
    """Return the error of a run; "" where it is that of an object that the page shows with its reason (`results`)."""
    details = [detail for result in results for detail in (result.detail, result.rollout_detail) if detail]
    return "" if any(detail in run.error for detail in details) else run.error


def _offer_revert(run: ApplyRun, person: Person) -> tuple[str, str]:
    """Return the address of the revert form, or a note why this person cannot revert the run; both can be ""."""
    if not revert.find_undo_blockers(run, for_user=person):
        return reverse("runs:undo-run", args=[run.number]), ""
    if not revert.can_be_reverted(run):
        return "", ""
    for stop in states.find_stop(run.plan.target.cluster):
        return "", _("No revert now: %(why)s.") % {"why": sentences.describe(stop)}
    return "", _("Authors can revert it")


def present_run(
    run: ApplyRun, *, for_user: Person, position: int | None = None, is_whole: bool = False, has_body: bool = True
) -> RunPage:
    """The whole page: all objects, or the one at `position`; `is_whole`: with every row of the list.

    - Without `has_body` there is only what is above every tab: no change of an object is read.
    """
    results = list_results(run)
    plan, state, now = run.plan, RunState(run.state), clock.now()
    samples = read_samples(run)
    next_text, retry = _describe_next(run, for_user), present_retry(run, for_user)
    can_cancel = access.can(for_user, Action.APPLY, access.scopes_of(plan.review))
    undo_url, undo_note = _offer_revert(run, for_user)
    approvals = tuple(run.approvals.values_list("by_name", flat=True))
    return RunPage(
        run,
        review_url=reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
        style=STATE_STYLES[state],
        ending=describe_ending(run, results),
        error=_find_own_error(run, [r for r in results if position in (None, r.position)]),
        emergency=present_emergency(plan),
        approved_by=approvals,
        started_by=run.requested_by.get_username(),
        scheduled=describe_start(run),
        took=format_duration(run.started_at, run.finished_at, pause=measure_pauses([run]).get(run.pk, timedelta())),
        strip=present_strip(results, samples, now),
        track=_present_track(run, results, approvals),
        body=None
        if position is not None or not has_body
        else _present_body(run, results, samples, now, retry=retry, is_whole=is_whole, undo_url=undo_url),
        pane=None if position is None else present_pane(run, position, retry),
        requests=count_requests(run, results),
        at=now,
        can_cancel=not run.is_finished and run.cancel_requested_at is None and can_cancel,
        is_canceling=not run.is_finished and run.cancel_requested_at is not None,
        canceled_by=run.canceled_by.get_username() if run.canceled_by else "",
        next_text=next_text,
        next_url=reverse("reviews:show-review", args=[plan.review.number]) if next_text else "",
        cancel_url=reverse("runs:cancel-run", args=[run.number]),
        undo_url=undo_url,
        undo_note=undo_note,
        poll_url="" if run.is_finished else reverse("runs:show-run", args=[run.number]),
        rules=_describe_rules(run),
        workers=_list_workers(run),
        attempts=present_attempts(run),
        retry=retry,
        is_lost=run.is_lost(now),
    )
