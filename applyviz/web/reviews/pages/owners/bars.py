"""One row of the map as a drawing: bars for owned fields, arrows for handovers, a split cell for a conflict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz.engine.objects.owners import Owner
from applyviz.engine.planning.model.owner_map import ObjectOwners, OwnerConflict, OwnerShare
from applyviz.web.components.owners import present_owner
from applyviz.web.reviews.pages.owners.columns import WIDTH, Columns

LINE = 20
_PER_FIELD, _LEAST, _LONGEST = 1.9, 3, 84
_INDENT, _LETTER = 9, 6.4
_FIELD = 11


class BarSegment(Struct, frozen=True):
    """A part of a bar; `style` says what becomes of its fields."""

    x: int
    width: int
    style: str


class Label(Struct, frozen=True):
    """A text beside a bar."""

    x: int
    text: str
    is_strong: bool


class Arrow(Struct, frozen=True):
    """A handover from column to column; `y` is its line, `head` the direction of its point."""

    path: str
    head: str
    x: int
    y: int
    text: str


class Split(Struct, frozen=True):
    """A conflict: what the manifest wants beside what is live."""

    x: int
    text: str


class DrawnRow(Struct, frozen=True):
    """One row; `label` says all of it in words."""

    bars: tuple[BarSegment, ...]
    labels: tuple[Label, ...]
    arrows: tuple[Arrow, ...]
    splits: tuple[Split, ...]
    width: int
    height: int
    label: str
    grid: str


def _measure(fields: int) -> int:
    return min(_LONGEST, max(_LEAST, round(fields * _PER_FIELD))) if fields else 0


def _count(share: OwnerShare) -> str:
    return str(share.after) if share.before == share.after else f"{share.before} → {share.after}"


def _draw_share(share: OwnerShare, x: int) -> Iterator[BarSegment]:
    kept = share.after - share.gained
    for fields, style in (
        (kept, "apply" if share.operation == "Apply" else "update"),
        (share.gained, "gained"),
        (share.lost, "lost"),
    ):
        width = _measure(fields)
        if width:
            yield BarSegment(x, width, style)
            x += width


def _draw_arrow(start: int, end: int, y: int, count: int) -> Arrow:
    """An arrow along a row, with the number of fields over its middle."""
    middle = (start + end) // 2
    direction = 1 if end > start else -1
    half = round(len(str(count)) * _LETTER / 2) + 4
    path = f"M{start} {y}H{middle - direction * half}M{middle + direction * half} {y}H{end - direction * 6}"
    head = f"M{end} {y}l{-direction * 7} -4v8z"
    return Arrow(path, head, middle, y + 4, str(count))


def name_owners(owners: ObjectOwners) -> tuple[str, ...]:
    """The name of each owner of one object, with how it writes where others have the same name."""
    found = Counter(share.manager for share in owners.shares)
    chips = (present_owner(Owner(s.manager, s.operation, subresource=s.subresource)) for s in owners.shares)
    return tuple(chip.name if found[chip.name] == 1 else f"{chip.name} ({chip.how})" for chip in chips)


def _count_fields(name: str, share: OwnerShare) -> str:
    """How many fields one owner has, before and after where it gains or loses some."""
    counts = {"manager": name, "before": share.before, "after": share.after, "n": share.gained}
    if not (share.gained or share.lost):
        return ngettext("%(manager)s %(after)d field", "%(manager)s %(after)d fields", share.after) % counts
    if share.before == share.after:
        text = ngettext(
            "%(manager)s %(after)d field: %(n)d gained, as many lost",
            "%(manager)s %(after)d fields: %(n)d gained, as many lost",
            share.after,
        )
        return text % counts
    text = ngettext(
        "%(manager)s %(before)d to %(after)d field", "%(manager)s %(before)d to %(after)d fields", share.after
    )
    return text % counts


def describe_owners(owners: ObjectOwners) -> str:
    """The owners of one object in words, with what they hand over and what is in conflict."""
    names = name_owners(owners)
    parts = [_count_fields(name, share) for name, share in zip(names, owners.shares, strict=True)]
    parts += [
        _("%(count)d from %(source)s to %(target)s")
        % {"count": h.count, "source": names[h.source], "target": names[h.target]}
        for h in owners.handovers
    ]
    parts += [
        _("%(field)s in conflict with %(manager)s") % {"field": c.field, "manager": names[c.share]}
        for c in owners.conflicts
    ]
    return "; ".join(parts)


class _Pen:
    """Draws the shares of a row and remembers where each of them ends."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.bars: list[BarSegment] = []
        self.labels: list[Label] = []
        self.ends: dict[int, int] = {}

    def draw(self, shares: tuple[OwnerShare, ...]) -> None:
        """The bars and numbers of each column; shares of one column are drawn side by side."""
        for share in shares:
            column = self.columns.column_of(share)
            x = self.ends.get(column, column * WIDTH) + _INDENT
            bars = list(_draw_share(share, x))
            self.bars += bars
            text = _count(share)
            x = bars[-1].x + bars[-1].width + 5 if bars else x
            self.labels.append(Label(x, text, share.before != share.after))
            self.ends[column] = x + round(len(text) * _LETTER) + 2

    def split(self, conflict: OwnerConflict, share: OwnerShare) -> Split:
        """The cell of a conflict, behind the bar of who holds the field."""
        column = self.columns.column_of(share)
        x = min(self.ends.get(column, column * WIDTH) + 6, (column + 1) * WIDTH - 92)
        text = conflict.field if len(conflict.field) <= _FIELD else f"{conflict.field[: _FIELD - 1]}…"
        return Split(x, text)


def draw_row(owners: ObjectOwners, columns: Columns) -> DrawnRow:
    """The drawing of one object; a second handover of an object gets another line."""
    pen = _Pen(columns)
    pen.draw(owners.shares)
    arrows: list[Arrow] = []
    for handover in owners.handovers:
        source, target = (columns.column_of(owners.shares[n]) for n in (handover.source, handover.target))
        if source == target:
            continue
        y = LINE // 2 + LINE * len(arrows)
        if source < target:
            start = pen.ends[source] + 4 if not arrows else source * WIDTH + _INDENT
            end = target * WIDTH + 6
        else:
            start = source * WIDTH + 6
            end = pen.ends[target] + 4 if not arrows else target * WIDTH + _INDENT
        arrows.append(_draw_arrow(start, end, y, handover.count))
    height = LINE * max(1, len(arrows))
    return DrawnRow(
        bars=tuple(pen.bars),
        labels=tuple(pen.labels),
        arrows=tuple(arrows),
        splits=tuple(pen.split(conflict, owners.shares[conflict.share]) for conflict in owners.conflicts),
        width=WIDTH * len(columns.found),
        height=height,
        label=describe_owners(owners),
        grid="".join(f"M{WIDTH * n} 0v{height}" for n in range(len(columns.found))),
    )
