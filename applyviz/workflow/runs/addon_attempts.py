"""The second attempt of an addon of a kOps channel: what failed is tried once more before anything is pruned.

Rule: kOps applies an addon again when only the apply failed, for example because a webhook of the addon was not ready
yet. Here the second attempt comes before the addon is pruned and recorded, which both need it to succeed. It tries the
objects that were refused, not found by the server or failed without a write, and those left out because they need
them; each sends what was approved, after its effect was compared again. A Secret that is compared with live is not
tried again, because the number of its requests must not reveal whether its manifest has the live values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Outcome
from applyviz.records.models import JournalEntry, ObjectResult
from applyviz.workflow.foundation.compared import is_compared
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.object_choices import is_left_out

_READ = ("outcome", "detail", "rollout", "rollout_detail", "addon_attempt")
_NOT_FOUND = 404


class AddonIndex:
    """The results of each addon of a run that apply its objects, in order, without its deletions and its record."""

    def __init__(self, results: Iterable[ObjectResult]) -> None:
        self._applied: dict[str, list[ObjectResult]] = {}
        for result in results:
            addon = changes.find_addon(result.change)
            is_last = bool(changes.find_record(result.change)) or Operation(result.change.operation).is_deletion
            if addon and not is_last:
                self._applied.setdefault(addon, []).append(result)

    def find_ending(self, step: int, *, is_stopping: bool) -> list[ObjectResult]:
        """Return the results up to this step of the addon that it ends; empty within an addon.

        - `is_stopping`: a failure in this step ends the addon here.
        """
        for results in self._applied.values():
            steps = {result.step for result in results}
            if step in steps and (is_stopping or step == max(steps)):
                return [result for result in results if result.step <= step]
        return []


def _choose(results: Iterable[ObjectResult]) -> list[ObjectResult]:
    """Return the results that a second attempt tries; empty when none of them failed in a way that may pass."""
    first = [r for r in results if r.addon_attempt == 1 and not is_compared(r.change)]
    failed = [r for r in first if r.outcome in (Outcome.FAILED, Outcome.REFUSED, Outcome.STALE)]
    entries = JournalEntry.objects.filter(result__in=failed)
    written = set(entries.exclude(took_effect=False).values_list("result_id", flat=True))
    missing = set(entries.filter(status=_NOT_FOUND).values_list("result_id", flat=True))
    again = [r for r in failed if r.pk not in written and (r.outcome != Outcome.STALE or r.pk in missing)]
    if not again:
        return []
    return again + [r for r in first if r.outcome == Outcome.LEFT_OUT and not is_left_out(r.change)]


def refresh_outcomes(results: Iterable[ObjectResult]) -> None:
    """Read again what these results of one run came to."""
    by_key = {result.pk: result for result in results}
    stored = ObjectResult.objects.filter(pk__in=list(by_key)).values_list("pk", *_READ)
    for key, *values in stored.iterator(chunk_size=500):
        for name, value in zip(_READ, values, strict=True):
            setattr(by_key[key], name, value)


def begin_second_attempt(results: Sequence[ObjectResult]) -> list[ObjectResult]:
    """Prepare results of an addon for its second attempt; return those that wait again.

    - Nothing is stored before an object is written or ends again, so that a worker that takes over begins it, too.
    """
    again = _choose(results)
    for result in again:
        result.outcome, result.addon_attempt = Outcome.WAITING, 2
    return again
