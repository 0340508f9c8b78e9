"""Expressions that most processes never use: each is compiled with its first use, not when its module is loaded.

Compiling costs up to 20 ms for a set of letters beyond ASCII, and `manage.py check` loads every module.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator


class LatePattern:
    """An expression as `re` has it."""

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.pattern = pattern
        self.flags = flags
        self._compiled: re.Pattern[str] | None = None

    def _compile(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self.flags)
        return self._compiled

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match at the beginning of a text."""
        return self._compile().match(text)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in a text."""
        return self._compile().search(text)

    def finditer(self, text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
        """Return all matches in a text, or in a part of it."""
        return self._compile().finditer(text, start, end)
