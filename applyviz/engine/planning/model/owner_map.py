"""Count the fields of each owner before and after a plan, the handovers between owners, and the conflicts.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (field management): `Apply` and `Update` entries
of one manager are two owners, and each subresource is another. A field that moves from one owner to another one is a
handover. The map contains counts and names of fields, no values.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.objects.owners import Owner, OwnerIdentity
from applyviz.engine.objects.paths import element_value
from applyviz.engine.planning.model.plan import PlannedObject


class OwnerShare(Struct, frozen=True):
    """One owner of fields of an object: the counts before and after, and how many fields it gains and loses."""

    manager: str
    operation: str
    subresource: str = ""
    before: int = 0
    after: int = 0
    gained: int = 0
    lost: int = 0


class FieldHandover(Struct, frozen=True):
    """Fields that move from one owner to another; both are indices of the shares."""

    source: int
    target: int
    count: int


class OwnerConflict(Struct, frozen=True):
    """Fields that the plan sets and another owner has; `field` is the name of the first one."""

    share: int
    count: int
    field: str


class ObjectOwners(Struct, frozen=True):
    """The owners of one object."""

    shares: tuple[OwnerShare, ...] = ()
    handovers: tuple[FieldHandover, ...] = ()
    conflicts: tuple[OwnerConflict, ...] = ()


class OwnerMap(Struct, frozen=True):
    """The owners of all objects of a plan, in its order."""

    objects: tuple[ObjectOwners, ...] = ()


def _identify(owners: Iterable[Owner]) -> dict[OwnerIdentity, None]:
    return {owner.identity: None for owner in owners}


class _Counter:
    """Counts the fields of one object by owner."""

    def __init__(self) -> None:
        self.indices: dict[OwnerIdentity, int] = {}
        self.counts: list[list[int]] = []
        self.handovers: dict[tuple[int, int], int] = {}

    def index_of(self, owner: OwnerIdentity) -> int:
        """Return the index of an owner, which is added if it is new."""
        if owner not in self.indices:
            self.indices[owner] = len(self.counts)
            self.counts.append([0, 0, 0, 0])
        return self.indices[owner]

    def add(self, reason: FieldReason) -> None:
        """Count one field."""
        before, after = _identify(reason.owners_before), _identify(reason.owners_after)
        lost = [owner for owner in before if owner not in after]
        gained = [owner for owner in after if owner not in before]
        for number, owners in enumerate((before, after, gained, lost)):
            for owner in owners:
                self.counts[self.index_of(owner)][number] += 1
        if lost and gained:
            ends = self.index_of(lost[0]), self.index_of(gained[0])
            self.handovers[ends] = self.handovers.get(ends, 0) + 1


def count_owners(change: PlannedObject) -> ObjectOwners:
    """Return the owners of one object."""
    counter = _Counter()
    for reason in change.fields:
        counter.add(reason)
    disputed: dict[int, list[str]] = {}
    for conflict in change.conflicts:
        owner = conflict.manager, conflict.operation, conflict.subresource
        named = [str(element_value(element)) for element in conflict.path if element[0] == "f"]
        disputed.setdefault(counter.index_of(owner), []).append(named[-1] if named else "")
    return ObjectOwners(
        shares=tuple(OwnerShare(*owner, *counter.counts[index]) for owner, index in counter.indices.items()),
        handovers=tuple(FieldHandover(*ends, count) for ends, count in counter.handovers.items()),
        conflicts=tuple(OwnerConflict(index, len(names), names[0]) for index, names in disputed.items()),
    )


def map_owners(planned: Iterable[PlannedObject]) -> OwnerMap:
    """Return the owners of all objects of a plan."""
    return OwnerMap(tuple(map(count_owners, planned)))
