"""Lines that a comment is about: a range in one of the texts in which an object of a plan is shown.

A plan never changes, so the numbers stay right. They are stored as `diff-after:12-15`; nothing of the text is.
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

_STORED = re.compile(r"([a-z_-]+):([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")


class LineText(StrEnum):
    """The text whose lines are counted: one side of the diff without what the server manages, or a version as YAML."""

    DIFF_LIVE = "diff-live"
    DIFF_AFTER = "diff-after"
    MANIFEST = "manifest"
    LIVE = "live"
    AFTER = "after"
    LAST_APPLIED = "last-applied"

    @property
    def version(self) -> str:
        """The name of the version of an object that this text is; of a side of the diff, no version."""
        return self.value.replace("-", "_")


class CommentedLines(Struct, frozen=True):
    """Lines of a text, counted from 1, both included."""

    text: LineText
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.text}:{self.first}-{self.last}"


def parse_lines(stored: str) -> CommentedLines | None:
    """Return stored lines; None for "", and for a row that was changed past the use cases."""
    found = _STORED.fullmatch(stored)
    if found is None or found[1] not in set(LineText):
        return None
    return CommentedLines(LineText(found[1]), int(found[2]), int(found[3]))
