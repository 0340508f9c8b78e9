"""Expressions that are searched in a text only when it contains a part of what they match."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from applyviz.engine.objects.late_patterns import LatePattern

VALUE = r"(\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}'|[^\s\"';&|,)}]{1,4096})"
"""A value in a text, with or without quotes."""


class SoughtForm(Struct, frozen=True):
    """An expression, and texts in small letters of which everything that it matches contains one."""

    expression: LatePattern
    needs: frozenset[str]

    def find(self, text: str, parts: frozenset[str]) -> Iterable[re.Match[str]]:
        """Return the matches in a text that contains `parts` of all that forms need; most forms need no search."""
        return () if self.needs.isdisjoint(parts) else self.expression.finditer(text)


def make_form(pattern: str, needs: Iterable[str]) -> SoughtForm:
    """Return a form; in its expression, `^` and `$` are the ends of a line."""
    return SoughtForm(LatePattern(pattern, re.M), frozenset(needs))


def seek(needs: str, pattern: str) -> SoughtForm:
    """Return the form of an expression and the texts, divided by spaces, of which it needs one."""
    return make_form(pattern, needs.split())
