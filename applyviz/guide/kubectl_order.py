"""Find where kubectl does something else than applyviz with the same server-side apply to a client-side object.

Rule: `docs/semantics/migration.md`. kubectl applies first and moves the fields of client-side apply afterwards, so a
conflict ends it; applyviz moves first. kubectl then removes fields by a second apply: if the server refuses that one,
kubectl prints a warning, and what the first apply wrote stays. The first one still has everything that is removed
afterwards, so the server may refuse it where it accepts what applyviz sends. And kubectl moves the fields of managers
that own last-applied; where the annotation is gone, it moves nothing.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from applyviz.engine.objects.errors import ApplyVizError, Conflict, ConflictError
from applyviz.engine.objects.exchange import APPLY_PATCH, Answer, Request
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership import migrate, server_side
from applyviz.engine.planning.simulation.dry_run_result import describe_refusal
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.requests.takeover import find_managers
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery
from applyviz.sandbox.api.estimates import EstimatingServer

_MOMENT = "2026-01-01T00:00:00Z"


class KubectlDifference(Struct, frozen=True):
    """Where kubectl differs from applyviz.

    - `conflicts`: those that stop kubectl.
    - `first_apply`: what kubectl writes although the server refuses the removals; None if it refuses nothing.
    - `is_moving`: kubectl moves fields at all; if not, `first_apply` is all that it does.
    - `refusal`: why the server refuses the first apply, in which everything is left that is removed afterwards.
    """

    conflicts: tuple[Conflict, ...] = ()
    first_apply: JSONObject | None = None
    refusal: str = ""
    is_moving: bool = True


@lru_cache(maxsize=32)
def find_difference(given: PlaygroundQuery) -> KubectlDifference:
    """Return what kubectl does otherwise; empty if nothing differs.

    - Raises `PlaygroundQueryError`.
    """
    found = playground.read(given)
    live, options = playground.show_live(found), playground.options_of(given)
    if given.mode is not ApplyMode.SERVER or live is None or not find_managers(live, options):
        return KubectlDifference()
    conflicts = _find_conflicts(found, live, given)
    if conflicts:
        return KubectlDifference(conflicts)
    answer = _ask_first(found, live, given)
    if answer is None:
        return KubectlDifference()
    if answer.is_ok and not migrate.find_owners(live):
        return KubectlDifference(first_apply=dict(answer.body), is_moving=False)
    error = playground.estimate(given, now=_MOMENT).error
    if answer.is_ok:
        return KubectlDifference(first_apply=dict(answer.body) if error else None)
    refusal = describe_refusal(answer)
    return KubectlDifference(refusal=refusal if refusal != error else "")


def _ask_first(found: playground.Read, live: JSONObject, given: PlaygroundQuery) -> Answer | None:
    """Return the server's answer to an apply that moves nothing before."""
    gvk = found.document.ref.gvk
    kind, resource = found.catalog.find_kind(gvk), found.catalog.find_resource(gvk)
    if kind is None or resource is None:
        return None
    metadata = live["metadata"]
    path = resource.path(metadata.get("namespace") or "", metadata["name"])
    query = {"fieldManager": given.field_manager, "force": str(given.is_forced).lower(), "fieldValidation": "Strict"}
    request = Request("PATCH", path, query, APPLY_PATCH, found.document.obj)
    return EstimatingServer().answer(request, live, kind=kind, resource=resource, now=_MOMENT)


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
