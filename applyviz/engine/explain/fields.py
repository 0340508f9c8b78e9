"""For every field of every version: what happens to it, which rule decided, who owned it, where it is written.

The reasons whose operation is set, changed, cleared or defaulted are exactly the leaves that differ from
live to after; a list that only changes its order has a reason of its own. Paths are leaves, atomic lists
and maps as one. Rule: `docs/architecture.md`, invariant 8: a reason never holds a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from applyviz.engine.explain.clientside import judge_client
from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason, Stage
from applyviz.engine.explain.rows import Row
from applyviz.engine.explain.serverside import Standing, judge_apply
from applyviz.engine.explain.verdict import Verdict, judge_server, name_operation
from applyviz.engine.explain.versions import AllVersions, ObjectVersions, is_same
from applyviz.engine.objects.errors import Conflict, SourcePosition
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.ownership.managedfields import FieldOwners
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.walk import MISSING

PositionOf = Callable[[FieldPath], SourcePosition]

CLIENT = "client"
CHANGING = frozenset({FieldOperation.SET, FieldOperation.CHANGED, FieldOperation.CLEARED, FieldOperation.DEFAULTED})
_NOWHERE = SourcePosition()
_BOOKKEEPING = frozenset(
    ("f:metadata", "f:" + name)
    for name in (
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)
_LAST_APPLIED = ("f:metadata", "f:annotations", "f:kubectl.kubernetes.io/last-applied-configuration")


def explain(
    *,
    versions: AllVersions,
    mode: str,
    manager: str,
    kind: KindSchema | None,
    owners_before: FieldOwners | None = None,
    owners_after: FieldOwners | None = None,
    conflicts: Iterable[Conflict] = (),
    position_of: PositionOf | None = None,
    subresource: str = "",
) -> tuple[FieldReason, ...]:
    """One reason per leaf of any version, in the order of the object after, then of what is gone.

    - `mode` is an `ApplyMode`; `conflicts` are those that nobody decided.
    - `position_of` gives the source of a leaf that the manifest has, or of what stands above it.
    """
    judge = _Judge(ObjectVersions(versions, kind), mode, manager, subresource, tuple(conflicts))
    before, after = owners_before or FieldOwners(), owners_after or FieldOwners()
    return tuple(judge.give_reasons(before, after, position_of))


def is_bookkeeping(path: FieldPath) -> bool:
    """Whether a field is the server's or kubectl's own record: versions, times, ownership, last applied."""
    return path[:2] in _BOOKKEEPING or path == _LAST_APPLIED


class _Judge:
    def __init__(
        self, versions: ObjectVersions, mode: str, manager: str, subresource: str, conflicts: tuple[Conflict, ...]
    ) -> None:
        self._versions = versions
        self._is_client = mode == CLIENT
        self._manager = manager
        self._subresource = subresource
        self._conflicts = _Conflicts(conflicts) if conflicts else None

    def give_reasons(
        self, before: FieldOwners, after: FieldOwners, position_of: PositionOf | None
    ) -> Iterator[FieldReason]:
        manifest = self._versions.manifest
        for path, row in self._versions.rows.items():
            owned_before, owned_after = before.of(path), after.of(path)
            verdict = self._judge(path, row, owned_before, owned_after)
            position = _NOWHERE
            if position_of is not None and (row.manifest is not MISSING or manifest.find_above(path) is not None):
                position = position_of(path)
            yield _make_reason(path, verdict, owned_before, owned_after, position)
        for path in self._versions.reordered:
            position = position_of(path) if position_of is not None and manifest.has_place(path) else _NOWHERE
            verdict = Verdict(FieldOperation.CHANGED, Reason.ORDER)
            yield _make_reason(path, verdict, before.of(path), after.of(path), position)

    def _judge(self, path: FieldPath, row: Row, before: tuple[Owner, ...], after: tuple[Owner, ...]) -> Verdict:
        versions = self._versions
        if is_bookkeeping(path):
            stage = Stage.MERGE if is_same(row.merged, row.after) else Stage.SERVER
            return Verdict(name_operation(row.live, row.after), Reason.BOOKKEEPING, stage=stage)
        if versions.is_deletion:
            return Verdict(name_operation(row.live, row.after), Reason.REMOVED_FROM_MANIFEST)
        by_server = judge_server(versions, path)
        if by_server is not None:
            return by_server
        if self._is_client:
            return judge_client(versions, path, self._manager, before)
        standing = Standing(before, after, self._conflicts.find(path) if self._conflicts else ())
        return judge_apply(versions, path, standing, manager=self._manager, subresource=self._subresource)


class _Conflicts:
    """Conflicts by path: those about a leaf, about what holds it, or about a part of it."""

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        self._at: dict[FieldPath, list[Conflict]] = {}
        self._below: dict[FieldPath, list[Conflict]] = {}
        for conflict in conflicts:
            self._at.setdefault(conflict.path, []).append(conflict)
            for length in range(len(conflict.path)):
                self._below.setdefault(conflict.path[:length], []).append(conflict)

    def find(self, path: FieldPath) -> tuple[Conflict, ...]:
        found = [c for length in range(len(path) + 1) for c in self._at.get(path[:length], ())]
        return (*found, *self._below.get(path, ()))


def _make_reason(
    path: FieldPath,
    verdict: Verdict,
    before: tuple[Owner, ...],
    after: tuple[Owner, ...],
    position: SourcePosition,
) -> FieldReason:
    return FieldReason(path, verdict.operation, verdict.reason, verdict.detail, before, after, position, verdict.stage)
