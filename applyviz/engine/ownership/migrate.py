"""Move ownership between the entries of client-side and server-side apply.

Rule: client-go `util/csaupgrade`, which kubectl uses for its own entries. The Apply entry of the manager takes the
fields of the Update entry of the same version; without one, the first Update entry becomes the Apply entry. All Update
entries of these managers are removed. By default the managers that own the last-applied annotation are moved. There is
no library for the other direction: kubectl leaves the Apply entry behind, so later removals by server-side apply do not
happen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import FieldSet, read_fields
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER, LAST_APPLIED_PATH
from applyviz.engine.objects.values import JSONObject, MutableObject
from applyviz.engine.ownership.managed_fields import APPLY, UPDATE, find_entries, render_entry

# The message of the server's reader for an empty value.
_NO_FIELDS: Final = (
    "ReadMapCB: expect { or n, but found \x00, error found in #0 byte of ...||..., bigger context ...||..."
)


def _read(entry: JSONObject) -> FieldSet:
    if entry.get("fieldsV1") is None:
        raise OwnershipError(f"failed to convert fields to set: {_NO_FIELDS}")
    try:
        return read_fields(entry["fieldsV1"])
    except OwnershipError as error:
        raise OwnershipError(f"failed to convert fields to set: {error.reason}") from None


def find_owners(live: JSONObject) -> tuple[str, ...]:
    """Return the Update managers that own the last-applied annotation."""
    found = []
    for entry in find_entries(live) or ():
        try:
            if entry.get("operation") == UPDATE and _read(entry).has(LAST_APPLIED_PATH):
                found.append(entry.get("manager") or "")
        except OwnershipError:
            continue
    return tuple(dict.fromkeys(found))


def upgrade(live: JSONObject, *, manager: str, csa_managers: Iterable[str] | None = None) -> list[MutableObject]:
    """Return managedFields of the object after the entries of client-side apply moved to `manager`.

    - `csa_managers`: managers to move; None moves those that own the last-applied annotation.
    - Raises `OwnershipError` if an entry that must be merged cannot be read.
    """
    names = find_owners(live) if csa_managers is None else tuple(csa_managers)
    entries = [render_entry(e) for e in find_entries(live) or ()]
    # Go iterates over a map here; with few managers it mostly keeps their order.
    for name in dict.fromkeys(names):
        entries = _upgrade_one(entries, name, manager)
    return entries


def _find_index(entries: list[MutableObject], manager: str, operation: str, api_version: str | None = None) -> int:
    for position, entry in enumerate(entries):
        if (
            entry.get("manager", "") == manager
            and entry.get("operation") == operation
            and not entry.get("subresource")
            and api_version in (None, entry.get("apiVersion", ""))
        ):
            return position
    return -1


def _upgrade_one(entries: list[MutableObject], csa_manager: str, manager: str) -> list[MutableObject]:
    target = _find_index(entries, manager, APPLY)
    entries = list(entries)
    if target < 0:
        target = _find_index(entries, csa_manager, UPDATE)
        if target < 0:
            return entries
        entries[target] = render_entry({**entries[target], "manager": manager, "operation": APPLY})
    joined = _read(entries[target])
    source = _find_index(entries, csa_manager, UPDATE, entries[target].get("apiVersion", ""))
    if source >= 0:
        joined = joined.union(_read(entries[source]))
    entries[target] = {**entries[target], "fieldsV1": joined.render()}
    return [
        e
        for e in entries
        if e.get("manager", "") != csa_manager or e.get("operation") != UPDATE or e.get("subresource")
    ]


def downgrade(live: JSONObject, *, manager: str, csa_manager: str = CLIENT_SIDE_MANAGER) -> list[MutableObject]:
    """Return managedFields of the object after the Apply entry of `manager` moved back to client-side apply.

    - Its fields join the Update entry of `csa_manager` at the same version, or become that entry; subresources stay.
      Write the last-applied annotation first, or later removals cannot be calculated.
    - Raises `OwnershipError` if an entry that must be merged cannot be read.
    """
    entries = [render_entry(e) for e in find_entries(live) or ()]
    source = _find_index(entries, manager, APPLY)
    if source < 0:
        return entries
    owned = _read(entries[source])
    moved = render_entry({**entries[source], "manager": csa_manager, "operation": UPDATE})
    target = _find_index(entries, csa_manager, UPDATE, moved.get("apiVersion", ""))
    if target < 0:
        return [moved if position == source else e for position, e in enumerate(entries)]
    joined = _read(entries[target]).union(owned).render()
    times = [e["time"] for e in (entries[target], moved) if "time" in e]
    merged = {**entries[target], "fieldsV1": joined, **({"time": max(times)} if times else {})}
    entries = [merged if position == target else e for position, e in enumerate(entries)]
    return [e for position, e in enumerate(entries) if position != source]
