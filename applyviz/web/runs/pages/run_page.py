"""An apply run: how far it is, what went wrong, when what was sent, and what came out for each object."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from applyviz.records.enums import AuditAction, Outcome, ReviewState, RunState
from applyviz.records.models import ApplyRun, AuditEntry, JournalEntry, ObjectResult, RolloutSample
from applyviz.web.components.badges import Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.runs.pages.approval_summary import present_emergency
from applyviz.web.runs.pages.failures import Failures, present_failures
from applyviz.web.runs.pages.object_table import ObjectTable, present_table
from applyviz.web.runs.pages.results import ResultPane, present_result, say_took
from applyviz.web.runs.pages.standing import BAD, NOT_READY, STANDING_STYLES, Standing, find_standing
from applyviz.web.runs.pages.time_axis import say_clock
from applyviz.web.runs.pages.timeline import Span, Timeline, list_outages, present_timeline, read_samples, read_spans
from applyviz.workflow.clusters.states import find_stop
from applyviz.workflow.foundation import access, clock
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.plans import revert
from applyviz.workflow.plans.live_values import show_result, view_of
from applyviz.workflow.runs import find_run_before, has_turn
from applyviz.workflow.runs.rules import RunRules

STATE_STYLES: dict[RunState, Appearance] = {
    RunState.QUEUED: Appearance("·", RunState.QUEUED.label, "calm"),
    RunState.APPLYING: Appearance("▸", RunState.APPLYING.label, "change"),
    RunState.APPLIED: Appearance("✓", RunState.APPLIED.label, "add"),
    RunState.FAILED: Appearance("×", RunState.FAILED.label, "remove"),  # noqa: RUF001 the cross is drawn
    RunState.STALE: Appearance("!", RunState.STALE.label, "warn"),
    RunState.CANCELED: Appearance("−", RunState.CANCELED.label, "warn"),  # noqa: RUF001 the minus sign is drawn
}
_COUNTED = (Standing.VERIFIED, Standing.ROLLING, Standing.FAILED, Standing.NOT_ATTEMPTED)
_ENDINGS: dict[RunState, str | Promise] = {
    RunState.APPLIED: gettext_lazy("Applied."),
    RunState.FAILED: gettext_lazy("The run stopped on an error. Objects applied before the error stay applied."),
    RunState.STALE: gettext_lazy(
        "The cluster changed after the plan was created, so the run stopped before writing anything unapproved."
    ),
    RunState.CANCELED: gettext_lazy("The run was canceled. Objects applied before stay applied."),
}


@dataclass(frozen=True, slots=True)
class Count:
    """How many objects stand somewhere, and their part of the bar."""

    look: Appearance
    number: int
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class RunStrip:
    """The four outcomes, and one sentence with the rest; `is_over` when nothing of it moves any more."""

    counts: tuple[Count, ...]
    applied: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrackStep:
    """One step of the track: a word, who or how many, and whether it is done, now, bad or next."""

    word: str
    note: str
    state: str
    glyph: str = ""


@dataclass(frozen=True, slots=True)
class RunBody:
    """The content below the tabs when all objects are shown."""

    failures: Failures
    timeline: Timeline | None
    table: ObjectTable


@dataclass(frozen=True, slots=True)
class RunPane:
    """One object instead of all of them; `mark` is another one when it moved."""

    position: int
    mark: str
    result: ResultPane


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker that executed the run."""

    name: str
    at: datetime
    is_first: bool


@dataclass(frozen=True, slots=True)
class RunPage:
    """The page of a run."""

    number: int
    title: str
    review_url: str
    review_number: int
    plan_number: int
    target: str
    look: Appearance
    ending: str | Promise
    error: str
    emergency: Notice | None
    approved_by: tuple[str, ...]
    started_by: str
    started_at: datetime | None
    finished_at: datetime | None
    took: str
    strip: RunStrip
    track: tuple[TrackStep, ...]
    body: RunBody | None
    pane: RunPane | None
    requests: int
    at: datetime
    digest: str
    can_cancel: bool
    is_canceling: bool
    canceled_by: str
    cancel_url: str
    next_text: str
    next_url: str
    undo_url: str
    poll_url: str
    rules: tuple[str, ...]
    workers: tuple[Worker, ...]
    is_lost: bool


def _say_outage(results: Sequence[ObjectResult], samples: Mapping[int, Sequence[RolloutSample]], now: datetime) -> str:
    """The longest time that one workload had no ready pod; "" when there was none."""
    found = [
        (sum(outage.seconds for outage in list_outages(result, samples[result.pk], now)), result.change.name)
        for result in results
        if result.pk in samples
    ]
    seconds, name = max(found, default=(0.0, ""))
    if seconds < 1:
        return ""
    return _("%(name)s was down for %(time)s") % {"name": name, "time": say_clock(seconds)}


def _present_strip(
    results: Sequence[ObjectResult], samples: Mapping[int, Sequence[RolloutSample]], now: datetime
) -> RunStrip:
    found = Counter(find_standing(result) for result in results)
    total = sum(found[standing] for standing in _COUNTED)
    counts, x = [], 0.0
    for standing in _COUNTED:
        width = found[standing] / total * 100 if total else 0.0
        counts.append(Count(STANDING_STYLES[standing], found[standing], f"{x:.2f}%", f"{width:.2f}%"))
        x += width
    written = sum(Outcome(r.outcome).is_good for r in results if r.outcome in set(Outcome))
    applied = ngettext("%(done)d of %(all)d object applied", "%(done)d of %(all)d objects applied", total)
    watched = [result.pods for result in results if "wanted" in result.pods]
    new, wanted = sum(pods["new"] for pods in watched), sum(pods["wanted"] for pods in watched)
    facts = [
        ngettext("%(new)d of %(wanted)d new pod ready", "%(new)d of %(wanted)d new pods ready", wanted)
        % {"new": new, "wanted": wanted}
        if wanted
        else "",
        _say_outage(results, samples, now),
        ngettext("%(n)d object unchanged", "%(n)d objects unchanged", found[Standing.UNCHANGED])
        % {"n": found[Standing.UNCHANGED]}
        if found[Standing.UNCHANGED]
        else "",
        ngettext("%(n)d object not shown to you", "%(n)d objects not shown to you", found[Standing.HIDDEN])
        % {"n": found[Standing.HIDDEN]}
        if found[Standing.HIDDEN]
        else "",
    ]
    done = written - found[Standing.UNCHANGED]
    return RunStrip(tuple(counts), applied % {"done": done, "all": total}, tuple(filter(None, facts)))


def _present_track(run: ApplyRun, results: Sequence[ObjectResult], approved_by: Sequence[str]) -> tuple[TrackStep, ...]:
    found = Counter(find_standing(result) for result in results)
    total = sum(found[standing] for standing in _COUNTED)
    state = RunState(run.state)
    is_bad = bool(found[Standing.FAILED]) or state in (RunState.FAILED, RunState.STALE)
    style = STATE_STYLES[state]
    failed = _("%(n)d failed") % {"n": found[Standing.FAILED]} if found[Standing.FAILED] else str(style.word)
    applying = "bad" if is_bad else "done" if run.is_finished and state is RunState.APPLIED else "now"
    verified = _("%(done)d of %(all)d") % {"done": found[Standing.VERIFIED], "all": total}
    is_verified = state is RunState.APPLIED and found[Standing.VERIFIED] == total
    approver = ", ".join(approved_by) or _("without approval")
    glyphs = {"bad": "×", "done": "✓", "now": "▸"}  # noqa: RUF001 the cross is drawn
    return (
        TrackStep(
            _("Plan %(number)d") % {"number": run.plan.number}, run.plan.review.author.get_username(), "done", "✓"
        ),
        TrackStep(_("Approve"), approver, "done", "✓"),
        TrackStep(_("Apply"), failed, applying, glyphs[applying]),
        TrackStep(_("Verify"), verified, "done" if is_verified else "next", "✓" if is_verified else ""),
    )


def present_pane(run: ApplyRun, position: int) -> RunPane:
    """Return one object of a run."""
    result = present_result(run, position)
    told = [(e.state, e.status) for e in result.exchanges]
    mark = _mark([str(result.look.word), result.detail, result.rollout_detail, result.pod_lines, *told])
    return RunPane(position, mark, result)


def _mark(facts: list[object]) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _say_ending(run: ApplyRun, results: Sequence[ObjectResult]) -> str | Promise:
    """Return how a finished run ended, or which run it waits for, in one sentence."""
    if run.state == RunState.QUEUED and (stop := find_stop(run.plan.target.cluster)):
        return _("Waiting: %(why)s.") % {"why": stop[0]}
    before = find_run_before(run) if run.state == RunState.QUEUED else None
    if before is not None:
        said = _("Waiting for run %(number)d, which was started earlier and changes the same objects.")
        return said % {"number": before.number}
    if run.state == RunState.QUEUED and not has_turn(run, now=clock.now()):
        return _("Waiting: workers carry out other runs of this cluster.")
    if run.state == RunState.FAILED and not any(r.outcome in BAD for r in results):
        if any(r.rollout in NOT_READY for r in results):
            if any(find_standing(r) is Standing.NOT_ATTEMPTED for r in results):
                return _("A workload did not become ready, so the run stopped. Objects applied before stay applied.")
            return _("All objects are written, but not all workloads became ready.")
    elif run.state == RunState.FAILED and RunRules.from_json(run.rules).carries_on:
        return _("Some objects failed. The run continued with objects that do not depend on them.")
    return _ENDINGS.get(RunState(run.state), "")


def _say_next(run: ApplyRun, person: Person) -> str:
    """Return the next step after a run that did not complete its plan."""
    if run.state not in (RunState.FAILED, RunState.STALE, RunState.CANCELED):
        return ""
    if run.plan.review.state != ReviewState.OPEN:
        return ""
    if access.can(person, Action.WRITE, access.places_of(run.plan.review)):
        return _("Re-plan in the review. The next plan shows what changed and what is left to apply.")
    return _("An author can re-plan in the review. The next plan shows what changed and what is left to apply.")


def _say_rules(run: ApplyRun) -> tuple[str, ...]:
    """Return the rules of the run, in a few words each."""
    rules = RunRules.from_json(run.rules)
    told = [
        ngettext("%(count)d object at once", "up to %(count)d objects at once", rules.at_once)
        % {"count": rules.at_once},
        _("continues after a failure") if rules.carries_on else _("stops at the first failure"),
    ]
    if rules.waits_for_rollout:
        told.append(_("waits up to %(seconds)d s for each rollout") % {"seconds": rules.rollout_seconds})
    else:
        told.append(_("rollouts not watched"))
    return tuple(told)


def _list_workers(run: ApplyRun) -> tuple[Worker, ...]:
    """Return the workers of a run that had several; each later one resumed it from a lost one."""
    if run.epoch < 2:
        return ()
    claims = AuditEntry.objects.filter(run=run.number, action=AuditAction.RUN_CLAIMED).order_by("pk")
    return tuple(
        Worker(str(claim.detail.get("worker", "")), claim.at, is_first=n == 0) for n, claim in enumerate(claims)
    )


def count_requests(run: ApplyRun, results: Sequence[ObjectResult]) -> int:
    """Return how many requests the journal holds, without those about objects that are hidden from the reader."""
    hidden = [result.pk for result in results if find_standing(result) is Standing.HIDDEN]
    return JournalEntry.objects.filter(result__run=run).exclude(result__in=hidden).count()


def _list_shown(results: Sequence[ObjectResult]) -> list[int]:
    return [result.pk for result in results if find_standing(result) is not Standing.HIDDEN]


def _present_body(
    run: ApplyRun,
    results: Sequence[ObjectResult],
    samples: Mapping[int, Sequence[RolloutSample]],
    now: datetime,
    *,
    is_whole: bool,
) -> RunBody:
    shown = set(_list_shown(results))
    spans: dict[int, Span] = {pk: span for pk, span in read_spans(run).items() if pk in shown}
    return RunBody(
        failures=present_failures(run, results),
        timeline=present_timeline(run, results, spans, samples, now),
        table=present_table(run, results, spans, is_whole=is_whole),
    )


def present_run(run: ApplyRun, *, for_user: Person, position: int | None = None, is_whole: bool = False) -> RunPage:
    """The whole page: all objects, or the one at `position`; `is_whole`: with every row of the list."""
    view = view_of(run.plan)
    found = run.results.select_related("change").defer("change__document", "change__sealed")
    results = [show_result(result, view) for result in found]
    plan, state, now = run.plan, RunState(run.state), clock.now()
    samples = read_samples(run)
    next_text = _say_next(run, for_user)
    can_cancel = access.can(for_user, Action.APPLY, access.places_of(plan.review))
    approvals = tuple(run.approvals.values_list("by_name", flat=True))
    return RunPage(
        number=run.number,
        title=plan.review.title,
        review_url=reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
        review_number=plan.review.number,
        plan_number=plan.number,
        target=plan.target.cluster.name,
        look=STATE_STYLES[state],
        ending=_say_ending(run, results),
        error=run.error,
        emergency=present_emergency(plan),
        approved_by=approvals,
        started_by=run.requested_by.get_username(),
        started_at=run.started_at,
        finished_at=run.finished_at,
        took=say_took(run.started_at, run.finished_at),
        strip=_present_strip(results, samples, now),
        track=_present_track(run, results, approvals),
        body=_present_body(run, results, samples, now, is_whole=is_whole) if position is None else None,
        pane=None if position is None else present_pane(run, position),
        requests=count_requests(run, results),
        at=now,
        digest=plan.digest,
        can_cancel=not run.is_finished and run.cancel_requested_at is None and can_cancel,
        is_canceling=not run.is_finished and run.cancel_requested_at is not None,
        canceled_by=run.canceled_by.get_username() if run.canceled_by else "",
        next_text=next_text,
        next_url=reverse("reviews:show-review", args=[plan.review.number]) if next_text else "",
        cancel_url=reverse("runs:cancel-run", args=[run.number]),
        undo_url=""
        if revert.find_undo_blockers(run, for_user=for_user)
        else reverse("runs:undo-run", args=[run.number]),
        poll_url="" if run.is_finished else reverse("runs:show-run", args=[run.number]),
        rules=_say_rules(run),
        workers=_list_workers(run),
        is_lost=state is RunState.APPLYING and run.lease_until is not None and run.lease_until < now,
    )
