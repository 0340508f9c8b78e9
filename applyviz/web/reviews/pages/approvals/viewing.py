"""Objects that are marked as viewed together: identical ones, a block of the scroll, a group or all of the list."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from applyviz.records.models import ObjectChange, Plan
from applyviz.web.reviews.pages.object_groups import arrange
from applyviz.web.reviews.pages.object_list import ListChoice, select_group
from applyviz.web.reviews.pages.plan_overview import PlanOverview, read_for_reader
from applyviz.web.reviews.pages.scroll import ScrollReader, read_index


def _describe_nature(row: ObjectChange) -> tuple[object, ...]:
    return row.group, row.kind, row.operation, frozenset(map(tuple, row.risk_levels))


def list_identical(plan: Plan, rows: Sequence[ObjectChange], positions: Collection[int]) -> tuple[ObjectChange, ...]:
    """Return the objects at these positions, and those that change identically, of the same kind with the same risks.

    A person who viewed one of them viewed them all.
    """
    seen = [row for row in rows if row.position in positions]
    groups = [same.positions for same in read_for_reader(plan).same if same.is_same] if seen else []
    group_of = {position: group for group in reversed(groups) for position in group}
    wanted = {
        (position, nature)
        for members, nature in {(group_of.get(r.position, frozenset({r.position})), _describe_nature(r)) for r in seen}
        for position in members
    }
    return tuple(row for row in rows if (row.position, _describe_nature(row)) in wanted)


def list_members(plan: Plan, rows: Sequence[ObjectChange], key: str) -> tuple[ObjectChange, ...]:
    """The objects of one block of identical changes; none when there is no such block."""
    overview = read_for_reader(plan)
    found = (group for group in arrange(rows, overview.same) if group.key == key and group.alike is not None)
    return next((group.changes for group in found), ())


def list_shown(context: ScrollReader, choice: ListChoice) -> tuple[ObjectChange, ...]:
    """Return the objects that the list shows under these filters; with a group in the choice, only those of it."""
    overview = read_for_reader(context.plan) if context.is_complete else PlanOverview()
    where = read_index(context, overview, choice.q)
    return tuple(select_group(context.changes, choice, where, context.viewed))
