"""Where parts of a YAML document stand in its text."""

from __future__ import annotations

import pytest

from applyviz.engine.manifests.text_nodes import Shape, TextError, list_aliases, read_nodes, walk_path


def test_parts_are_found_to_the_character():
    text = "a: &x {k: 'v'} # c\nb:\n  - |\n    t\n\n  - *x\n"

    root = read_nodes(text)
    (_a, flow), (_b, items) = root.pairs

    assert (root.shape, root.start, text[root.start : root.end]) == (Shape.MAP, 0, text.rstrip("\n"))
    assert (flow.anchor, flow.is_flow, text[flow.start : flow.end]) == ("x", True, "&x {k: 'v'}")
    assert [text[i.start : i.end] for i in items.items] == ["|\n    t", "*x"]
    assert [(i.shape, i.line, i.column) for i in items.items] == [(Shape.SCALAR, 2, 4), (Shape.ALIAS, 5, 4)]
    assert list(list_aliases(root)) == ["x"]


@pytest.mark.parametrize(
    ("key", "name"),
    [("on", "true"), ("'on'", "on"), ("0x10", "16"), ("~", "~"), ("18446744073709551615", "18446744073709551615")],
)
def test_keys_are_found_by_the_name_that_json_has_for_them(key, name):
    root = read_nodes(f"first: 1\n{key}: 2\n")

    assert (root.find_pair(name), root.find_pair("second")) == (1, None)


def test_last_of_pairs_with_one_key_is_found():
    assert read_nodes("a: 1\nb: 2\na: 3\n").find_pair("a") == 2


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n...\n"[4:], "a: [\n", "a: b: c\n", "[" * 20_000])
def test_text_without_a_document_is_no_nodes(text):
    with pytest.raises(TextError):
        read_nodes(text)


@pytest.mark.parametrize(
    ("path", "places"),
    [
        (("a", 1, "b"), [0, 1, 0]),
        (("a", 2, "b"), [0, None]),
        (("a", "b"), [0, None]),
        (("a", 0, "b", "c"), [0, 0, None]),
        (("z", 0), [None]),
    ],
)
def test_way_to_a_path_ends_where_nothing_stands(path, places):
    assert [place for _node, place in walk_path(read_nodes("a: [x, {b: c}]\n"), path)] == places
