"""What the server computes from an apply patch: which fields are removed, set, in conflict, and who owns them then.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (field management). The request contains
all fields that its manager sets. The server removes a field that the manager owned and no longer sends, unless another
manager owns it. Fields that an earlier request of the plan moves to the manager count as its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.objects.exchange import Placeholder, Request
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.requests.calls import MANAGED_FIELDS

_SET = (FieldOperation.SET, FieldOperation.CHANGED)
OwnerCount = tuple[str, int]


class KeptField(Struct, frozen=True):
    """A field that the manager gives up and that stays, with those who own it."""

    path: FieldPath
    owners: tuple[str, ...]


class ServerSteps(Struct, frozen=True):
    """The steps of the server for one object.

    - `before`, `after`: how many fields each owner has, written `manager (operation)`.
    - `moved`: fields that the manager gets from others before the apply.
    - `sent`: the fields of the request. `removed`, `kept`: fields that the manager gives up. `set`: fields that get the
      value of the request.
    - `conflicts`: fields of the request that other managers own with another value.
    - `taken`: fields that the manager owns only from then on.
    """

    before: tuple[OwnerCount, ...]
    moved: tuple[FieldPath, ...]
    sent: tuple[FieldPath, ...]
    removed: tuple[FieldPath, ...]
    kept: tuple[KeptField, ...]
    set: tuple[FieldPath, ...]
    conflicts: tuple[FieldPath, ...]
    taken: tuple[FieldPath, ...]
    after: tuple[OwnerCount, ...]


def _name(owner: Owner) -> str:
    what = f"{owner.operation} {owner.subresource}" if owner.subresource else owner.operation
    return f"{owner.manager} ({what})"


def _count(owners: Iterable[tuple[Owner, ...]]) -> tuple[OwnerCount, ...]:
    found = Counter(name for each in owners for name in dict.fromkeys(map(_name, each)))
    return tuple(sorted(found.items()))


def _is_owned(owners: tuple[Owner, ...], manager: str) -> bool:
    return any(owner.manager == manager and owner.operation == "Apply" for owner in owners)


def _gives(owner: Owner, path: FieldPath, move: Placeholder) -> bool:
    """Return whether a move takes a field from one of its owners."""
    is_named = owner.operation == "Update" and owner.manager in (move.managers or ())
    is_taken = any(one.manager == owner.manager and path[: len(one.path)] == one.path for one in move.taken)
    return not owner.subresource and (is_named or is_taken)


def _list_moved(fields: Iterable[FieldReason], requests: Iterable[Request]) -> Iterator[FieldPath]:
    """Yield the fields whose owners give them up by a move before the apply; others keep what they own in part."""
    moves = [one for request in requests for one in request.placeholders if one.rule == MANAGED_FIELDS]
    for one in fields:
        left = {_name(owner) for owner in one.owners_after}
        gone = [owner for owner in one.owners_before if _name(owner) not in left]
        if any(_gives(owner, one.path, move) for owner in gone for move in moves):
            yield one.path


def list_server_steps(
    fields: tuple[FieldReason, ...], *, manager: str, requests: tuple[Request, ...] = ()
) -> ServerSteps:
    """Return the steps of an apply patch of `manager`, from what happens to each field.

    - `requests`: those of the plan, of which one may move fields to the manager first.
    """
    had = {one.path: _is_owned(one.owners_before, manager) for one in fields}
    has = {one.path: _is_owned(one.owners_after, manager) for one in fields}
    moved = tuple(path for path in _list_moved(fields, requests) if not had[path])
    now_its_own = frozenset(moved)
    given_up = [one for one in fields if (had[one.path] or one.path in now_its_own) and not has[one.path]]
    is_removed = FieldOperation.CLEARED
    return ServerSteps(
        before=_count(one.owners_before for one in fields),
        moved=moved,
        sent=tuple(one.path for one in fields if has[one.path] or one.operation is FieldOperation.CONFLICT),
        removed=tuple(one.path for one in given_up if one.operation is is_removed),
        kept=tuple(
            KeptField(one.path, tuple(map(_name, one.owners_after)))
            for one in given_up
            if one.operation is not is_removed
        ),
        set=tuple(one.path for one in fields if one.operation in _SET and has[one.path]),
        conflicts=tuple(one.path for one in fields if one.operation is FieldOperation.CONFLICT),
        taken=tuple(one.path for one in fields if has[one.path] and not had[one.path]),
        after=_count(one.owners_after for one in fields),
    )
