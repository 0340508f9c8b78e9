"""The pages of the guide, in order, each with the question that it answers.

The pages are the files of `docs/semantics`; the table of its README gives order, questions and keywords. Files
belong to the release and never change while it runs, so they are read once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from applyviz.guide.pages import Example, Page, parse_page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "semantics"
_ROW = re.compile(
    r"^\| \[[^\]]+\]\((?P<name>[a-z-]+)\.md\) \| (?P<question>.+?) \| (?P<keywords>.+?) \|$", re.MULTILINE
)


class Entry(Struct, frozen=True):
    """One page, the question that it answers, and the words by which people look for it."""

    page: Page
    question: str
    keywords: tuple[str, ...]

    @property
    def examples(self) -> Mapping[str, Example]:
        """The worked examples, by their names in addresses."""
        return {f"{self.page.name}-{n}": example for n, example in enumerate(self.page.examples, 1)}


@cache
def list_entries() -> tuple[Entry, ...]:
    """Return all pages, in the order of the table."""
    rows = _ROW.findall((FOLDER / "README.md").read_text(encoding="utf-8"))
    return tuple(
        Entry(
            parse_page(name, (FOLDER / f"{name}.md").read_text(encoding="utf-8")),
            question.replace("`", ""),
            tuple(keywords.split(", ")),
        )
        for name, question, keywords in rows
    )


def find_entry(name: str) -> Entry | None:
    """Return the page of that name."""
    return next((entry for entry in list_entries() if entry.page.name == name), None)


@cache
def list_examples() -> Mapping[str, Example]:
    """Return every worked example that the playground supports, by its name."""
    examples = ((name, example) for entry in list_entries() for name, example in entry.examples.items())
    return {name: example for name, example in examples if not example.is_set}
