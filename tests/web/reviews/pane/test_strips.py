"""The three-way strip as it is drawn and said, for both modes, for removed, kept and masked fields."""

from __future__ import annotations

import re

import pytest
from django.template.loader import render_to_string

from applyviz.engine.explain.three_way import MergeOutcome, Station, ThreeWay, Winner, withhold_three_way
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Versions
from applyviz.engine.planning.objects.live_values import withhold_live
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.web.components.field_strip import present_opened_strip, present_strip
from applyviz.web.components.values import Shown
from applyviz.web.reviews.pane import fields
from applyviz.web.reviews.pane.fields import FieldFilter
from applyviz.web.reviews.pane.flat_rows import present_flat_rows
from applyviz.web.reviews.pane.withheld_fields import present_withheld
from tests.web import builders

SAME, ELSE, GAP, RING = Station.SAME, Station.OTHER, Station.UNSET, Station.UNKNOWN
CHANGED = ThreeWay(ELSE, SAME, ELSE, MergeOutcome.SET, Winner.MANIFEST)
OLD, NEW = Shown("1.4.2"), Shown("1.5.0")


def draw(picture, values, tone="change"):
    return render_to_string("components/_field_strip.html", {"strip": present_strip(picture, values, tone=tone)})


def open_up(picture, values, tone="change"):
    return render_to_string(
        "components/_field_strip_opened.html", {"strip": present_opened_strip(picture, values, tone=tone)}
    )


def find_row(change, label, mode):
    reasons = fields.select_reasons(change, FieldFilter.ALL)
    options = ApplyOptions(mode=mode, field_manager="ci")
    found = present_flat_rows(change, reasons, options=options, url_of=str)
    return next(flat for flat in found if flat.row.path.endswith(label))


@pytest.mark.parametrize(
    ("picture", "values", "said"),
    [
        (
            CHANGED,
            (OLD, NEW, OLD, NEW),
            "last applied 1.4.2; manifest 1.5.0; live 1.4.2; after 1.5.0: the manifest wins",
        ),
        (
            ThreeWay(RING, ELSE, ELSE, MergeOutcome.UNRESOLVED, Winner.CONFLICT),
            (None, NEW, OLD, OLD),
            "last applied not known; manifest 1.5.0; live 1.4.2; after unresolved: conflict, unresolved",
        ),
        (
            ThreeWay(ELSE, GAP, ELSE, MergeOutcome.REMOVED, Winner.MANIFEST),
            (OLD, None, OLD, None),
            "last applied 1.4.2; manifest unset; live 1.4.2; after removed: the manifest wins",
        ),
        (
            ThreeWay(GAP, GAP, SAME, MergeOutcome.SET, Winner.LIVE),
            (None, None, OLD, OLD),
            "last applied unset; manifest unset; live 1.4.2; after 1.4.2: live is kept",
        ),
    ],
)
def test_strip_says_what_it_draws(picture, values, said):
    assert f'aria-label="{said}"' in draw(picture, values)


def test_shape_of_each_station():
    text = draw(ThreeWay(RING, SAME, GAP, MergeOutcome.SET, Winner.MANIFEST), (None, NEW, None, NEW))

    assert re.findall(r'<circle class="(\w+)" cx="(\d+)"', text) == [("unknown", "8"), ("same", "32"), ("after", "88")]
    assert 'class="gap" transform="translate(56 10)"' in text


@pytest.mark.parametrize(
    ("winner", "outcome", "line"),
    [
        (Winner.MANIFEST, MergeOutcome.SET, "M32 10C38 -1 76 -1 84 6"),
        (Winner.LIVE, MergeOutcome.SET, "M61 10H83"),
        (Winner.SERVER, MergeOutcome.SET, "M71 12V10H83"),
        (Winner.CONFLICT, MergeOutcome.UNRESOLVED, "M32 10C38 -1 76 -1 84 6M61 10H82"),
    ],
)
def test_line_runs_from_the_station_that_won(winner, outcome, line):
    text = draw(ThreeWay(ELSE, ELSE, ELSE, outcome, winner), (OLD, NEW, OLD, NEW))

    assert f'class="line" d="{line}"' in text


@pytest.mark.parametrize(
    ("picture", "tone"),
    [
        (CHANGED, "change"),
        (ThreeWay(ELSE, ELSE, ELSE, MergeOutcome.UNRESOLVED, Winner.CONFLICT), "remove"),
        (ThreeWay(SAME, SAME, SAME, MergeOutcome.SET, Winner.NONE), "calm"),
        (ThreeWay(ELSE, GAP, ELSE, MergeOutcome.SET, Winner.SERVER), "change"),
        (ThreeWay(ELSE, GAP, ELSE, MergeOutcome.REMOVED, Winner.SERVER), "remove"),
    ],
)
def test_line_has_the_tone_of_the_operation(picture, tone):
    assert f"field-strip tone-{tone}" in draw(picture, (OLD, NEW, OLD, NEW))


def test_nothing_to_decide_has_no_line():
    assert 'class="line"' not in draw(ThreeWay(SAME, SAME, SAME, MergeOutcome.SET, Winner.NONE), (OLD, OLD, OLD, OLD))


def test_removal_ends_in_a_cross():
    assert "M85 7l6 6m0 -6l-6 6" in draw(
        ThreeWay(ELSE, GAP, ELSE, MergeOutcome.REMOVED, Winner.MANIFEST), (OLD, None, OLD, None)
    )


def test_opened_strip_shows_values_and_cuts_long_ones():
    text = open_up(CHANGED, (OLD, Shown("x" * 29), OLD, Shown("x" * 29)))

    assert 'aria-hidden="true"' in text
    assert f">{'x' * 27}…</text>" in text
    assert "x" * 28 not in text


def test_opened_strip_names_what_has_no_value():
    text = open_up(ThreeWay(RING, GAP, ELSE, MergeOutcome.UNRESOLVED, Winner.CONFLICT), (None, None, OLD, OLD))

    assert [word in text for word in ("not known", ">unset<", "conflict: choose a resolution")] == [True] * 3


def test_text_of_several_lines_is_cut_at_the_first():
    assert "manifest a…;" in draw(CHANGED, (OLD, Shown("a\nb", is_long=True, lines=2), OLD, NEW))


def test_invisible_characters_of_a_value_are_shown_by_number():
    assert "manifest aU+202Eb;" in draw(CHANGED, (OLD, Shown("a\u202eb"), OLD, NEW))


def test_withheld_strip_draws_nothing_of_live():
    text = draw(withhold_three_way("a", "b", is_known=True), (Shown("a"), Shown("b"), None, None))

    assert "live not shown to you; after not shown to you" in text
    assert re.findall(r'<circle class="(\w+)" cx="(\d+)"', text)[2:] == [("unknown", "56"), ("unknown", "88")]
    assert 'class="line"' not in text


def test_under_server_side_apply_last_applied_is_what_you_own():
    change = builders.build_change()

    owned = find_row(change, "spec.replicas", ApplyMode.SERVER)
    others = find_row(change, "image", ApplyMode.SERVER)

    assert (owned.strip.stations[0].shape, others.strip.stations[0].shape) == ("same", "unknown")


def test_under_client_side_apply_last_applied_is_the_annotation():
    row = find_row(builders.build_change(), "spec.replicas", ApplyMode.CLIENT)

    assert row.strip.stations[0].shape == "unset"


@pytest.mark.parametrize(
    ("mode", "first"),
    [(ApplyMode.CLIENT, ["other", "unset", "other"]), (ApplyMode.SERVER, ["unknown", "unknown", "unknown"])],
)
def test_hidden_secret_shows_its_manifest_and_nothing_of_live(mode, first):
    manifest, before = {"data": {"token": "M1", "user": "M2"}}, {"data": {"token": "M0", "gone": "M3"}}
    live = {"data": {"token": "M1"}}
    change = replace(
        builders.build_change(), versions=Versions(last_applied=before, manifest=manifest, live=live, after=live)
    )

    rows = present_withheld(withhold_live(change), mode=mode)

    assert [(row.path, row.manifest.text if row.manifest else None) for row in rows] == [
        ("data.token", "M1"),
        ("data.user", "M2"),
        ("data.gone", None),
    ]
    assert [row.strip.stations[0].shape for row in rows] == first
    assert {row.strip.stations[2].shape for row in rows} == {"unknown"}
    assert present_withheld(change, mode=mode) == ()
