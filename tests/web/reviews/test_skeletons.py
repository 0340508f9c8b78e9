"""Fragments that are drawn once per form show what their templates show, and escape what the templates escape."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy, override

from applyviz.engine.diff.words import Part
from applyviz.engine.explain.three_way import MergeOutcome, Station, ThreeWay, Winner
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import RiskLevel
from applyviz.web.components.badges import LEVEL_STYLES, OBJECT_STYLES
from applyviz.web.components.field_strip import present_opened_strip, present_strip
from applyviz.web.components.owners import present_owners
from applyviz.web.components.values import show_value
from applyviz.web.reviews.pages.object_groups import ObjectItem
from applyviz.web.reviews.pane.diff_lines import DiffRow, Side
from applyviz.web.templatetags import skeletons
from applyviz.web.templatetags.field_rows import field_strip, opened_strip, ownership, small_diff_line
from applyviz.web.templatetags.object_items import object_item
from tests.web.builders import AUTOSCALER, SETTER, YOU

# What could end an element or an attribute, what nobody sees, and what a mark is made of.
NASTY = "<b>\"&'\u202e\x020:visible\x03"


@pytest.fixture(autouse=True)
def _forget():
    skeletons._skeletons.clear()


def picture(winner=Winner.MANIFEST, outcome=MergeOutcome.SET) -> ThreeWay:
    return ThreeWay(Station.OTHER, Station.SAME, Station.UNSET, outcome, winner)


@pytest.mark.parametrize("outcome", list(MergeOutcome))
@pytest.mark.parametrize("winner", list(Winner))
def test_strip_is_what_its_template_draws(winner, outcome):
    for texts in (("a", "b", "c", "d"), (NASTY, "2", NASTY, NASTY), ("x", "", "", "y")):
        values = [show_value(text) for text in texts]
        small = present_strip(picture(winner, outcome), values, tone="change")
        opened = present_opened_strip(picture(winner, outcome), values, tone="change")

        assert field_strip(small) == render_to_string("components/_field_strip.html", {"strip": small})
        assert opened_strip(opened) == render_to_string("components/_field_strip_opened.html", {"strip": opened})


def test_text_is_escaped_by_the_filter_of_the_template():
    strip = present_strip(picture(), [show_value(NASTY)] * 4, tone="change")
    drawn = [field_strip(strip), field_strip(strip)]

    assert drawn[0] == drawn[1]
    assert "<b>" not in drawn[1]
    assert "&lt;b&gt;&quot;&amp;&#x27;U+202EU+0002" in drawn[1]


@pytest.mark.parametrize("text", ["a", NASTY, "", "  "])
def test_line_of_a_diff_is_what_its_template_shows(monkeypatch, text):
    rendered = []
    monkeypatch.setattr(skeletons, "render_to_string", lambda *a: rendered.append(a[0]) or render_to_string(*a))
    parts = (Part(text), Part(text, is_changed=True), Part(text))
    lines = [
        DiffRow("same", Side(1, "  ", (Part(text),)), Side(2, "  ", (Part(text),))),
        DiffRow("removed", Side(1, "", parts)),
        DiffRow("added", None, Side(1, "    ", parts, note=gettext_lazy("JSON, formatted"))),
        DiffRow("fold", fold=f"{text} 3 lines"),
        DiffRow("fold", fold=f"{text} 4 lines", is_rest=True),
        DiffRow("removed", Side(7, "      ", parts)),
    ]

    drawn = [small_diff_line(line) for line in lines]

    assert drawn == [render_to_string("components/_small_diff_line.html", {"line": line}) for line in lines]
    assert rendered == ["components/_small_diff_line.html"] * 4


def test_owners_are_drawn_once_per_combination(monkeypatch):
    rendered = []
    real = render_to_string
    monkeypatch.setattr(skeletons, "render_to_string", lambda *a: rendered.append(a[0]) or real(*a))

    class Row:
        has_owner_change = True
        owners_before = present_owners((YOU,), you="ci")
        owners_after = present_owners((SETTER, AUTOSCALER), you="ci")

    class Other(Row):
        owners_before = present_owners((AUTOSCALER,), you="ci")

    drawn = [ownership(row()) for row in (Row, Other, Row, Other)]

    assert drawn == [render_to_string("components/_ownership.html", {"row": row()}) for row in (Row, Other) * 2]
    assert rendered == ["components/_ownership.html"] * 2


def test_each_language_has_its_own():
    strip = present_strip(picture(), [show_value("1")] * 4, tone="add")
    field_strip(strip)
    with override("de"):
        field_strip(strip)

    assert len(skeletons._skeletons) == 2


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(skeletons, "MOST", 3)
    for tone in "abcdefg":
        field_strip(present_strip(picture(), [show_value(tone)] * 4, tone=tone))

    assert 0 < len(skeletons._skeletons) <= 3


@pytest.mark.parametrize("level", [None, LEVEL_STYLES[RiskLevel.HIGH]])
@pytest.mark.parametrize(
    ("is_current", "is_viewed", "conflicts"), [(False, False, 0), (True, False, 2), (False, True, 0)]
)
def test_item_of_the_list_is_what_its_template_shows(level, is_current, is_viewed, conflicts):
    for name, where in (("web", ""), (NASTY, "shop"), ("x", NASTY)):
        item = ObjectItem(
            *(1_234, name, NASTY, where, OBJECT_STYLES[Operation.UPDATE], "", f"?q={NASTY}", is_current, is_viewed),
            where=where,
            level=level,
            conflicts=conflicts,
        )

        assert object_item(item) == render_to_string("reviews/changes/_item.html", {"item": item})


def test_items_of_the_list_are_rendered_once_per_form(monkeypatch):
    rendered = []
    monkeypatch.setattr(skeletons, "render_to_string", lambda *a: rendered.append(a[0]) or render_to_string(*a))
    items = [
        ObjectItem(n, f"web-{n}", "Deployment", "shop", OBJECT_STYLES[operation], "", f"/{n}", is_current=False)
        for n, operation in enumerate(2 * [Operation.UPDATE, Operation.CREATE])
    ]

    shown = render_to_string("reviews/changes/_items.html", {"items": items})

    assert [shown.count(f'href="/{n}"') for n in range(4)] == [1] * 4
    assert rendered == ["reviews/changes/_item.html"]
