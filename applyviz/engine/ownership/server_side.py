"""Compute one server-side apply: the object afterwards, its owners, or the conflicts.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/. The applied object is the whole intent of its
manager: its fields are set and owned; fields that the manager applied before and does not apply now are removed unless
they have another owner. Changes of fields that others own are conflicts, unless forced. The result is that of the merge
alone: on a server, defaulting, conversion by webhooks, admission and validation follow.
"""

from __future__ import annotations

from msgspec import Struct

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import EMPTY, FieldSet, FieldSetMemo
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, MutableObject, get_at
from applyviz.engine.ownership.bookkeeping import BEFORE_FIRST_APPLY, Bookkeeper, TakenFieldsError, strip
from applyviz.engine.ownership.comparing import is_equal
from applyviz.engine.ownership.conflicts import list_conflicts, make_error
from applyviz.engine.ownership.errors import render_kind
from applyviz.engine.ownership.last_applied import KUBECTL, find_allowed, refresh
from applyviz.engine.ownership.managed_fields import (
    APPLY,
    Managed,
    ManagerIdentity,
    Owned,
    decode,
    encode,
    find_entries,
    keep_entries,
    with_entries,
)
from applyviz.engine.ownership.merging import merge
from applyviz.engine.ownership.pruning import prune
from applyviz.engine.ownership.typed import collect_fields
from applyviz.engine.ownership.versions import TypedObject
from applyviz.engine.schema.model import KindSchema


class Applied(Struct, frozen=True):
    """The outcome of an apply.

    - `result`: the object afterwards, with its managedFields; `is_changed`: more than ownership changed.
    - `fields`: the fields that the manager owns now.
    """

    result: MutableObject
    is_changed: bool
    fields: FieldSet = EMPTY


class _Outcome(Struct, frozen=True):
    obj: JSONObject
    managed: Managed
    is_changed: bool


def _read_kind(applied: JSONObject) -> GroupVersionKind:
    """Return the kind of the applied object, or nothing if its apiVersion is invalid."""
    gvk = GroupVersionKind.from_object(applied)
    return GroupVersionKind("", "", "") if gvk.api_version.count("/") > 1 else gvk


class _Apply:
    """One apply; `run` may be called twice, without and with force."""

    def __init__(self, keeper: Bookkeeper, live: JSONObject, applied: JSONObject, manager: str, now: str) -> None:
        self.keeper = keeper
        self.live, self.applied = live, applied
        self.manager, self.now = manager, now
        self.identity = keeper.identify(manager, APPLY)
        self.fresh: frozenset[ManagerIdentity] = frozenset()

    def begin(self) -> Managed:
        """Return the entries before the apply; an object without entries is credited to `before-first-apply`."""
        try:
            managed = decode(find_entries(self.live) or (), self.keeper.memo)
        except OwnershipError as error:
            raise OwnershipError(f"failed to decode managed fields: {error.reason}") from None
        gvk = _read_kind(self.applied)
        if gvk != self.keeper.kind.gvk:
            raise OwnershipError(f"invalid object type: {render_kind(gvk)}", 400)
        if managed.owned:
            return managed
        zero = self.keeper.kind.zero
        try:
            managed = self.keeper.book_update(zero, self.live, managed, BEFORE_FIRST_APPLY, self.now)
        except OwnershipError as error:
            reason = f"failed to create manager for existing fields: {error.reason}"
            raise OwnershipError(reason, error.code, error.errors) from None
        self.fresh = frozenset(managed.owned)
        return managed

    def check(self) -> tuple[TypedObject, TypedObject]:
        """Return the live and the applied object, both typed."""
        if (
            isinstance(get_at(self.applied, ("metadata", "managedFields")), list)
            and find_entries(self.applied) is not None
        ):
            raise OwnershipError("metadata.managedFields must be nil", 400)
        keeper = self.keeper
        intent = keeper.check(self.applied, "failed to create typed patch object", "", allow_duplicates=False)
        live = keeper.at_own_version(self.live)
        return keeper.check(live, "failed to create typed live object", "", allow_duplicates=True), intent

    def run(self, managed: Managed, live: TypedObject, intent: TypedObject, *, force: bool) -> _Outcome:
        """Merge, prune and update ownership.

        - Raises `TakenFieldsError` if other managers own changed fields.
        """
        keeper = self.keeper
        owned = keeper.reconcile(live, managed.owned)
        merged = TypedObject(live.topology, merge(live.topology, live.value, intent.value), live.api_version)
        last = owned.get(self.identity)
        fields = collect_fields(intent.topology, intent.value)
        fields = fields.recursive_difference(keeper.get_resets(keeper.api_version))
        owned[self.identity] = Owned(fields, keeper.api_version)
        merged = prune(keeper.versions, merged, owned, self.identity, last)
        keeper.remove_taken(live, merged, owned, self.identity, force=force)
        # An object that is atomic as a whole has no fields, so its entry may be gone already.
        mine = strip(owned.pop(self.identity).fields) if self.identity in owned else EMPTY
        if mine:
            owned[self.identity] = Owned(mine, keeper.api_version)
        is_changed = merged.value is not live.value and not is_equal(merged.value, live.value)
        times = {**managed.times, self.identity: self.now} if is_changed else managed.times
        return _Outcome(merged.value if is_changed else self.live, Managed(owned, times), is_changed)

    def check_allowed(self, error: TakenFieldsError, managed: Managed) -> None:
        """Raise the error of the conflicts that are not allowed.

        - The manager `kubectl` takes over fields that are still as client-side apply left them.
        """
        conflicts = list_conflicts(error.found, managed, self.fresh)
        allowed = find_allowed(self.keeper, self.live) if self.manager == KUBECTL else None
        if allowed is None:
            raise make_error(conflicts)
        refused = tuple(c for c in conflicts if not allowed.has(c.path))
        if refused:
            raise make_error(refused)


def apply(
    live: JSONObject | None,
    applied: JSONObject,
    *,
    kind: KindSchema,
    manager: str,
    force: bool = False,
    subresource: str = "",
    now: str,
    memo: FieldSetMemo | None = None,
) -> Applied:
    """Apply an object over the live one; `live` is None if the apply creates it.

    - `now`: RFC 3339 time of the request; `memo` caches parsed entries across calls.
    - Raises `ConflictError` if other managers own what would change, and `OwnershipError` for everything else that the
      API server refuses.
    """
    try:
        keeper = Bookkeeper(kind, subresource, memo)
        return _apply(_Apply(keeper, live if live is not None else kind.zero, applied, manager, now), force=force)
    except RecursionError:
        raise OwnershipError("the object is nested too deeply", 400) from None


def _apply(operation: _Apply, *, force: bool) -> Applied:
    managed = operation.begin()
    typed = operation.check()
    try:
        outcome = operation.run(managed, *typed, force=False)
    except TakenFieldsError as error:
        if not force:
            operation.check_allowed(error, managed)
        outcome = operation.run(managed, *typed, force=True)
    return _finish(operation, outcome)


def _finish(operation: _Apply, outcome: _Outcome) -> Applied:
    result = dict(outcome.obj)
    if operation.manager == KUBECTL:
        result = refresh(result, operation.applied)
    entries = encode(outcome.managed, operation.keeper.memo)
    result = with_entries(result, keep_entries(entries, find_entries(operation.live)))
    mine = outcome.managed.owned.get(operation.identity)
    fields = mine.fields if mine else EMPTY
    return Applied(result, outcome.is_changed, fields)
