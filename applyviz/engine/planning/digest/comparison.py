"""Two plans of one review: what moved between them, per object and field, and which field manager moved it.

Objects whose effect is the same do not count: their versions and times may be others all the same. A field
moves in the manifest, in live, in what would come of it, or in who owns it. Live is moved by somebody: the
field owners that are new there, or wrote since; what is gone from live has no owner, so that whoever wrote to
the object since may have removed it. Changes come masked under one key, so that equal secrets compare equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from applyviz.engine.merge.last_applied import ANNOTATION
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.engine.ownership.managed_fields import FieldOwners, read_owners
from applyviz.engine.planning.digest.effects import effect
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.server_managed import drop_server_managed
from applyviz.engine.schema.model import KindSchema, Node
from applyviz.engine.schema.walk import MISSING, list_leaves

_BOOKKEEPING = (("f:metadata", "f:managedFields"), ("f:metadata", "f:annotations", "f:" + ANNOTATION))
_Identity = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Pair:
    """A value in the first plan and in the second; `MISSING` where there is none."""

    first: JSONValue
    second: JSONValue


@dataclass(frozen=True, slots=True)
class FieldMove:
    """One field that is otherwise in the second plan; a version that stayed is None.

    - `movers` are the field owners that moved it in live, none when live stayed; several may come into question
      when the field is gone.
    - `owners_first` and `owners_second` own it in live.
    """

    path: FieldPath
    manifest: Pair | None = None
    live: Pair | None = None
    after: Pair | None = None
    movers: tuple[Owner, ...] = ()
    owners_first: tuple[Owner, ...] = ()
    owners_second: tuple[Owner, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectMove:
    """One object that the second plan treats otherwise; an operation is None where a plan does not have it."""

    ref: ObjectRef
    first: Operation | None
    second: Operation | None
    fields: tuple[FieldMove, ...] = ()

    @property
    def movers(self) -> tuple[Owner, ...]:
        """Who moved any of its fields in live, each once."""
        return tuple({_identify(o): o for move in self.fields for o in move.movers}.values())


@dataclass(frozen=True, slots=True)
class Comparison:
    """What moved between two plans; nothing when they do the same."""

    objects: tuple[ObjectMove, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether the second plan does what the first did."""
        return not self.objects


def _identify(owner: Owner) -> _Identity:
    return owner.manager, owner.operation, owner.subresource


def _list_leaves(obj: JSONObject | None, root: Node | None) -> dict[FieldPath, JSONValue]:
    if obj is None:
        return {}
    leaves = list_leaves(root, drop_server_managed(obj))
    return {p: v for p, v in leaves.items() if not any(p[: len(b)] == b for b in _BOOKKEEPING)}


def _compare_leaves(first: JSONObject | None, second: JSONObject | None, root: Node | None) -> dict[FieldPath, Pair]:
    left, right = _list_leaves(first, root), _list_leaves(second, root)
    found = {}
    for path in dict.fromkeys((*left, *right)):
        old, new = left.get(path, MISSING), right.get(path, MISSING)
        if old is MISSING or new is MISSING or not is_same_json(old, new):
            found[path] = Pair(old, new)
    return found


def _read_owners(obj: JSONObject | None) -> FieldOwners:
    return FieldOwners() if obj is None else read_owners(obj)


def _find_movers(path: FieldPath, first: FieldOwners, second: FieldOwners) -> tuple[Owner, ...]:
    """Who moved a field in live: owners that are new there or wrote since; for a lost field who wrote at all."""
    before = {_identify(o): o for o in first.of(path)}
    owning = second.of(path)
    fresh = tuple(o for o in owning if _identify(o) not in before or before[_identify(o)].time != o.time)
    if owning:
        return fresh or owning
    times = {_identify(e.owner): e.owner.time for e in first.entries}
    wrote = tuple(e.owner for e in second.entries if times.get(_identify(e.owner)) != e.owner.time)
    lost = tuple(o for o in wrote if _identify(o) in before)
    return lost or tuple(o for o in wrote if o.subresource != "status")


def _list_owner_moves(first: PlannedObject, second: PlannedObject) -> Iterator[FieldPath]:
    before = {r.path: {_identify(o) for o in r.owners_before} for r in first.fields}
    for reason in second.fields:
        known = before.get(reason.path)
        is_kept = any(reason.path[: len(b)] == b for b in _BOOKKEEPING)
        if known is not None and not is_kept and known != {_identify(o) for o in reason.owners_before}:
            yield reason.path


def _compare_fields(first: PlannedObject, second: PlannedObject, root: Node | None) -> Iterator[FieldMove]:
    old, new = first.versions, second.versions
    manifest = _compare_leaves(old.manifest, new.manifest, root)
    live = _compare_leaves(old.live, new.live, root)
    after = _compare_leaves(old.after, new.after, root)
    owned = dict.fromkeys(_list_owner_moves(first, second))
    before, since = _read_owners(old.live), _read_owners(new.live)
    for path in dict.fromkeys((*live, *manifest, *after, *owned)):
        is_moved = path in live or path in owned
        yield FieldMove(
            path,
            manifest.get(path),
            live.get(path),
            after.get(path),
            movers=_find_movers(path, before, since) if is_moved else (),
            owners_first=before.of(path),
            owners_second=since.of(path),
        )


def compare_changes(
    first: PlannedObject | None, second: PlannedObject | None, *, kind: KindSchema | None = None
) -> ObjectMove | None:
    """What moved for one object; None when both plans do the same with it, or neither has it."""
    if first is None or second is None:
        known = second or first
        if known is None:
            return None
        return ObjectMove(known.ref, first.operation if first else None, second.operation if second else None)
    if is_same_json(effect(first), effect(second)):
        return None
    root = kind.root if kind is not None else None
    return ObjectMove(first.ref, first.operation, second.operation, tuple(_compare_fields(first, second, root)))


def compare(
    first: Iterable[PlannedObject],
    second: Iterable[PlannedObject],
    *,
    kinds: Mapping[tuple[str, str, str, str], KindSchema] | None = None,
) -> Comparison:
    """Everything that moved from the changes of the first plan to those of the second, in the second's order.

    - `kinds` are the schemas of objects by `ObjectRef.key`; without one, lists count as whole.
    - An object that a plan has twice is compared with its namesake in the order of the plans.
    """
    waiting: dict[tuple[str, str, str, str], list[PlannedObject]] = {}
    for change in first:
        waiting.setdefault(change.ref.key, []).append(change)
    moves = []
    for change in second:
        before = waiting.get(change.ref.key)
        kind = (kinds or {}).get(change.ref.key)
        moves.append(compare_changes(before.pop(0) if before else None, change, kind=kind))
    moves += [compare_changes(change, None) for left in waiting.values() for change in left]
    return Comparison(tuple(move for move in moves if move is not None))
