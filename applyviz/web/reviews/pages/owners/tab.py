"""The map of owners: objects by what happens to their ownership, field managers as columns, drawn or as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.owner_map import ObjectOwners, OwnerShare
from applyviz.engine.planning.model.plan import DELETIONS, Operation
from applyviz.records.models import ObjectChange
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.reviews.pages.owners.bars import DrawnRow, describe_owners, draw_row, name_owners
from applyviz.web.reviews.pages.owners.columns import Columns, ManagerColumn, find_columns
from applyviz.web.reviews.pages.owners.tree import OwnerTree, present_tree
from applyviz.web.reviews.pages.plan_context import PlanContext
from applyviz.workflow.plans.plan_details import read_owners

FEW, MOST = 8, 200
_CONFLICTS, _HANDOVER, _GAINED, _NEW, _DELETED, _SAME = range(6)


class OwnerRow(Struct, frozen=True):
    """One object; `cells` are its numbers by column, for the table."""

    style: Appearance
    kind: str
    name: str
    url: str
    why: str
    drawn: DrawnRow | None
    cells: tuple[str, ...]
    words: str
    is_conflict: bool


class OwnerGroup(Struct, frozen=True):
    """Objects of which the same is to be said; `total` counts those that are left out too."""

    title: str
    rows: tuple[OwnerRow, ...]
    total: int

    @property
    def more(self) -> int:
        """The number of objects that are not drawn."""
        return self.total - len(self.rows)


class OwnersTab(Struct, frozen=True):
    """The map, or the tree of one object; with one field manager a sentence says it all."""

    groups: tuple[OwnerGroup, ...] = ()
    columns: tuple[ManagerColumn, ...] = ()
    sentence: str = ""
    is_table: bool = False
    is_whole: bool = False
    total: int = 0
    tree: OwnerTree | None = None


def _rank(owners: ObjectOwners, operation: Operation) -> int:
    if owners.conflicts:
        return _CONFLICTS
    if owners.handovers:
        return _HANDOVER
    # A new or deleted object gains or loses all of its owners, if it has any owned field.
    if operation is Operation.CREATE:
        return _NEW
    if operation in DELETIONS:
        return _DELETED
    return _GAINED if any(share.gained or share.lost for share in owners.shares) else _SAME


def _describe_cause(owners: ObjectOwners) -> str:
    shares = owners.shares
    if owners.conflicts:
        fields = ", ".join(conflict.field for conflict in owners.conflicts)
        return _("%(fields)s: conflict") % {"fields": fields}
    if owners.handovers:
        names = name_owners(owners)
        pairs = (f"{names[h.source]} → {names[h.target]}" for h in owners.handovers)
        return ", ".join(dict.fromkeys(pairs))
    # What writes through the subresource `scale` owns the number of replicas and nothing else.
    return _("scales replicas") if any(share.subresource == "scale" and share.after for share in shares) else ""


def _list_cells(shares: Sequence[OwnerShare], columns: Columns) -> tuple[str, ...]:
    counts = [[0, 0] for _column in columns.found]
    for share in shares:
        count = counts[columns.column_of(share)]
        count[0] += share.before
        count[1] += share.after
    return tuple("" if not any(c) else str(c[1]) if c[0] == c[1] else f"{c[0]} → {c[1]}" for c in counts)


def _present_row(row: ObjectChange, owners: ObjectOwners, columns: Columns, *, is_table: bool) -> OwnerRow:
    operation = Operation(row.operation)
    return OwnerRow(
        style=OBJECT_STYLES[operation],
        kind=row.kind,
        name=row.name,
        url=f"?object={row.position}",
        why=_("not shown") if operation is Operation.WITHHELD else _describe_cause(owners),
        drawn=None if is_table else draw_row(owners, columns),
        cells=_list_cells(owners.shares, columns),
        words=describe_owners(owners),
        is_conflict=bool(owners.conflicts),
    )


def _group_rows(
    rows: Sequence[ObjectChange], objects: Sequence[ObjectOwners], columns: Columns, *, is_table: bool, is_whole: bool
) -> tuple[OwnerGroup, ...]:
    by_rank: dict[int, list[tuple[ObjectChange, ObjectOwners]]] = {}
    for row in rows:
        owners = objects[row.position]
        by_rank.setdefault(_rank(owners, Operation(row.operation)), []).append((row, owners))
    titles = (
        *(_("Conflicts"), _("Handover"), _("Gained or lost")),
        *(_("New objects"), _("Deleted objects"), _("Same owners")),
    )
    groups = []
    for rank, members in sorted(by_rank.items()):
        # Objects that the plan changes come before unchanged ones.
        ordered = sorted(members, key=lambda member: member[0].operation == Operation.UNCHANGED.value)
        shown = ordered[: FEW if rank > _GAINED and not is_whole else MOST]
        presented = tuple(_present_row(row, owners, columns, is_table=is_table) for row, owners in shown)
        groups.append(OwnerGroup(titles[rank], presented, len(members)))
    return tuple(groups)


def _state_one(columns: Sequence[ManagerColumn], total: int) -> str:
    if not columns:
        return _("No field manager owns fields of these objects.")
    if len(columns) > 1:
        return ""
    sentence = ngettext(
        "%(manager)s (%(how)s) owns every owned field of the %(total)d object, before and after.",
        "%(manager)s (%(how)s) owns every owned field of all %(total)d objects, before and after.",
        total,
    )
    return sentence % {"manager": columns[0].manager, "how": columns[0].how, "total": total}


def _present_one(context: PlanContext, row: ObjectChange, query: Mapping[str, str]) -> OwnerTree:
    return present_tree(context, row, is_folded=query.get("fold") != "0", has_defaults=query.get("defaults") != "0")


def _link_columns(columns: Sequence[ManagerColumn], cluster: str) -> tuple[ManagerColumn, ...]:
    """The columns with the addresses of all fields that their managers own in the cluster."""
    return tuple(
        replace(column, url=reverse("clusters:field-manager", args=[cluster, column.manager]))
        if column.manager and column.manager.isprintable()
        else column
        for column in columns
    )


def present_owners_tab(context: PlanContext, query: Mapping[str, str]) -> OwnersTab:
    """The tab of a plan; empty while the plan is calculated. `query`: view, all, object, fold and defaults."""
    found = read_owners(context.plan)
    if found is None:
        return OwnersTab()
    chosen = query.get("object", "")
    row = next((r for r in context.changes if str(r.position) == chosen), None)
    if row is not None:
        return OwnersTab(tree=_present_one(context, row, query))
    columns = find_columns(found.objects, own=context.options.field_manager)
    is_table, is_whole = query.get("view") == "table", query.get("all") == "1"
    rows = [r for r in context.changes if r.position < len(found.objects)]
    sentence = _state_one(columns.found, len(rows))
    has_moves = any(share.gained or share.lost for one in found.objects for share in one.shares)
    if sentence and not has_moves:
        return OwnersTab(sentence=sentence, total=len(rows))
    return OwnersTab(
        groups=_group_rows(rows, found.objects, columns, is_table=is_table, is_whole=is_whole),
        columns=_link_columns(columns.found, context.plan.target.cluster.slug),
        is_table=is_table,
        is_whole=is_whole,
        total=len(rows),
    )
