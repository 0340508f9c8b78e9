"""Remove the fields that a manager applied last time, does not apply now, and that have no other owner.

Rule: structured-merge-diff `Updater.prune`: remove what was applied last time, restore what any manager owns at any
version, and restore what the manager did not own. Nothing needs to be done if the last set is within the new one at one
version: every item and entry along a field path is then in the new set too.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import EMPTY, FieldSet
from applyviz.engine.ownership.managed_fields import ManagerIdentity, Owned
from applyviz.engine.ownership.removing import name_parents, remove_fields
from applyviz.engine.ownership.typed import collect_fields
from applyviz.engine.ownership.versions import ManagedVersions, MissingVersionError, TypedObject

# An object that loses these cannot be converted any more, which must be reported.
_TYPE_META = frozenset({"f:apiVersion", "f:kind"})


def _with_value(obj: TypedObject, value: object) -> TypedObject:
    return TypedObject(obj.topology, value, obj.api_version)


class _Pruning:
    def __init__(self, versions: ManagedVersions, owned: Mapping[ManagerIdentity, Owned]) -> None:
        self.versions = versions
        self.owned = owned
        self._named: dict[int, tuple[TypedObject, FieldSet]] = {}

    def list_named(self, obj: TypedObject) -> FieldSet:
        """Return the fields of an object with their declared parents; each object is walked once."""
        known = self._named.get(id(obj.value))
        if known is None or known[0].topology is not obj.topology:
            # The cache keeps the object beside its fields, so that its id is not reused.
            known = (obj, name_parents(obj.topology, collect_fields(obj.topology, obj.value)))
            self._named[id(obj.value)] = known
        return known[1]

    def convert(self, obj: TypedObject, api_version: str, what: str) -> TypedObject:
        try:
            return self.versions.convert(obj, api_version)
        except OwnershipError as error:
            raise OwnershipError(f"failed to convert {what}: {error.reason}", errors=error.errors) from None

    def restore_owned(self, merged: TypedObject, pruned: TypedObject) -> TypedObject:
        """Restore what any manager owns, at the versions of the entries, first at the version of the pruned object."""
        by_version: dict[str, FieldSet] = {}
        for entry in self.owned.values():
            if not self.versions.is_kept(entry.api_version):
                by_version[entry.api_version] = by_version.get(entry.api_version, EMPTY).union(entry.fields)
        first = merged.api_version
        for api_version in sorted(by_version, key=lambda v: (v != first, v)):
            fields = by_version[api_version]
            try:
                merged = self.convert(merged, api_version, f"merged object at version {api_version}")
                pruned = self.convert(pruned, api_version, f"pruned object at version {api_version}")
            except MissingVersionError:
                continue
            keep = self.list_named(pruned).union(name_parents(merged.topology, fields))
            gone = self.list_named(merged).difference(keep)
            pruned = _with_value(merged, remove_fields(merged.topology, merged.value, gone))
        return pruned

    def restore_dangling(self, merged: TypedObject, pruned: TypedObject, last: FieldSet) -> TypedObject:
        """Restore what the manager did not own."""
        try:
            pruned = self.convert(pruned, merged.api_version, "pruned object to last applied version")
        except MissingVersionError:
            return merged
        gone = (
            self.list_named(merged)
            .difference(self.list_named(pruned))
            .intersection(name_parents(merged.topology, last))
        )
        if not gone:
            return merged
        return _with_value(merged, remove_fields(merged.topology, merged.value, gone))


def prune(
    versions: ManagedVersions,
    merged: TypedObject,
    owned: Mapping[ManagerIdentity, Owned],
    current: ManagerIdentity,
    last: Owned | None,
) -> TypedObject:
    """Return the merged object without the fields that its manager gave up and no other manager owns.

    - Raises `OwnershipError` if an object cannot be converted to a version.
    """
    if last is None or not last.fields or versions.is_kept(last.api_version):
        return merged
    mine = owned[current]
    is_one_version = all(entry.api_version == mine.api_version for entry in (*owned.values(), last))
    if is_one_version and last.fields.is_subset(mine.fields) and not last.fields.members & _TYPE_META:
        return merged
    try:
        return _prune(_Pruning(versions, owned), merged, last, mine.api_version)
    except OwnershipError as error:
        raise OwnershipError(f"failed to prune fields: {error.reason}", errors=error.errors) from None


def _prune(pruning: _Pruning, merged: TypedObject, last: Owned, api_version: str) -> TypedObject:
    converted = pruning.convert(merged, last.api_version, "merged object to last applied version")
    fields = name_parents(converted.topology, last.fields)
    pruned = _with_value(converted, remove_fields(converted.topology, converted.value, fields))
    try:
        pruned = pruning.restore_owned(converted, pruned)
    except OwnershipError as error:
        raise OwnershipError(f"failed add back owned items: {error.reason}", errors=error.errors) from None
    try:
        pruned = pruning.restore_dangling(converted, pruned, last.fields)
    except OwnershipError as error:
        raise OwnershipError(f"failed add back dangling items: {error.reason}", errors=error.errors) from None
    return pruning.versions.convert(pruned, api_version)
