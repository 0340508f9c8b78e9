"""One version of an object as YAML: numbered, foldable, searchable, with marks where the plan changes it.

Long documents have pages, and a search shows its hits with the lines around them; the whole document is a file.
Lines are those of the diff, so that marks and numbers agree with it. Objects are masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.engine.diff.text import DiffLine, LineState, diff_lines
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.workflow.plans.changes import find_root

VERSION_WORDS: dict[str, str | Promise] = {
    "manifest": _("manifest"),
    "live": _("live"),
    "after": _("after apply"),
    "last_applied": _("last applied"),
}
_AGAINST = {"manifest": "live", "live": "after", "after": "live", "last_applied": "manifest"}
_MARKS: dict[str, str | Promise] = {
    "manifest": _("differs from live"),
    "live": _("changes"),
    "after": _("changed"),
    "last_applied": _("differs from the manifest"),
}
_SHUT = "managedFields:"
PAGE, WIDTH, AROUND, FOLDS_FROM, FOUND = 1_000, 1_000, 2, 4, 200


class TextLine(Struct, frozen=True):
    """One line; `opens` begins a part that folds, `closes` is a text with one sign per part that ends with it.

    - `is_shut`: the part is folded until the reader opens it; field owners have a page of their own.
    """

    number: int
    indent: str
    text: str
    is_marked: bool = False
    is_found: bool = False
    is_gap: bool = False
    opens: bool = False
    closes: str = ""
    is_shut: bool = False


class Document(Struct, frozen=True):
    """One version as lines; `first` and `last` are those of this page."""

    version: str
    word: str | Promise
    mark: str | Promise
    lines: tuple[TextLine, ...]
    total: int
    first: int = 1
    find: str = ""
    found: int = 0
    marked: int = 0
    next_marked: int = 0

    @property
    def last(self) -> int:
        """Return the last line of the page."""
        return min(self.first + PAGE - 1, self.total)

    @property
    def before(self) -> int:
        """Return the start of the previous page, 0 without one."""
        return max(1, self.first - PAGE) if self.first > 1 else 0

    @property
    def after(self) -> int:
        """Return the start of the next page, 0 without one."""
        return self.last + 1 if self.last < self.total else 0


def _list_lines(change: PlannedObject, version: str) -> Iterator[tuple[DiffLine, bool]]:
    """Yield the lines of a version, each with whether it differs from the version it is compared with."""
    shown: JSONObject | None = getattr(change.versions, version)
    other: JSONObject | None = getattr(change.versions, _AGAINST[version])
    has_other = other is not None
    root = find_root(change.ref.gvk)
    for row in diff_lines(other if has_other else shown, shown, root=root, looks_inside=False):
        if row.after is not None:
            yield row.after, has_other and row.state is not LineState.SAME


def count_lines(change: PlannedObject, version: str) -> int:
    """Return how many lines a version has; 0 where it does not exist."""
    return sum(1 for _line in _list_lines(change, version)) if getattr(change.versions, version) is not None else 0


def _find_ends(lines: Sequence[tuple[DiffLine, bool]]) -> dict[int, int]:
    """Return the lines that begin a foldable part, with its end; a part is indented deeper."""
    ends: dict[int, int] = {}
    open_parts: list[tuple[int, int]] = []

    def shut(depth: int, at: int) -> None:
        while open_parts and open_parts[-1][1] >= depth:
            start, _depth = open_parts.pop()
            if at - start >= FOLDS_FROM:
                ends[start] = at - 1

    for n, (line, _mark) in enumerate(lines):
        # A list entry has the indentation of the name of its list, but belongs to it.
        shut(line.line.depth * 2 + line.line.is_entry, n)
        open_parts.append((n, line.line.depth * 2 + line.line.is_entry))
    shut(-1, len(lines))
    return ends


def _present(line: DiffLine, *, is_marked: bool, find: str = "", opens: bool = False, closes: str = "") -> TextLine:
    text = line.line.text
    cut = text if len(text) <= WIDTH else f"{text[:WIDTH]}…"
    is_found = bool(find) and find in text.lower()
    is_shut = opens and line.line.depth == 1 and text == _SHUT
    return TextLine(line.number, "  " * line.line.depth, cut, is_marked, is_found, False, opens, closes, is_shut)


def _search(lines: Sequence[tuple[DiffLine, bool]], find: str) -> tuple[tuple[TextLine, ...], int]:
    hits = [n for n, (line, _mark) in enumerate(lines) if find in line.line.text.lower()]
    shown: list[TextLine] = []
    last = -1
    for hit in hits[:FOUND]:
        first = max(last + 1, hit - AROUND)
        if last >= 0 and first > last + 1:
            shown.append(TextLine(0, "", "", is_gap=True))
        for n in range(first, min(hit + AROUND + 1, len(lines))):
            shown.append(_present(lines[n][0], is_marked=lines[n][1], find=find))
            last = n
    return tuple(shown), len(hits)


def present_document(change: PlannedObject, version: str, *, start: int = 1, find: str = "") -> Document:
    """Return one page of a version, or the hits of a search in it."""
    lines = list(_list_lines(change, version))
    total, find = len(lines), find.strip().lower()
    marked = sum(is_marked for _line, is_marked in lines)
    word, mark = VERSION_WORDS[version], _MARKS[version]
    if find:
        shown, found = _search(lines, find)
        return Document(version, word, mark, shown, total, find=find, found=found, marked=marked)
    first = min(max(1, start), max(1, total))
    page = lines[first - 1 : first - 1 + PAGE]
    ends = _find_ends(page)
    closing: dict[int, str] = {}
    for end in ends.values():
        closing[end] = closing.get(end, "") + "x"
    following = (n + 1 for n, (_line, is_marked) in enumerate(lines) if is_marked and n + 1 >= first + PAGE)
    return Document(
        version,
        word,
        mark,
        tuple(
            _present(line, is_marked=is_marked, opens=n in ends, closes=closing.get(n, ""))
            for n, (line, is_marked) in enumerate(page)
        ),
        total,
        first,
        marked=marked,
        next_marked=next(following, 0),
    )
