"""Deletions of a run: what is left to do for one, what its end means, and which objects still need the others.

Rule: `kubectl delete --wait`: the object is read until it is gone or has another uid. In a review
that deletes, an object that is already gone counts as deleted, as with `--ignore-not-found`.
"""

from __future__ import annotations

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.known_names import FOREGROUND
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.sets.dependencies import find_dependencies
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectResult
from applyviz.workflow.runs.journal import ObjectOutcome


def is_going(change: PlannedObject, live: JSONObject | None) -> bool:
    """Return whether no request is needed: the object of a reviewed deletion is gone, or being deleted.

    - A write that ends a deletion is needed as long as the object is there.
    """
    is_leaving = not change.is_ended and bool(get_at(live, ("metadata", "deletionTimestamp")))
    return change.operation is Operation.DELETE and (live is None or is_leaving)


def goes_with(change: PlannedObject, part: int) -> bool:
    """Return whether an object goes with one of its requests: a deletion, or the write that ends one."""
    if change.is_ended:
        return part == max(number for number, request in enumerate(change.requests) if request.is_write)
    return change.requests[part].method == "DELETE"


def is_done(request: Request, live: JSONObject | None) -> bool:
    """Return whether live shows that the request with which an object goes was carried out."""
    return live is None or (request.method == "DELETE" and bool(get_at(live, ("metadata", "deletionTimestamp"))))


def describe_remaining(live: JSONObject, seconds: float) -> str:
    """Return why an object is not gone after its deletion was accepted, in one sentence."""
    finalizers = [str(name) for name in get_at(live, ("metadata", "finalizers")) or ()]
    why = f"finalizers: {', '.join(finalizers)}" if finalizers else "finalizers?"
    if finalizers == [FOREGROUND]:
        why = "its dependents are deleted first"
    return f"it is being deleted, and still there after {seconds:g} s ({why})"


def conclude(result: ObjectResult, live: JSONObject | None, *, was_sent: bool) -> ObjectOutcome:
    """Return the outcome of a deletion from the object as it was read last.

    - `was_sent`: whether this run sent a request for it.
    """
    if live is not None:
        return ObjectOutcome(Outcome.DIFFERS, "it is still there")
    if was_sent:
        return ObjectOutcome(Outcome.DELETED, "it is gone")
    if not result.checked:
        return ObjectOutcome(Outcome.UNCHANGED, "it was gone before the run: nothing was sent")
    return ObjectOutcome(Outcome.DELETED, "it is gone: its deletion had begun already, and nothing was sent")


def conclude_unwritten(change: PlannedObject) -> ObjectOutcome:
    """Return the outcome of an object that a plan lists and does not write."""
    is_absent = change.operation is Operation.NOT_FOUND
    return ObjectOutcome(Outcome.UNCHANGED, "not found: nothing to delete" if is_absent else "")


def list_needed(change: PlannedObject) -> frozenset[tuple[str, str, str, str]]:
    """Return the keys of the objects that a remaining object needs, which stay with it."""
    live = change.versions.live
    return find_dependencies(change.ref, live) if live is not None else frozenset()


def describe_needed(ref: ObjectRef) -> str:
    """Return why an object is not deleted: another one that needs it is still there."""
    return f"it stays while {ref}, which needs it, is not deleted"
