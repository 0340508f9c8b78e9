"""Update field ownership after a change: the part that applies and updates share.

Rule: structured-merge-diff `merge.Updater` and the field managers of apimachinery around it. Each entry is compared at
its own version; a manager loses the fields that were removed or that others changed; an entry without fields is
dropped. Names, versions and system metadata have no owner. Beyond ten Update entries the oldest are merged into
`ancient-changes`, by version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import EMPTY, FieldSet, FieldSetMemo, from_paths
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.ownership.comparing import OwnerComparison, compare
from applyviz.engine.ownership.conflicts import render_identity
from applyviz.engine.ownership.errors import name_object
from applyviz.engine.ownership.managed_fields import UPDATE, Managed, ManagerIdentity, Owned, identify
from applyviz.engine.ownership.removing import reconcile
from applyviz.engine.ownership.versions import ManagedVersions, MissingVersionError, TypedObject, make_typed
from applyviz.engine.schema.model import KindSchema

MAX_UPDATE_ENTRIES: Final = 10
ANCIENT_CHANGES: Final = "ancient-changes"
BEFORE_FIRST_APPLY: Final = "before-first-apply"

_SYSTEM_METADATA = ("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation")
_NOBODYS: Final = from_paths(
    [
        fields("apiVersion"),
        fields("kind"),
        fields("metadata"),
        *(fields("metadata", n) for n in (*_SYSTEM_METADATA, "managedFields", "resourceVersion")),
    ]
)
# The manager of the current update, before its fields are merged with those of its entry.
_CURRENT: Final = ManagerIdentity("current-operation", UPDATE, "", "")


class TakenFieldsError(Exception):
    """Other managers own fields that would change: their identities with the fields."""

    def __init__(self, found: Mapping[ManagerIdentity, FieldSet]) -> None:
        super().__init__(f"{len(found)} managers")
        self.found = found


class Bookkeeper:
    """Ownership of one object in one operation on one subresource ("" for the main resource)."""

    def __init__(self, kind: KindSchema, subresource: str, memo: FieldSetMemo | None = None) -> None:
        self.kind = kind
        self.memo = memo
        self.subresource = subresource
        self.api_version = kind.gvk.api_version
        self.versions = ManagedVersions(kind)
        self._resets = {v: from_paths(paths) for (s, v), paths in kind.reset_fields.items() if s == subresource}

    def get_resets(self, api_version: str) -> FieldSet:
        """Return the fields that this write excludes from ownership at a version."""
        return self._resets.get(api_version, EMPTY)

    def identify(self, manager: str, operation: str) -> ManagerIdentity:
        """Return the identity under which this operation owns fields."""
        return identify(manager or "unknown", operation, self.api_version, self.subresource)

    def check(
        self, obj: JSONObject, what: str, how: str, *, allow_duplicates: bool, like: JSONValue = None
    ) -> TypedObject:
        """Return the object as a typed one; `like` is one that already passed the same check.

        - Raises `OwnershipError` that begins with `what`, names the object and says `how` it failed.
        """
        try:
            topology = self.versions.topology
            return make_typed(topology, obj, self.api_version, allow_duplicates=allow_duplicates, like=like)
        except OwnershipError as error:
            reason = f"{what} ({name_object(obj)}){how}: {error.reason}"
            raise OwnershipError(reason, error.code, error.errors) from None

    def at_own_version(self, obj: JSONObject) -> JSONObject:
        """Return the object at the version of the request; a live custom resource may be stored at another."""
        if not self.kind.is_custom or obj.get("apiVersion") == self.api_version:
            return obj
        return {**obj, "apiVersion": self.api_version}

    def reconcile(self, live: TypedObject, owned: Mapping[ManagerIdentity, Owned]) -> dict[ManagerIdentity, Owned]:
        """Return all entries under the current topology; entries of removed versions are dropped."""
        result = {}
        for identity, entry in owned.items():
            if self.versions.is_kept(entry.api_version):
                result[identity] = entry
                continue
            try:
                topology = self.versions.convert(live, entry.api_version).topology
            except MissingVersionError:
                continue
            result[identity] = Owned(reconcile(topology, entry.fields), entry.api_version)
        return result

    def remove_taken(
        self,
        before: TypedObject,
        after: TypedObject,
        owned: dict[ManagerIdentity, Owned],
        current: ManagerIdentity,
        *,
        force: bool,
    ) -> OwnerComparison:
        """Remove changed fields from the other entries of `owned` in place; return the changes.

        - `owned` was reconciled: it has no entries of removed versions.
        - Raises `TakenFieldsError` if others own changed fields and the apply is not forced.
        """
        try:
            own = self._compare(before, after)
        except OwnershipError as error:
            raise OwnershipError(f"failed to compare objects: {error.reason}", errors=error.errors) from None
        changes = {self.api_version: own}
        lost: dict[ManagerIdentity, tuple[FieldSet, FieldSet]] = {}
        for identity, entry in owned.items():
            if identity == current or self.versions.is_kept(entry.api_version):
                continue
            change = changes.get(entry.api_version)
            if change is None:
                change = changes[entry.api_version] = self._compare_at(before, after, entry.api_version)
            lost[identity] = (entry.fields.intersection(change.changed), change.removed)
        conflicts = {i: taken for i, (taken, _) in lost.items() if taken}
        if conflicts and not force:
            raise TakenFieldsError(conflicts)
        for identity, (taken, removed) in lost.items():
            entry = owned[identity]
            owned[identity] = Owned(entry.fields.difference(taken).difference(removed), entry.api_version)
        for identity in [i for i, entry in owned.items() if not entry.fields]:
            del owned[identity]
        return own

    def _compare(self, before: TypedObject, after: TypedObject) -> OwnerComparison:
        return compare(before.topology, before.value, after.value).without(self.get_resets(before.api_version))

    def _compare_at(self, before: TypedObject, after: TypedObject, api_version: str) -> OwnerComparison:
        old = self._convert(before, api_version, "old")
        new = self._convert(after, api_version, "new")
        return self._compare(old, new)

    def _convert(self, obj: TypedObject, api_version: str, which: str) -> TypedObject:
        try:
            return self.versions.convert(obj, api_version)
        except OwnershipError as error:
            reason = f"failed to convert {which} object: {error.reason}"
            raise OwnershipError(reason, errors=error.errors) from None

    def book_update(self, live: JSONObject, new: JSONObject, managed: Managed, manager: str, now: str) -> Managed:
        """Return the entries after a write that is not an apply.

        - Raises `OwnershipError` if an object does not fit its schema.
        """
        how = " to smd typed"
        new = self.at_own_version(new)
        after = self.check(new, "failed to convert new object", how, allow_duplicates=True)
        live, what = self.at_own_version(live), "failed to convert live object"
        before = self.check(live, what, how, allow_duplicates=True, like=after.value)
        try:
            owned = self.reconcile(before, managed.owned)
            change = self.remove_taken(before, after, owned, _CURRENT, force=True)
        except OwnershipError as error:
            reason = f"failed to update ManagedFields ({name_object(new)}): {error.reason}"
            raise OwnershipError(reason, errors=error.errors) from None
        mine = change.changed.recursive_difference(self.get_resets(self.api_version)).difference(_NOBODYS)
        times = dict(managed.times)
        if mine:
            identity = self.identify(manager, UPDATE)
            if identity in owned:
                mine = mine.union(owned[identity].fields)
            owned[identity] = Owned(mine, self.api_version)
            times[identity] = now
        booked = Managed(owned, times)
        _cap(booked)
        return booked


def strip(fields_: FieldSet) -> FieldSet:
    """Return the set without fields that cannot be owned: names, versions, system metadata."""
    return fields_.difference(_NOBODYS)


def _cap(managed: Managed) -> None:
    """Merge the oldest Update entries into one per version until ten are left, in place."""
    owned, times = managed.owned, managed.times
    updaters = [i for i in owned if i.operation == UPDATE]
    count = len(updaters)
    if count <= MAX_UPDATE_ENTRIES:
        return
    updaters.sort(key=lambda i: (times.get(i) or "1970-01-01T00:00:00Z", render_identity(i)))
    first_of_version: dict[str, ManagerIdentity] = {}
    for identity in updaters:
        if count <= MAX_UPDATE_ENTRIES:
            break
        entry = owned[identity]
        first = first_of_version.setdefault(entry.api_version, identity)
        if first is identity:
            continue
        bucket = identify(ANCIENT_CHANGES, UPDATE, entry.api_version, "")
        if bucket not in owned:
            owned[bucket] = owned.pop(first)
        owned[bucket] = Owned(entry.fields.union(owned[bucket].fields), entry.api_version)
        times[bucket] = times.get(identity, "")
        # As in the API server: a bucket that is itself among the merged entries goes with them.
        del owned[identity]
        count -= 1
