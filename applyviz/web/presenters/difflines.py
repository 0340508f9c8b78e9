"""Live against after apply as lines of YAML: equal parts folded, changed words marked.

What the server writes by itself (managedFields, resourceVersion, status and their like) is left out. Objects
come masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from django.utils.translation import ngettext

from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.plan import ObjectChange
from applyviz.web.presenters.values import ABSENT, LONGEST, SHORT, render_yaml

CONTEXT = 3
_NOISE = frozenset({"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"})
_WORDS = re.compile(r"\s+|[^\s]+")
_SIGNS = {"same": "", "add": "+", "remove": "−", "fold": ""}  # noqa: RUF001 the minus sign is drawn


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a line."""

    text: str
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line: its numbers in live and after, what happens to it, its pieces."""

    state: str
    before: int | None
    after: int | None
    parts: tuple[Part, ...]

    @property
    def sign(self) -> str:
        """The sign beside the colour."""
        return _SIGNS[self.state]


def _quiet(obj: Mapping[str, Any] | None) -> dict[str, Any]:
    if obj is None:
        return {}
    kept = {key: value for key, value in obj.items() if key != "status"}
    meta = kept.get("metadata")
    if isinstance(meta, Mapping):
        kept["metadata"] = {key: value for key, value in meta.items() if key not in _NOISE}
    return kept


def _lines(obj: Mapping[str, Any] | None) -> list[str]:
    quiet = _quiet(obj)
    return render_yaml(quiet).split("\n") if quiet else []


def _split_words(before: str, after: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    left: list[Part] = []
    right: list[Part] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        is_changed = tag != "equal"
        if a != b:
            left.append(Part("".join(old[a:b]), is_changed))
        if c != d:
            right.append(Part("".join(new[c:d]), is_changed))
    return tuple(left), tuple(right)


def _replaced(before: list[str], after: list[str], a: int, c: int) -> Iterator[DiffRow]:
    pairs = [_split_words(x, y) for x, y in zip(before, after, strict=False)]
    for n, line in enumerate(before):
        yield DiffRow("remove", a + n + 1, None, pairs[n][0] if n < len(pairs) else (Part(line),))
    for n, line in enumerate(after):
        yield DiffRow("add", None, c + n + 1, pairs[n][1] if n < len(pairs) else (Part(line),))


def _fold(rows: list[DiffRow], context: int, *, is_first: bool, is_last: bool) -> Iterator[DiffRow]:
    head = 0 if is_first else context
    tail = 0 if is_last else context
    hidden = len(rows) - head - tail
    if hidden < 2:
        yield from rows
        return
    yield from rows[:head]
    text = ngettext("%(n)d equal line", "%(n)d equal lines", hidden) % {"n": hidden}
    yield DiffRow("fold", None, None, (Part(text),))
    yield from rows[len(rows) - tail :]


def _diff(before: list[str], after: list[str], context: int) -> tuple[DiffRow, ...]:
    found: list[DiffRow] = []
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for n, (tag, a, b, c, d) in enumerate(codes):
        if tag == "equal":
            rows = [DiffRow("same", a + k + 1, c + k + 1, (Part(before[a + k]),)) for k in range(b - a)]
            found.extend(_fold(rows, context, is_first=n == 0, is_last=n == len(codes) - 1))
        else:
            found.extend(_replaced(before[a:b], after[c:d], a, c))
    return tuple(found)


def present_diff(change: ObjectChange) -> tuple[DiffRow, ...]:
    """All lines of an object; empty when nothing differs."""
    before, after = _lines(change.versions.live), _lines(change.versions.after)
    return () if before == after else _diff(before, after, CONTEXT)


def diff_values(before: JSONValue, after: JSONValue) -> tuple[DiffRow, ...]:
    """The lines of two values that are both too long for one line; empty for short ones."""
    left, right = _text(before), _text(after)
    is_short = all(len(text) <= SHORT and "\n" not in text for text in (left, right))
    if not left or not right or is_short:
        return ()
    return _diff(left[:LONGEST].split("\n"), right[:LONGEST].split("\n"), 1)


def _text(value: JSONValue) -> str:
    if value is ABSENT:
        return ""
    return value if isinstance(value, str) else render_yaml(value)
