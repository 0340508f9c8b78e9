"""An apply run: how far it is, what came out for each object, and what was sent and answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from applyviz.engine.objects.values import JSONValue
from applyviz.records.enums import AuditAction, Outcome, RolloutState, RunState
from applyviz.records.models import ApplyRun, AuditEntry, JournalEntry, ObjectResult
from applyviz.web.presenters.consent import present_glass
from applyviz.web.presenters.objectlinks import link_object
from applyviz.web.presenters.operations import Look
from applyviz.web.presenters.plans import Notice, Progress
from applyviz.web.presenters.values import render_yaml
from applyviz.workflow import access, inverse
from applyviz.workflow.access import Action, Person
from applyviz.workflow.errors import NotVisibleError
from applyviz.workflow.runs.rules import RunRules

OUTCOME_LOOKS: dict[Outcome, Look] = {
    Outcome.WAITING: Look("·", Outcome.WAITING.label, "calm"),
    Outcome.APPLYING: Look("▸", Outcome.APPLYING.label, "change"),
    Outcome.VERIFIED: Look("✓", Outcome.VERIFIED.label, "add"),
    Outcome.DIFFERS: Look("≠", Outcome.DIFFERS.label, "warn"),
    Outcome.UNCHANGED: Look("=", Outcome.UNCHANGED.label, "calm"),
    Outcome.REFUSED: Look("!", Outcome.REFUSED.label, "warn"),
    Outcome.STALE: Look("!", Outcome.STALE.label, "warn"),
    Outcome.FAILED: Look("×", Outcome.FAILED.label, "remove"),  # noqa: RUF001 the cross is drawn
    Outcome.UNKNOWN: Look("?", Outcome.UNKNOWN.label, "warn"),
    Outcome.SKIPPED: Look("−", Outcome.SKIPPED.label, "calm"),  # noqa: RUF001 the minus sign is drawn
    Outcome.LEFT_OUT: Look("−", Outcome.LEFT_OUT.label, "warn"),  # noqa: RUF001 the minus sign is drawn
}
STATE_LOOKS: dict[RunState, Look] = {
    RunState.QUEUED: Look("·", RunState.QUEUED.label, "calm"),
    RunState.RUNNING: Look("▸", RunState.RUNNING.label, "change"),
    RunState.SUCCEEDED: Look("✓", RunState.SUCCEEDED.label, "add"),
    RunState.FAILED: Look("×", RunState.FAILED.label, "remove"),  # noqa: RUF001 the cross is drawn
    RunState.STALE: Look("!", RunState.STALE.label, "warn"),
    RunState.CANCELLED: Look("−", RunState.CANCELLED.label, "warn"),  # noqa: RUF001 the minus sign is drawn
}
ROLLOUT_LOOKS: dict[RolloutState, Look] = {
    RolloutState.WAITING: Look("◔", RolloutState.WAITING.label, "change"),
    RolloutState.READY: Look("✓", RolloutState.READY.label, "add"),
    RolloutState.FAILED: Look("×", RolloutState.FAILED.label, "remove"),  # noqa: RUF001 the cross is drawn
    RolloutState.LATE: Look("!", RolloutState.LATE.label, "warn"),
    RolloutState.GIVEN_UP: Look("−", RolloutState.GIVEN_UP.label, "calm"),  # noqa: RUF001 the minus sign is drawn
}
_NOT_READY = (RolloutState.FAILED, RolloutState.LATE)
_OPEN = (Outcome.WAITING, Outcome.APPLYING)
_BAD = (Outcome.FAILED, Outcome.STALE, Outcome.REFUSED, Outcome.UNKNOWN, Outcome.DIFFERS, Outcome.LEFT_OUT)
_ENDINGS: dict[RunState, str | Promise] = {
    RunState.SUCCEEDED: gettext_lazy("Everything that was approved is applied."),
    RunState.FAILED: gettext_lazy("The run stopped at an error; what was applied before it stays applied."),
    RunState.STALE: gettext_lazy(
        "Live moved after the plan was made; the run stopped before it wrote what nobody had approved."
    ),
    RunState.CANCELLED: gettext_lazy("The run was cancelled; what was applied before stays applied."),
}


@dataclass(frozen=True, slots=True)
class ResultItem:
    """One object of a run in the list."""

    position: int
    look: Look
    name: str
    kind: str
    detail: str
    took: str
    url: str
    is_current: bool = False
    is_telling: bool = False
    rollout: str = ""

    @property
    def search(self) -> str:
        """What the filter looks through."""
        return f"{self.kind} {self.name} {self.look.word} {self.detail}".lower()

    @property
    def note(self) -> str:
        """The line under the name."""
        return self.detail if self.is_telling else self.rollout


@dataclass(frozen=True, slots=True)
class StepGroup:
    """Objects that are read together: those that went wrong, a step, or those with nothing to do."""

    title: str
    items: tuple[ResultItem, ...]
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class Count:
    """How many objects have one outcome."""

    look: Look
    number: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of the journal with its answer."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    content_type: str
    state: str
    status: int
    is_ok: bool
    sent_at: datetime
    took: str
    request: str
    answer: str
    warnings: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class ResultPane:
    """Everything of one object in a run."""

    look: Look
    name: str
    kind: str
    namespace: str
    detail: str
    took: str
    change_url: str
    life_url: str
    differences: tuple[Notice, ...]
    exchanges: tuple[Exchange, ...]
    rollout: Look | None = None
    rollout_detail: str = ""
    attempts: str = ""


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker that picked the run up."""

    name: str
    at: datetime
    is_first: bool


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything that the page prints."""

    number: int
    title: str
    review_url: str
    review_number: int
    plan_number: int
    target: str
    look: Look
    ending: str | Promise
    error: str
    glass: Notice | None
    approved_by: tuple[str, ...]
    started_by: str
    started_at: datetime | None
    finished_at: datetime | None
    took: str
    progress: Progress
    counts: tuple[Count, ...]
    groups: tuple[StepGroup, ...]
    result: ResultPane | None
    digest: str
    can_cancel: bool
    is_cancelling: bool
    cancel_url: str
    undo_url: str
    poll_url: str
    rules: tuple[str, ...]
    workers: tuple[Worker, ...]
    is_lost: bool


def _took(start: datetime | None, end: datetime | None) -> str:
    if start is None or end is None:
        return ""
    seconds = (end - start).total_seconds()
    return _("%(time).0f ms") % {"time": seconds * 1000} if seconds < 1 else _("%(time).1f s") % {"time": seconds}


def _present_item(run: ApplyRun, result: ObjectResult, current: int | None) -> ResultItem:
    change = result.change
    return ResultItem(
        position=result.position,
        look=OUTCOME_LOOKS[Outcome(result.outcome)],
        name=change.name,
        kind=change.kind,
        detail=result.detail,
        took=_took(result.started_at, result.finished_at),
        url=reverse("runs:show-result", args=[run.number, result.position]),
        is_current=result.position == current,
        is_telling=result.outcome in _BAD,
        rollout=_say_rollout(result),
    )


def _say_rollout(result: ObjectResult) -> str:
    """How far what an object brings about is, where somebody waits for it."""
    if not result.rollout:
        return ""
    label = RolloutState(result.rollout).label
    return f"{label}: {result.rollout_detail}" if result.rollout_detail else str(label)


def _group_steps(run: ApplyRun, results: Sequence[ObjectResult], current: int | None) -> tuple[StepGroup, ...]:
    bad, calm = [], []
    steps: dict[int, list[ResultItem]] = {}
    for result in results:
        item = _present_item(run, result, current)
        if result.outcome in _BAD or result.rollout in _NOT_READY:
            bad.append(item)
        elif result.outcome == Outcome.UNCHANGED or not result.change.has_effect:
            calm.append(item)
        else:
            steps.setdefault(result.step, []).append(item)
    groups = [StepGroup(_("Needs attention"), tuple(bad))]
    groups += [StepGroup(_("Step %(number)d") % {"number": n + 1}, tuple(items)) for n, items in sorted(steps.items())]
    groups.append(StepGroup(_("Nothing to do"), tuple(calm), is_folded=not any(i.is_current for i in calm)))
    return tuple(group for group in groups if group.items)


def _count_outcomes(results: Sequence[ObjectResult]) -> tuple[Count, ...]:
    counts: dict[str, int] = {}
    for result in results:
        counts[result.outcome] = counts.get(result.outcome, 0) + 1
    return tuple(Count(look, counts[outcome]) for outcome, look in OUTCOME_LOOKS.items() if outcome in counts)


def _present_progress(results: Sequence[ObjectResult]) -> Progress:
    done = sum(r.outcome not in _OPEN for r in results)
    text = ngettext("%(done)d of %(all)d object done", "%(done)d of %(all)d objects done", len(results))
    return Progress(text % {"done": done, "all": len(results)}, done, len(results))


def _find_default(results: Sequence[ObjectResult]) -> int | None:
    ordered = sorted(results, key=lambda r: (r.outcome not in _BAD, r.outcome == Outcome.UNCHANGED, r.position))
    return ordered[0].position if ordered else None


def _write(value: JSONValue) -> str:
    return "" if value is None else render_yaml(value)


def _present_exchange(entry: JournalEntry) -> Exchange:
    return Exchange(
        method=entry.method,
        path=entry.path,
        query=tuple((str(k), str(v)) for k, v in entry.query.items()),
        content_type=entry.content_type,
        state=entry.get_state_display(),
        status=entry.status,
        is_ok=200 <= entry.status < 300,
        sent_at=entry.sent_at,
        took=_took(entry.sent_at, entry.answered_at),
        request=_write(entry.request),
        answer=_write(entry.answer),
        warnings=tuple(entry.warnings),
        note=entry.note,
    )


def _present_differences(result: ObjectResult) -> tuple[Notice, ...]:
    look = OUTCOME_LOOKS[Outcome(result.outcome)]
    return tuple(Notice(look, str(one.get("path", "")), _say_difference(one)) for one in result.differences)


def _say_difference(one: dict[str, JSONValue]) -> str:
    """What was expected at one field and what is there; both are masked texts."""
    nothing = _("nothing")
    if "reviewed" in one:
        texts = {"then": one["reviewed"] or nothing, "now": one.get("live") or nothing}
        return _("reviewed %(then)s, live now %(now)s") % texts
    texts = {"promised": one.get("promised") or nothing, "got": one.get("got") or nothing}
    return _("promised %(promised)s, got %(got)s") % texts


def _count_attempts(exchanges: Sequence[JournalEntry]) -> str:
    """How often a request was sent again; "" when each was sent once."""
    again = len(exchanges) - len({entry.part for entry in exchanges})
    return ngettext("%(count)d retry", "%(count)d retries", again) % {"count": again} if again else ""


def present_result(run: ApplyRun, position: int) -> ResultPane:
    """One object of a run with its journal."""
    try:
        result = run.results.select_related("change").defer("change__document", "change__sealed").get(position=position)
    except ObjectResult.DoesNotExist as error:
        raise NotVisibleError(f"run {run.number} has no object {position}") from error
    change, plan = result.change, run.plan
    journal = list(result.journal.defer("sealed_request", "sealed_answer"))
    return ResultPane(
        look=OUTCOME_LOOKS[Outcome(result.outcome)],
        name=change.name,
        kind=change.kind,
        namespace=change.namespace,
        detail=result.detail,
        took=_took(result.started_at, result.finished_at),
        change_url=reverse("reviews:show-object", args=[plan.review.number, plan.number, change.position, "changes"]),
        life_url=link_object(plan.target.cluster.slug, change.group, change.kind, change.namespace, change.name),
        differences=_present_differences(result),
        exchanges=tuple(_present_exchange(entry) for entry in journal),
        rollout=ROLLOUT_LOOKS[RolloutState(result.rollout)] if result.rollout else None,
        rollout_detail=result.rollout_detail,
        attempts=_count_attempts(journal),
    )


def _say_rules(run: ApplyRun) -> tuple[str, ...]:
    """How the run goes about it, in a few words each."""
    rules = RunRules.from_json(run.rules)
    told = [
        ngettext("%(count)d object at once", "up to %(count)d objects at once", rules.at_once)
        % {"count": rules.at_once},
        _("carries on after a failure") if rules.carries_on else _("stops at the first failure"),
    ]
    if rules.waits_for_rollout:
        told.append(_("waits for rollouts, at most %(seconds)d s each") % {"seconds": rules.rollout_seconds})
    else:
        told.append(_("does not wait until workloads are ready"))
    return tuple(told)


def _list_workers(run: ApplyRun) -> tuple[Worker, ...]:
    """Who had the run, when it was more than one; each after the first took it over from a lost one."""
    if run.epoch < 2:
        return ()
    claims = AuditEntry.objects.filter(run=run.number, action=AuditAction.RUN_CLAIMED).order_by("pk")
    return tuple(
        Worker(str(claim.detail.get("worker", "")), claim.at, is_first=n == 0) for n, claim in enumerate(claims)
    )


def present_run(run: ApplyRun, *, for_user: Person, position: int | None = None) -> RunPage:
    """The whole page."""
    results = list(run.results.select_related("change").defer("change__document", "change__sealed"))
    plan, state = run.plan, RunState(run.state)
    chosen = position if position is not None else _find_default(results) if run.is_finished else None
    approvals = run.approvals.values_list("by_name", flat=True)
    return RunPage(
        number=run.number,
        title=plan.review.title,
        review_url=reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
        review_number=plan.review.number,
        plan_number=plan.number,
        target=plan.target.cluster.name,
        look=STATE_LOOKS[state],
        ending=_ENDINGS.get(state, ""),
        error=run.error,
        glass=present_glass(plan),
        approved_by=tuple(approvals),
        started_by=run.requested_by.get_username(),
        started_at=run.started_at,
        finished_at=run.finished_at,
        took=_took(run.started_at, run.finished_at),
        progress=_present_progress(results),
        counts=_count_outcomes(results),
        groups=_group_steps(run, results, chosen),
        result=present_result(run, chosen) if chosen is not None else None,
        digest=plan.digest,
        can_cancel=not run.is_finished and run.cancel_requested_at is None and access.can(for_user, Action.APPLY),
        is_cancelling=not run.is_finished and run.cancel_requested_at is not None,
        cancel_url=reverse("runs:cancel-run", args=[run.number]),
        undo_url=""
        if inverse.find_undo_blockers(run, for_user=for_user)
        else reverse("runs:undo-run", args=[run.number]),
        poll_url="" if run.is_finished else reverse("runs:show-run", args=[run.number]),
        rules=_say_rules(run),
        workers=_list_workers(run),
        is_lost=state is RunState.RUNNING and run.lease_until is not None and run.lease_until < timezone.now(),
    )
