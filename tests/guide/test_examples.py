"""Every worked example of docs/semantics is what the engine computes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from applyviz.engine.objects.values import is_same_json
from applyviz.guide.answers import Answers, compute_answers, read_object
from applyviz.guide.pages import Example, Page, PagePart, parse_page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "semantics"
PAGES = [parse_page(f.stem, f.read_text()) for f in sorted(FOLDER.glob("*.md"))]
EXAMPLES = [(page, example) for page in PAGES for example in page.examples]


def _expected(example: Example, part: PagePart) -> object:
    text = example.find(part)
    if text is None:
        return None
    if part is PagePart.PATCH:
        return json.loads(text)
    if part in (PagePart.AFTER, PagePart.READ):
        return read_object(text, part)
    return tuple(line for line in text.splitlines() if line not in ("", "nobody"))


@pytest.mark.parametrize(("page", "example"), EXAMPLES, ids=[f"{p.name}: {e.title}" for p, e in EXAMPLES])
def test_example_is_what_the_engine_computes(page: Page, example: Example) -> None:
    answers = compute_answers(example)

    got: dict[PagePart, object] = {
        PagePart.PATCH: answers.patch,
        PagePart.AFTER: answers.after,
        PagePart.READ: answers.after,
        PagePart.OWNERS: answers.owners,
        PagePart.CONFLICT: answers.conflicts,
        PagePart.PRINTS: answers.prints,
    }
    wanted = {b.part for b in example.blocks} & set(got)
    assert wanted, "an example without an answer shows nothing"
    for part in wanted:
        expected = _expected(example, part)
        same = list(expected) == list(got[part]) if isinstance(expected, tuple) else is_same_json(expected, got[part])
        assert same, f"{part}: expected {expected}, got {got[part]}"


def test_every_page_has_an_example() -> None:
    assert [page.name for page in PAGES if page.name != "README" and not page.examples] == []


def test_pages_are_listed_in_the_readme() -> None:
    listed = (FOLDER / "README.md").read_text()

    assert [p.name for p in PAGES if p.name != "README" and f"({p.name}.md)" not in listed] == []


def test_page_with_an_unknown_block_is_refused() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        parse_page("x", "# X\n## Example: y\n```yaml nonsense\na: 1\n```\n")


def test_answers_are_empty_by_default() -> None:
    assert Answers() == Answers(patch=None, after=None, owners=(), conflicts=(), prints=())
