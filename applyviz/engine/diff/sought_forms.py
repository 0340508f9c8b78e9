"""Expressions that are searched in a text only when it contains a part of what they match."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from msgspec import Struct

VALUE = r"(\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}'|[^\s\"';&|,)}]{1,4096})"
"""A value in a text, with or without quotes."""


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.M)


class SoughtForm(Struct, frozen=True):
    """An expression, and texts in small letters of which everything that it matches contains one."""

    pattern: str
    needs: frozenset[str]

    @property
    def expression(self) -> re.Pattern[str]:
        """The expression; it is compiled when it is sought for the first time, because most never are."""
        return _compile(self.pattern)

    def find(self, text: str, parts: frozenset[str]) -> Iterable[re.Match[str]]:
        """Return the matches in a text that contains `parts` of all that forms need; most forms need no search."""
        return () if self.needs.isdisjoint(parts) else self.expression.finditer(text)


def seek(needs: str, pattern: str) -> SoughtForm:
    """Return the form of an expression and the texts, divided by spaces, of which it needs one."""
    return SoughtForm(pattern, frozenset(needs.split()))
