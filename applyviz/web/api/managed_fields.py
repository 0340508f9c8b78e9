"""managedFields of objects, before and after: as a plan states them, and as a run left them.

Times are left out: those of a write are known only once it was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership.managed_fields import find_entries
from applyviz.engine.planning.model import plan as engine
from applyviz.records.enums import Outcome
from applyviz.records.models import JournalEntry, ObjectResult
from applyviz.workflow.plans.changes import read_masked

_DELETED = (Outcome.DELETED,)


def _list_entries(obj: JSONObject | None) -> list[JSONObject]:
    found = find_entries(obj or {}) or ()
    return [{name: value for name, value in entry.items() if name != "time"} for entry in found]


def present_planned(change: engine.PlannedObject) -> JSONObject | None:
    """Return managedFields before and after a plan; without an effect they are the same.

    - None if the reader may not see the object; `after` is None if it is not known.
    """
    if change.operation is engine.Operation.WITHHELD:
        return None
    before, result = _list_entries(change.versions.live), change.versions.after
    if not change.has_effect:
        return {"before": before, "after": before}
    if change.operation.is_deletion:
        return {"before": before, "after": []}
    return {"before": before, "after": None if result is None else _list_entries(result)}


def _read_last_writes(results: Sequence[ObjectResult]) -> Mapping[int, JournalEntry]:
    """Return the last request of each result that changed its object, or may have."""
    rows = JournalEntry.objects.filter(result__in=results).exclude(took_effect=False).order_by("sequence")
    return {entry.result_id: entry for entry in rows.defer("request", "sealed_request", "sealed_answer")}


def _read_after(result: ObjectResult, last: JournalEntry | None, before: list[JSONObject]) -> list[JSONObject] | None:
    """Return managedFields in the last answer; what was before if nothing was written, None if it is not known."""
    if result.outcome in _DELETED:
        return []
    if last is None:
        return before
    answer = last.answer if isinstance(last.answer, dict) else {}
    is_object = last.took_effect and answer.get("kind") == result.change.kind and answer.get("metadata")
    return _list_entries(answer) if is_object else None


def list_of_results(results: Sequence[ObjectResult]) -> list[JSONObject | None]:
    """Return managedFields of each object of a run: as the plan read them, and as the last answer has them.

    - `results`: as the reader may see them, with their documents.
    - None if the reader may not see the object; `after` is None if no answer has it.
    """
    writes, found = _read_last_writes(results), list[JSONObject | None]()
    for result in results:
        planned = present_planned(read_masked(result.change))
        if planned is not None:
            planned = {**planned, "after": _read_after(result, writes.get(result.pk), planned["before"])}
        found.append(planned)
    return found
