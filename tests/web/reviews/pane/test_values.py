"""Values of the versions of an object as text, each written once."""

import pytest

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects import paths
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import clone
from applyviz.engine.planning.model.plan import Versions
from applyviz.engine.requests.options import ApplyOptions
from applyviz.web.components import values
from applyviz.web.components.values import ABSENT, ValueTexts, show_short, show_value
from applyviz.web.reviews.pane.flat_rows import present_flat_rows
from tests.web import builders


def test_equal_values_of_an_object_are_written_once(monkeypatch):
    written = []
    monkeypatch.setattr(values, "render_yaml", lambda value: written.append(value) or "a: …")
    long = {"a": "x" * 90, "b": 1}
    texts = ValueTexts()

    shown = [texts.show(value) for value in (long, long, dict(long), {"b": 1, "a": "x" * 90}, {**long, "b": 1.0})]

    assert [one.text for one in shown] == ["a: …"] * 5
    # Another order and another type are other texts.
    assert [repr(one) for one in written] == [repr(one) for one in (long, {"b": 1, "a": "x" * 90}, {**long, "b": 1.0})]


def test_rows_of_the_scroll_write_the_value_of_several_versions_once(monkeypatch):
    written = []
    monkeypatch.setattr(values, "render_yaml", lambda value: written.append(value) or "a: …")
    path = paths.fields("data")
    live, manifest = ({"data": {"a": text * 90}} for text in "xy")
    reason = FieldReason(path, FieldOperation.CHANGED, Reason.MANIFEST_SETS)
    change = replace(
        builders.build_change(), versions=Versions(live, manifest, live, manifest, clone(manifest)), fields=(reason,)
    )

    (row,) = present_flat_rows(change, [(0, reason)], options=ApplyOptions(field_manager="ci"), url_of=str)

    assert [mark.shape for mark in row.row.versions] == ["a", "b", "a"]
    assert written == [live["data"], manifest["data"]]


@pytest.mark.parametrize(
    "value", [ABSENT, "x" * 100, "a\nb", "1", {}, {"a": [1] * 200}, {"a": "b" * 5000}, [{"a": None}]]
)
def test_values_of_an_object_are_shown_as_any_value(value):
    assert ValueTexts().show(value) == show_value(value)


@pytest.mark.parametrize("longest", [3, 32, 72])
@pytest.mark.parametrize(
    "value", [ABSENT, None, 1, "", "1", "x" * 33, "a\nb", {}, {"a": 1}, ["b", {}], {"a": [1] * 200}, {"a": "b" * 90}]
)
def test_short_value_is_written_without_its_long_form(monkeypatch, value, longest):
    shown = show_value(value)
    expected = "" if shown is None or shown.is_long or len(shown.text) > longest else shown.text
    monkeypatch.setattr(values, "render_yaml", None)

    assert show_short(value, longest) == expected
