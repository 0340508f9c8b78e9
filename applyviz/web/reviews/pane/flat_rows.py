"""The rows of one object in the scroll of all changes: one line each, and a reason only where it surprises.

The part that two values share is printed once, so that the part that differs is never cut off. Values come masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.explain.surprises import is_surprising
from applyviz.engine.objects.lookups import FieldFinder
from applyviz.engine.objects.owners import name_owner
from applyviz.engine.objects.paths import FieldPath, field
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.sentences import describe_risk
from applyviz.web.components.field_paths import split_path
from applyviz.web.components.field_strip import LONGEST, FieldStrip
from applyviz.web.components.owners import find_twins, mark_twins
from applyviz.web.components.phrases import describe_reason
from applyviz.web.components.values import ABSENT, Shown, ShowValue, ValueTexts
from applyviz.web.reviews.pane.field_strips import present_result_strips, present_strips
from applyviz.web.reviews.pane.fields import FieldFilter, FieldRow, find_equality, present_rows, select_reasons
from applyviz.web.reviews.pane.resolutions import NOTHING, ConflictPage, ResolutionCard
from applyviz.workflow.plans.applied_manifests import is_kept_by_others

ROWS = 60
_IMAGE = field("image")
_LEAST_SHARED = 5
_BOUNDARIES = ":/="
_MOVING = (FieldFilter.CHANGES, FieldFilter.KEPT)


class RowFilter(StrEnum):
    """Which fields the scroll shows."""

    CHANGED = "changed"
    KEPT = "kept"
    ALL = "all"


ROW_FILTER_WORDS: Mapping[RowFilter, str | Promise] = {
    RowFilter.CHANGED: gettext_lazy("Changed"),
    RowFilter.KEPT: gettext_lazy("+ Kept"),
    RowFilter.ALL: gettext_lazy("All fields"),
}


class InlineDiff(Struct, frozen=True):
    """Two short values: what they share at the beginning, and what differs; None where there is no value."""

    shared: str
    before: str | None
    after: str | None


class ResultCard(Struct, frozen=True):
    """One resolution of a conflict with the strip of its result."""

    card: ResolutionCard
    strip: FieldStrip


class FlatRow(Struct, frozen=True):
    """One field as a line: `parent` and `leaf` are its path, `move` its values when they are short, `summary` when not.

    - `strip`: its drawing in the line; `opened`: the drawing that opening the line shows.
    - `comments`: how many comments on it are open; `title` begins a group of rows.
    """

    row: FieldRow
    strip: FieldStrip
    opened: FieldStrip
    parent: str
    leaf: str
    move: InlineDiff | None
    summary: str
    note: str
    cards: tuple[ResultCard, ...] = ()
    comments: int = 0
    title: str = ""

    @property
    def tone(self) -> str:
        """The tone of the operation; a default that replaces a value is a change."""
        return self.strip.tone if self.row.is_changed else self.row.style.tone

    @property
    def has_long(self) -> bool:
        """Whether the opened strip has to cut a value."""
        return any(v.value is not None and len(v.value.text) > LONGEST for v in self.row.versions)

    @property
    def sign(self) -> str:
        """The sign beside the tone."""
        return self.row.style.glyph


def find_shared(before: str, after: str) -> str:
    """Return the common beginning of two texts, up to a colon, a slash or an equals sign; "" when it is short."""
    length = 0
    for left, right in zip(before, after, strict=False):
        if left != right:
            break
        length += 1
    cut = max(before.rfind(sign, 0, length) for sign in _BOUNDARIES) + 1
    return before[:cut] if cut >= _LEAST_SHARED else ""


def _is_short(shown: Shown | None) -> bool:
    return shown is None or not (shown.is_long or shown.is_cut)


def _present_move(row: FieldRow, wanted: Shown | None) -> InlineDiff | None:
    """The values of a row side by side; a conflict holds live against the manifest."""
    before, after = row.live, wanted if row.is_conflict else row.after
    if not (_is_short(before) and _is_short(after)):
        return None
    if before is None or after is None:
        return InlineDiff("", before.text if before else None, after.text if after else None)
    is_whole = before.is_masked or after.is_masked or not (row.is_changed or row.is_conflict)
    shared = "" if is_whole else find_shared(before.text, after.text)
    return InlineDiff(shared, before.text[len(shared) :], after.text[len(shared) :])


def _summarize(row: FieldRow) -> str:
    """How many lines a long value gains and loses."""
    if row.after is None and row.live is not None:
        return ngettext("removed: %(n)d line", "removed: %(n)d lines", row.live.lines) % {"n": row.live.lines}
    if row.live is None:
        return _count(0 if row.after is None else row.after.lines, 0)
    added = sum(line.state in ("added", "changed") for line in row.lines)
    removed = sum(line.state in ("removed", "changed") for line in row.lines)
    if not added and not removed:
        return _("replaced") if row.is_changed else _("unchanged")
    counted = _count(added, removed)
    # What is beyond the lines of a row is not compared, so that its number is not known.
    return _("at least %(counted)s") % {"counted": counted} if any(line.is_rest for line in row.lines) else counted


def _count(added: int, removed: int) -> str:
    counts = [f"+{added}"] * bool(added) + [f"−{removed}"] * bool(removed)  # noqa: RUF001 the minus sign is drawn
    return ngettext("%(counts)s line", "%(counts)s lines", added + removed) % {"counts": " ".join(counts)}


def _find_notes(change: PlannedObject) -> dict[FieldPath, str]:
    """Return the risks of single fields."""
    notes: dict[FieldPath, str] = {}
    for risk in change.risks:
        if risk.kind.is_beside_field:
            notes.setdefault(risk.path, describe_risk(risk, _))
    return notes


def _describe_dropped(reason: FieldReason, you: str) -> str:
    """Return who keeps a field that left the manifest: an autoscaler writes the scale of an object."""
    owning = reason.owners_after
    names = [name_owner(one.manager, one.subresource, operation=one.operation, you=you) for one in owning]
    owners = ", ".join(dict.fromkeys(names))
    text = ngettext(
        "no longer in the manifest, but kept: %(owners)s owns it",
        "no longer in the manifest, but kept: %(owners)s own it",
        len(set(names)),
    )
    return text % {"owners": owners}


def _describe(
    change: PlannedObject, reason: FieldReason, notes: Mapping[FieldPath, str], applied: FieldFinder | None, you: str
) -> str:
    if reason.path in notes:
        return notes[reason.path]
    if is_kept_by_others(reason) and _is_dropped(reason, applied):
        return _describe_dropped(reason, you)
    if reason.operation is FieldOperation.CONFLICT:
        return ""  # the row is open and says it
    is_live = change.versions.in_live.find(reason.path) is not ABSENT
    return describe_reason(reason) if is_surprising(reason, is_live=is_live) else ""


def _rank(row: tuple[int, FieldReason]) -> tuple[bool, int]:
    """The order of changed fields: images first, then as the object has them."""
    return row[1].path[-1] != _IMAGE, row[0]


def _is_dropped(reason: FieldReason, applied: FieldFinder | None) -> bool:
    """Return whether a field that stays was in the manifest before; `applied` is what a run last applied."""
    if reason.operation is not FieldOperation.KEPT:
        return False
    if reason.reason is Reason.RELEASED:
        return True
    return is_kept_by_others(reason) and applied is not None and applied.find(reason.path) is not ABSENT


def select_rows(
    change: PlannedObject, chosen: RowFilter, applied: FieldFinder | None = None
) -> list[tuple[int, FieldReason]]:
    """The reasons that the scroll shows, each with its place in the change.

    - A field that left the manifest and stays is among the changed ones, although its value does not change.
    """
    if chosen is RowFilter.ALL:
        return select_reasons(change, FieldFilter.ALL)
    if chosen is RowFilter.CHANGED:
        changed = dict(select_reasons(change, FieldFilter.CHANGES))
        dropped = {n: r for n, r in select_reasons(change, FieldFilter.KEPT) if _is_dropped(r, applied)}
        return sorted((changed | dropped).items(), key=_rank)
    return sorted({index: reason for f in _MOVING for index, reason in select_reasons(change, f)}.items())


def _mark_owner_twins(rows: tuple[FieldRow, ...]) -> Iterator[FieldRow]:
    """Yield the rows of an object; a manager that owns fields by several operations is named with each of them."""
    twins = find_twins(chip for row in rows for chip in (*row.owners_before, *row.owners_after))
    for row in rows:
        before, after = (mark_twins(chips, twins) for chips in (row.owners_before, row.owners_after))
        yield replace(row, owners_before=before, owners_after=after) if twins else row


def _present_flat(
    change: PlannedObject,
    row: FieldRow,
    notes: Mapping[FieldPath, str],
    options: ApplyOptions,
    resolution: ConflictPage,
    show: ShowValue,
) -> FlatRow:
    reason, applied = change.fields[row.index], resolution.applied
    move = None if row.lines else _present_move(row, show(change.versions.in_manifest.find(reason.path)))
    parent, leaf = split_path(reason.path)
    is_equal = find_equality(change, reason)
    strip, opened = present_strips(change, reason, options=options, is_equal=is_equal, show=show, applied=applied)
    results = present_result_strips(change, reason, options=options, applied=applied)
    cards = row.conflict_row.cards if row.conflict_row else ()
    return FlatRow(
        row=row,
        strip=strip,
        opened=opened,
        parent=parent,
        leaf=leaf,
        move=move,
        summary="" if move else _summarize(row),
        note=_describe(change, reason, notes, applied, options.field_manager),
        cards=tuple(ResultCard(card, results[card.resolution]) for card in cards),
    )


def present_flat_rows(
    change: PlannedObject,
    reasons: Iterable[tuple[int, FieldReason]],
    *,
    options: ApplyOptions,
    url_of: Callable[[int], str],
    resolution: ConflictPage = NOTHING,
) -> tuple[FlatRow, ...]:
    """The rows of one object in the order of the object after apply."""
    notes, show = _find_notes(change), ValueTexts().show
    shown = present_rows(
        change, reasons, options=options, explain=describe_reason, url_of=url_of, resolution=resolution, show=show
    )
    return tuple(
        _present_flat(change, row, notes, options, resolution, show) for row in _mark_owner_twins(tuple(shown))
    )
