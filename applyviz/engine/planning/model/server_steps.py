"""What the server computes from an apply patch: which fields are removed, set, in conflict, and who owns them then.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (field management). The request has everything
that its manager sets. A field that the manager owned and no longer sends is removed if nobody else owns it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath

_SET = (FieldOperation.SET, FieldOperation.CHANGED)
OwnerCount = tuple[str, int]


@dataclass(frozen=True, slots=True)
class KeptField:
    """A field that the manager gives up and that stays, with those who own it."""

    path: FieldPath
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerSteps:
    """The steps of the server for one object.

    - `before`, `after`: how many fields each owner has, written `manager (operation)`.
    - `sent`: the fields of the request. `removed`, `kept`: fields that the manager gives up. `set`: fields that get the
      value of the request.
    - `conflicts`: fields of the request that other managers own with another value.
    - `taken`: fields that the manager owns only from then on.
    """

    before: tuple[OwnerCount, ...]
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


def list_server_steps(fields: tuple[FieldReason, ...], *, manager: str) -> ServerSteps:
    """Return the steps of an apply patch of `manager`, from what happens to each field."""
    had = {one.path: _is_owned(one.owners_before, manager) for one in fields}
    has = {one.path: _is_owned(one.owners_after, manager) for one in fields}
    given_up = [one for one in fields if had[one.path] and not has[one.path]]
    is_removed = FieldOperation.CLEARED
    return ServerSteps(
        before=_count(one.owners_before for one in fields),
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
