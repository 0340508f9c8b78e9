"""Find where kubectl does something else than applyviz with the same server-side apply to a client-side object.

Rule: `docs/semantics/migration.md`. kubectl applies first and moves the fields of client-side apply afterwards, so a
conflict ends it; applyviz moves first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from applyviz.engine.objects.errors import ApplyVizError, Conflict, ConflictError
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership import server_side
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.requests.takeover import find_managers
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery

_MOMENT = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class KubectlDifference:
    """The conflicts that stop kubectl."""

    conflicts: tuple[Conflict, ...] = ()


@lru_cache(maxsize=32)
def find_difference(given: PlaygroundQuery) -> KubectlDifference:
    """Return what kubectl does otherwise; empty if nothing differs.

    - Raises `PlaygroundQueryError`.
    """
    found = playground.read(given)
    live, options = playground.show_live(found), playground.options_of(given)
    if given.mode is not ApplyMode.SERVER or live is None or not find_managers(live, options):
        return KubectlDifference()
    return KubectlDifference(_find_conflicts(found, live, given))


def _find_conflicts(found: playground.Read, live: JSONObject, given: PlaygroundQuery) -> tuple[Conflict, ...]:
    """Return the conflicts of an apply that moves nothing before."""
    kind = found.catalog.find_kind(found.document.ref.gvk)
    if kind is None:
        return ()
    manager, force = given.field_manager, given.is_forced
    try:
        server_side.apply(live, found.document.obj, kind=kind, manager=manager, force=force, now=_MOMENT)
    except ConflictError as error:
        return tuple(error.conflicts)
    except ApplyVizError:
        return ()  # the answer itself says why nothing can be applied
    return ()
