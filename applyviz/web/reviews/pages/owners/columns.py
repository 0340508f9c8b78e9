"""The columns of the map: the field managers of a plan, in an order that people read.

The manager that hands over is first, then the field manager of the plan, then the others by their number of fields.
More than seven are drawn together.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from applyviz.engine.objects.owners import describe_write
from applyviz.engine.planning.model.owner_map import ObjectOwners, OwnerShare

MOST = 7
WIDTH = 176


class ManagerColumn(Struct, frozen=True):
    """One field manager; the last column may stand for several (`others`). `url`: all fields that it owns."""

    manager: str
    operation: str
    subresource: str
    before: int
    after: int
    others: int = 0
    url: str = ""

    @property
    def how(self) -> str:
        """The operation, with the subresource that it went through."""
        return describe_write(self.operation, self.subresource)


def _identify(share: OwnerShare) -> tuple[str, str, str]:
    return share.manager, share.operation, share.subresource


class Columns(Struct, frozen=True):
    """All columns, and which of them each share belongs to."""

    found: tuple[ManagerColumn, ...]
    columns: dict[tuple[str, str, str], int]

    def column_of(self, share: OwnerShare) -> int:
        """The column of a share."""
        return self.columns[_identify(share)]


def find_columns(objects: Sequence[ObjectOwners], *, own: str) -> Columns:
    """The columns of a map; `own` is the field manager of the plan."""
    totals: dict[tuple[str, str, str], list[int]] = {}
    giving: set[tuple[str, str, str]] = set()
    for one in objects:
        for share in one.shares:
            total = totals.setdefault(_identify(share), [0, 0])
            total[0] += share.before
            total[1] += share.after
        giving |= {_identify(one.shares[handover.source]) for handover in one.handovers}

    def rank(identity: tuple[str, str, str]) -> tuple[int, int, tuple[str, str, str]]:
        is_own = identity[0] == own and identity[1] == "Apply"
        group = 1 if is_own else 0 if identity in giving else 2
        return group, -max(totals[identity]), identity

    ordered = sorted(totals, key=rank)
    shown = ordered if len(ordered) <= MOST else ordered[: MOST - 1]
    rest = ordered[len(shown) :]
    found = [ManagerColumn(*identity, before=totals[identity][0], after=totals[identity][1]) for identity in shown]
    if rest:
        before, after = (sum(totals[identity][n] for identity in rest) for n in (0, 1))
        found.append(ManagerColumn("", "", "", before, after, len(rest)))
    columns = {identity: n for n, identity in enumerate(shown)} | dict.fromkeys(rest, len(shown))
    return Columns(tuple(found), columns)
