"""Every example of the guide is what the real kubectl and API server make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from applyviz.engine.merge.json_merge import apply_json_merge
from applyviz.engine.objects.values import is_same_json
from applyviz.guide.answers import read_object
from applyviz.guide.pages import Example, PagePart, parse_page
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.guide_replay import Outcome, Replay, read_owner_lines, without_server_fields
from tests.controlplane.proxying import Recorder

pytestmark = [pytest.mark.controlplane, pytest.mark.core(6)]
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "semantics"
PAGES = [parse_page(file.stem, file.read_text()) for file in sorted(FOLDER.glob("*.md"))]
EXAMPLES = {f"{page.name}-{n}": one for page in PAGES for n, one in enumerate(page.examples, 1)}
# What these examples show is computed by applyviz: the plan of a Delete review, and the choices of kOps.
OF_THE_PRODUCT = [n for n, one in EXAMPLES.items() if one.find(PagePart.CHANNEL) or n.startswith("deletions-")]
# `test_guide_tables.py` carries out each row of the tables.
TABLES = [name for name, one in EXAMPLES.items() if one.find(PagePart.TABLE)]
REPLAYED = sorted(set(EXAMPLES) - set(OF_THE_PRODUCT) - set(TABLES))
# The id of the set is computed with its namespace.
IN_SHOP = "applysets-2"
# applyviz finds this in the plan and sends nothing; the server answers 409 to kubectl.
REFUSED_BEFORE = "binding-1"


@pytest.fixture(scope="module")
def recorder(control_plane: ControlPlane) -> Iterator[Recorder]:
    with Recorder(control_plane) as proxy:
        yield proxy


def expect(example: Example, outcome: Outcome, *, is_refused_before: bool) -> Iterator[PagePart]:
    """Compare each answer of the page; yields what was compared."""
    for part in (b.part for b in example.blocks if not b.part.is_given):
        text = example.find(part) or ""
        if part is PagePart.PATCH:
            assert is_same_json(outcome.patch, json.loads(text)), outcome.patch
        elif part in (PagePart.DELETIONS, PagePart.ADDITIONS):
            # kubectl shows no steps; together they are the patch that it sends
            steps = [json.loads(example.find(step) or "") for step in (PagePart.DELETIONS, PagePart.ADDITIONS)]
            assert is_same_json(outcome.patch, apply_json_merge(*steps)), outcome.patch
        elif part is PagePart.MANAGED:
            assert is_same_json(outcome.managed, json.loads(text)), outcome.managed
        elif part is PagePart.CONFLICT:
            lines = [line for line in text.splitlines() if line]
            assert (
                [("the object has been modified" in outcome.refused[0]), *lines]
                if is_refused_before
                else (list(outcome.refused) == lines)
            ), outcome.refused
        elif part is PagePart.OWNERS:
            assert outcome.owners == read_owner_lines(text)
        elif part is PagePart.PRINTS:
            assert list(outcome.prints) == [line for line in text.splitlines() if line]
        else:
            assert outcome.after is not None, outcome.refused
            expected = without_server_fields(read_object(text, part), [read_object(text, part)])
            assert is_same_json(without_server_fields(outcome.after, [expected]), expected), outcome.after
        yield part


@pytest.mark.core(2)
@pytest.mark.parametrize("name", REPLAYED)
def test_example_is_what_the_real_server_answers(control_plane: ControlPlane, recorder: Recorder, name: str) -> None:
    replay = Replay(control_plane, recorder, EXAMPLES[name], "shop" if name == IN_SHOP else f"guide-{name}")

    outcome = replay.run()

    assert list(expect(replay.example, outcome, is_refused_before=name == REFUSED_BEFORE))
