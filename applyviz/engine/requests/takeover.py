"""Before a server-side apply, move the fields that client-side apply owns to the field manager.

Rule:
https://kubernetes.io/docs/reference/using-api/server-side-apply/#upgrading-from-client-side-apply-to-server-side-apply.
kubectl applies first and moves ownership afterwards, which needs up to four writes and leaves the object half moved if
it is interrupted. Here the ownership moves first, by one patch that is bound to the version read and changes no value;
then nothing conflicts, removals happen, and every intermediate state is consistent.
"""

from __future__ import annotations

from applyviz.engine.merge import last_applied
from applyviz.engine.objects.errors import MergeError, OwnershipError
from applyviz.engine.objects.exchange import HandedField
from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.engine.ownership import client_side
from applyviz.engine.ownership.managed_fields import find_entries
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import Flow, send
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyOptions
from applyviz.engine.schema.model import KindSchema


def read_last_applied(live: JSONObject) -> JSONObject | None:
    """Return the manifest of the last client-side apply; None if there is none that can be read."""
    try:
        return last_applied.find(live)
    except MergeError:
        return None


def list_entries(
    live: JSONObject,
    *,
    manager: str,
    managers: tuple[str, ...],
    handed: tuple[HandedField, ...] = (),
    taken: tuple[HandedField, ...] = (),
) -> list[MutableObject]:
    """Return managedFields of the object after the fields of `managers` moved to `manager`.

    - `handed`: the fields that `manager` gives up next; the manager that gets one owns it from here on.
    - `taken`: the fields that `manager` takes from others, each from the manager that it names.
    - Raises `OwnershipError` if an entry that must be merged cannot be read.
    """
    entries = client_side.take_over(live, manager=manager, names=managers, last_applied=read_last_applied(live))
    if taken:
        wanted = [(one.path, one.manager) for one in taken]
        entries = client_side.take_fields(entries, manager=manager, taken=wanted)
    for one in handed:
        entries = client_side.hand_over(entries, manager=manager, path=one.path, to=one.manager)
    return entries


def _list_taken(target: RequestTarget, live: JSONObject, manifest: JSONObject) -> tuple[HandedField, ...]:
    """Return the fields to take from other managers: the chosen ones, and what the manifest sets of named managers."""
    options = target.options
    chosen = []
    for one in options.list_taken(target.ref.key):
        others = client_side.list_others(live, one.path, manager=options.field_manager) if one.is_live else ()
        chosen += [(one.path, name) for name in ((one.manager,) if one.manager else others)]
    found = client_side.list_set(live, options.takes_from, manifest) if options.takes_from else []
    return tuple(HandedField(path, name) for path, name in dict.fromkeys((*chosen, *found)))


def move_ownership(
    target: RequestTarget, live: JSONObject, kind: KindSchema | None, manifest: JSONObject
) -> Flow[JSONObject]:
    """Take over the fields that client-side apply owns, if the options say so; return the object afterwards.

    - A field that the manifest gives up gets its next owner by the same patch, so that the apply does not remove it.

    - Unreadable entries stay unchanged: the apply then conflicts with them, or is refused.
    - Raises `AnswerError` if the server refuses.
    """
    manager = target.options.field_manager
    given_up = target.options.list_handovers(target.ref.key)
    handed = tuple(HandedField(one.path, one.manager) for one in given_up)
    is_chosen = bool(handed or target.options.takes_from or target.options.list_taken(target.ref.key))
    if target.options.subresource or not (_takes_client_side(target.options) or is_chosen):
        return live
    tracked = track(live, kind)
    managers = find_managers(tracked, target.options)
    try:
        taken = _list_taken(target, tracked, manifest)
        entries = list_entries(tracked, manager=manager, managers=managers, handed=handed, taken=taken)
    except OwnershipError:
        return live
    if entries == list(find_entries(live) or ()):
        return live
    is_tracked = bool(find_entries(live))
    version = get_at(live, ("metadata", "resourceVersion"), "")
    op = "replace" if is_tracked else "add"
    answer = yield from send(target.replace_managers(list(entries), version, managers, op, handed=handed, taken=taken))
    return dict(answer.body)


def _takes_client_side(options: ApplyOptions) -> bool:
    return options.takes_client_side or options.field_manager == SERVER_SIDE_MANAGER


def track(live: JSONObject, kind: KindSchema | None) -> JSONObject:
    """Return an object without field owners with those that its first apply records, if client-side apply made it."""
    return client_side.track(live, kind=kind) if kind and read_last_applied(live) is not None else live


def find_managers(live: JSONObject, options: ApplyOptions) -> tuple[str, ...]:
    """Return the field managers whose fields an apply with these options takes over first."""
    found = client_side.find_named(live, options.takes_from)
    if _takes_client_side(options):
        found += client_side.find_managers(live, manager=options.field_manager)
    return tuple(dict.fromkeys(found))
