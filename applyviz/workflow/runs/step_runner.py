"""Runs the steps of a run: what may start, what is left out after a failure, and how the run ends.

A step begins when every object of the previous step has its outcome, and is ready where the rules require it. After a
failure nothing more starts or, by the rules, only objects that do not depend on it; nothing is pruned then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby

from django.db.models import QuerySet

from applyviz import stopping
from applyviz.engine.objects.kinds import CRD
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.sets.dependencies import find_dependencies
from applyviz.records.enums import Outcome, RolloutState, RunState
from applyviz.records.models import JournalEntry, ObjectResult
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.foundation.leases import WorkerStoppingError
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.object_choices import is_left_out
from applyviz.workflow.runs.addon_attempts import AddonIndex, begin_second_attempt, refresh_outcomes
from applyviz.workflow.runs.deletions import describe_needed, list_needed
from applyviz.workflow.runs.flow_executor import FlowExecutor
from applyviz.workflow.runs.flows import ObjectFlow, Persist
from applyviz.workflow.runs.journal import Journal, ObjectOutcome
from applyviz.workflow.runs.lease import Claim, RunParkedError
from applyviz.workflow.runs.objects import Access, Ended, ObjectRun


def _find_defined(crd: JSONObject | None) -> tuple[str, str]:
    """Return the group and kind that a definition defines."""
    spec = (crd or {}).get("spec") or {}
    return str(spec.get("group")), str(get_at(spec, ("names", "kind"), ""))


class FailureIndex:
    """Failed and left-out objects so far, indexed by what other objects need from them."""

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, str, str, str], str] = {}
        self._kinds: dict[tuple[str, str], str] = {}
        self._addons: dict[str, str] = {}
        self._needed: dict[tuple[str, str, str, str], str] = {}
        self._kinds_needed: dict[tuple[str, str], str] = {}
        self.details: list[tuple[Outcome, str]] = []

    def __bool__(self) -> bool:
        return bool(self.details)

    def add(self, ended: Ended) -> None:
        """Add an object that was not applied as approved."""
        ref = changes.ref_of(ended.result.change)
        self.details.append((ended.outcome, f"{ref}: {ended.detail or ended.outcome.label}"))
        if changes.find_record(ended.result.change):  # the namespace is there, whatever it records
            return
        word = "is not ready" if ended.outcome.is_good else f"was {ended.outcome.label}"
        self._reasons[ref.key] = f"it needs {ref}, which {word}"
        addon = changes.find_addon(ended.result.change)
        if addon:
            self._addons.setdefault(addon, f"addon {addon} is not complete: {ref} {word}")
        change = changes.read_masked_core(ended.result.change)
        if change.operation is Operation.DELETE:
            self._needed |= dict.fromkeys(list_needed(change), describe_needed(ref))
            self._kinds_needed[ref.gvk.group, ref.gvk.kind] = describe_needed(ref)
        if (ref.gvk.group, ref.gvk.kind) == CRD:
            self._kinds[_find_defined(change.versions.manifest)] = f"its kind is defined by {ref}, which {word}"

    def find_reason(self, change: PlannedObject, *, is_closing: bool = False) -> str:
        """Return why an object is left out; "" when it depends on no failed object.

        - `is_closing`: it records which members an ApplySet still has, so it needs all of them.
        """
        ref: ObjectRef = change.ref
        if not self.details:
            return ""
        if change.operation is Operation.DELETE:
            return self._find_remaining(change)
        if change.addon and (change.is_record or change.operation is Operation.PRUNE):
            return self._addons.get(change.addon, "")
        if change.operation is Operation.PRUNE:
            return "nothing is pruned when an object could not be applied"
        if is_closing and not change.addon:
            return "the set keeps its former kinds and namespaces when an object could not be applied"
        if (ref.gvk.group, ref.gvk.kind) in self._kinds:
            return self._kinds[ref.gvk.group, ref.gvk.kind]
        manifest: JSONObject = change.versions.manifest or {}
        needed = sorted(find_dependencies(ref, manifest) & self._reasons.keys())
        return self._reasons[needed[0]] if needed else ""

    def _find_remaining(self, change: PlannedObject) -> str:
        """Return why an object is not deleted: one that needs it could not be deleted."""
        if (change.ref.gvk.group, change.ref.gvk.kind) == CRD:
            return self._kinds_needed.get(_find_defined(change.versions.live), "")
        return self._needed.get(change.ref.key, "")


def find_closing_writes(results: Iterable[ObjectResult]) -> frozenset[int]:
    """Return the results that write an object for the second time: the parent of an ApplySet, after its members."""
    met: set[tuple[str, str, str, str]] = set()
    closing = set()
    for result in results:
        key = changes.ref_of(result.change).key
        if key in met:
            closing.add(result.pk)
        met.add(key)
    return frozenset(closing)


def read_journal(claim: Claim) -> dict[int, JournalEntry]:
    """Return the last journal entry of each object that another worker had begun, by result."""
    return {} if claim.is_first else _find_last_entries(JournalEntry.objects.filter(result__run=claim.run))


def _find_last_entries(entries: QuerySet[JournalEntry]) -> dict[int, JournalEntry]:
    return {entry.result_id: entry for entry in entries.order_by("result_id", "sequence")}


class StepRunner:
    """Runs the steps of a claimed and checked run."""

    def __init__(self, around: Access, crew: FlowExecutor[Ended], results: list[ObjectResult]) -> None:
        self._around, self._crew = around, crew
        self._results = results
        self._claim: Claim = around.claim
        self._failures = FailureIndex()
        self._left = sum(result.outcome in Outcome.unfinished() for result in results)
        self._is_canceled = self._is_stopping = False
        self._last = read_journal(self._claim)
        self._closing = find_closing_writes(results)
        self._addons = AddonIndex(results)

    def go(self) -> tuple[RunState, str]:
        """Run all steps; return the final state of the run and its errors in one line.

        - Raises `RunParkedError` when a step only waits for rollouts, `WorkerStoppingError` when this worker must stop.
        """
        self._remember_earlier()
        for step, results in groupby(self._results, key=lambda result: result.step):
            self._execute(list(results))
            if self._failures and self._may_wait():
                self._try_addon_again(step)
        return self._conclude()

    def _execute(self, results: list[ObjectResult]) -> None:
        ended = self._crew.execute(self._list_flows(results), may_start=self._may_start, may_wait=self._may_wait)
        for each in ended:
            if not each.is_good:
                self._failures.add(each)
            self._around.content.forget(each.result)
        if self._crew.is_parked:
            raise RunParkedError("only rollouts are waited for")
        if self._ask_stopping() and (self._left or self._crew.has_given_up):
            raise WorkerStoppingError("this worker was asked to stop")

    def _try_addon_again(self, step: int) -> None:
        """Try the failed objects of the addon that ends with a step once more, before it is pruned and recorded."""
        results = self._addons.find_ending(step, is_stopping=not self._around.rules.carries_on)
        if not results:
            return
        refresh_outcomes(self._results)
        again = begin_second_attempt(results)
        if not again:
            return
        failpoints.reach("run.again")
        self._left += len(again)
        self._last |= _find_last_entries(JournalEntry.objects.filter(result__in=again))
        self._failures = FailureIndex()
        self._remember_earlier()
        for _, members in groupby(results, key=lambda result: result.step):
            self._execute(list(members))

    def _remember_earlier(self) -> None:
        for result in self._results:
            outcome = Outcome(result.outcome)
            is_late = result.rollout in (RolloutState.FAILED, RolloutState.LATE)
            if is_left_out(result.change):
                continue
            if outcome not in Outcome.unfinished() and (not outcome.is_good or is_late):
                self._around.content.load([result])
                self._failures.add(Ended(result, outcome, not is_late, result.rollout_detail or result.detail))

    def _list_flows(self, results: list[ObjectResult]) -> Iterator[ObjectFlow[Ended]]:
        due = [r for r in results if r.outcome in Outcome.unfinished() or r.rollout == RolloutState.WAITING]
        for result in self._around.content.each(due):
            if result.outcome not in Outcome.unfinished():
                yield ObjectRun(self._around, result).follow_up()
                continue
            self._left -= 1
            failpoints.reach("run.object")
            reason = self._find_reason(result) if self._failures else ""
            is_begun = result.outcome == Outcome.APPLYING
            if reason and not is_begun:
                yield self._skip(result, reason)
            else:
                yield ObjectRun(self._around, result, self._last.get(result.pk)).flow()

    def _find_reason(self, result: ObjectResult) -> str:
        change = changes.read_masked_core(result.change)
        return self._failures.find_reason(change, is_closing=result.pk in self._closing)

    def _skip(self, result: ObjectResult, reason: str) -> ObjectFlow[Ended]:
        change = changes.read_masked_core(result.change)
        journal = Journal(self._claim, result, change, change, self._around.tag_key)
        yield Persist(partial(journal.conclude, ObjectOutcome(Outcome.LEFT_OUT, reason)))
        return Ended(result, Outcome.LEFT_OUT, detail=reason)

    def _may_start(self) -> bool:
        if self._failures and not self._around.rules.carries_on:
            return False
        return self._may_wait()

    def _may_wait(self) -> bool:
        return not self._ask_stopping() and not self._ask_canceled()

    def _ask_stopping(self) -> bool:
        self._is_stopping = self._is_stopping or stopping.is_requested()
        return self._is_stopping

    def _ask_canceled(self) -> bool:
        if self._claim.is_canceled():
            self._is_canceled = True
        return self._is_canceled

    def _conclude(self) -> tuple[RunState, str]:
        if self._failures:
            details = [detail for outcome, detail in self._failures.details if outcome is not Outcome.LEFT_OUT]
            states = {outcome for outcome, _ in self._failures.details if outcome is not Outcome.LEFT_OUT}
            state = RunState.STALE if states == {Outcome.STALE} else RunState.FAILED
            more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
            return state, f"{details[0]}{more}"
        is_given_up = self._left > 0 or self._crew.has_given_up
        return (RunState.CANCELED if self._is_canceled and is_given_up else RunState.APPLIED), ""
