"""Find where kubectl does something else than applyviz with the same server-side apply to a client-side object.

Rule: `docs/semantics/migration.md`. kubectl applies first and moves the fields of client-side apply afterwards, so a
conflict ends it; applyviz moves first. kubectl then removes fields by a second apply: if the server refuses that one,
kubectl prints a warning, and what the first apply wrote stays. The first one still has everything that is removed
afterwards, so the server may refuse it where it accepts what applyviz sends. And kubectl moves all fields of the
managers that own last-applied, whoever they are; where nobody owns it, it moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from applyviz.engine.objects.errors import ApplyVizError, Conflict, ConflictError, OwnershipError
from applyviz.engine.objects.exchange import APPLY_PATCH, Answer, Request
from applyviz.engine.objects.known_names import LAST_APPLIED, LAST_APPLIED_PATH
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.engine.ownership import migrate, server_side
from applyviz.engine.ownership.last_applied import has_record
from applyviz.engine.ownership.managed_fields import APPLY, read_owners
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.simulation.dry_run_result import describe_refusal
from applyviz.engine.requests.migrate import LAST_APPLIED_MANAGER
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode, ApplyOptions
from applyviz.engine.requests.takeover import find_managers, track
from applyviz.guide import playground
from applyviz.guide.given import PlaygroundQuery
from applyviz.sandbox.api.estimates import EstimatingServer

_MOMENT = "2026-01-01T00:00:00Z"
_RECORDED = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid")


class KubectlDifference(Struct, frozen=True):
    """Where kubectl differs from applyviz.

    - `conflicts`: those that stop kubectl.
    - `first_apply`: what kubectl writes although the server refuses the removals; None if it refuses nothing.
    - `is_moving`: kubectl moves fields at all; if not, `first_apply` is all that it does.
    - `refusal`: why the server refuses the first apply, in which everything is left that is removed afterwards.
    - `result`: the object after kubectl moved the fields of `moved`, if it has other values or owners. `keepers` own
      last-applied by server-side apply: kubectl leaves it to them.
    """

    conflicts: tuple[Conflict, ...] = ()
    first_apply: JSONObject | None = None
    refusal: str = ""
    is_moving: bool = True
    result: JSONObject | None = None
    moved: tuple[str, ...] = ()
    keepers: tuple[str, ...] = ()


@lru_cache(maxsize=32)
def find_difference(given: PlaygroundQuery) -> KubectlDifference:
    """Return what kubectl does otherwise; empty if nothing differs.

    - Raises `PlaygroundQueryError`.
    """
    found = playground.read(given)
    live, options = playground.show_live(found), playground.options_of(given)
    if given.mode is not ApplyMode.SERVER or live is None or not _is_moving(found, live, options):
        return KubectlDifference()
    conflicts = _find_conflicts(found, live, given)
    if conflicts:
        return KubectlDifference(conflicts)
    first = _ask(found, live, given)
    if first is None:
        return KubectlDifference()
    if not first.is_ok:
        refusal = describe_refusal(first)
        return KubectlDifference(refusal=refusal if refusal != playground.estimate(given, now=_MOMENT).error else "")
    moved, keepers = migrate.find_owners(first.body), _find_keepers(live, options)
    if not moved and not keepers:
        return KubectlDifference(first_apply=dict(first.body), is_moving=False)
    return _compare_second(found, dict(first.body), given, KubectlDifference(moved=moved, keepers=keepers))


def _is_moving(found: playground.Read, live: JSONObject, options: ApplyOptions) -> bool:
    """Return whether applyviz or kubectl moves fields of an object; of a client that moves none, neither."""
    tracked = track(live, found.catalog.find_kind(found.document.ref.gvk))
    own = find_managers(tracked, options)
    return bool(own or (options.takes_client_side and migrate.find_owners(tracked)) or _find_keepers(live, options))


def _find_keepers(live: JSONObject, options: ApplyOptions) -> tuple[str, ...]:
    """Return the other managers that own last-applied by server-side apply, of which only `kubectl` takes it."""
    if options.field_manager != SERVER_SIDE_MANAGER or not has_record(live):
        return ()
    owners = [
        e.owner for e in read_owners(live).entries if e.owner.operation == APPLY and e.fields.has(LAST_APPLIED_PATH)
    ]
    return tuple(o.manager for o in owners if o.manager not in (SERVER_SIDE_MANAGER, LAST_APPLIED_MANAGER))


def _compare_second(
    found: playground.Read, first: JSONObject, given: PlaygroundQuery, movers: KubectlDifference
) -> KubectlDifference:
    """Return what differs after kubectl moved the fields and applied again."""
    try:
        entries = migrate.upgrade(first, manager=given.field_manager)
    except OwnershipError:
        return KubectlDifference()
    second = _ask(found, {**first, "metadata": {**first["metadata"], "managedFields": entries}}, given)
    ours = playground.estimate(given, now=_MOMENT)
    if second is None or not second.is_ok:
        return KubectlDifference(first_apply=first if ours.error else None)
    if ours.operation is Operation.BLOCKED or _is_same(second.body, ours.versions.after or {}):
        return KubectlDifference()
    return replace(movers, result=dict(second.body))


def _is_same(theirs: JSONObject, ours: JSONObject) -> bool:
    return is_same_json(*({**_list_values(obj), "owners": _list_owners(obj)} for obj in (theirs, ours)))


def _list_values(obj: JSONObject) -> JSONObject:
    """Return an object without what a server records of writes, and without last-applied."""
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _RECORDED}
    annotations = {k: v for k, v in (metadata.pop("annotations", None) or {}).items() if k != LAST_APPLIED}
    return {**obj, "metadata": {**metadata, "annotations": annotations}, "status": None}


def _list_owners(obj: JSONObject) -> Sequence[JSONValue]:
    found = (e for e in read_owners(obj).entries if e.owner.manager != LAST_APPLIED_MANAGER)
    kept = (
        [e.owner.manager, e.owner.operation, e.owner.subresource, sorted(map(render_path, e.fields))] for e in found
    )
    return sorted(kept)


def _ask(found: playground.Read, live: JSONObject, given: PlaygroundQuery) -> Answer | None:
    """Return the server's answer to an apply of the manifest alone."""
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
