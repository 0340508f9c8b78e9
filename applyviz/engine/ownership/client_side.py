"""Find the fields that client-side apply owns, and move them when server-side apply takes over.

Rule: client-go `util/csaupgrade`, which kubectl uses when it changes sides. In addition: of `before-first-apply`, which
the server credits with everything that existed before, and of `kubectl edit`, only last-applied fields move; and an
object without entries is treated as the server would record it. Entries of subresources and of others stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import EMPTY, FieldSet, from_paths, read_fields
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER, LAST_APPLIED, LAST_APPLIED_PATH
from applyviz.engine.objects.paths import FieldPath, PathElement, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, is_same_json
from applyviz.engine.ownership import migrate
from applyviz.engine.ownership.bookkeeping import BEFORE_FIRST_APPLY, Bookkeeper
from applyviz.engine.ownership.entry_keys import find_keys, find_left_entries
from applyviz.engine.ownership.last_applied import KUBECTL, find_annotations
from applyviz.engine.ownership.managed_fields import APPLY, UPDATE, Managed, encode, find_entries, render_entry
from applyviz.engine.schema.model import KindSchema

_ANNOTATION: Final = from_paths([LAST_APPLIED_PATH])
_ALL_ANNOTATIONS: Final = from_paths([LAST_APPLIED_PATH, LAST_APPLIED_PATH[:-1]])
_NOTHING: Final = object()
# These write more than what was applied: they give up the last-applied fields and what the manifest sets, no others.
_IN_PART: Final = (BEFORE_FIRST_APPLY, "kubectl-edit")


def track(live: JSONObject, *, kind: KindSchema) -> JSONObject:
    """Return the object with the entries that the server would add at its first apply, if it has none.

    - Returns the same object if it has entries, or if the server could not read it.
    """
    if find_entries(live):
        return live
    try:
        managed = Bookkeeper(kind, "").book_update(kind.zero, live, Managed(), BEFORE_FIRST_APPLY, "")
    except OwnershipError:
        return live
    return {**live, "metadata": {**live["metadata"], "managedFields": encode(managed)}}


def find_managers(live: JSONObject, *, manager: str) -> tuple[str, ...]:
    """Return the Update managers of client-side apply whose fields a server-side apply by `manager` takes over first.

    - kubectl's own manager by its name; `before-first-apply`, the manager itself and other commands of kubectl if they
      own last-applied.
    """
    owners = [n for n in migrate.find_owners(live) if n in (BEFORE_FIRST_APPLY, manager) or n.startswith("kubectl")]
    return find_named(live, (CLIENT_SIDE_MANAGER, *owners))


def find_named(live: JSONObject, names: Collection[str]) -> tuple[str, ...]:
    """Return the named managers that own fields by an Update of the object itself, in the order of their entries."""
    entries = (e for e in find_entries(live) or () if e.get("operation") == UPDATE and not e.get("subresource"))
    return tuple(dict.fromkeys(e["manager"] for e in entries if e.get("manager") in names))


def find_applied(live: JSONObject, names: Collection[str]) -> tuple[str, ...]:
    """Return the named managers that own fields by an Apply of the object itself, in the order of their entries."""
    entries = (e for e in find_entries(live) or () if e.get("operation") == APPLY and not e.get("subresource"))
    return tuple(dict.fromkeys(e["manager"] for e in entries if e.get("manager") in names))


def take_over(
    live: JSONObject, *, manager: str, names: Iterable[str], last_applied: JSONObject | None
) -> list[MutableObject]:
    """Return managedFields of the object after the fields of these Update managers moved to `manager`.

    - The manager `kubectl` then owns the last-applied annotation alone, so that its apply drops it: otherwise the
      server would write the preconditions of the reviewed request into it. A write after the apply puts it back, which
      must not conflict with who owned the annotations as a whole: without another one, they are gone in between.
    - Raises `OwnershipError` if an entry that must be merged cannot be read.
    """
    entries = [render_entry(entry) for entry in find_entries(live) or ()]
    for name in names:
        if name in _IN_PART:
            entries = _split(entries, name, manager, last_applied or {})
        else:
            entries = migrate.upgrade({"metadata": {"managedFields": entries}}, manager=manager, csa_managers=[name])
    annotations = find_annotations(live) or {}
    if manager == KUBECTL and LAST_APPLIED in annotations:
        claimed = _ANNOTATION if len(annotations) > 1 else _ALL_ANNOTATIONS
        entries = _claim_annotation(entries, manager, str(live.get("apiVersion") or ""), claimed)
    return entries


def hand_over(entries: list[MutableObject], *, manager: str, path: FieldPath, to: str) -> list[MutableObject]:
    """Return managedFields after a field that `manager` alone owns belongs to the Apply entry of `to` as well.

    - So do the entries of lists that it is in, and their keys, as if `to` had applied the field.
    - A field with another owner keeps its value without this, so nothing moves.
    """
    found, version = EMPTY, ""
    for entry in entries:
        owned = _read(entry)
        below = from_paths(one for one in owned if one[: len(path)] == path)
        is_own = entry.get("manager") == manager and entry.get("operation") == APPLY and not entry.get("subresource")
        if below and not is_own:
            return entries
        if below:
            found, version = below.union(find_keys(path, owned)), str(entry.get("apiVersion") or "")
    return _join(entries, to, found, version) if found else entries


def take_fields(
    entries: list[MutableObject], *, manager: str, taken: Collection[tuple[FieldPath, str]]
) -> list[MutableObject]:
    """Return managedFields after what others own at or below some fields belongs to the Apply entry of `manager`.

    - `taken`: each field with the manager that gives it up, and with it the entry of a list of which that manager would
      own only the keys. Entries of subresources stay: they are owned through another address.
    """
    kept: list[MutableObject] = []
    moved: list[tuple[FieldSet, str]] = []
    for entry in entries:
        paths = {path for path, owner in taken if owner == entry.get("manager") and not entry.get("subresource")}
        owned = _read(entry) if paths else EMPTY
        below = from_paths(one for one in owned if any(one[:end] in paths for end in range(len(one) + 1)))
        below = below.union(find_left_entries(paths, owned.difference(below)))
        kept += _without(entry, below) if below else [entry]
        moved += [(below, str(entry.get("apiVersion") or ""))] if below else []
    for found, version in moved:
        kept = _join(kept, manager, found, version)
    return kept


def list_others(live: JSONObject, path: FieldPath, *, manager: str) -> tuple[str, ...]:
    """Return the managers other than `manager` that own something at or below a field, not through a subresource.

    - Raises `OwnershipError` if an entry cannot be read.
    """
    entries = (e for e in find_entries(live) or () if e.get("manager") != manager and not e.get("subresource"))
    owners = (e.get("manager") or "" for e in entries if _owns(_read(e), path))
    return tuple(dict.fromkeys(name for name in owners if name))


def _owns(owned: FieldSet, path: FieldPath) -> bool:
    if owned.has(path):
        return True
    for element in path:
        owned = owned.below(element)
    return bool(owned)


def list_set(live: JSONObject, names: Collection[str], manifest: JSONObject) -> list[tuple[FieldPath, str]]:
    """Return the fields that a manifest sets and that these managers own in part, each with its manager.

    - Only for managers that otherwise give up nothing but last-applied fields. What they own below a field and the
      manifest does not set stays theirs, and so does the field.
    - Raises `OwnershipError` if an entry cannot be read.
    """
    found = []
    for entry in find_entries(live) or ():
        name = entry.get("manager")
        if name not in _IN_PART or name not in names or entry.get("operation") != UPDATE or entry.get("subresource"):
            continue
        owned = _read(entry)
        named = _keep_named(owned, manifest)
        kept = {path[:end] for path in owned.difference(named) for end in range(1, len(path) + 1)}
        found += [(path, name) for path in named if path not in kept]
    return found


def _read(entry: JSONObject) -> FieldSet:
    return read_fields(entry["fieldsV1"]) if entry.get("fieldsV1") is not None else EMPTY


def _join(entries: list[MutableObject], manager: str, fields: FieldSet, api_version: str) -> list[MutableObject]:
    """Return the entries with these fields in the Apply entry of the manager, which is created if needed."""
    for position, entry in enumerate(entries):
        if entry.get("manager") == manager and entry.get("operation") == APPLY and not entry.get("subresource"):
            joined = {**entry, "fieldsV1": _read(entry).union(fields).render()}
            return [*entries[:position], joined, *entries[position + 1 :]]
    head = {"manager": manager, "operation": APPLY, "apiVersion": api_version, "fieldsType": "FieldsV1"}
    return [{**head, "fieldsV1": fields.render()}, *entries]


def _without(entry: MutableObject, fields: FieldSet) -> Iterator[MutableObject]:
    """Yield the entry without these fields; nothing if it has no others."""
    owned = _read(entry)
    rest = owned.difference(fields)
    if rest:
        yield entry if len(rest) == len(owned) else {**entry, "fieldsV1": rest.render()}


def _split(entries: list[MutableObject], name: str, manager: str, last_applied: JSONObject) -> list[MutableObject]:
    kept: list[MutableObject] = []
    moved: list[tuple[FieldSet, str]] = []
    for entry in entries:
        if entry.get("manager") != name or entry.get("operation") != UPDATE or entry.get("subresource"):
            kept.append(entry)
            continue
        owned = _read(entry)
        named = _keep_named(owned, last_applied).union(owned.intersection(_ANNOTATION))
        kept += _without(entry, named)
        moved.append((named, str(entry.get("apiVersion") or "")))
    for named, api_version in moved:
        kept = _join(kept, manager, named, api_version) if named else kept
    return kept


def _claim_annotation(
    entries: list[MutableObject], manager: str, api_version: str, claimed: FieldSet
) -> list[MutableObject]:
    kept = [rest for entry in entries for rest in ([entry] if entry.get("subresource") else _without(entry, claimed))]
    return _join(kept, manager, _ANNOTATION, api_version)


def _keep_named(fields: FieldSet, value: JSONValue) -> FieldSet:
    """Return the fields that a manifest names, and their parents; names of system metadata have no owner."""
    members = frozenset(e for e in fields.members if _find(value, e) is not _NOTHING)
    children = {}
    for element, below in fields.children.items():
        found = _find(value, element)
        kept = EMPTY if found is _NOTHING else _keep_named(below, found)
        if kept:
            children[element] = kept
    return FieldSet(members, children)


def _find(value: JSONValue, element: PathElement) -> Any:
    """Return the value that an element names; an entry may leave out keys that the server fills in."""
    named = element_value(element)
    if element[0] == "f":
        return value.get(named, _NOTHING) if isinstance(value, Mapping) else _NOTHING
    value = value if isinstance(value, list) else []
    if element[0] == "k":
        items = (item for item in value if isinstance(item, Mapping))
        return next((i for i in items if all(is_same_json(i.get(k, v), v) for k, v in named.items())), _NOTHING)
    return next((item for item in value if is_same_json(item, named)), _NOTHING)
