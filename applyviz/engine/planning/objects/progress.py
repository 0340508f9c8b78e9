"""For a change of several writes, find what is left after some of them, and whether it is what was approved.

Rule: `docs/architecture.md`, invariant 1. Writes that move ownership change no value. Before a server-side apply they
come first, so what is left after them is the same apply to the same values; after a client-side apply they come last.
Last-applied is written after a server-side apply, as a record that is no value either.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, get_at
from applyviz.engine.ownership.client_side import find_applied
from applyviz.engine.ownership.last_applied import with_record
from applyviz.engine.ownership.managed_fields import find_entries, with_entries
from applyviz.engine.planning.digest.effects import effect
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.calls import CLIENT_SIDE_FIELDS, changes_no_value, moves_ownership

_OWNERSHIP = ["metadata", "managedFields"]
_RECORD = ["metadata", "annotations", LAST_APPLIED]


def moved_live(change: PlannedObject, done: int | None = None) -> JSONObject | None:
    """Return the live object after the ownership moves that come first in a change.

    - `done`: the number of completed requests of the change (None: all ownership moves that come first).
    """
    live = change.versions.live
    for request in takewhile(moves_ownership, change.requests[:done]):
        live = with_entries(live or {}, request.body[0]["value"])
    return live


def has_moved(change: PlannedObject, part: int, live: JSONObject) -> bool:
    """Return whether a live object shows that a write which only moves ownership is done."""
    back = [
        placeholder.managers or ()
        for placeholder in change.requests[part].placeholders
        if placeholder.rule == CLIENT_SIDE_FIELDS
    ]
    if back:
        return not find_applied(live, back[0])
    before, after = (_list_entries(moved_live(change, done) or {}) for done in (part, part + 1))
    present = _list_entries(live)
    if before.keys() == after.keys():
        return all(present.get(name) == fields for name, fields in after.items() if fields != before[name])
    return after.keys() - before.keys() <= present.keys() and not (before.keys() - after.keys()) & present.keys()


def _list_entries(obj: JSONObject) -> dict[tuple[str, ...], JSONValue]:
    names = ("manager", "operation", "apiVersion", "subresource")
    return {tuple(str(e.get(name) or "") for name in names): e.get("fieldsV1") for e in find_entries(obj) or ()}


def is_rest(change: PlannedObject, done: int, now: PlannedObject) -> bool:
    """Return whether a fresh plan is exactly the rest of a change of which `done` requests are complete.

    - Estimated ownership is ignored: the server's form of it may differ, and it determines no value.
    - An object that was deleted and recreated is another object, even with the same content.
    """
    if _find_uid(now) != _find_uid(change):
        return False
    is_applied = not all(map(moves_ownership, change.requests[:done]))
    if is_applied and all(map(changes_no_value, change.requests[done:])):
        return _only_moves_ownership(now)
    live = moved_live(change, done)
    rest = replace(change, requests=change.requests[done:], versions=replace(change.versions, live=live))
    if now.operation is Operation.UNCHANGED:
        return not _values(rest)["difference"]
    return canonical_json(_values(rest)) == canonical_json(_values(now))


def leave_record(later: Sequence[Request], obj: JSONObject) -> JSONObject:
    """Return an object without last-applied if one of the requests that follow still writes it, else unchanged."""
    return with_record(obj, "") if _writes_record(later) else obj


def _writes_record(requests: Sequence[Request]) -> bool:
    return any(changes_no_value(request) and not moves_ownership(request) for request in requests)


def _find_uid(change: PlannedObject) -> Any:
    return get_at(change.versions.live, ("metadata", "uid"))


def _only_moves_ownership(now: PlannedObject) -> bool:
    """Return whether a change keeps all values of a live object; it may include a patch that the server ignores."""
    is_good = now.operation in (Operation.UPDATE, Operation.UNCHANGED)
    return is_good and not _values(now)["difference"]


def _values(change: PlannedObject) -> JSONObject:
    found = effect(change)
    record = _RECORD if _writes_record(change.requests) else None
    kept = [e for e in found["difference"] if e["path"][:2] != _OWNERSHIP and e["path"] != record]
    return {**found, "difference": kept}
