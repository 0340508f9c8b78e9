"""Show a change of a Secret to people who may not read that Secret: the manifest against last applied.

Rule: whether a value of the manifest equals the live value, and everything that follows from it (operation, fields,
requests, conflicts, risks, errors, certainty), answers a guess. The remainder does not depend on a live value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.exchange import APPLY_PATCH
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject, Versions

NOT_SHOWN = "how it compares with the live Secret is not shown to you, because you may not read that Secret"


def _list_entries(obj: JSONObject | None) -> Iterator[tuple[str, JSONValue]]:
    for holder in ("data", "stringData"):
        values = (obj or {}).get(holder)
        yield from values.items() if isinstance(values, Mapping) else ()


def describe_entries(change: PlannedObject) -> str:
    """Return the entries of a masked manifest that differ from last applied, by name; "" if that is unknown."""
    before, now = dict(_list_entries(change.versions.last_applied)), dict(_list_entries(change.versions.manifest))
    if change.versions.last_applied is None:
        return ""
    moved = sorted(name for name in {**before, **now} if before.get(name) != now.get(name))
    return f"against what was last applied, {', '.join(moved) or 'nothing'} changes"


def _name_plain_method(change: PlannedObject) -> str:
    """Return the method of an apply without replacement: a replacement would reveal that a value differs."""
    if change.operation is not Operation.REPLACE:
        return change.method
    is_server_side = change.requests[-1].content_type == APPLY_PATCH
    return "server-side apply" if is_server_side else "strategic merge patch"


def withhold_live(change: PlannedObject) -> PlannedObject:
    """Return a masked change without anything that depends on live values."""
    reason = describe_entries(change)
    return PlannedObject(
        ref=change.ref,
        operation=Operation.WITHHELD,
        versions=Versions(last_applied=change.versions.last_applied, manifest=change.versions.manifest),
        certainty=Certainty.UNKNOWN,
        certainty_reason="; ".join(filter(None, (NOT_SHOWN, reason))),
        method=_name_plain_method(change),
        position=change.position,
        end_line=change.end_line,
        step=change.step,
    )
