"""Text that is a document of its own: by its fields where that loses nothing, by its lines where it would."""

from __future__ import annotations

import pytest

from applyviz.engine.diff.embedded_documents import LONGEST, name_by_guess, read_yaml
from applyviz.engine.diff.text import diff_lines
from applyviz.engine.diff.yaml_text import Plain
from applyviz.engine.objects import paths
from tests.engine.diff.test_text import picture

SCRAPE = """\
# scraped by us
global:
  scrape_interval: 30s
scrape_configs:
- job_name: nodes
  static_configs: [{targets: ["a:9100"]}]
- job_name: shop
  scheme: http
"""


def compare(before: str, after: str) -> str:
    return picture(diff_lines({"data": {"f": before}}, {"data": {"f": after}})).split("\n", 1)[1]


def changed(before: str, after: str) -> list[str]:
    return [line for line in compare(before, after).splitlines() if line[:1] != " "]


def test_yaml_in_text_is_compared_by_its_fields():
    after = """\
scrape_configs:
- job_name: nodes
  static_configs:
  - targets:
    - 'a:9100'
- job_name: stock   # came with 2.0
  scheme: http
- job_name: shop
  scheme: https
global:
  scrape_interval: 1m
"""

    assert compare(SCRAPE, after) == (
        "    f: |\n"
        "      global:\n"
        "-       scrape_interval: [30s]\n"
        "+       scrape_interval: [1m]\n"
        "      scrape_configs:\n"
        "      - job_name: nodes\n"
        "        static_configs:\n"
        "        - targets:\n"
        "          - a:9100\n"
        "+     - job_name: stock\n"
        "+       scheme: http\n"
        "      - job_name: shop\n"
        "-       scheme: [http]\n"
        "+       scheme: [https]\n"
    )
    head = next(r for r in diff_lines({"f": SCRAPE}, {"f": after}))
    assert (head.state, head.after.line.inside) == ("same", "yaml")


def test_several_documents_are_paired_by_the_objects_they_are():
    one = "kind: Role\nmetadata: {name: a}\nrules: []\n"
    two = "kind: Role\nmetadata:\n  name: b\nrules: []\n"

    found = changed(f"{one}---\n{two}", f"---\n{two.replace('[]', '[x]')}")

    assert found == [
        "-     kind: Role",
        "-     metadata:",
        "-       name: a",
        "-     rules: []",
        "-     ---",
        "-     rules: []",
        "+     rules:",
        "+     - x",
    ]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a: 1 # one\nb: 2\n", "a: 1 # uno\nb: 2\n", ["-     a: 1 # [one]", "+     a: 1 # [uno]"]),
        ("a: &x 1\nb: *x\n", "a: &x 2\nb: *x\n", ["-     a: &x [1]", "+     a: &x [2]"]),
        ("a: 1\na: 2\n", "a: 1\na: 3\n", ["-     a: [2]", "+     a: [3]"]),
        ("a: !t 1\nb: 1\n", "a: !t 2\nb: 1\n", ["-     a: !t [1]", "+     a: !t [2]"]),
        ("[server]\nport = 1\n", "[server]\nport = 2\n", ["-     port = [1]", "+     port = [2]"]),
        (
            "log.level = info\nx = 1\n",
            "log.level = debug\nx = 1\n",
            ["-     log.level = [info]", "+     log.level = [debug]"],
        ),
        ("a: {\nb: 1\n", "a: {\nb: 2\n", ["-     b: [1]", "+     b: [2]"]),
    ],
    ids=["comments alone", "anchors", "keys twice", "tags", "toml and ini", "properties", "broken"],
)
def test_what_would_lose_something_is_compared_by_its_lines(before, after, lines):
    assert changed(before, after) == lines


def test_what_only_is_quoted_otherwise_is_the_same_and_what_is_typed_otherwise_is_not():
    assert changed("a: 5m\nb: x\nc: 1\n", "a: \"5m\"\nb: 'x'\nc: 2\n") == ["-     c: [1]", "+     c: [2]"]
    assert changed("a: 8080\nb: 1\n", 'a: "8080"\nb: 1\n') == ["-     a: 8080", '+     a: ["]8080["]']


def test_json_in_text_is_told_from_its_commas():
    rows = diff_lines({"f": '{"a":1}'}, {"f": '{"a":1,"b":2}'})

    assert [str(r.after.line) for r in rows if r.state != "same"] == ['    "b": 2']
    assert rows[0].after.line.inside == "json"


def test_text_that_no_block_can_hold_is_compared_by_lines_with_escapes():
    rows = diff_lines({"f": "a \n\tb\u200b\n"}, {"f": "a \n\tc\u200b\n"})

    assert [str(r.after.line) for r in rows] == ["f: |", "  a\\x20", "  \\tc\\u200b"]
    assert [r.state for r in rows] == ["same", "same", "changed"]


def test_texts_stay_as_they_are_where_nobody_looks_inside():
    rows = diff_lines({"f": "b: 1\na: 1\n"}, {"f": "a: 1\nb: 2\n"}, looks_inside=False)

    assert [str(r.after.line) for r in rows if r.after] == ["f: |", "  a: 1", "  b: 2"]


def test_text_inside_a_text_is_compared_by_its_lines():
    inner = "a: |\n  x: 1\n  y: %d\nb: 1\n"

    assert changed(inner % 2, inner % 3) == ["-       y: [2]", "+       y: [3]"]


def test_list_in_text_is_compared_by_its_entries():
    assert changed("- a: 1\n- b\n", "- a: 1\n- c\n") == ["-     - [b]", "+     - [c]"]


def test_documents_of_another_type_stand_in_each_others_place():
    assert changed("a: 1\nb: 2\n", "- a\n- b\n") == [
        "-     a: 1",
        "-     b: 2",
        "+     - a",
        "+     - b",
    ]


def test_plain_scalars_keep_their_text():
    assert read_yaml("a: 0644\nb: yes\nc: '1'\n") == ({"a": "0644", "b": "yes", "c": "1"},)
    (found,) = read_yaml("a: 0644\nb: word\n") or ()
    assert [(type(v), getattr(v, "is_text", None)) for v in found.values()] == [(Plain, False), (Plain, True)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: 1",
        "one\ntwo\n",
        "a: 1\n" * LONGEST,
        "- " * 100 + "a\nb: 1\n",
        "? [x]\n: 1\n",
        "a: !set {b, c}\n" + "d: 1\n",
    ],
)
def test_other_text_is_no_yaml(text):
    assert read_yaml(text) is None


def test_entries_are_named_by_what_tells_them_apart():
    def entries(*names: str) -> list[dict[str, str]]:
        return [{"name": n} for n in names]

    a, b = paths.key({"name": "a"}), paths.key({"name": "b"})
    assert name_by_guess(entries("a", "b"), entries("b")) == ([a, b], [b])
    assert name_by_guess([{"alert": "a"}, {"record": "b"}], [{"record": "b"}]) is not None
    assert name_by_guess(entries("a", "b"), entries("b", "a")) is None
    assert name_by_guess(entries("a", "a"), entries("a")) is None
    assert name_by_guess([{"x": "1"}], [{"x": "2"}]) is None
    assert name_by_guess(["a", {"name": "b"}], [{"name": "b"}]) is None
