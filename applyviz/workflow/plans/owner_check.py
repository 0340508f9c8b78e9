"""Compare the field owners that a plan promised with the owners of the live object, in both directions.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management. An owner that was promised and
is missing is a difference, and so is one that the plan did not promise. Fields that other managers write through a
subresource are theirs, and so is everything of a manager that neither the plan nor the object before it names. Who
created a map beneath metadata is not compared, because several managers share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from applyviz.engine.objects.fieldsets import EMPTY, FieldSet, FieldSetMemo
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING, LeafFinder

_Key: TypeAlias = tuple[str, str]
_Owners: TypeAlias = dict[_Key, FieldSet]


class OwnerDifference(Struct, frozen=True):
    """One field with other owners than promised; an owner is written as `manager (operation)`."""

    path: FieldPath
    promised: tuple[str, ...]
    got: tuple[str, ...]

    def name_owners(self) -> dict[str, JSONValue]:
        """Return the promised owners and those found, as they are recorded."""
        pairs = (("promised", self.promised), ("got", self.got))
        return {name: f"owners: {', '.join(owners) or 'none'}" for name, owners in pairs}


def states_owners(promised: JSONObject, *, memo: FieldSetMemo | None = None) -> bool:
    """Return whether a plan promises owners; it does not where the entries of an object cannot be read."""
    return bool(read_owners(promised, memo).entries)


def find_wrong_owners(
    promised: JSONObject,
    got: JSONObject,
    *,
    manager: str,
    root: Node | None,
    is_confirmed: bool,
    before: JSONObject | None = None,
    has_moved: bool = False,
    memo: FieldSetMemo | None = None,
) -> tuple[OwnerDifference, ...]:
    """Return the fields whose owners are not as promised, in path order.

    - `manager`: the field manager of the plan. `before`: the object before the change.
    - `has_moved`: others may have written since; then only owners that the plan adds or removes are compared.
    - `memo`: the field sets that were read from these objects already.
    - Without `is_confirmed`, owning a field that the server added to the promised object is no difference.
    """
    if got is promised:
        return ()
    wanted, found, earlier = (_read(one, manager, memo) for one in (promised, got, before or {}))
    missing, extra = _Sides(), _Sides()
    for key in sorted({*wanted, *found}):
        old, new, real = (owners.get(key, EMPTY) for owners in (earlier, wanted, found))
        if key not in wanted and key not in earlier and key[0] != manager:
            continue
        if has_moved:
            missing.add(key, new.difference(old).difference(real))
            extra.add(key, old.difference(new).intersection(real))
        else:
            missing.add(key, new.difference(real))
            extra.add(key, real.difference(new))
    paths = [path for path in {*missing.owners, *extra.owners} if not _is_shared_map(path)]
    if not is_confirmed:
        finder = LeafFinder(root, promised)
        paths = [path for path in paths if path in missing.owners or finder.find(path) is not MISSING]
    return tuple(_describe(path, wanted, found) for path in sorted(paths))


def count_owned_fields(
    promised: JSONObject, got: JSONObject, *, manager: str, memo: FieldSetMemo | None = None
) -> dict[str, int]:
    """Return the number of fields of each promised owner that the live object states too, by `manager (operation)`."""
    wanted, found = _read(promised, manager, memo), _read(got, manager, memo)
    shared = {key: len(fields.intersection(found.get(key, EMPTY))) for key, fields in wanted.items()}
    return {_name_key(key): number for key, number in sorted(shared.items()) if number}


class _Sides:
    """The owners by field, while they are collected."""

    def __init__(self) -> None:
        self.owners: dict[FieldPath, list[_Key]] = {}

    def add(self, key: _Key, fields: FieldSet) -> None:
        for path in fields:
            self.owners.setdefault(path, []).append(key)


def _read(obj: JSONObject, manager: str, memo: FieldSetMemo | None) -> _Owners:
    found: _Owners = {}
    for entry in read_owners(obj, memo).entries:
        owner = entry.owner
        if owner.subresource and owner.manager != manager:
            continue
        key = (owner.manager, owner.operation)
        found[key] = found.get(key, EMPTY).union(entry.fields)
    return found


def _is_shared_map(path: FieldPath) -> bool:
    return len(path) == 2 and path[0] == "f:metadata"


def _describe(path: FieldPath, wanted: _Owners, found: _Owners) -> OwnerDifference:
    return OwnerDifference(path, tuple(_name(wanted, path)), tuple(_name(found, path)))


def _name(owners: _Owners, path: FieldPath) -> Iterator[str]:
    return (_name_key(key) for key, fields in sorted(owners.items()) if fields.has(path))


def _name_key(key: _Key) -> str:
    return f"{key[0]} ({key[1]})"
