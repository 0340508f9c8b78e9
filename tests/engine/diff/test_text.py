"""Two objects as lines: whole text pictures."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.diff import pairing
from applyviz.engine.diff.text import Fold, diff_lines, fold_rows, unify_rows
from applyviz.engine.diff.words import Part, align, mark_words
from applyviz.engine.diff.yaml_text import count_lines, render_field, render_lines, render_yaml, write_scalar
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema import builtin

ROOT = builtin.bundled().find_kind(GroupVersionKind("apps", "v1", "Deployment")).root
SIGNS = {"same": "  ", "changed": "~ ", "added": "+ ", "removed": "- "}


def picture(rows):
    lines = []
    for row in rows:
        if isinstance(row, Fold):
            lines.append(f"… {row.count}")
            continue
        for side, sign in ((row.before, "-"), (row.after, "+")):
            if side is not None and (row.state != "same" or sign == "+"):
                marked = "".join(f"[{p.text}]" if p.is_changed else p.text for p in side.parts)
                mark = SIGNS[row.state] if row.state != "changed" else f"{sign} "
                lines.append(mark + "  " * side.line.depth + (marked if row.state == "changed" else side.line.text))
    return "\n".join(lines) + "\n"


def deployment(*containers, **spec):
    return {
        "spec": {"template": {"spec": {"containers": list(containers)}}, **spec},
        "metadata": {"labels": {"b": "1", "a": "yes"}, "name": "web"},
        "kind": "Deployment",
        "apiVersion": "apps/v1",
    }


def test_objects_are_written_in_one_order():
    obj = {**deployment({"image": "i", "name": "web", "args": [], "env": [{"value": "on", "name": "A"}]}), "status": {}}

    assert render_yaml(None, obj) == (
        "apiVersion: apps/v1\n"
        "kind: Deployment\n"
        "metadata:\n"
        "  name: web\n"
        "  labels:\n"
        '    a: "yes"\n'
        '    b: "1"\n'
        "spec:\n"
        "  template:\n"
        "    spec:\n"
        "      containers:\n"
        "      - name: web\n"
        "        args: []\n"
        "        env:\n"
        "        - name: A\n"
        '          value: "on"\n'
        "        image: i\n"
        "status: {}\n"
    )


def test_entries_are_paired_by_their_key_and_words_are_marked():
    before = deployment({"name": "old", "image": "o"}, {"name": "web", "image": "shop/web:1.2.3"})
    after = deployment({"name": "web", "image": "shop/web:1.3.0"}, {"name": "new", "image": "i"}, replicas=2)

    assert picture(diff_lines(before, after, root=ROOT)).split("containers:\n")[1] == (
        "-       - name: old\n"
        "-         image: o\n"
        "        - name: web\n"
        "-         image: shop/web:1.[2].[3]\n"
        "+         image: shop/web:1.[3].[0]\n"
        "+       - name: new\n"
        "+         image: i\n"
    )


def test_entries_without_keys_are_paired_by_what_is_equal():
    before = {"rules": [{"a": 1}, {"b": 2}, "x"]}
    after = {"rules": [{"c": 0}, {"a": 1}, {"b": 3}, "x"]}

    assert picture(diff_lines(before, after)) == ("  rules:\n+ - c: 0\n  - a: 1\n- - b: [2]\n+ - b: [3]\n  - x\n")


def test_blocks_of_text_are_compared_line_by_line():
    before = {"data": {"conf": "one\ntwo\nthree\n"}}
    after = {"data": {"conf": "one\ntwo!\nthree\nfour"}}

    assert picture(diff_lines(before, after)) == (
        "  data:\n-   conf: |\n+   conf: |[-]\n      one\n-     two\n+     two[!]\n      three\n+     four\n"
    )


def test_json_inside_text_is_laid_out():
    before = {"data": {"conf": '{"a":1,"b":[1,2]}'}}
    after = {"data": {"conf": '{"b":[1,3],"a":1}'}}

    assert picture(diff_lines(before, after)) == (
        "  data:\n"
        "    conf: |-\n"
        "      {\n"
        '        "a": 1,\n'
        '        "b": [\n'
        "          1,\n"
        "-         [2]\n"
        "+         [3]\n"
        "        ]\n"
        "      }\n"
    )
    reformatted = diff_lines({"a": '{"x":1}'}, {"a": '{ "x": 1 }'})
    assert [r.state for r in reformatted] == ["changed"]


def test_text_that_only_begins_like_json_is_compared_as_it_is():
    assert picture(diff_lines({"a": "{x: 1}"}, {"a": "{x: 2}"})) == '- a: "{x: [1]}"\n+ a: "{x: [2]}"\n'


def test_lists_with_entries_that_cannot_be_named_pair_by_position():
    before = deployment({"name": "a", "image": "1"}, "odd")
    after = deployment({"name": "a", "image": "2"}, "odd")

    rows = [r for r in diff_lines(before, after, root=ROOT) if r.state != "same"]

    assert picture(rows) == '-         image: "[1]"\n+         image: "[2]"\n'
    assert render_path(rows[0].path) == ".spec.template.spec.containers[0].image"


def test_equal_parts_are_folded():
    before = {f"k{n:02d}": n for n in range(20)}

    rows = fold_rows(diff_lines(before, {**before, "k10": "x"}), context=2)

    assert picture(rows) == "… 8\n  k08: 8\n  k09: 9\n- k10: [10]\n+ k10: [x]\n  k11: 11\n  k12: 12\n… 7\n"
    assert fold_rows(diff_lines(before, before)) == (Fold(len(diff_lines(before, before))),)


def test_long_equal_values_are_their_first_line_and_the_number_of_the_others():
    same = {"properties": {f"p{n}": {"type": "string", "enum": ["a", "b"]} for n in range(9)}, "items": [["a"] * 9]}
    before = {"list": [{"name": "one", "of": same}, {"name": "two", "size": 1}], "map": same, "text": "a"}
    after = {"list": [{"name": "one", "of": same}, {"name": "two", "size": 2}], "map": same, "text": "b"}
    whole, short = (fold_rows(diff_lines(before, after, is_short=is_short), context=1) for is_short in (False, True))

    lengths = [sum(row.count if isinstance(row, Fold) else 1 for row in rows) for rows in (whole, short)]
    assert lengths == [count_lines(after)] * 2
    assert picture(short) == (
        "… 59\n  - name: two\n-   size: [1]\n+   size: [2]\n  map:\n… 56\n- text: [a]\n+ text: [b]\n"
    )
    assert [rows[-1].after.number for rows in (whole, short)] == [count_lines(after)] * 2


def test_rows_end_with_the_last_differing_one_that_is_asked_for():
    before, after = ({"k": [f"{side}{n}" for n in range(50)], "a": [1] * 50} for side in "xy")

    rows = diff_lines(before, after, most=3)

    assert [row.state for row in rows] == ["same"] * 52 + ["changed"] * 3


def test_one_column_has_removed_before_added():
    rows = unify_rows(diff_lines({"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "c": 1, "d": 1}))

    assert picture(rows) == "- a: 1\n- b: 1\n+ a: 2\n+ b: 2\n  c: 1\n+ d: 1\n"
    assert picture(unify_rows(diff_lines({"a": 1, "b": 1}, {"b": 1}))) == "- a: 1\n  b: 1\n"


def test_rows_know_their_field_and_their_numbers():
    rows = diff_lines(deployment({"name": "web", "image": "a"}), deployment({"name": "web", "image": "b"}), root=ROOT)

    last = rows[-1]
    assert render_path(last.path) == '.spec.template.spec.containers[name="web"].image'
    assert (last.before.number, last.after.number) == (13, 13)


def test_nothing_and_something():
    assert picture(diff_lines(None, {"a": 1})) == "+ a: 1\n"
    assert picture(diff_lines({"a": 1}, None)) == "- a: 1\n"
    assert diff_lines(None, None) == ()


def test_invisible_characters_are_written_as_escapes():
    assert write_scalar("user\u202eadmin") == '"user\\u202eadmin"'
    assert write_scalar("zero\u200bwidth") == '"zero\\u200bwidth"'
    assert render_yaml(None, 5) == ""
    assert render_yaml(None, {"a": "x\nb\u200b"}) == 'a: "x\\nb\\u200b"\n'


def test_words_are_aligned_and_long_lines_are_not():
    assert mark_words("a b c", "a x c") == (
        (Part("a "), Part("b", True), Part(" c")),
        (Part("a "), Part("x", True), Part(" c")),
    )
    assert mark_words("a b", "a") == ((Part("a"), Part(" b", True)), (Part("a"),))
    assert mark_words("a " * 3000, "b") == ((Part("a " * 3000, True),), (Part("b", True),))
    assert list(align(["a"] * 5000, ["b"] * 5000)) == [(0, 5000, 0, 5000, False)]


@pytest.mark.core(1)
@pytest.mark.covering
@pytest.mark.parametrize("start", range(5))
def test_recorded_objects_read_back_as_what_they_are(start):
    file = next((Path(__file__).parents[2] / "conformance").rglob("smp3.jsonl.gz"))
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in islice(lines, start, None, 5):
            obj = json.loads(line)["input"]["current"]
            assert yaml.safe_load(render_yaml(None, obj)) == obj


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_text_reads_back_as_itself(text):
    assert yaml.safe_load(render_yaml(None, {"a": text, "l": [text]})) == {"a": text, "l": [text]}


def test_quantities_of_one_amount_are_the_same_line():
    def limited(cpu, note):
        limits = {"cpu": cpu, "memory": "1Gi"}
        return deployment({"name": "web", "resources": {"limits": limits}, "image": note})

    rows = diff_lines(limited("1000m", "500m"), limited("1", "0.5"), root=ROOT)

    assert [str(r.after.line).strip() for r in rows if r.state != "same"] == ['image: "0.5"']
    (cpu,) = [r for r in rows if r.after and r.after.line.path[-1] == "f:cpu"]
    assert (cpu.before.line.text, cpu.after.line.text) == ('cpu: "1000m"', 'cpu: "1"')
    assert any(r.state != "same" for r in diff_lines({"cpu": "1000m"}, {"cpu": "1"}))


_LEAVES = st.one_of(
    st.none(), st.integers(), st.text(max_size=5), st.lists(st.text("ab\n ", max_size=4)).map("\n".join)
)
_TREES = st.recursive(
    _LEAVES, lambda below: st.one_of(st.lists(below), st.dictionaries(st.text("abc", max_size=2), below)), max_leaves=20
)


@given(_TREES)
def test_lines_are_counted_as_they_are_written(tree):
    assert count_lines(tree) == len(list(render_lines(None, tree)))


def test_only_entries_of_which_there_are_several_are_written_to_align_them(monkeypatch):
    written = []
    monkeypatch.setattr(pairing, "canonical_json", lambda entry: written.append(entry) or json.dumps(entry))
    one, other = {"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 2, "c": 2}]}

    assert picture(diff_lines(one, other)) == "  a:\n- - b: [1]\n+ - b: [2]\n    c: 2\n"
    assert picture(diff_lines(one, one)) == "  a:\n  - b: 1\n    c: 2\n"
    assert written == []
    diff_lines({"a": [1, 2]}, {"a": [2]})
    assert written == [1, 2, 2]


def test_removed_and_added_entry_each_begin_with_a_dash():
    before, after = {"a": [{"b": 1, "v": 1, "z": 1}]}, {"a": [{"c": 1, "w": 1, "z": 1}]}

    assert picture(diff_lines(before, after)) == "  a:\n- - b: 1\n+ - c: 1\n-   v: 1\n+   w: 1\n    z: 1\n"


def test_fields_of_one_line_are_neither_aligned_nor_written_twice(monkeypatch):
    aligned, written = [], []
    monkeypatch.setattr(pairing, "align", lambda *texts: aligned.append(texts) or align(*texts))
    monkeypatch.setattr(pairing, "render_field", lambda *field: written.append(field[1]) or render_field(*field))
    before = {"a": "x", "b": 1, "c": True, "d": 1, "e": 1.0, "f": None}
    after = {"a": "x", "b": 2, "c": True, "d": True, "e": 1, "f": None}

    found = picture(diff_lines(before, after))

    assert found == ("  a: x\n- b: [1]\n+ b: [2]\n  c: true\n- d: [1]\n+ d: [true]\n- e: 1[.0]\n+ e: 1\n  f: null\n")
    assert aligned == []
    assert written == ["a", "b", "b", "c", "d", "d", "e", "e", "f"]
