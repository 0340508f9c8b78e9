"""Fragments that a long page repeats: a template is rendered once per form, and each use only puts its texts in.

A form is everything of a fragment that its template asks about: shapes, tones, which texts there are. The template is
rendered with a mark for each text; what stands between the marks is remembered. A filter of the template is noted on
its mark, and applied to each text that comes there, so that the template alone says how a text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import wraps
from typing import NamedTuple, TypeVar, cast

from django.template.loader import render_to_string
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

# Forms are few, except for names of owners, which anyone can invent.
MOST = 2_000
_MARK = re.compile("\x02([0-9]+):([a-z_]*)\x03")

Filter = Callable[[object], str]
T = TypeVar("T", bound=str)


def _keep(text: object) -> str:
    return text  # type: ignore[return-value]  # escaped by the caller


_filters: dict[str, Filter] = {"": _keep}


class TextMark(SafeString):
    """Marks the position of a text in a skeleton."""

    number: int

    @classmethod
    def make(cls, number: int, name: str = "") -> TextMark:
        """Return the mark of a text; `name` is the filter that the text passes through."""
        mark = cls(f"\x02{number}:{name}\x03")
        mark.number = number
        return mark


def noted_on_marks(function: Callable[[object], T]) -> Callable[[object], T]:
    """Let a filter be noted on a mark, and be applied to every text that comes in its place."""
    name = function.__name__
    _filters[name] = function

    @wraps(function)
    def filtered(value: object) -> T:
        # A mark is safe text and a text, as every filter returns.
        return cast(T, TextMark.make(value.number, name)) if isinstance(value, TextMark) else function(value)

    return filtered


class _Slot(NamedTuple):
    """The place of a text in a skeleton, the filter that it passes through, and what stands behind it."""

    number: int
    apply: Filter
    behind: str


class _Skeleton(NamedTuple):
    begin: str
    slots: tuple[_Slot, ...]


_skeletons: dict[Hashable, _Skeleton] = {}


def _split(text: str) -> _Skeleton:
    begin, *rest = _MARK.split(text)
    slots = (_Slot(int(n), _filters[name], behind) for n, name, behind in zip(*[iter(rest)] * 3, strict=True))
    return _Skeleton(begin, tuple(slots))


def draw(
    template: str,
    form: Hashable,
    texts: Sequence[object],
    make_context: Callable[[Sequence[TextMark]], Mapping[str, object]],
) -> SafeString:
    """Return a fragment with these texts.

    - `form`: everything that the template asks about; fragments of one form differ in their texts alone.
    - `make_context` receives a mark for each text, and returns what the template is rendered with.
    """
    key = (template, get_language(), form)
    skeleton = _skeletons.get(key)
    if skeleton is None:
        marks = [TextMark.make(number) for number in range(len(texts))]
        skeleton = _split(render_to_string(template, dict(make_context(marks))))
        if len(_skeletons) >= MOST:
            _skeletons.clear()
        _skeletons[key] = skeleton
    parts = [skeleton.begin]
    for number, apply, behind in skeleton.slots:
        parts.append(conditional_escape(apply(texts[number])))
        parts.append(behind)
    return mark_safe("".join(parts))  # noqa: S308 every text is escaped above
