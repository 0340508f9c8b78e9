"""Every worked example of docs/semantics is what the engine computes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from applyviz.engine.channels.versions import RangeError
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.values import is_same_json
from applyviz.guide.answers import Answers, compute_answers, read_object
from applyviz.guide.pages import Example, Page, PagePart, parse_page
from applyviz.guide.tables import build_versions

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "semantics"
FILES = sorted(FOLDER.glob("*.md"))
PAGES = [parse_page(f.stem, f.read_text()) for f in FILES]
BASE = "```yaml base\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n```\n"
JSON_PARTS = (PagePart.PATCH, PagePart.DELETIONS, PagePart.ADDITIONS, PagePart.MANAGED)
EXAMPLES = [(page, example) for page in PAGES for example in page.examples]


def _expected(example: Example, part: PagePart) -> object:
    text = example.find(part)
    if text is None:
        return None
    if part in JSON_PARTS:
        return json.loads(text)
    if part in (PagePart.AFTER, PagePart.READ):
        return read_object(text, part)
    return tuple(line for line in text.splitlines() if line not in ("", "nobody"))


@pytest.mark.parametrize(("page", "example"), EXAMPLES, ids=[f"{p.name}: {e.title}" for p, e in EXAMPLES])
def test_example_is_what_the_engine_computes(page: Page, example: Example) -> None:
    answers = compute_answers(example)

    got: dict[PagePart, object] = {
        PagePart.PATCH: answers.patch,
        PagePart.DELETIONS: answers.steps.deletions if answers.steps else None,
        PagePart.ADDITIONS: answers.steps.additions if answers.steps else None,
        PagePart.MANAGED: answers.managed,
        PagePart.AFTER: answers.after,
        PagePart.READ: answers.after,
        PagePart.OWNERS: answers.owners,
        PagePart.CONFLICT: (*answers.conflicts, *answers.refused.splitlines()),
        PagePart.PRINTS: answers.prints,
    }
    for table in answers.tables:
        assert [(row.patch, row.after) for row in table.rows] == [row.expected for row in table.rows]
    wanted = {b.part for b in example.blocks} & set(got)
    assert wanted or answers.tables, "an example without an answer shows nothing"
    for part in wanted:
        expected = _expected(example, part)
        same = list(expected) == list(got[part]) if isinstance(expected, tuple) else is_same_json(expected, got[part])
        assert same, f"{part}: expected {expected}, got {got[part]}"


def test_every_page_has_an_example() -> None:
    assert [page.name for page in PAGES if page.name != "README" and not page.examples] == []


def test_text_of_an_example_stands_before_its_blocks_as_on_the_page() -> None:
    texts = {file.stem: re.split(r"^## Example: ", file.read_text(), flags=re.MULTILINE)[1:] for file in FILES}

    assert [name for name, parts in texts.items() if any(not part.rstrip().endswith("```") for part in parts)] == []


def test_pages_are_listed_in_the_readme() -> None:
    listed = (FOLDER / "README.md").read_text()

    assert [p.name for p in PAGES if p.name != "README" and f"({p.name}.md)" not in listed] == []


def test_page_with_an_unknown_block_is_refused() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        parse_page("x", "# X\n## Example: y\n```yaml nonsense\na: 1\n```\n")


def test_answers_are_empty_by_default() -> None:
    assert Answers() == Answers(patch=None, after=None, owners=(), conflicts=(), prints=())


def test_channel_block_without_a_channel_is_an_error() -> None:
    text = "# A\n\n## Example: a\n```yaml channel v1.36.3\nkind: ConfigMap\n```\n"

    with pytest.raises(ManifestError, match="expected a document of kind Addons without apiVersion"):
        compute_answers(parse_page("a", text).examples[0])


def test_channel_block_without_a_version_is_an_error_and_odd_entries_are_printed() -> None:
    text = "# A\n\n## Example: a\n```yaml channel{}\nkind: Addons\nspec: {{addons: [5]}}\n```\n"

    assert compute_answers(parse_page("a", text.format(" v1.36.3")).examples[0]).prints == (
        "error: spec.addons[0] must be an object",
    )
    with pytest.raises(RangeError):
        compute_answers(parse_page("a", text.format("")).examples[0])


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        (f"{BASE}```yaml table\n[]\n```\n", "expected a block base, then: table PATH"),
        ("```yaml table data\n[]\n```\n", "expected a block base, then: table PATH"),
        (f"{BASE}```yaml table data\na: 1\n```\n", "expected a list of rows"),
        (f"{BASE}```yaml table data\n[1]\n```\n", "expected a list of rows"),
    ],
)
def test_block_that_is_no_table_is_an_error(blocks: str, reason: str) -> None:
    page = parse_page("a", f"# A\n\n## Example: a\n{blocks}")

    with pytest.raises(ManifestError, match=reason):
        compute_answers(page.examples[0])


def test_wrong_answer_in_a_table_differs_from_the_computed_one() -> None:
    text = f"# A\n\n## Example: a\n{BASE}```yaml table data\n- manifest: {{a: x}}\n  after: {{a: y}}\n```\n"

    ((row,),) = (table.rows for table in compute_answers(parse_page("a", text).examples[0]).tables)

    assert (row.patch, row.after, row.expected) == ("{data: {a: x}}", "{a: x}", ("—", "{a: y}"))


def test_row_that_the_server_refuses_shows_the_refusal() -> None:
    text = f"# A\n\n## Example: a\n{BASE}```yaml table data\n- manifest: {{a b: x}}\n```\n"

    ((row,),) = (table.rows for table in compute_answers(parse_page("a", text).examples[0]).tables)

    assert row.after.startswith("not valid: data[a b]: Invalid value")


def test_base_names_what_every_row_shares() -> None:
    base = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"type": "ClusterIP"}}

    versions = build_versions(base, ("metadata", "labels"), {"live": {"a": "b"}})

    assert versions["live"] == {**base, "metadata": {"name": "web", "labels": {"a": "b"}}}
    assert versions["manifest"] == versions["last-applied"] == base
    assert base["metadata"] == {"name": "web"}
