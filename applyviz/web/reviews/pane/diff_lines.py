"""The diff of live and after apply as lines of YAML, in one column or side by side, with field owners beside them.

`engine.diff` pairs lines, folds them and marks words; a text that is compared by field says so. Server-managed fields
(managedFields, resourceVersion, status and the like) are left out unless requested. Objects are masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.engine.diff.text import DiffLine, Fold, LineState, diff_lines, fold_rows, unify_rows
from applyviz.engine.diff.text import TextDiffRow as PairedRow
from applyviz.engine.diff.words import Part
from applyviz.engine.diff.yaml_text import is_block
from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.known_names import SERVER_WRITTEN
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.web.components.owners import OwnerChip, present_owners
from applyviz.web.components.values import ABSENT, LONGEST, SHORT, find_value
from applyviz.workflow.plans.changes import find_root

PAGE, SHOWN, OF_MANIFEST = 600, 24, 200
COUNTED, COUNTED_IN_ROW = 400, 100
"""So many differing lines of a value are counted: a new version of a custom resource differs in thousands.

A plan has one risk of a kind, but many rows, each of which shows a few lines and the rest as a number.
"""
LOOKED_INTO = 40_000
_MARK, _BLANKS = "…", (" ", "\t", "\n")
_INSIDE: Mapping[str, str | Promise] = {
    "json": _("JSON, formatted"),
    "yaml": _("YAML, compared by field (comments and formatting ignored)"),
    "escapes": _("with escapes for invisible characters"),
}
_SIGNS = {"same": "", "changed": "~", "added": "+", "removed": "−", "fold": ""}  # noqa: RUF001 the minus sign is drawn


class Side(Struct, frozen=True):
    """A line on one side: number, indentation, pieces; `note` says how the text below it is shown."""

    number: int
    indent: str
    parts: tuple[Part, ...]
    note: str | Promise = ""


class DiffRow(Struct, frozen=True):
    """One row of the table; `fold` is its text if it replaces hidden rows.

    - `has_conflict`: the field that begins here is in conflict with another manager.
    - `is_rest`: the fold hides rows that nobody compared, so they may differ.
    """

    state: str
    before: Side | None = None
    after: Side | None = None
    owners: tuple[OwnerChip, ...] = ()
    source_line: int = 0
    fold: str = ""
    has_conflict: bool = False
    is_rest: bool = False

    @property
    def sign(self) -> str:
        """Return the sign beside the color."""
        return _SIGNS[self.state]

    @property
    def shown(self) -> Side | None:
        """Return the side that one column shows."""
        return self.after or self.before


class _Gutter(Struct, frozen=True):
    """The margin of a line: field owners after apply, the line of the manifest, and whether it conflicts."""

    owners: Mapping[FieldPath, tuple[OwnerChip, ...]]
    lines: Mapping[FieldPath, int]
    conflicts: frozenset[FieldPath] = frozenset()

    def find_conflict(self, path: FieldPath) -> FieldPath:
        """Return the field in conflict that a path is or lies in; () for another path."""
        if not self.conflicts:
            return ()
        return next((path[:n] for n in range(len(path), 0, -1) if path[:n] in self.conflicts), ())


_NO_GUTTER = _Gutter({}, {})


def leave_out_server_managed(obj: JSONObject | None) -> JSONObject | None:
    """Return an object without the fields that the server writes."""
    if obj is None:
        return None
    kept = {key: value for key, value in obj.items() if key != "status"}
    meta = kept.get("metadata")
    if isinstance(meta, Mapping):
        kept["metadata"] = {key: value for key, value in meta.items() if key not in SERVER_WRITTEN}
    return kept


def _find_conflicts(change: PlannedObject) -> frozenset[FieldPath]:
    return frozenset(r.path for r in change.fields if r.operation is FieldOperation.CONFLICT)


def _read_gutter(change: PlannedObject, you: str) -> _Gutter:
    owners = {r.path: present_owners(r.owners_after or r.owners_before, you=you) for r in change.fields}
    lines = {r.path: r.position.line for r in change.fields if r.position.line}
    return _Gutter(owners, lines, _find_conflicts(change))


def _present_side(side: DiffLine | None) -> Side | None:
    if side is None:
        return None
    # A row shows which side has a line; words are marked where two lines differ.
    parts = (Part(side.line.text),) if side.is_new else side.parts
    return Side(side.number, "  " * side.line.depth, parts, _INSIDE.get(side.line.inside, ""))


def _present_rows(rows: Iterable[PairedRow | Fold], gutter: _Gutter) -> Iterator[DiffRow]:
    """Yield the printed rows; the owners of a field are beside its first line."""
    path: FieldPath = ()
    marked: set[FieldPath] = {()}
    for row in rows:
        is_first, path = isinstance(row, Fold) or row.path != path, () if isinstance(row, Fold) else row.path
        if isinstance(row, Fold):
            text = ngettext("%(n)d unchanged line", "%(n)d unchanged lines", row.count) % {"n": row.count}
            yield DiffRow("fold", fold=text)
            continue
        conflict = gutter.find_conflict(row.path)
        is_marked = conflict in marked
        marked.add(conflict)
        yield DiffRow(
            row.state.value,
            _present_side(row.before),
            _present_side(row.after),
            owners=gutter.owners.get(row.path, ()) if is_first else (),
            source_line=gutter.lines.get(row.path, 0) if is_first else 0,
            has_conflict=not is_marked,
        )


class DiffPage(Struct, frozen=True):
    """Some rows of a diff; `first` counts from 1, `total` counts all rows that are not folded.

    - `has_inside`: some text is compared by its own fields.
    """

    rows: tuple[DiffRow, ...] = ()
    first: int = 1
    total: int = 0
    has_inside: bool = False

    @property
    def last(self) -> int:
        """Return the last row of the page."""
        return self.first + len(self.rows) - 1

    @property
    def before(self) -> int:
        """Return the start of the previous page, 0 without one."""
        return max(1, self.first - PAGE) if self.first > 1 else 0

    @property
    def after(self) -> int:
        """Return the start of the next page, 0 without one."""
        return self.last + 1 if self.last < self.total else 0


def present_diff(
    change: PlannedObject, *, you: str, is_split: bool, has_server_managed: bool, is_raw: bool = False, start: int = 1
) -> DiffPage:
    """Return a page of the rows of an object; empty when nothing differs and nothing is in conflict.

    - Lines of a field in conflict are marked and never folded: live keeps its value, so they are often equal.

    - `is_raw`: texts with JSON or YAML are compared by line.
    """
    before, after = change.versions.live, change.versions.after
    if not has_server_managed:
        before, after = leave_out_server_managed(before), leave_out_server_managed(after)
    gutter = _read_gutter(change, you)
    if before == after and not gutter.conflicts:
        return DiffPage()
    found = diff_lines(before, after, root=find_root(change.ref.gvk), looks_inside=not is_raw)
    rows = fold_rows(found if is_split else unify_rows(found), keep=lambda row: bool(gutter.find_conflict(row.path)))
    first = min(start, max(1, len(rows)))
    page = rows[first - 1 : first - 1 + PAGE]
    has_inside = any(row.after is not None and row.after.line.inside for row in found)
    return DiffPage(tuple(_present_rows(page, gutter)), first, len(rows), has_inside)


def count_sides(change: PlannedObject) -> tuple[int, int]:
    """Return how many lines live and after apply have in the diff as first shown.

    - 0 for a side without object, and for both where `present_diff` is empty.
    """
    before, after = map(leave_out_server_managed, (change.versions.live, change.versions.after))
    if before == after and not _find_conflicts(change):
        return 0, 0
    found = diff_lines(before, after, root=find_root(change.ref.gvk))
    return sum(row.before is not None for row in found), sum(row.after is not None for row in found)


def diff_values(name: str, before: JSONValue, after: JSONValue, *, has_diff: bool = True) -> tuple[DiffRow, ...]:
    """Return the first differing lines of two long values of a field; empty for short values.

    - The last row says how many lines are left out; `has_diff`: the page has a diff view that shows them.
    """
    if before is ABSENT or after is ABSENT or (_is_short(before) and _is_short(after)):
        return ()
    hidden, is_cut = 0, False
    rows = _look_inside(name, before, after)
    if not rows:
        if isinstance(before, str) and isinstance(after, str):
            before, after, hidden = _find_window(before, after)
        compared = _compare_lines(name, before, after)
        is_cut = sum(row.state is not LineState.SAME for row in compared) >= COUNTED_IN_ROW
        rows = fold_rows(compared, context=1)
    shown = list(_present_rows(rows[:SHOWN], _NO_GUTTER))
    hidden += _count_lines(rows[SHOWN:])
    if hidden:
        shown.append(_state_rest(hidden, has_diff=has_diff, is_cut=is_cut))
    return tuple(shown)


def _compare_lines(name: str, before: JSONValue, after: JSONValue) -> tuple[PairedRow, ...]:
    """Return the rows of two values of a field.

    - A part of a text may begin with an indented line, which no literal block does: a mark before it is left out again.
    """
    begun = [f"{_MARK}\n{text}" for text in (before, after) if isinstance(text, str) and text[:1] in _BLANKS]
    if len(begun) < 2 or not all(map(is_block, begun)):
        return unify_rows(
            diff_lines({name: before}, {name: after}, looks_inside=False, is_short=True, most=COUNTED_IN_ROW)
        )
    rows = unify_rows(diff_lines({name: begun[0]}, {name: begun[1]}, looks_inside=False))
    mark = next(n for n, row in enumerate(rows) if row.after is not None and row.after.line.text == _MARK)
    return (*rows[:mark], *rows[mark + 1 :])  # the line of its name before it is two, if the end differs


def _state_rest(hidden: int, *, has_diff: bool = False, is_cut: bool = False) -> DiffRow:
    text = ngettext("%(n)d more line", "%(n)d more lines", hidden)
    if is_cut:
        text = gettext("at least %(n)d more lines: see the diff") if has_diff else gettext("at least %(n)d more lines")
    elif has_diff:
        text = ngettext("%(n)d more line: see the diff", "%(n)d more lines: see the diff", hidden)
    return DiffRow("fold", fold=text % {"n": hidden}, is_rest=True)


def _count_lines(rows: Iterable[PairedRow | Fold]) -> int:
    return sum(row.count if isinstance(row, Fold) else 1 for row in rows)


def diff_manifests(gvk: GroupVersionKind, before: JSONObject | None, after: JSONObject | None) -> tuple[DiffRow, ...]:
    """Return the rows of two manifests of an object, equal ones folded; None is no manifest.

    - The last row says how many lines are left out.
    """
    rows = fold_rows(unify_rows(diff_lines(before, after, root=find_root(gvk))))
    shown, hidden = tuple(_present_rows(rows[:OF_MANIFEST], _NO_GUTTER)), _count_lines(rows[OF_MANIFEST:])
    return (*shown, _state_rest(hidden)) if hidden else shown


def _look_inside(name: str, before: JSONValue, after: JSONValue) -> tuple[PairedRow | Fold, ...]:
    """Return the rows of two texts that are compared by field; empty for other texts."""
    if not isinstance(before, str) or not isinstance(after, str) or len(before) + len(after) > LOOKED_INTO:
        return ()
    rows = unify_rows(diff_lines({name: before}, {name: after}))
    head = rows[0].after
    return fold_rows(rows, context=1) if head is not None and head.line.inside else ()


def _find_window(before: str, after: str) -> tuple[str, str, int]:
    """Return where two texts start to differ, as far as a row shows it, and how many lines are left out."""
    old, new = before.split("\n"), after.split("\n")
    same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    first = max(0, same - 1)
    left, right = (lines[first : first + SHOWN] for lines in (old, new))
    hidden = max(len(old), len(new)) - first - max(len(left), len(right))
    starts = [_find_start(*pair) for pair in zip_longest(left, right, fillvalue="")]
    parts = ("\n".join(map(_cut, lines, starts)) for lines in (left, right))
    return next(parts), next(parts), hidden


def _find_start(before: str, after: str) -> int:
    """Return from which character on two long lines are shown: their first difference is never cut."""
    same = next(
        (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    return same - SHORT if before != after and same >= LONGEST - SHORT else 0


def _cut(line: str, start: int) -> str:
    """Return a part of a line, with marks where more of it is left out."""
    end = start + LONGEST
    return f"{'…' if start else ''}{line[start:end]}{'…' if len(line) > end else ''}"


def diff_bodies(before: JSONValue, after: JSONValue) -> tuple[DiffRow, ...]:
    """Return the lines of two request bodies side by side."""
    old, new = (value if isinstance(value, Mapping) else {"body": value} for value in (before, after))
    return tuple(_present_rows(fold_rows(diff_lines(old, new), context=2), _NO_GUTTER))


def _is_short(value: JSONValue) -> bool:
    if isinstance(value, str):
        return len(value) <= SHORT and "\n" not in value
    return not _has_more(value, [SHORT]) and len(str(value)) <= SHORT


def _has_more(value: JSONValue, left: list[int]) -> bool:
    """Return whether a value has more than `left` nodes; each node takes at least one character."""
    left[0] -= 1
    if isinstance(value, Mapping):
        return left[0] < 0 or any(_has_more(item, left) for item in value.values())
    if isinstance(value, list):
        return left[0] < 0 or any(_has_more(item, left) for item in value)
    return left[0] < 0


class DifferingLine(NamedTuple):
    """A differing line that is rendered only if it is shown.

    - `shared`: the number of characters of indentation that all lines share; `present` removes them.
    """

    row: PairedRow
    shared: int

    def present(self) -> DiffRow:
        """Return the line as pages show it."""
        return DiffRow(self.row.state.value, self._present(self.row.before), self._present(self.row.after))

    def _present(self, line: DiffLine | None) -> Side | None:
        side = _present_side(line)
        return side and replace(side, indent=side.indent[self.shared :])


def diff_at(change: PlannedObject, path: FieldPath, *, most: int | None = None) -> tuple[DifferingLine, ...]:
    """Return the differing lines at a path of an object, without their neighbors; empty when nothing differs.

    - `most`: with so many lines or more, there may be others.
    - Without a path it compares the whole object; its metadata only when nothing else differs.
    """
    live, after = (
        leave_out_server_managed(change.versions.live) or {},
        leave_out_server_managed(change.versions.after) or {},
    )
    if path:
        name = render_path(path[-1:]).strip(".") or "value"
        old, new = find_value(live, path), find_value(after, path)
        before = {} if old is ABSENT else {name: old}
        then = {} if new is ABSENT else {name: new}
    else:
        before, then = ({k: v for k, v in side.items() if k != "metadata"} for side in (live, after))
        if before == then:
            before, then = dict(live), dict(after)
    found = unify_rows(diff_lines(before, then, is_short=True, most=most))
    rows = [row for row in found if row.state is not LineState.SAME]
    shared = min((side.line.depth for row in rows for side in (row.before, row.after) if side), default=0)
    return tuple(DifferingLine(row, 2 * shared) for row in rows)
