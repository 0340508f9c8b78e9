"""Explain every field: what happens to it, which rule decides, who owns it, and where the manifest sets it.

The reasons whose operation is set, changed, cleared or defaulted are exactly the leaves that differ from live to after;
a list that only changes its order has one reason for that. A path is a leaf; an atomic list or map is one leaf. Rule:
`docs/architecture.md`, invariant 8: a reason never contains a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from applyviz.engine.explain.allocated import has_allocated, judge_allocated
from applyviz.engine.explain.client_side import judge_client
from applyviz.engine.explain.node_ports import NodePorts
from applyviz.engine.explain.patching import PATCH, judge_patch
from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason, Stage
from applyviz.engine.explain.recreated import RECREATED, judge_recreated
from applyviz.engine.explain.rows import MANIFEST, MERGED, NOWHERE, Row
from applyviz.engine.explain.server_side import judge_apply
from applyviz.engine.explain.source import locate
from applyviz.engine.explain.verdict import AS_IT_IS, MAKE_WAY, LeafExplanation, judge_server, name_operation
from applyviz.engine.explain.versions import AllVersions, ObjectVersions, is_same
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import Conflict, SourcePosition
from applyviz.engine.objects.known_names import LAST_APPLIED_PATH, SERVER_WRITTEN
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.ownership.managed_fields import FieldOwners
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.walk import MISSING

CLIENT = "client"
CHANGING = frozenset({FieldOperation.SET, FieldOperation.CHANGED, FieldOperation.CLEARED, FieldOperation.DEFAULTED})
_METADATA = "f:metadata"
_DATA = ("f:data",)
_BOOKKEEPING = frozenset(f"f:{name}" for name in SERVER_WRITTEN | {"deletionTimestamp"})
_OWNERS = ("f:metadata", "f:managedFields")


def explain(
    *,
    versions: AllVersions,
    mode: str,
    manager: str,
    kind: KindSchema | None,
    owners_before: FieldOwners | None = None,
    owners_after: FieldOwners | None = None,
    conflicts: Iterable[Conflict] = (),
    document: ManifestDocument | None = None,
    subresource: str = "",
    is_recreated: bool = False,
) -> tuple[FieldReason, ...]:
    """Return one reason per leaf of any version, in the order of the object after apply, removed leaves last.

    - `mode` is an `ApplyMode`, or `PATCH` for a patch that a person wrote; `conflicts` are the unresolved ones.
    - `is_recreated`: the live object is deleted, and `after` is a new one.
    - `document` is the parsed manifest: a leaf at or below one of its leaves gets its source line.
    """
    before, after = owners_before or FieldOwners(), owners_after or FieldOwners()
    all_versions = ObjectVersions(versions, kind, before, after, document)
    judge = _Judge(all_versions, RECREATED if is_recreated else mode, manager, subresource, tuple(conflicts))
    reasons = list(judge.give_reasons())
    for path in all_versions.reordered:
        position = NOWHERE
        if document is not None and all_versions.manifest.has_path(path):
            position = locate(document, all_versions.topology, path)
        owned = before.of(path), after.of(path)
        reasons.append(FieldReason(path, FieldOperation.CHANGED, Reason.ORDER, "", *owned, position))
    return tuple(reasons)


def _is_bookkeeping(path: FieldPath) -> bool:
    """Return whether a metadata field is a record of the server or kubectl: versions, times, ownership."""
    return (len(path) > 1 and path[1] in _BOOKKEEPING) or path == LAST_APPLIED_PATH


class _Judge:
    def __init__(
        self, versions: ObjectVersions, mode: str, manager: str, subresource: str, conflicts: tuple[Conflict, ...]
    ) -> None:
        self._versions = versions
        self._node_ports = NodePorts(versions) if versions.is_service else None
        self._has_allocated = has_allocated(versions)
        self._is_client, self._is_patch, self._is_recreated = mode == CLIENT, mode == PATCH, mode == RECREATED
        self._manager = manager
        self._subresource = subresource
        # The server alone knows the field of a conflict without a path, so no row is its row.
        placed = tuple(conflict for conflict in conflicts if conflict.path)
        self._conflicts = _Conflicts(placed) if placed else None

    def give_reasons(self) -> Iterator[FieldReason]:
        for path, row in self._versions.rows.items():
            allocated = judge_allocated(self._versions, path, row) if self._has_allocated else None
            operation, reason, detail, stage = allocated or self._judge(path, row)
            if operation is FieldOperation.UNCHANGED and self._stands_for_fields(path, row):
                continue
            _, _, _, _, _, before, after, position = row
            written = self._find_text(path)
            yield FieldReason(path, operation, reason, detail, before, after, written or position, stage)

    def _stands_for_fields(self, path: FieldPath, row: Row) -> bool:
        """Return whether other versions have an empty value or null where the object has fields, before or after.

        - The reasons of these fields say what happens to them.
        """
        after, live, _, _, _, _, _, _ = row
        is_nowhere = after is MISSING and live is MISSING
        return is_nowhere and (self._versions.live.has_path(path) or self._versions.after.has_path(path))

    def _find_text(self, path: FieldPath) -> SourcePosition | None:
        """Return where `stringData` of a Secret sets an entry of its `data`, None if it does not.

        - Rule: the server writes each entry of `stringData` into `data`, and keeps no `stringData`.
        """
        if not self._versions.is_secret or path[:1] != _DATA or len(path) != len(_DATA) + 1:
            return None
        row = self._versions.rows.get(("f:stringData", path[1]))
        is_null = row is not None and row[MANIFEST] is None and row[MERGED] is MISSING  # kubectl leaves a null out
        return None if row is None or row[MANIFEST] is MISSING or is_null else row[-1]

    def _judge(self, path: FieldPath, row: Row) -> LeafExplanation:
        versions = self._versions
        after, live, _, _, merged, _, _, _ = row
        if path and path[0] == _METADATA and _is_bookkeeping(path):
            record = self._judge_record(path, row)
            if record is not None:
                return record
        if versions.is_deletion:
            return LeafExplanation(name_operation(live, after), Reason.REMOVED_FROM_MANIFEST)
        if self._find_text(path) is not None:
            same = is_same(live, after)
            return AS_IT_IS if same else LeafExplanation(name_operation(live, after), Reason.MANIFEST_SETS)
        if self._is_recreated:
            return judge_recreated(versions, path, row)
        moved = self._node_ports.judge(path, row) if self._node_ports else None
        if moved is not None:
            return moved
        by_server = None if merged is after else judge_server(versions, path, row)
        verdict = by_server or self._judge_merge(path, row)
        if verdict.reason is Reason.SERVER_DEFAULT and verdict.operation is FieldOperation.DEFAULTED:
            return self._name_cause(path, row, verdict) if versions.live.has_path(path) else verdict
        return verdict

    def _name_cause(self, path: FieldPath, row: Row, default: LeafExplanation) -> LeafExplanation:
        """Return why a default replaces a live value: the rule that removed it, the default if none is known."""
        live = self._versions.live.get(path)
        cause = self._judge_merge(path, (MISSING, {} if live is MISSING else live, *row[2:]))
        # If the manifest sets an atomic field again, the default belongs to the new value: no list removed an old one.
        is_cause = cause.reason in MAKE_WAY and (cause.reason is not Reason.REPLACED_WHOLE or bool(cause.detail))
        return LeafExplanation(default.operation, *cause[1:3], default.stage) if is_cause else default

    def _judge_merge(self, path: FieldPath, row: Row) -> LeafExplanation:
        """Return the rule of the merge that decides a leaf."""
        versions = self._versions
        if self._is_patch:
            return judge_patch(versions, path, row)
        if self._is_client:
            return judge_client(versions, path, row, self._manager)
        conflicts = self._conflicts.find(path) if self._conflicts else ()
        return judge_apply(versions, path, row, conflicts, manager=self._manager, subresource=self._subresource)

    def _judge_record(self, path: FieldPath, row: Row) -> LeafExplanation | None:
        """Explain a record of the server or kubectl; None for last-applied where the manifest or patch sets it."""
        after, live, wanted, _, merged, _, _, _ = row
        operation, stage = name_operation(live, after), Stage.MERGE if is_same(merged, after) else Stage.SERVER
        if self._is_recreated and path == LAST_APPLIED_PATH and operation is FieldOperation.CLEARED:
            return None
        is_given = wanted is not MISSING or self._is_patch
        if path == _OWNERS and is_given and operation is FieldOperation.CLEARED:
            why = Reason.PATCH_REMOVES if self._is_patch else Reason.OWNERS_CLEARED
            return LeafExplanation(operation, why, stage=stage)
        if path == LAST_APPLIED_PATH and not self._is_client and not self._versions.is_deletion:
            is_open = self._conflicts is not None and bool(self._conflicts.find(path))
            if is_open or (is_given and operation not in (FieldOperation.UNCHANGED, FieldOperation.CLEARED)):
                return None
            if operation is FieldOperation.CLEARED and stage is Stage.MERGE:
                return LeafExplanation(operation, Reason.LAST_APPLIED_REMOVED)
        return LeafExplanation(operation, Reason.BOOKKEEPING, stage=stage)


class _Conflicts:
    """Conflicts by path: at a leaf, above it, or below it."""

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
