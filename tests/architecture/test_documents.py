"""Documents name what is there: every relative link and picture leads to a file of the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    targets = LINK.findall(document.read_text())

    assert [t for t in targets if not (document.parent / t).exists()] == []


NAMED_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
FAULTS = ROOT / "docs" / "faults.md"


def _tables(document: Path) -> dict[str, list[list[str]]]:
    """The rows of each table of a document, without its head, by the heading above it."""
    found: dict[str, list[list[str]]] = {}
    heading, lines = "", document.read_text().splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("#"):
            heading = line.strip("# ")
        elif line.startswith("|") and before.startswith("|"):
            found.setdefault(heading, []).append([cell.strip() for cell in line.strip("|").split("|")])
    return {heading: rows[1:] for heading, rows in found.items()}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_named_tests_exist(document: Path) -> None:
    lost = []
    for file, name in NAMED_TEST.findall(document.read_text()):
        path = ROOT / "tests" / file
        if not path.exists() or f"\ndef {name}(" not in path.read_text():
            lost.append(f"{file}::{name}")

    assert lost == []


def test_every_fault_promise_and_outcome_names_a_test() -> None:
    tables = _tables(FAULTS)

    assert {heading: len(rows) for heading, rows in tables.items()} == {
        "Faults": 46,
        "Rules of the history checker": 9,
        "Promises": 8,
        "Outcomes of an object": 9,
    }
    assert [row[0] for rows in tables.values() for row in rows if not NAMED_TEST.search(row[-1])] == []


def test_every_outcome_and_every_planted_bug_is_in_the_table() -> None:
    from applyviz.records.enums import Outcome  # noqa: PLC0415 - needs Django's settings

    final = [outcome.value for outcome in Outcome if outcome not in Outcome.unfinished()]
    named = {test for _, test in NAMED_TEST.findall(FAULTS.read_text())}
    planted = re.findall(r"\ndef (test_\w+_(?:is|are)_found)\(", (ROOT / "tests/faults/test_checker.py").read_text())

    assert [row[0] for row in _tables(FAULTS)["Outcomes of an object"]] == final
    assert set(planted) <= named
    assert len(planted) >= 12


SETTINGS = (ROOT / "applyviz" / "settings.py", ROOT / "docs" / "configuration.md")
READ_VARIABLE = re.compile(r'\benv\.(?:text|words|flag|number|networks)\(\s*"([A-Z_]+)"')
NAMED_VARIABLE = re.compile(r"`([A-Z][A-Z_]+)`")


def test_settings_read_the_variables_that_the_configuration_names() -> None:
    settings, document = (path.read_text() for path in SETTINGS)
    table = document.partition("| variable |")[2].partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {name for cell in first_cells for name in NAMED_VARIABLE.findall(cell)}

    assert len(named) > 30
    assert set(READ_VARIABLE.findall(settings)) == named
