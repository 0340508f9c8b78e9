"""After a client-side apply, move the fields of server-side apply to the Update entry of the field manager.

Rule:
https://kubernetes.io/docs/reference/using-api/server-side-apply/#downgrading-from-server-side-apply-to-client-side-apply.
kubectl leaves the Apply entry behind: it still owns fields that are now applied client-side. Here ownership moves last,
by one patch that is bound to the version read and changes no value: the last-applied annotation is written by then, so
an interruption in between loses nothing.
"""

from __future__ import annotations

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.engine.ownership import client_side
from applyviz.engine.ownership.managed_fields import find_entries, render_entry, with_entries
from applyviz.engine.ownership.migrate import downgrade
from applyviz.engine.requests.calls import CLIENT_SIDE_FIELDS, RequestTarget
from applyviz.engine.requests.flow import Flow, send
from applyviz.engine.requests.migrate import LAST_APPLIED_MANAGER
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyOptions


def find_managers(live: JSONObject, options: ApplyOptions) -> tuple[str, ...]:
    """Return the managers whose Apply entries a client-side apply with these options moves to its Update entry."""
    if not options.has_preconditions:
        return ()
    own = (options.field_manager, SERVER_SIDE_MANAGER, LAST_APPLIED_MANAGER) if options.takes_client_side else ()
    return client_side.find_applied(live, (*own, *options.takes_from))


def list_entries(live: JSONObject, *, manager: str, managers: tuple[str, ...]) -> list[MutableObject]:
    """Return managedFields of the object after the Apply entries of `managers` joined the Update entry of `manager`.

    - Raises `OwnershipError` if an entry that must be merged cannot be read.
    """
    entries = [render_entry(entry) for entry in find_entries(live) or ()]
    for name in managers:
        entries = downgrade(with_entries(live, entries), manager=name, csa_manager=manager)
    return entries


def move_back(target: RequestTarget, live: JSONObject) -> Flow[JSONObject]:
    """Move the Apply entries that the options name, and return the object after the move.

    - Entries that cannot be read do not move.
    - Raises `AnswerError` if the server refuses.
    """
    managers = find_managers(live, target.options)
    try:
        entries = list_entries(live, manager=target.options.field_manager, managers=managers)
    except OwnershipError:
        return live
    if not managers:
        return live
    version = get_at(live, ("metadata", "resourceVersion"), "")
    request = target.replace_managers(list(entries), version, managers, rule=CLIENT_SIDE_FIELDS)
    return dict((yield from send(request)).body)
