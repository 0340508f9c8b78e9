"""The objects before a plan and after it: those of the plan and their live neighbors.

Rule: deleted objects are absent afterwards; for an object that cannot be planned the live one stays, or else its
manifest counts, because a plan with an error does not run.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from applyviz.engine.objects.kinds import NAMESPACE
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import DELETIONS, Operation, PlannedObject
from applyviz.engine.references.model import Key
from applyviz.engine.references.resolving import Edge, Knowledge, ReferenceIndex, Resolver
from applyviz.engine.risks.model import RelatedObjects

_NOT_WRITTEN = (
    Operation.UNCHANGED,
    Operation.NOT_FOUND,
    Operation.ERROR,
    Operation.LEFT_OUT,
    Operation.WITHHELD,
)


class GraphSnapshot(Struct, frozen=True):
    """All known objects at one time, and the edges between them by their source."""

    objects: dict[Key, JSONObject]
    edges: dict[Key, tuple[Edge, ...]]

    def list_incoming(self) -> dict[Key, list[Edge]]:
        """Return the edges by their target."""
        found: dict[Key, list[Edge]] = {}
        for edges in self.edges.values():
            for edge in edges:
                found.setdefault(edge.target, []).append(edge)
        return found


class PlanReferences(Struct, frozen=True):
    """A plan before and after it; `changes` are the positions of its objects by key."""

    planned: Sequence[PlannedObject]
    changes: dict[Key, int]
    before: GraphSnapshot
    after: GraphSnapshot
    knowledge: Knowledge

    def find_change(self, key: Key) -> PlannedObject | None:
        """Return the change of an object; None of an object that is not in the plan."""
        position = self.changes.get(key)
        return None if position is None else self.planned[position]

    def is_written(self, key: Key) -> bool:
        """Return whether the plan writes an object, now or once its conflicts are resolved."""
        change = self.find_change(key)
        return change is not None and change.operation not in _NOT_WRITTEN


def find_result(change: PlannedObject) -> JSONObject | None:
    """Return an object as it will be; None if it is deleted or not found, or left out and known only as a neighbor."""
    versions = change.versions
    if change.operation in (*DELETIONS, Operation.NOT_FOUND, Operation.LEFT_OUT):
        return None
    return next((obj for obj in (versions.after, versions.merged, versions.live, versions.manifest) if obj), None)


def _take_snapshot(objects: dict[Key, JSONObject], refs: dict[Key, ObjectRef], knowledge: Knowledge) -> GraphSnapshot:
    resolver = Resolver(ReferenceIndex(objects), knowledge)
    return GraphSnapshot(objects, {key: tuple(resolver.resolve(refs[key], obj)) for key, obj in objects.items()})


def gather_plan_references(planned: Sequence[PlannedObject], related: RelatedObjects) -> PlanReferences:
    """Return all objects that refer to each other around a plan; the last change of an object counts."""
    refs = {ref.key: ref for ref in map(ObjectRef.from_object, related.neighbors)}
    neighbors = {ObjectRef.from_object(obj).key: obj for obj in related.neighbors}
    changes = {change.ref.key: position for position, change in enumerate(planned)}
    refs |= {change.ref.key: change.ref for change in planned}
    live = {c.ref.key: c.versions.live for c in planned if c.versions.live is not None}
    left_out = {c.ref.key for c in planned if c.operation is Operation.LEFT_OUT}
    kept = {key: obj for key, obj in neighbors.items() if key not in changes or key in left_out}
    result = {c.ref.key: obj for c in planned if (obj := find_result(c)) is not None}
    pruned = frozenset(key for key in changes if key not in result and key not in left_out)
    created = frozenset(c.ref.name for c in planned if c.ref.key[:2] == NAMESPACE and c.operation is Operation.CREATE)
    known = related.knowledge
    after = replace(known, absent=known.absent | pruned, namespaces_created=created)
    return PlanReferences(
        planned,
        changes,
        _take_snapshot({**kept, **live}, refs, known),
        _take_snapshot({**kept, **result}, refs, after),
        after,
    )
