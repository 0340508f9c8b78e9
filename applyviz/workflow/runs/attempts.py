"""Further attempts of a failed run: which objects they retry, and what stays of them when nothing happened.

Rule: an object is retried when it failed and no request of it had an effect, or when it was applied as approved and its
rollout failed or timed out. Everything else is a new plan with its own approval: an object that changed, whose outcome
is unknown, that differs from what was approved, or that was never attempted. A reviewed deletion is retried in any
case: another one either deletes the same object, or only waits until it is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta

from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Outcome, RolloutState
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult, RunAttempt
from applyviz.workflow.plans import changes

_KEPT = ("outcome", "detail", "differences", "rollout", "rollout_detail")
_NOT_GONE = (Outcome.FAILED, Outcome.REFUSED, Outcome.UNKNOWN)
NOT_READY = (RolloutState.FAILED, RolloutState.LATE)


def find_attempt(run: ApplyRun) -> RunAttempt | None:
    """Return the row of a run's current attempt; None for the first one."""
    return run.attempts.select_related("requested_by").get(number=run.attempt) if run.attempt > 1 else None


def list_attempts(run: ApplyRun) -> list[RunAttempt]:
    """Return the further attempts of a run, in order."""
    return list(run.attempts.select_related("requested_by")) if run.attempt > 1 else []


def measure_pauses(runs: Iterable[ApplyRun]) -> Mapping[int, timedelta]:
    """Return how long each retried run was not running between its attempts, by primary key."""
    pauses: dict[int, timedelta] = {}
    retried = [run.pk for run in runs if run.attempt > 1]
    for attempt in RunAttempt.objects.filter(run__in=retried) if retried else ():
        pauses[attempt.run_id] = pauses.get(attempt.run_id, timedelta()) + (attempt.created_at - attempt.ended_at)
    return pauses


def list_retryable(run: ApplyRun, results: Iterable[ObjectResult]) -> list[ObjectResult]:
    """Return the results that a further attempt may retry, in order; `results` are all of the run.

    - No object is retried before one of an earlier step that was never attempted: the order of the plan is kept.
    - No object is retried that the plan writes twice, as the parent of an ApplySet before and after its members.
    """
    results = sorted(results, key=lambda result: (result.step, result.position))
    entries = JournalEntry.objects.filter(result__run=run).exclude(took_effect=False)
    written = set(entries.values_list("result_id", flat=True))
    times = Counter(changes.ref_of(result.change).key for result in results)
    first_left = min((r.step for r in results if r.outcome == Outcome.SKIPPED), default=None)
    return [
        result
        for result in results
        if (first_left is None or result.step <= first_left)
        and times[changes.ref_of(result.change).key] == 1
        and _is_retryable(result, result.pk in written)
    ]


def _is_retryable(result: ObjectResult, is_written: bool) -> bool:
    if result.change.operation == Operation.DELETE and result.outcome in _NOT_GONE:
        return True  # whatever was sent, the next attempt only waits until the object is gone, or deletes it
    if result.outcome in (Outcome.FAILED, Outcome.REFUSED):
        return not is_written
    return result.outcome == Outcome.VERIFIED and result.rollout in NOT_READY


def keep_before(results: Iterable[ObjectResult]) -> dict[str, JSONValue]:
    """Return the results before an attempt, by position, as its row stores them."""
    return {str(result.position): {name: getattr(result, name) for name in _KEPT} for result in results}


def reset_result(result: ObjectResult, attempt: int) -> None:
    """Prepare one result for an attempt: its effect is checked again, then it is written or its rollout awaited."""
    is_applied = result.outcome == Outcome.VERIFIED
    changed: dict[str, object] = {"attempt": attempt, "addon_attempt": 1, "checked": None}
    if is_applied:
        changed |= {"rollout": RolloutState.WAITING, "rollout_detail": "", "rollout_at": None, "watched_from": None}
    else:
        changed |= {"outcome": Outcome.WAITING, "detail": "", "differences": [], "owners": {}, "started_at": None}
        changed |= {"finished_at": None}
    ObjectResult.objects.filter(pk=result.pk).update(**changed)


def restore_untouched(run: ApplyRun) -> None:
    """Give back the results that an attempt was to retry and never came to, when it ends."""
    attempt = find_attempt(run)
    if attempt is None:
        return
    for result in run.results.filter(attempt=run.attempt):
        was = attempt.before.get(str(result.position), {})
        if result.outcome == Outcome.WAITING:
            ObjectResult.objects.filter(pk=result.pk).update(**was, finished_at=attempt.ended_at)
        elif result.rollout == RolloutState.WAITING and result.checked is None:
            kept = {name: was[name] for name in ("rollout", "rollout_detail") if name in was}
            ObjectResult.objects.filter(pk=result.pk).update(**kept, rollout_at=attempt.ended_at)
