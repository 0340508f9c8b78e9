"""Find the risks of chosen ownership moves: fields given to other managers or taken from them.

Rule: read from the requests, as they are sent; client-side, from what last-applied forgets. The move between
client-side and server-side apply of one tool is no risk: nobody else owns fields before or after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from applyviz.engine.explain.reasons import Reason
from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.exchange import HandedField
from applyviz.engine.objects.lookups import ABSENT, FieldFinder
from applyviz.engine.objects.paths import FieldPath, fields, render_path
from applyviz.engine.ownership.managed_fields import find_entries
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Handover
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.planning.ownership import OWNERSHIP_MOVED
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


def drop_intended(risks: Iterable[Risk], given: Iterable[Handover]) -> tuple[Risk, ...]:
    """Return the risks without those of removals that do not happen because the field is handed over."""
    paths = [one.path for one in given]
    return tuple(
        risk
        for risk in risks
        if risk.kind is not REMOVAL_WILL_NOT_HAPPEN or not any(risk.path[: len(p)] == p for p in paths)
    )
