"""A value of an object as text for people: short or complete.

Rule: strings are written plain, as in YAML, and quoted only where a reader would mistake them for another type
(`"false"`, `"1"`, an empty string). Objects are masked before; nothing here unmasks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.manifests.scalars import resolve_plain
from applyviz.engine.objects.lookups import ABSENT, find_value
from applyviz.engine.objects.values import JSONValue

__all__ = ["ABSENT", "Shown", "find_value", "render_yaml", "show_value"]

SHORT = 72
LONGEST = 4000
MOST_SCALARS = 150
PREVIEW_LINES = 8
_TEXTS = ("str", "timestamp")


@dataclass(frozen=True, slots=True)
class Shown:
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


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # the C one where it is built
    """Writes multi-line texts as literal blocks, as people write them."""


def _represent_text(dumper: Any, text: str) -> yaml.Node:
    node: yaml.Node = dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)
    return node


_Dumper.add_representer(str, _represent_text)


def render_yaml(value: JSONValue) -> str:
    """Return a value as readable YAML, in its order."""
    text = str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))
    return text.removesuffix("...\n").rstrip("\n")


def _prune(value: JSONValue, budget: list[int]) -> JSONValue:
    """Return the part of a value within the budget of scalars; an exhausted budget means that it is cut."""
    if isinstance(value, Mapping):
        kept: dict[str, JSONValue] = {}
        for name, item in value.items():
            if budget[0] <= 0:
                break
            kept[name] = _prune(item, budget)
        return kept
    if isinstance(value, list):
        items: list[JSONValue] = []
        for item in value:
            if budget[0] <= 0:
                break
            items.append(_prune(item, budget))
        return items
    budget[0] -= 1
    return value


def _count_lines(text: str) -> int:
    """Return the number of lines; a line break at the end begins no other one."""
    return text.count("\n", 0, -1) + 1


def show_value(value: JSONValue) -> Shown | None:
    """Return a value for a row of changes; None for an absent field.

    - Of a very large value only the beginning is written.
    """
    if value is ABSENT:
        return None
    if isinstance(value, Mapping | list):
        budget = [MOST_SCALARS]
        begun = _prune(value, budget)
        if budget[0] <= 0:
            text = render_yaml(begun)[:LONGEST]
            return Shown(text, is_long=True, is_cut=True, lines=_count_lines(text))
    if isinstance(value, str) and is_masked(value) and "\n" not in value:
        return Shown(value, is_masked=True)
    if isinstance(value, str) and ("\n" in value or len(value) > SHORT):
        text = value
    else:
        flat = _flat(value)
        if len(flat) <= SHORT:
            return Shown(flat)
        text = render_yaml(value) if isinstance(value, (Mapping, list)) else flat
    is_cut = len(text) > LONGEST
    text = text[:LONGEST]
    return Shown(text, is_long=True, is_cut=is_cut, lines=_count_lines(text))
