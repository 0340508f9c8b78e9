"""Read and write managedFields, and find the owners of a field.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management. An Apply entry is identified
by manager and subresource, an Update entry by its version as well. Entries are sorted by operation, time in whole
seconds, manager, version, subresource. A value that is not a list of entries counts as absent, as it does for the API
server; an invalid entry is an error of the whole list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import Struct, field

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import FieldSet, FieldSetMemo, read_fields
from applyviz.engine.objects.golang import quote, render_json
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, get_at
from applyviz.engine.ownership import owning

APPLY, UPDATE = "Apply", "Update"
_TEXTS = ("manager", "operation", "apiVersion", "fieldsType", "subresource")
_EPOCH = "1970-01-01T00:00:00Z"


class ManagerIdentity(NamedTuple):
    """The identity of an entry; `api_version` is "" for Apply."""

    manager: str
    operation: str
    api_version: str
    subresource: str


class Owned(NamedTuple):
    """The fields of an entry, and the version at which they are named."""

    fields: FieldSet
    api_version: str


class Managed(Struct, frozen=True):
    """All entries of an object; times are separate, because an entry may go and come back."""

    owned: dict[ManagerIdentity, Owned] = field(default_factory=dict)
    times: dict[ManagerIdentity, str] = field(default_factory=dict)


def identify(manager: str, operation: str, api_version: str, subresource: str) -> ManagerIdentity:
    """Return the identity of an entry; a manager without a name is `unknown`."""
    return ManagerIdentity(manager, operation, "" if operation == APPLY else api_version, subresource)


@lru_cache(maxsize=4096)
def normalize_time(text: str) -> str:
    """Return a time in UTC and whole seconds.

    - Raises `ValueError` if it is not an RFC 3339 time.
    """
    if "T" not in text.upper() or len(text) < 20:
        raise ValueError(f"no RFC 3339 time: {text}")
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _is_entry(raw: JSONValue) -> bool:
    if not isinstance(raw, Mapping):
        return False
    time = raw.get("time")
    if any(raw.get(k) is not None and not isinstance(raw[k], str) for k in _TEXTS):
        return False
    if time is None:
        return True
    try:
        normalize_time(time)
    except (ValueError, TypeError, AttributeError):
        return False
    return True


def find_entries(obj: JSONObject) -> list[JSONObject] | None:
    """Return the raw entries of an object; None if there are none that can be read."""
    raw = get_at(obj, ("metadata", "managedFields"))
    if not isinstance(raw, list) or not all(map(_is_entry, raw)):
        return None
    return raw


def _check_entry(position: int, raw: JSONObject) -> None:
    fields_type = raw.get("fieldsType")
    if raw.get("operation") not in (APPLY, UPDATE):
        raise OwnershipError("operation must be `Apply` or `Update`")
    if not raw.get("apiVersion"):
        raise OwnershipError("apiVersion must not be empty")
    if not fields_type:
        raise OwnershipError(f"missing fieldsType in managed fields entry {position}")
    if fields_type != "FieldsV1":
        raise OwnershipError(f"invalid fieldsType {quote(fields_type)} in managed fields entry {position}")


def _print_entry(raw: JSONObject) -> str:
    """Return an entry as Go prints it."""
    time = raw.get("time")
    moment = normalize_time(time).replace("T", " ").replace("Z", " +0000 UTC") if time else "<nil>"
    named = [raw.get(k) or "" for k in ("manager", "operation", "apiVersion")]
    rest = ["FieldsV1", render_json(raw.get("fieldsV1")), raw.get("subresource") or ""]
    return "{" + " ".join([*named, moment, *rest]) + "}"


def decode(entries: Iterable[JSONObject], memo: FieldSetMemo | None = None) -> Managed:
    """Parse raw entries; a later entry of one identity replaces an earlier one.

    - Raises `OwnershipError` (without the server's introduction) at the first invalid entry.
    """
    managed = Managed()
    read = memo.read if memo is not None else read_fields
    for position, raw in enumerate(entries):
        _check_entry(position, raw)
        identity = identify(raw.get("manager") or "", raw["operation"], raw["apiVersion"], raw.get("subresource") or "")
        try:
            fields = read(raw.get("fieldsV1"))
        except OwnershipError as error:
            raise OwnershipError(
                f"error decoding versioned set from {_print_entry(raw)}: error decoding set: {error}"
            ) from None
        managed.owned[identity] = Owned(fields, raw["apiVersion"])
        time = raw.get("time")
        managed.times[identity] = normalize_time(time) if time is not None else ""
    return managed


def _sort_key(entry: JSONObject) -> tuple[str, ...]:
    return (
        entry["operation"],
        entry.get("time") or _EPOCH,
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def render_entry(raw: JSONObject) -> MutableObject:
    """Return an entry as the API server writes it: known keys only, empty ones left out, time in UTC."""
    entry: MutableObject = {k: raw[k] for k in _TEXTS if raw.get(k)}
    if raw.get("time"):
        entry["time"] = normalize_time(raw["time"])
    if raw.get("fieldsV1") is not None:
        entry["fieldsV1"] = raw["fieldsV1"]
    return entry


def encode(managed: Managed, memo: FieldSetMemo | None = None) -> list[MutableObject]:
    """Return all entries as the API server writes them, in its order."""
    entries = []
    write = memo.write if memo is not None else FieldSet.render
    for identity, owned in managed.owned.items():
        raw = {
            "manager": identity.manager,
            "operation": identity.operation,
            "apiVersion": owned.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": write(owned.fields),
            "subresource": identity.subresource,
            "time": managed.times.get(identity),
        }
        entries.append(render_entry(raw))
    return sorted(entries, key=_sort_key)


def keep_entries(entries: list[MutableObject], known: Sequence[Any] | None) -> list[MutableObject]:
    """Return the entries; unchanged entries are the same Python objects, so that later comparisons are cheap."""
    if not known:
        return entries
    return [next((before for before in known if before == entry), entry) for entry in entries]


def with_entries(obj: JSONObject, entries: list[MutableObject] | None) -> MutableObject:
    """Return the object with its managedFields replaced; None and [] remove them."""
    metadata = obj.get("metadata")
    if not entries:
        if not isinstance(metadata, Mapping) or "managedFields" not in metadata:
            return dict(obj)
        return {**obj, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}
    known: JSONObject = metadata if isinstance(metadata, Mapping) else {}
    return {**obj, "metadata": {**known, "managedFields": entries}}


class OwnedFields(Struct, frozen=True):
    """One entry: its owner and the fields it owns."""

    owner: Owner
    fields: FieldSet


class FieldOwners(Struct, frozen=True):
    """The field owners of an object, in the order of its entries."""

    entries: tuple[OwnedFields, ...] = ()

    def of(self, path: FieldPath) -> tuple[Owner, ...]:
        """Return the owners of a field; who owns only the map around it does not own the field."""
        return tuple(e.owner for e in self.entries if e.fields.has(path))

    def start(self, after: FieldOwners) -> owning.OwnerCursor:
        """Return a cursor that finds the owners of many fields, before and after a change, on one walk."""
        return owning.start([(e.owner, e.fields) for e in self.entries], [(e.owner, e.fields) for e in after.entries])


def read_owners(obj: JSONObject, memo: FieldSetMemo | None = None) -> FieldOwners:
    """Return the field owners from the managedFields of an object; unreadable entries are skipped."""
    found = []
    read = memo.recall if memo is not None else read_fields
    for raw in find_entries(obj) or ():
        try:
            fields = read(raw.get("fieldsV1"))
        except OwnershipError:
            continue
        owner = Owner(
            raw.get("manager") or "",
            raw.get("operation") or "",
            raw.get("apiVersion") or "",
            raw.get("subresource") or "",
            normalize_time(raw["time"]) if raw.get("time") else "",
        )
        found.append(OwnedFields(owner, fields))
    return FieldOwners(tuple(found))
