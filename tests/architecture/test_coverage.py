"""docs/coverage.md: every section has a page that shows it, and every page and test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "coverage.md").read_text()
TESTS = sorted(set(re.findall(r"`([a-z_0-9/]+/test_[a-z_0-9]+\.py(?:::\w+)?)`", TEXT)))
DOCUMENTS = TEXT.partition("## kOps addon channels")[0]
ROWS = [re.split(r" \| ", line.strip("| ")) for line in DOCUMENTS.splitlines() if line.startswith("| ")]
SECTIONS = [row for row in ROWS if row[0] != "section"]
PAGES = {file.stem for file in (ROOT / "docs" / "semantics").glob("*.md")}


def test_sixty_one_sections_and_those_of_channels_are_listed():
    channels = TEXT.partition("## kOps addon channels")[2].partition("\n## ")[0]

    assert len(SECTIONS) == 61
    assert channels.count("\n| ") >= 1 + 5


@pytest.mark.parametrize("row", SECTIONS, ids=lambda row: row[0])
def test_section_has_a_page_a_way_and_a_test(row):
    _section, pages, way, tests = row

    assert set(pages.split(", ")) <= PAGES
    assert way
    assert "`" in tests


@pytest.mark.parametrize("name", TESTS)
def test_named_test_exists(name):
    file, _colons, function = name.partition("::")
    text = (ROOT / "tests" / file).read_text()

    assert not function or re.search(rf"^def {function}\(", text, re.MULTILINE)
