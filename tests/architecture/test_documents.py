"""Documents name what is there: every relative link and picture leads to a file of the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from applyviz.engine.risks.model import KINDS
from applyviz.records.enums import Outcome, ReviewStatus
from applyviz.web.api.forms import PlanForm, ReviewForm
from applyviz.web.reviews.pages.review_list import STATUS_STYLES
from applyviz.web.runs.pages.results import OUTCOME_STYLES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    targets = LINK.findall(document.read_text())

    assert [t for t in targets if not (document.parent / t).exists()] == []


CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
SENTENCES = [document for document in DOCUMENTS if document.name not in ("README.md", "words.md")]


@pytest.mark.parametrize("document", SENTENCES, ids=lambda d: str(d.relative_to(ROOT)))
def test_paragraphs_end_with_a_whole_sentence(document: Path) -> None:
    paragraphs = [part.strip() for part in CODE.sub("", document.read_text()).split("\n\n")]
    lines = [part.splitlines()[-1] for part in paragraphs if part]
    text = [line for line in lines if not line.startswith("#") and not line.endswith("|")]

    assert [line for line in text if line[-1] not in ".:?!)`*>"] == []


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
        "Faults": 53,
        "Rules of the history checker": 9,
        "Promises": 8,
        "Outcomes of an object": 10,
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
READERS = "text|new_file|words|flag|number|networks|database|time_zone|log_level"
READ_VARIABLE = re.compile(rf'\benv\.(?:{READERS})\(\s*"([A-Z_]+)"')
NAMED_VARIABLE = re.compile(r"`([A-Z][A-Z_]+)`")


def test_settings_read_the_variables_that_the_configuration_names() -> None:
    settings, document = (path.read_text() for path in SETTINGS)
    table = document.partition("| variable |")[2].partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {name for cell in first_cells for name in NAMED_VARIABLE.findall(cell)}

    assert len(named) > 30
    assert set(READ_VARIABLE.findall(settings)) == named


NAMED_PATH = re.compile(r"`((?:applyviz|docs|scripts|tests|templates)/[\w./-]+)`")


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_named_paths_exist(name: str) -> None:
    named = NAMED_PATH.findall((ROOT / name).read_text())

    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


OPERATIONS = {  # each operation by a word that its tests and its page of the guide hold
    "Replace": "repla",
    "Delete": "delet",
    "Patch": "patch",
    "Prune by allowlist": "allowlist",
    "Prune by ApplySet": "applyset",
    "Hand over": "hand",
    "Take live fields": "take",
    "Move managers' fields": "take",
    "Set, edit last-applied": "last-applied",
    "Clear managedFields": "clear",
    "Plan the others": "left",
    "Bring under review": "adopt",
}
PLACES = 10
NAMED_FILE = re.compile(r"`([\w/-]+(?:\.md)?)`")


def _find_named(name: str) -> Path:
    return ROOT / "docs" / name if name.endswith(".md") else ROOT / "tests" / f"{name}.py"


def test_every_operation_names_its_tests_in_every_place() -> None:
    rows = {operation: cells for operation, *cells in _tables(ROOT / "docs" / "testing.md")["Operations"]}

    assert list(rows) == list(OPERATIONS)
    assert {len(cells) for cells in rows.values()} == {PLACES}
    empty = [(row, n) for row, cells in rows.items() for n, c in enumerate(cells) if not NAMED_FILE.findall(c)]
    assert [(row, n) for row, n in empty if not re.fullmatch(r"\u2013 \w[\w ]+", rows[row][n])] == []
    named = {(row, name) for row, cells in rows.items() for cell in cells for name in NAMED_FILE.findall(cell)}
    assert [(row, name) for row, name in sorted(named) if not _find_named(name).exists()] == []
    texts = {(row, name): re.sub(r"[_ ]", "-", _find_named(name).read_text().lower()) for row, name in named}
    assert [key for key, text in sorted(texts.items()) if OPERATIONS[key[0]] not in text] == []


def test_every_risk_has_a_row() -> None:
    named = set(re.findall(r"`([a-z-]+)`", (ROOT / "docs" / "risks.md").read_text()))

    assert KINDS.keys() - named == set()


@pytest.mark.parametrize("form", [ReviewForm, PlanForm])
def test_every_field_of_the_api_is_described(form: type[ReviewForm | PlanForm]) -> None:
    described = (ROOT / "docs" / "gate.md").read_text()

    assert form.base_fields.keys() - set(re.findall(r"\w+", described)) == set()


def test_every_state_of_a_review_is_described_and_drawn() -> None:
    _, _, table = (ROOT / "docs" / "gate.md").read_text().partition("| `status` | meaning |\n|---|---|\n")
    cells = [line.split("|")[1] for line in table.partition("\n\n")[0].splitlines()]

    assert set(re.findall(r"`([a-z-]+)`", "".join(cells))) == set(ReviewStatus.values)
    assert STATUS_STYLES.keys() == set(ReviewStatus)


def test_every_outcome_has_an_appearance() -> None:
    assert {outcome.value for outcome in Outcome} - OUTCOME_STYLES.keys() == set()
