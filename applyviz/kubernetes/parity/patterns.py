r"""Regular expressions as the API server evaluates them: RE2, in time linear in the text whatever the pattern.

Rule: `pattern` of a schema and `matches` of CEL are Go regular expressions (https://pkg.go.dev/regexp/syntax), so
look-around and back references are errors, and `\z` is the end of the text. Python's own engine backtracks: a hostile
CRD would keep a worker busy for years.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

import re2

_OPTIONS = {"log_errors": False, "max_mem": 8 * 1024 * 1024}
# Where Go's words for an error are others than RE2's.
_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


class Match(Protocol):
    """One match."""

    def group(self) -> str:
        """Return the matched text."""


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> Match | None:
        """Return the first match."""

    def finditer(self, text: str) -> Iterator[Match]:
        """Yield all matches that do not overlap."""


class PatternError(ValueError):
    """A pattern that the API server cannot compile; the text is Go's."""


@lru_cache(maxsize=512)
def compile_pattern(text: str) -> Pattern:
    """Compile a Go regular expression; raises `PatternError`."""
    options = re2.Options()
    for name, value in _OPTIONS.items():
        setattr(options, name, value)
    try:
        found: Pattern = re2.compile(text, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise PatternError(_format_error(error.args[0] if isinstance(error, re2.error) else b"invalid UTF-8")) from None
    return found


def _format_error(message: bytes) -> str:
    """Return an error of RE2 as Go writes it: ``missing closing ]: `[` ``."""
    words, colon, part = message.decode(errors="replace").partition(": ")
    return f"{_GO_WORDS.get(words, words)}{f': `{part}`' if colon else ''}"
