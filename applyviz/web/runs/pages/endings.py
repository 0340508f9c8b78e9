"""How a run ended, in one sentence: what it wrote or deleted, why it stopped, or what it waits for."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz import clock
from applyviz.engine.planning.model.plan import DELETIONS, Operation
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ApplyRun, ObjectResult
from applyviz.web.runs.pages.object_states import BAD, NOT_AS_APPROVED, ObjectState, find_object_state
from applyviz.workflow.clusters.states import find_stop
from applyviz.workflow.foundation import sentences
from applyviz.workflow.runs import find_run_before, has_turn
from applyviz.workflow.runs.attempts import NOT_READY
from applyviz.workflow.runs.rules import RunRules

_ENDINGS: dict[RunState, str | Promise] = {
    RunState.APPLIED: gettext_lazy("Applied."),
    RunState.FAILED: gettext_lazy("The run stopped on an error. Objects applied before the error stay applied."),
    RunState.STALE: gettext_lazy(
        "The cluster changed after the plan was created, so the run stopped before writing anything unapproved."
    ),
    RunState.CANCELED: gettext_lazy("The run was canceled. Objects applied before stay applied."),
}
_DELETED_ENDINGS: dict[RunState, str | Promise] = {
    **_ENDINGS,
    RunState.APPLIED: gettext_lazy("Deleted."),
    RunState.FAILED: gettext_lazy("The run stopped on an error. Objects deleted before the error stay deleted."),
    RunState.CANCELED: gettext_lazy("The run was canceled. Objects deleted before stay deleted."),
}


_NOT_BEGUN = (Outcome.WAITING, Outcome.LEFT_OUT, Outcome.UNCHANGED)
# Outcomes of objects to which the run sent nothing that changes them.
_UNTOUCHED = (Outcome.WAITING, Outcome.SKIPPED, Outcome.LEFT_OUT, Outcome.UNCHANGED)


def only_deletes(results: Sequence[ObjectResult]) -> bool:
    """Return whether a run deletes objects and writes no other, as a delete review or the revert of creations does."""
    operations = {result.change.operation for result in results} - {Operation.NOT_FOUND, Operation.UNCHANGED}
    return bool(operations) and operations <= set(DELETIONS)


def _describe_wait(run: ApplyRun) -> str:
    """Return what a queued run waits for."""
    if stop := find_stop(run.plan.target.cluster):
        return _("Waiting: %(why)s.") % {"why": sentences.describe(stop[0])}
    before = find_run_before(run)
    if before is not None:
        text = _("Waiting for run %(number)d, which was started earlier and changes the same objects.")
        return text % {"number": before.number}
    if not has_turn(run, now=clock.now()):
        return _("Waiting: the workers are busy with other runs on this cluster.")
    return _("Waiting for a worker.")


def describe_ending(run: ApplyRun, results: Sequence[ObjectResult]) -> str | Promise:
    """Return how a finished run ended, which run it waits for, or that it compares first, in one sentence."""
    if run.state == RunState.QUEUED:
        return _describe_wait(run)
    is_compared = run.state == RunState.APPLYING and run.epoch == 1 and not run.is_lost(clock.now())
    if is_compared and all(r.outcome in _NOT_BEGUN for r in results):
        return _("Comparing live with the approved plan first. Nothing is written yet.")
    is_retried = run.state == RunState.FAILED and run.attempt > 1
    if is_retried and not any(find_object_state(r) in NOT_AS_APPROVED for r in results):
        return _("The retry succeeded. Objects that were not attempted need a new plan.")
    if run.state == RunState.FAILED and not any(r.outcome in BAD for r in results):
        if any(r.rollout in NOT_READY for r in results):
            if any(find_object_state(r) is ObjectState.NOT_ATTEMPTED for r in results):
                return _("A workload did not become ready, so the run stopped. Objects applied before stay applied.")
            return _("All objects are written, but not all workloads became ready.")
    elif run.state == RunState.STALE and any(r.outcome in Outcome.written() for r in results):
        return f"{_ENDINGS[RunState.STALE]} {_('Objects applied before stay applied.')}"
    elif run.state == RunState.CANCELED and all(r.outcome in _UNTOUCHED for r in results):
        return _("The run was canceled before it changed anything.")
    elif run.state == RunState.FAILED and RunRules.from_json(run.rules).carries_on:
        return _("Some objects failed. The run continued with objects that do not depend on them.")
    return (_DELETED_ENDINGS if only_deletes(results) else _ENDINGS).get(RunState(run.state), "")
