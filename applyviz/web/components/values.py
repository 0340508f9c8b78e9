"""A value of an object as text for people: short or complete.

Rule: strings are written plain, as in YAML, and quoted only where a reader would mistake them for another type
(`"false"`, `"1"`, an empty string). Objects are masked before; nothing here unmasks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from msgspec import Struct

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.manifests.scalars import resolve_plain
from applyviz.engine.objects.lookups import ABSENT, find_value
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue
from applyviz.web.components.readable_yaml import render_yaml

__all__ = ["ABSENT", "ShowValue", "Shown", "ValueTexts", "find_value", "show_short", "show_value"]

SHORT = 72
LONGEST = 4000
MOST_SCALARS = 150
PREVIEW_LINES = 8
_TEXTS = ("str", "timestamp")


class Shown(Struct, frozen=True):
    """One value as text; `is_long` when it needs separate lines, `is_cut` when it is incomplete."""

    text: str
    is_long: bool = False
    is_cut: bool = False
    lines: int = 1
    is_masked: bool = False

    @property
    def preview(self) -> str:
        """Return the first lines."""
        return "\n".join(self.text.split("\n")[:PREVIEW_LINES])

    @property
    def hidden_lines(self) -> int:
        """Return how many lines the preview leaves out."""
        return max(0, self.lines - PREVIEW_LINES)


def _scalar(value: JSONValue) -> str:
    if isinstance(value, str):
        is_other = value != value.strip() or resolve_plain(value).tag not in _TEXTS
        return json.dumps(value, ensure_ascii=False) if is_other else value
    return json.dumps(value, ensure_ascii=False)


def _flat(value: JSONValue) -> str:
    """Return a value in one line: a mapping without its braces, unless it is empty."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_flat_part(v)}" for k, v in value.items()) or "{}"
    if isinstance(value, list):
        return "[" + ", ".join(_flat_part(v) for v in value) + "]"
    return _scalar(value)


def _flat_part(value: JSONValue) -> str:
    return "{" + _flat(value) + "}" if isinstance(value, Mapping) and value else _flat(value)


class _WrittenPart:
    """How much of a value is written: so many scalars, and no text beyond the characters that are shown."""

    def __init__(self) -> None:
        self._scalars = MOST_SCALARS
        # A text is written in at least as many characters, but for a line break at the end of a block.
        self._characters = LONGEST + MOST_SCALARS

    @property
    def is_spent(self) -> bool:
        """Return whether nothing more is written."""
        return self._scalars <= 0 or self._characters < 0

    def spend(self, value: JSONValue) -> None:
        """Count a scalar."""
        self._scalars -= 1
        self._characters -= len(value) if isinstance(value, str) else 1


def _prune(value: JSONValue, budget: _WrittenPart) -> JSONValue:
    """Return the part of a value within the budget; a spent budget means that it is cut."""
    if isinstance(value, Mapping):
        kept: dict[str, JSONValue] = {}
        for name, item in value.items():
            if budget.is_spent:
                break
            kept[name] = _prune(item, budget)
        return kept
    if isinstance(value, list):
        items: list[JSONValue] = []
        for item in value:
            if budget.is_spent:
                break
            items.append(_prune(item, budget))
        return items
    budget.spend(value)
    return value


def _count_lines(text: str) -> int:
    """Return the number of lines; a line break at the end begins no other one."""
    return text.count("\n", 0, -1) + 1


def _cut(text: str) -> Shown:
    is_cut = len(text) > LONGEST
    text = text[:LONGEST]
    return Shown(text, is_long=True, is_cut=is_cut, lines=_count_lines(text))


def _begin(value: JSONValue) -> tuple[JSONValue, bool]:
    """Return the part of a map or list that is shown, and whether it is cut."""
    budget = _WrittenPart()
    begun = _prune(value, budget)
    return begun, budget.is_spent


def _show_begun(begun: JSONValue, is_cut: bool) -> Shown:
    flat = "" if is_cut else _flat(begun)
    if not is_cut and len(flat) <= SHORT:
        return Shown(flat)
    shown = _cut(render_yaml(begun))
    return replace(shown, is_cut=is_cut or shown.is_cut)


def show_value(value: JSONValue) -> Shown | None:
    """Return a value for a row of changes; None for an absent field.

    - Of a very large value only the beginning is written.
    """
    if value is ABSENT:
        return None
    if isinstance(value, Mapping | list):
        return _show_begun(*_begin(value))
    if isinstance(value, str) and is_masked(value) and "\n" not in value:
        return Shown(value, is_masked=True)
    if isinstance(value, str) and ("\n" in value or len(value) > SHORT):
        return _cut(value)
    flat = _flat(value)
    return Shown(flat) if len(flat) <= SHORT else _cut(flat)


def show_short(value: JSONValue, longest: int) -> str:
    """Return the text of a value that `show_value` writes in one line of so many characters; "" for any other value."""
    if isinstance(value, Mapping | list):
        begun, is_cut = _begin(value)
        text = "" if is_cut else _flat(begun)
    else:
        shown = show_value(value)
        text = "" if shown is None or shown.is_long else shown.text
    return text if len(text) <= longest else ""


ShowValue = Callable[[JSONValue], Shown | None]


class ValueTexts:
    """Shows the values of one object: what its versions and its rows share is written once."""

    def __init__(self) -> None:
        self._of_objects: dict[int, tuple[JSONValue, Shown]] = {}  # with the value, so that its number stays its own
        self._of_texts: dict[str, Shown] = {}

    def show(self, value: JSONValue) -> Shown | None:
        """Return what `show_value` returns."""
        if not isinstance(value, Mapping | list):
            return show_value(value)
        known = self._of_objects.get(id(value))
        if known is not None:
            return known[1]
        begun, is_cut = _begin(value)
        written = json.dumps(begun)
        shown = self._of_texts.get(written)
        if shown is None:
            shown = self._of_texts[written] = _show_begun(begun, is_cut)
        self._of_objects[id(value)] = value, shown
        return shown
