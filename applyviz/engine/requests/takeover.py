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


def list_entries(live: JSONObject, *, manager: str, managers: tuple[str, ...]) -> list[MutableObject]:
    """Return managedFields of the object after the fields of `managers` moved to `manager`.

    - Raises `OwnershipError` if an entry that must be merged cannot be read.
    """
    return client_side.take_over(live, manager=manager, names=managers, last_applied=read_last_applied(live))


def move_ownership(target: RequestTarget, live: JSONObject, kind: KindSchema | None) -> Flow[JSONObject]:
    """Take over the fields that client-side apply owns, if the options say so; return the object afterwards.

    - Unreadable entries stay unchanged: the apply then conflicts with them, or is refused.
    - Raises `AnswerError` if the server refuses.
    """
    manager = target.options.field_manager
    if target.options.subresource or not (_takes_client_side(target.options) or target.options.takes_from):
        return live
    tracked = client_side.track(live, kind=kind) if kind and read_last_applied(live) is not None else live
    managers = find_managers(tracked, target.options)
    try:
        entries = list_entries(tracked, manager=manager, managers=managers)
    except OwnershipError:
        return live
    if entries == list(find_entries(live) or ()):
        return live
    is_tracked = bool(find_entries(live))
    version = get_at(live, ("metadata", "resourceVersion"), "")
    op = "replace" if is_tracked else "add"
    answer = yield from send(target.replace_managers(list(entries), version, managers, op))
    return dict(answer.body)


def _takes_client_side(options: ApplyOptions) -> bool:
    return options.takes_client_side or options.field_manager == SERVER_SIDE_MANAGER


def find_managers(live: JSONObject, options: ApplyOptions) -> tuple[str, ...]:
    """Return the field managers whose fields an apply with these options takes over first."""
    found = client_side.find_named(live, options.takes_from)
    if _takes_client_side(options):
        found += client_side.find_managers(live, manager=options.field_manager)
    return tuple(dict.fromkeys(found))
