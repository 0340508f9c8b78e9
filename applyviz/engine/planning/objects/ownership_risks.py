"""Find the risks of chosen ownership moves: fields given to other managers or taken from them.

Rule: read from the requests, as they are sent; client-side, from what last-applied forgets. The move between
client-side and server-side apply of one tool is no risk: nobody else owns fields before or after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from applyviz.engine.explain.reasons import Reason
from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import MergeError, OwnershipError
from applyviz.engine.objects.exchange import HandedField
from applyviz.engine.objects.fieldsets import read_fields
from applyviz.engine.objects.lookups import ABSENT, FieldFinder
from applyviz.engine.objects.paths import FieldPath, fields, render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership.client_side import find_named
from applyviz.engine.ownership.managed_fields import find_entries
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Handover
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.ownership import NOTHING_MOVES, OWNERSHIP_MOVED
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN

_NAMED = 3
_OWNERS = fields("metadata", "managedFields")
_CLEARING = (Reason.OWNERS_CLEARED, Reason.PATCH_REMOVES)


def name_fields(paths: Iterable[FieldPath]) -> str:
    """Return the first of some fields by name, and how many more there are."""
    names = [render_path(path).removeprefix(".") for path in paths]
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _make(how: str, **facts: str) -> Risk:
    return OWNERSHIP_MOVED.at(facts={"how": how, **facts})


def _group(fields: Iterable[HandedField]) -> dict[str, list[FieldPath]]:
    found: dict[str, list[FieldPath]] = {}
    for one in fields:
        found.setdefault(one.manager, []).append(one.path)
    return found


def _list_forgotten(change: PlannedObject, options: ApplyOptions) -> list[FieldPath]:
    """Return the given-up fields that the last-applied annotation still has."""
    try:
        before = last_applied.find(change.versions.live or {})
    except MergeError:
        return []
    given = (one.path for one in options.list_handovers(change.ref.key))
    finder = FieldFinder(before)
    return [path for path in given if finder.find(path) is not ABSENT]


def find_moves(change: PlannedObject, options: ApplyOptions) -> Iterator[Risk]:
    """Yield a risk for each manager that gets or loses fields by choice, and for a manifest that clears all owners."""
    manager = options.field_manager
    if any(field.path == _OWNERS and field.reason in _CLEARING for field in change.fields):
        owners = dict.fromkeys(str(entry.get("manager")) for entry in find_entries(change.versions.live or {}) or ())
        cleared = _make("cleared", managers=", ".join(owners))
        yield replace(cleared, level=RiskLevel.HIGH, path=_OWNERS)
    for placeholder in (one for request in change.requests for one in request.placeholders):
        for to, paths in _group(placeholder.handed).items():
            yield _make("handed", to=to, fields=name_fields(paths))
        named = [name for name in placeholder.managers or () if name in options.takes_from]
        for source, paths in _group(one for one in placeholder.taken if one.manager not in named).items():
            yield _make("taken", manager=manager, source=source, fields=name_fields(paths))
        if named:
            yield _make("managers", manager=manager, source=", ".join(named))
    if options.mode is ApplyMode.CLIENT and change.has_effect and change.versions.live is not None:
        forgotten = _list_forgotten(change, options)
        if forgotten:
            yield _make("forgotten", fields=name_fields(forgotten))


def _count_fields(entry: JSONObject) -> str:
    """Return the owner of an entry, with how it writes and how many fields it owns."""
    how = ", ".join(filter(None, (str(entry.get("operation")), str(entry.get("subresource") or ""))))
    try:
        count = len(read_fields(entry["fieldsV1"])) if entry.get("fieldsV1") is not None else 0
    except OwnershipError:
        return f"{entry.get('manager')} ({how})"
    return f"{entry.get('manager')} ({how}: {count})"


def _list_idle(change: PlannedObject, options: ApplyOptions) -> Iterator[tuple[dict[str, str], list[FieldPath]]]:
    """Yield the facts of each choice that moves nothing, with its fields."""
    placeholders = [one for request in change.requests for one in request.placeholders]
    taken = {(one.path, one.manager) for placeholder in placeholders for one in placeholder.taken}
    moved = {name for one in placeholders for name in one.managers or ()} | {name for _, name in taken}
    is_unchanged, is_server_side = change.operation is Operation.UNCHANGED, options.mode is ApplyMode.SERVER
    if is_unchanged and options.takes_from and moved.isdisjoint(options.takes_from):
        is_part = is_server_side and find_named(change.versions.live or {}, options.takes_from)
        yield {"how": "part" if is_part else options.mode.value, "managers": ", ".join(options.takes_from)}, []
    if not is_server_side:
        return
    given = [one.path for one in options.list_handovers(change.ref.key)]
    if is_unchanged and given:
        yield {"how": "given"}, given
    taken |= {(path, "") for path, _ in taken}
    idle: dict[str, list[FieldPath]] = {}
    for one in options.list_taken(change.ref.key):
        if (one.path, one.manager) not in taken:
            idle.setdefault(one.manager, []).append(one.path)
    for manager, paths in idle.items():
        how = "self" if manager == options.field_manager else "named" if manager else "others"
        yield {"how": how, "managers": manager}, paths


def find_idle_moves(change: PlannedObject, options: ApplyOptions) -> Iterator[Risk]:
    """Yield why fields do not move that were to move: their manager owns nothing that can."""
    live = change.versions.live
    if live is None or not options.is_applying or change.operation not in (Operation.UPDATE, Operation.UNCHANGED):
        return
    for facts, paths in _list_idle(change, options):
        named = {"fields": name_fields(paths)} if paths else {}
        owners = ", ".join(map(_count_fields, find_entries(live) or ()))
        yield NOTHING_MOVES.at(facts={**facts, **named, "owners": owners})


def drop_intended(risks: Iterable[Risk], given: Iterable[Handover]) -> tuple[Risk, ...]:
    """Return the risks without those of removals that do not happen because the field is handed over."""
    paths = [one.path for one in given]
    return tuple(
        risk
        for risk in risks
        if risk.kind is not REMOVAL_WILL_NOT_HAPPEN or not any(risk.path[: len(p)] == p for p in paths)
    )
