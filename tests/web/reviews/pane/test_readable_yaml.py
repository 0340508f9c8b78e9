"""Values are written as PyYAML writes them, without its nodes."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.objects.values import clone
from applyviz.web.components import values
from applyviz.web.components.readable_yaml import render_yaml
from applyviz.web.components.values import LONGEST, show_value

TEXTS = [
    *("", " ", "a", "a b", " a", "a ", "1", "1.0", "0x1", "1e3", "yes", "null", "~", "=", "<<", "- a", "a: b", "a #b"),
    *("#", "'", '"', "é", "\u202e", "\u00a0", "\x07", "\U0001f600", "2020-01-01", "x" * 300, "word " * 60, "a\nb"),
    *("a\nb\n", "a\n\n", "\na", " a\nb", "a \nb", "a\tb\nc", "a\n  b", "*a", "&a", "!a", "%a", "@a", "`a", "{a", "[a"),
]


class _Dumper(yaml.CSafeDumper):
    """Writes texts of several lines as blocks."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def dump(value: object) -> str:
    """Return what PyYAML writes."""
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text.removesuffix("...\n").rstrip("\n")


@pytest.mark.parametrize(
    "value", [None, True, 1, -1, 2**70, 0.5, 1e17, 1e-7, float("inf"), [], {}, [[]], [{}], {"a": {}, "b": []}, *TEXTS]
)
def test_value_is_written_as_pyyaml_writes_it(value):
    assert render_yaml(value) == dump(value)
    around = {"a": value, "b": [clone(value), {"c": clone(value)}]}
    assert render_yaml(around) == dump(around)


_SCALARS = st.one_of(st.sampled_from(TEXTS), st.text(max_size=20), st.integers(), st.booleans(), st.none(), st.floats())


@given(st.recursive(_SCALARS, lambda below: st.lists(below) | st.dictionaries(st.sampled_from(TEXTS), below)))
def test_any_value_is_written_as_pyyaml_writes_it(value):
    assert render_yaml(value) == dump(value)


def test_part_that_is_shown_twice_is_written_twice():
    shared = {"b": ["c"]}

    assert render_yaml({"a": shared, "d": shared}) == "a:\n  b:\n  - c\nd:\n  b:\n  - c"


def test_text_that_a_row_leaves_out_is_not_written(monkeypatch):
    """The schema of a custom resource has a megabyte of descriptions, and a row shows four thousand characters."""
    value = [{"description": "word " * 100, "type": "object"} for _ in range(75)]
    whole = dump(value)
    written = []
    monkeypatch.setattr(values, "render_yaml", lambda begun: written.append(render_yaml(begun)) or written[0])

    shown = show_value(value)

    assert (shown.text, shown.is_cut) == (whole[:LONGEST], True)
    assert len(written[0]) < 2 * LONGEST < len(whole)
