"""An apply run: how far it is, what came out for each object, and what was sent and answered."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from applyviz.records.enums import AuditAction, Outcome, ReviewState, RolloutState, RunState
from applyviz.records.models import ApplyRun, AuditEntry, ObjectResult
from applyviz.web.components.badges import Appearance
from applyviz.web.components.notices import Notice, Progress
from applyviz.web.runs.pages.approval_summary import present_emergency
from applyviz.web.runs.pages.object_table import BAD, NOT_READY, ObjectTable, needs_attention, present_table
from applyviz.web.runs.pages.results import OUTCOME_STYLES, ROLLOUT_STYLES, ResultPane, present_result, say_took
from applyviz.workflow.clusters.states import find_stop
from applyviz.workflow.foundation import access, clock
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.plans import revert
from applyviz.workflow.plans.live_values import WITHHELD, show_result, view_of
from applyviz.workflow.runs import find_run_before, has_turn
from applyviz.workflow.runs.rules import RunRules

STATE_STYLES: dict[RunState, Appearance] = {
    RunState.QUEUED: Appearance("·", RunState.QUEUED.label, "calm"),
    RunState.RUNNING: Appearance("▸", RunState.RUNNING.label, "change"),
    RunState.SUCCEEDED: Appearance("✓", RunState.SUCCEEDED.label, "add"),
    RunState.FAILED: Appearance("×", RunState.FAILED.label, "remove"),  # noqa: RUF001 the cross is drawn
    RunState.STALE: Appearance("!", RunState.STALE.label, "warn"),
    RunState.CANCELED: Appearance("−", RunState.CANCELED.label, "warn"),  # noqa: RUF001 the minus sign is drawn
}
_KINDS_NAMED = 3
_NOT_DONE = (Outcome.WAITING, Outcome.APPLYING, Outcome.SKIPPED, Outcome.LEFT_OUT)
_ENDINGS: dict[RunState, str | Promise] = {
    RunState.SUCCEEDED: gettext_lazy("Applied."),
    RunState.FAILED: gettext_lazy("The run stopped on an error. Objects applied before the error stay applied."),
    RunState.STALE: gettext_lazy(
        "The cluster changed after the plan was created, so the run stopped before writing anything unapproved."
    ),
    RunState.CANCELED: gettext_lazy("The run was canceled. Objects applied before stay applied."),
}


@dataclass(frozen=True, slots=True)
class ResultItem:
    """One object of a run in the list."""

    position: int
    look: Appearance
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

    look: Appearance
    number: int


@dataclass(frozen=True, slots=True)
class RunPane:
    """What stands beside the list: one object, or all of them; `mark` is another one when it moved."""

    position: int | None
    mark: str
    result: ResultPane | None = None
    table: ObjectTable | None = None


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
    look: Appearance
    ending: str | Promise
    error: str
    emergency: Notice | None
    approved_by: tuple[str, ...]
    started_by: str
    started_at: datetime | None
    finished_at: datetime | None
    took: str
    progress: Progress
    counts: tuple[Count, ...]
    groups: tuple[StepGroup, ...]
    pane: RunPane
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


def _present_item(run: ApplyRun, result: ObjectResult, current: int | None) -> ResultItem:
    change = result.change
    return ResultItem(
        position=result.position,
        look=OUTCOME_STYLES[result.outcome],
        name=change.name,
        kind=change.kind,
        detail=result.detail,
        took=say_took(result.started_at, result.finished_at),
        url=reverse("runs:show-result", args=[run.number, result.position]),
        is_current=result.position == current,
        is_telling=result.outcome in BAD,
        rollout=_say_rollout(result),
    )


def _say_rollout(result: ObjectResult) -> str:
    """How far what an object brings about is, where somebody waits for it."""
    if not result.rollout:
        return ""
    label = RolloutState(result.rollout).label
    return f"{label}: {result.rollout_detail}" if result.rollout_detail else str(label)


def _name_step(number: int, items: Sequence[ResultItem]) -> str:
    """Return the title of a step: its place among those that are listed, and the kinds that it writes."""
    kinds = sorted({item.kind for item in items})
    named = ", ".join(kinds[:_KINDS_NAMED])
    if len(kinds) > _KINDS_NAMED:
        named = _("%(kinds)s and %(n)d more") % {"kinds": named, "n": len(kinds) - _KINDS_NAMED}
    return _("Step %(number)d: %(kinds)s") % {"number": number, "kinds": named}


def _group_steps(run: ApplyRun, results: Sequence[ObjectResult], current: int | None) -> tuple[StepGroup, ...]:
    bad, calm, hidden = [], [], []
    steps: dict[int, list[ResultItem]] = {}
    for result in results:
        item = _present_item(run, result, current)
        if result.outcome == WITHHELD:
            hidden.append(item)
        elif needs_attention(result):
            bad.append(item)
        elif result.outcome == Outcome.UNCHANGED or not result.change.has_effect:
            calm.append(item)
        else:
            steps.setdefault(result.step, []).append(item)
    groups = [StepGroup(_("Needs attention"), tuple(bad))] if bad else []
    listed = (items for _step, items in sorted(steps.items()))
    groups += [StepGroup(_name_step(n, items), tuple(items)) for n, items in enumerate(listed, start=1)]
    if hidden:
        groups.append(StepGroup(_("Not shown to you"), tuple(hidden)))
    if calm:
        groups.append(StepGroup(_("Nothing to do"), tuple(calm), is_folded=not any(i.is_current for i in calm)))
    return tuple(groups)


def _count_outcomes(results: Sequence[ObjectResult]) -> tuple[Count, ...]:
    counts: dict[str, int] = {}
    for result in results:
        counts[result.outcome] = counts.get(result.outcome, 0) + 1
    return tuple(Count(look, counts[outcome]) for outcome, look in OUTCOME_STYLES.items() if outcome in counts)


def _count_rollouts(results: Sequence[ObjectResult]) -> tuple[Count, ...]:
    """What is brought about by the objects, where the run waits for it."""
    counts = Counter(r.rollout for r in results)
    return tuple(Count(look, counts[state]) for state, look in ROLLOUT_STYLES.items() if counts[state])


def _present_progress(results: Sequence[ObjectResult]) -> Progress:
    done = sum(r.outcome not in _NOT_DONE for r in results)
    text = ngettext("%(done)d of %(all)d object done", "%(done)d of %(all)d objects done", len(results))
    return Progress(text % {"done": done, "all": len(results)}, done, len(results))


def present_pane(run: ApplyRun, results: Sequence[ObjectResult], position: int | None) -> RunPane:
    """One object of a run, or all of them."""
    if position is None:
        stands = [(r.position, r.outcome, r.rollout, r.rollout_detail) for r in results]
        return RunPane(None, _mark([run.state, *stands]), table=present_table(run, results))
    result = present_result(run, position)
    told = [(e.state, e.status) for e in result.exchanges]
    return RunPane(position, _mark([str(result.look.word), result.detail, result.rollout_detail, *told]), result)


def _mark(facts: list[object]) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _say_ending(run: ApplyRun, results: Sequence[ObjectResult]) -> str | Promise:
    """How a finished run ended, or for which one it waits, in one sentence."""
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
            return _("All objects are written, but not all workloads became ready.")
    elif run.state == RunState.FAILED and RunRules.from_json(run.rules).carries_on:
        return _("Some objects failed. The run continued with objects that do not depend on them.")
    return _ENDINGS.get(RunState(run.state), "")


def _say_next(run: ApplyRun, person: Person) -> str:
    """What is to be done about a run that did not bring its plan about."""
    if run.state not in (RunState.FAILED, RunState.STALE, RunState.CANCELED):
        return ""
    if run.plan.review.state != ReviewState.OPEN:
        return ""
    if access.can(person, Action.WRITE, access.places_of(run.plan.review)):
        return _("Re-plan in the review. The next plan shows what changed and what is left to apply.")
    return _("An author can re-plan in the review. The next plan shows what changed and what is left to apply.")


def _say_rules(run: ApplyRun) -> tuple[str, ...]:
    """How the run goes about it, in a few words each."""
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
    """Who had the run, when it was more than one; each after the first took it over from a lost one."""
    if run.epoch < 2:
        return ()
    claims = AuditEntry.objects.filter(run=run.number, action=AuditAction.RUN_CLAIMED).order_by("pk")
    return tuple(
        Worker(str(claim.detail.get("worker", "")), claim.at, is_first=n == 0) for n, claim in enumerate(claims)
    )


def present_run(run: ApplyRun, *, for_user: Person, position: int | None = None) -> RunPage:
    """The whole page."""
    view = view_of(run.plan)
    found = run.results.select_related("change").defer("change__document", "change__sealed")
    results = [show_result(result, view) for result in found]
    plan, state = run.plan, RunState(run.state)
    next_text = _say_next(run, for_user)
    can_cancel = access.can(for_user, Action.APPLY, access.places_of(plan.review))
    approvals = run.approvals.values_list("by_name", flat=True)
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
        approved_by=tuple(approvals),
        started_by=run.requested_by.get_username(),
        started_at=run.started_at,
        finished_at=run.finished_at,
        took=say_took(run.started_at, run.finished_at),
        progress=_present_progress(results),
        counts=(*_count_outcomes(results), *_count_rollouts(results)),
        groups=_group_steps(run, results, position),
        pane=present_pane(run, results, position),
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
        is_lost=state is RunState.RUNNING and run.lease_until is not None and run.lease_until < clock.now(),
    )
