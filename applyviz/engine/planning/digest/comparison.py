"""Compare two plans of one review: what changed between them, per object and field, and which manager did it.

Objects with equal effects do not count, even if their versions and times differ. A field can differ in the manifest, in
live, in the object after apply, or in its owners. A live change is credited to the field owners that are new or that
wrote since; a removed live field has no owner, so any manager that wrote to the object since may have removed it.
Changes are masked under one key, so that equal secrets compare equal. A plan that did not read the live object, because
it was left out or could not be read, says nothing about live: neither a value nor an owner differs there.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from applyviz.engine.objects.known_names import LAST_APPLIED_PATH
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, fields
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.ownership.managed_fields import FieldOwners, read_owners
from applyviz.engine.planning.digest.effects import effect
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.engine.planning.model.server_managed import drop_server_managed
from applyviz.engine.schema.model import KindSchema, Node
from applyviz.engine.schema.walk import MISSING, list_leaves

_UID = fields("metadata", "uid")
# Of the same object the namespace differs only where a plan left it to the default, as for an object that is left out.
_NAMESPACE = fields("metadata", "namespace")
_BOOKKEEPING = (_UID, _NAMESPACE, fields("metadata", "managedFields"), LAST_APPLIED_PATH)
_WITHOUT_RESULT = (Operation.ERROR, Operation.LEFT_OUT)


class Pair(Struct, frozen=True):
    """The value in each of the two plans; `MISSING` where there is none."""

    first: JSONValue
    second: JSONValue


class FieldMove(Struct, frozen=True):
    """One field that differs between the plans; a version that stayed the same is None.

    - `movers` are the field owners that changed it in live, none if live is unchanged; a removed field may have several
      candidates.
    - `owners_first` and `owners_second` own it in live.
    """

    path: FieldPath
    manifest: Pair | None = None
    live: Pair | None = None
    after: Pair | None = None
    movers: tuple[Owner, ...] = ()
    owners_first: tuple[Owner, ...] = ()
    owners_second: tuple[Owner, ...] = ()


class ObjectMove(Struct, frozen=True):
    """One object that the second plan treats differently; a plan without the object has no operation.

    - `is_another_object`: live was deleted and created again between the plans, so its uid is another one.
    """

    ref: ObjectRef
    first: Operation | None
    second: Operation | None
    fields: tuple[FieldMove, ...] = ()
    is_another_object: bool = False

    @property
    def movers(self) -> tuple[Owner, ...]:
        """The owners that changed any of its fields in live, each once."""
        return tuple({o.identity: o for move in self.fields for o in move.movers}.values())


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
    """Return the owners that are new to a live field or wrote since; of a removed field, all recent writers."""
    before = {o.identity: o for o in first.of(path)}
    owning = second.of(path)
    fresh = tuple(o for o in owning if o.identity not in before or before[o.identity].time != o.time)
    if owning:
        return fresh or owning
    times = {e.owner.identity: e.owner.time for e in first.entries}
    wrote = tuple(e.owner for e in second.entries if times.get(e.owner.identity) != e.owner.time)
    lost = tuple(o for o in wrote if o.identity in before)
    return lost or tuple(o for o in wrote if o.subresource != "status")


def _list_owner_moves(first: PlannedObject, second: PlannedObject) -> Iterator[FieldPath]:
    before = {r.path: {o.identity for o in r.owners_before} for r in first.fields}
    for reason in second.fields:
        known = before.get(reason.path)
        is_kept = any(reason.path[: len(b)] == b for b in _BOOKKEEPING)
        if known is not None and not is_kept and known != {o.identity for o in reason.owners_before}:
            yield reason.path


def _has_read_live(change: PlannedObject) -> bool:
    return change.operation is not Operation.LEFT_OUT and change.certainty is not Certainty.UNKNOWN


def _read_both_owners(first: PlannedObject, second: PlannedObject) -> tuple[FieldOwners, FieldOwners]:
    """Return the live owners of each plan; a plan that did not read live has those of the other one."""
    before, since = _read_owners(first.versions.live), _read_owners(second.versions.live)
    if not _has_read_live(first):
        before = since
    return before, since if _has_read_live(second) else before


def _compare_fields(first: PlannedObject, second: PlannedObject, root: Node | None) -> Iterator[FieldMove]:
    old, new = first.versions, second.versions
    manifest = _compare_leaves(old.manifest, new.manifest, root)
    is_read = _has_read_live(first) and _has_read_live(second)
    live = _compare_leaves(old.live, new.live, root) if is_read else {}
    # An object with an error, or left out, has no result: its plan applies nothing.
    has_results = not any(one.operation in _WITHOUT_RESULT for one in (first, second))
    after = _compare_leaves(old.after, new.after, root) if has_results else {}
    owned = dict.fromkeys(_list_owner_moves(first, second))
    before, since = _read_both_owners(first, second)
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


def _is_another_object(first: PlannedObject, second: PlannedObject) -> bool:
    uids = [get_at(one.versions.live, ("metadata", "uid"), "") for one in (first, second)]
    return all(uids) and uids[0] != uids[1]


def compare_changes(
    first: PlannedObject | None, second: PlannedObject | None, *, kind: KindSchema | None = None
) -> ObjectMove | None:
    """Return the differences for one object; None if both plans treat it alike, or neither contains it."""
    if first is None or second is None:
        known = second or first
        if known is None:
            return None
        return ObjectMove(known.ref, first.operation if first else None, second.operation if second else None)
    if is_same_json(effect(first), effect(second)):
        return None
    root = kind.root if kind is not None else None
    moves = tuple(_compare_fields(first, second, root))
    return ObjectMove(first.ref, first.operation, second.operation, moves, _is_another_object(first, second))
