"""Live against after apply as lines of YAML, in one column or side by side, with field owners beside them.

Pairing, folding and words are those of `engine.diff.text`. What the server writes by itself (managedFields,
resourceVersion, status and their like) is left out unless it is asked for. Objects come masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import ngettext

from applyviz.engine.diff.text import DiffLine, Fold, diff_lines, fold_rows, unify_rows
from applyviz.engine.diff.text import DiffRow as PairedRow
from applyviz.engine.diff.words import Part
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.plan import ObjectChange
from applyviz.engine.schema.builtin import bundled
from applyviz.web.presenters.owners import OwnerChip, present_owners
from applyviz.web.presenters.values import ABSENT, LONGEST, SHORT

_NOISE = frozenset({"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"})
_SIGNS = {"same": "", "changed": "~", "added": "+", "removed": "−", "fold": ""}  # noqa: RUF001 the minus sign is drawn


@dataclass(frozen=True, slots=True)
class Side:
    """A line on one side: number, indentation, pieces."""

    number: int
    indent: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One row of the table; `fold` is its text when it stands for hidden rows."""

    state: str
    before: Side | None = None
    after: Side | None = None
    owners: tuple[OwnerChip, ...] = ()
    source_line: int = 0
    fold: str = ""

    @property
    def sign(self) -> str:
        """The sign beside the colour."""
        return _SIGNS[self.state]

    @property
    def shown(self) -> Side | None:
        """The side that one column shows."""
        return self.after or self.before


@dataclass(frozen=True, slots=True)
class _Gutter:
    """What stands beside a line: field owners after apply, and the line of the manifest."""

    owners: Mapping[FieldPath, tuple[OwnerChip, ...]]
    lines: Mapping[FieldPath, int]


_NO_GUTTER = _Gutter({}, {})


def _quiet(obj: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if obj is None:
        return None
    kept = {key: value for key, value in obj.items() if key != "status"}
    meta = kept.get("metadata")
    if isinstance(meta, Mapping):
        kept["metadata"] = {key: value for key, value in meta.items() if key not in _NOISE}
    return kept


def _read_gutter(change: ObjectChange, you: str) -> _Gutter:
    owners = {r.path: present_owners(r.owners_after or r.owners_before, you=you) for r in change.fields}
    return _Gutter(owners, {r.path: r.position.line for r in change.fields if r.position.line})


def _present_side(side: DiffLine | None) -> Side | None:
    return None if side is None else Side(side.number, "  " * side.line.depth, side.parts)


def _present_rows(rows: Iterable[PairedRow | Fold], gutter: _Gutter) -> Iterator[DiffRow]:
    for row in rows:
        if isinstance(row, Fold):
            text = ngettext("%(n)d equal line", "%(n)d equal lines", row.count) % {"n": row.count}
            yield DiffRow("fold", fold=text)
            continue
        yield DiffRow(
            row.state.value,
            _present_side(row.before),
            _present_side(row.after),
            owners=gutter.owners.get(row.path, ()),
            source_line=gutter.lines.get(row.path, 0),
        )


def present_diff(change: ObjectChange, *, you: str, is_split: bool, has_noise: bool) -> tuple[DiffRow, ...]:
    """All rows of an object; empty when nothing differs."""
    before, after = change.versions.live, change.versions.after
    if not has_noise:
        before, after = _quiet(before), _quiet(after)
    if before == after:
        return ()
    kind = bundled().find_kind(change.ref.gvk)
    rows = diff_lines(before, after, root=kind.root if kind else None)
    return tuple(_present_rows(fold_rows(rows if is_split else unify_rows(rows)), _read_gutter(change, you)))


def diff_values(name: str, before: JSONValue, after: JSONValue) -> tuple[DiffRow, ...]:
    """The lines of two values of a field that are too long for one line; empty for short ones."""
    if before is ABSENT or after is ABSENT or (_is_short(before) and _is_short(after)):
        return ()
    rows = diff_lines({name: _cut(before)}, {name: _cut(after)})
    return tuple(_present_rows(fold_rows(unify_rows(rows), context=1), _NO_GUTTER))


def diff_bodies(before: JSONValue, after: JSONValue) -> tuple[DiffRow, ...]:
    """The lines of two request bodies side by side."""
    old, new = (value if isinstance(value, Mapping) else {"body": value} for value in (before, after))
    return tuple(_present_rows(fold_rows(diff_lines(old, new), context=2), _NO_GUTTER))


def _is_short(value: JSONValue) -> bool:
    if isinstance(value, str):
        return len(value) <= SHORT and "\n" not in value
    return len(str(value)) <= SHORT


def _cut(value: JSONValue) -> JSONValue:
    return value[: 10 * LONGEST] if isinstance(value, str) else value
