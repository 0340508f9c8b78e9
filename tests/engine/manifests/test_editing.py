"""One field changed in the text of its file: everything else stays, or the edit is refused with its reason."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.manifests import editing
from applyviz.engine.manifests.editing import REMOVED
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.writing import write_block, write_inline
from applyviz.engine.objects.errors import ManifestError

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


def edit(source, path, value, *, number=0):
    document = parse_manifests(source.encode(), "app.yaml").documents[number]
    return editing.edit_source(source, document, path, value)


CASES = {
    "value with a comment": (
        "data:\n  x: one # why\n  y: b\n",
        ("data", "x"),
        "two",
        "data:\n  x: two # why\n  y: b\n",
    ),
    "added to a block": ("data:\n  # of y\n  y: b\n", ("data", "x"), "c", "data:\n  # of y\n  x: c\n  y: b\n"),
    "added to a flow": ("data: {y: b} # why\n", ("data", "x"), "c", "data: {x: c, y: b} # why\n"),
    "added to an empty map": ("data: {}\n", ("data", "x"), "c", "data: {x: c}\n"),
    "quoted value": ("data:\n  x: 'it''s'\n", ("data", "x"), "isn't", "data:\n  x: 'isn''t'\n"),
    "double quotes stay": ('data:\n  x: "1"\n', ("data", "x"), "2", 'data:\n  x: "2"\n'),
    "text that looks like a number": ("data:\n  x: a\n", ("data", "x"), "0644", 'data:\n  x: "0644"\n'),
    "text that looks like a boolean": ("data:\n  x: a\n", ("data", "x"), "on", 'data:\n  x: "on"\n'),
    "block to one line": ("data:\n  x: |\n    a\n    b\n\n  y: b\n", ("data", "x"), "c", "data:\n  x: c\n\n  y: b\n"),
    "block to block": (
        "data:\n  x: |\n    a\n  y: b\n",
        ("data", "x"),
        "c\nd\n",
        "data:\n  x: |\n    c\n    d\n  y: b\n",
    ),
    "folded to text": ("data:\n  x: >-\n    a\n    b\n", ("data", "x"), "c", "data:\n  x: c\n"),
    "removal with its comment": (
        "data:\n  # of x\n  x: one # why\n  # of y\n  y: b\n",
        ("data", "x"),
        REMOVED,
        "data:\n  # of x\n  # of y\n  y: b\n",
    ),
    "removal of a block": ("data:\n  x: |\n    a\n\n    b\n  y: b\n", ("data", "x"), REMOVED, "data:\n  y: b\n"),
    "removal of the last": ("data:\n  y: b\n  x: a\n", ("data", "x"), REMOVED, "data:\n  y: b\n"),
    "removal without a newline at the end": ("data:\n  y: b\n  x: a", ("data", "x"), REMOVED, "data:\n  y: b\n"),
    "flow, first": ("data: {x: a, y: b}\n", ("data", "x"), REMOVED, "data: {y: b}\n"),
    "flow, last": ("data: {y: b, x: a} # c\n", ("data", "x"), REMOVED, "data: {y: b} # c\n"),
    "flow, value": ("data: {y: b, x: a}\n", ("data", "x"), "a, b", 'data: {y: b, x: "a, b"}\n'),
    "flow over lines": ("data: {\n  x: a,\n  y: b\n}\n", ("data", "true"), REMOVED, "data: {\n  x: a\n}\n"),
    "anchor kept": ("data:\n  x: &x a\n  y: b\n", ("data", "x"), "c", "data:\n  x: &x c\n  y: b\n"),
    "alias as the value": ("data:\n  y: &a a\n  x: *a\n", ("data", "x"), "c", "data:\n  y: &a a\n  x: c\n"),
    "empty value": ("data:\n  x:\n  y: b\n", ("data", "x"), "c", "data:\n  x: c\n  y: b\n"),
    "Windows lines": ("data:\r\n  x: a\r\n  y: b\r\n", ("data", "x"), "c", "data:\r\n  x: c\r\n  y: b\r\n"),
    "twice written": ("data:\n  x: a\n  x: b\n", ("data", "x"), "c", "data:\n  x: a\n  x: c\n"),
    "beyond ASCII": ("data:\n  ü: 'ä→'\n  x: a # 😀\n", ("data", "x"), "ö😀", "data:\n  ü: 'ä→'\n  x: \"ö😀\" # 😀\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_field_is_changed_and_nothing_else(name):
    before, path, value, after = CASES[name]

    assert edit(HEAD + before, path, value) == HEAD + after


NAMED = "name: w\n      port"
ENTRIES = "spec:\n  list:\n    - port: 1 # why\n"


@pytest.mark.parametrize(
    ("source", "path", "value", "expected"),
    [
        (HEAD, ("metadata", "labels"), {"a": "b"}, HEAD.replace("  name: a", "  labels:\n    a: b\n  name: a")),
        (HEAD, ("data",), {"a": "b"}, f"data:\n  a: b\n{HEAD}"),
        (f"{HEAD}{ENTRIES}", ("spec", "list", 0, "name"), "w", f"{HEAD}{ENTRIES.replace('port', NAMED)}"),
        ('{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}', ("metadata", "labels"), {"a": "b"},
         '{"apiVersion": "v1", "kind": "A", "metadata": {"labels": {"a": "b"}, "name": "a"}}'),
    ],
)  # fmt: skip
def test_field_that_the_file_does_not_have_is_added(source, path, value, expected):
    assert edit(source, path, value) == expected


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (HEAD + "data:\n", ("data", "x")),
        (HEAD + "spec:\n  a:\n    - b\n", ("spec", "a", 1)),
        (HEAD, ("spec", "a", "b")),
        (HEAD + "x: &m {a: b}\ndata:\n  <<: *m\n", ("data", "c")),
    ],
)
def test_field_is_not_added_where_no_map_of_the_file_could_hold_it(source, path):
    with pytest.raises(ManifestError, match="is not in the file"):
        edit(source, path, "x")


LISTS = {
    "first key of an entry": (
        "spec:\n  ports:\n    - name: a # n\n      # of the port\n      port: 1\n    - port: 2\n",
        ("spec", "ports", 0, "name"),
        "spec:\n  ports:\n    - # of the port\n      port: 1\n    - port: 2\n",
    ),
    "later key of an entry": (
        "spec:\n  ports:\n  - name: a\n    port: 1\n  - port: 2\n",
        ("spec", "ports", 0, "port"),
        "spec:\n  ports:\n  - name: a\n  - port: 2\n",
    ),
    "an entry": (
        "spec:\n  ports:\n  - name: a\n    port: 1\n  # two\n  - port: 2\n",
        ("spec", "ports", 0),
        "spec:\n  ports:\n  # two\n  - port: 2\n",
    ),
    "an entry below its dash": (
        "spec:\n  ports:\n  -\n    # n\n    name: a\n  - port: 2\n",
        ("spec", "ports", 0),
        "spec:\n  ports:\n  - port: 2\n",
    ),
    "an entry of words": ("spec:\n  a: [x, y, z]\n", ("spec", "a", 1), "spec:\n  a: [x, z]\n"),
    "a word": ("spec:\n  a:\n    - x # 1\n    - y # 2\n", ("spec", "a", 1), "spec:\n  a:\n    - x # 1\n"),
    "a list in a list": ("spec:\n  - - a\n    - b\n", ("spec", 0, 1), "spec:\n  - - a\n"),
    "an entry below a comment that ends like a dash": (
        "spec:\n  - # of the port -\n\n# of all -\n    port: 1\n  - port: 2\n",
        ("spec", 0),
        "spec:\n  - port: 2\n",
    ),
    "an entry with an anchor": ("spec:\n  - &a\n    port: 1\n  - port: 2\n", ("spec", 0), "spec:\n  - port: 2\n"),
    "first of a list in a list": ("spec:\n  - - a\n    - b\n", ("spec", 0, 0), "spec:\n  - - b\n"),
}


@pytest.mark.parametrize("name", LISTS)
def test_entries_of_lists_are_removed(name):
    before, path, after = LISTS[name]

    assert edit(HEAD + before, path, REMOVED) == HEAD + after


def test_entry_of_a_list_gets_another_value():
    before = HEAD + "spec:\n  a:\n    - x # 1\n    - 'y'\n"

    assert edit(before, ("spec", "a", 0), "z") == before.replace("x #", "z #")
    assert edit(before, ("spec", "a", 1), {"k": "v"}) == before.replace("'y'", "{'k': 'v'}")


def test_values_of_lists_and_maps_are_written_in_the_style_of_the_place():
    before = HEAD + "spec:\n  a:\n    - x\n    - z # c\n  b: {c: d}\n"

    listed = edit(before, ("spec", "a"), ["z", {"k": ["v", {}], "l": "m\nn\n"}])
    mapped = edit(before, ("spec", "b"), {"e": True, "f": None, "g": 1.5})

    assert listed.endswith('  a:\n    - z\n    - k:\n        - v\n        - {}\n      l: "m\\nn\\n" # c\n  b: {c: d}\n')
    assert mapped.endswith("  b: {e: true, f: null, g: 1.5}\n")


def test_map_takes_the_place_of_a_list_that_stands_below_its_key():
    assert edit(HEAD + "spec:\n  a:\n  - x\n  b: c\n", ("spec", "a"), {"k": 1}) == HEAD + "spec:\n  a: {k: 1}\n  b: c\n"
    assert edit(HEAD + "spec:\n  a:\n  - x\n  b: c\n", ("spec", "a"), ["z"]) == HEAD + "spec:\n  a:\n  - z\n  b: c\n"


def list_leaves(value, path=()):
    """Every place of a value below `spec` and `data`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        if path or key in ("spec", "data", "rules"):
            yield (*path, key)
            yield from list_leaves(below, (*path, key))


def test_real_manifests_can_be_edited_anywhere(public_manifests):
    chosen = random.Random(7)
    files = sorted(f for f in public_manifests.rglob("*.yaml") if f.stat().st_size < 100_000)
    count = 0
    for file in chosen.sample(files, 60):
        source = file.read_text()
        for document in parse_manifests(source.encode(), file.name).documents[:3]:
            places = list(list_leaves(document.obj))
            for path in chosen.sample(places, min(3, len(places))):
                removed = editing.edit_source(source, document, editing.widen_removal(document.obj, path), REMOVED)
                value = chosen.choice(["new", "0644", 5, True, None, "a\nb\n", {"a": [1, "on"]}, ["b"]])
                changed = editing.edit_source(source, document, path, value)
                assert removed != source
                assert changed.count("\n---") == source.count("\n---")
                count += 1
    assert count > 60


def test_other_documents_of_the_file_stay():
    other = HEAD.replace("name: a", "name: b") + "data:\n  x: a\n"
    source = f"# all\n---\n{HEAD}data:\n  x: a\n---\n# other\n{other}--- # end\n{other.replace('name: b', 'name: c')}"

    edited = edit(source, ("data", "x"), "new", number=1)

    assert edited == source.replace(other + "--- # end", other.replace("x: a", "x: new") + "--- # end")


def test_items_of_a_list_kind_are_found_by_where_they_stand():
    source = (
        "apiVersion: v1\nkind: List\nitems:\n- {}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n"
        "  data: {x: a}\n- kind: ConfigMap\n  apiVersion: v1\n  metadata: {name: b}\n  data: {x: a}\n"
    )

    document = parse_manifests(source.encode(), "app.yaml").documents[1]

    with pytest.raises(ManifestError):  # a file with a broken item is not touched
        editing.edit_source(source, document, ("data", "x"), "new")
    whole = source.replace("- {}\n", "")
    assert edit(whole, ("data", "x"), "new", number=1) == whole[:-3] + "new}\n"


def test_json_is_edited_as_json():
    head = '{\n  "apiVersion": "v1",\n  "kind": "ConfigMap",\n  "metadata": {"name": "a"},\n'
    source = head + '  "data": {"x": "a", "y": "b"}\n}\n'

    assert edit(source, ("data", "x"), "c") == source.replace('"x": "a"', '"x": "c"')
    assert edit(source, ("data", "y"), REMOVED) == source.replace(', "y": "b"', "")


def test_json_that_yaml_does_not_read_is_refused():
    source = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "\\ud83d\\ude00"}}\n'

    with pytest.raises(ManifestError) as raised:
        edit(source, ("data", "x"), "new")

    assert str(raised.value) == "app.yaml:1: the text is not one YAML document that could be edited"


LISTED = (
    "apiVersion: v1\nkind: List\nmetadata: &l\n  items:\n  - apiVersion: v1\n    kind: ConfigMap\n"
    "    metadata: {name: a}\n    data: {x: a}\n"
)


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ("<<: *l\n", "the object was not found in the list of its file"),
        ("items: [*i]\n", "the lines come from the alias *i, which stands for lines elsewhere"),
        (
            "items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, <<: *i}]\n",
            "the field comes from a YAML merge key (<<)",
        ),
    ],
)
def test_items_that_stand_elsewhere_in_the_file_are_refused(items, reason):
    source = LISTED.replace("- apiVersion", "- &i\n    apiVersion") + items
    document = parse_manifests(source.encode(), "app.yaml").documents[0]

    with pytest.raises(ManifestError) as raised:
        editing.edit_source(source, document, ("data", "x"), "new")

    assert raised.value.reason == reason


REFUSED = {
    "the lines come from the alias *d": "spec:\n  a: &d {x: a, y: b}\ndata: *d\n",
    "the field comes from a YAML merge key (<<)": "spec: &d {x: a}\ndata:\n  <<: *d\n  y: b\n",
    "the lines are shared: other places use them as *d": "data: &d\n  x: a\n  y: b\nspec: *d\n",
    "the lines cannot be changed without changing more": "data:\n  y: b\n  x: a\n  x: c\n",
    "nothing would be left of the lines around the field": "data: {x: a}\n",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_edited_says_why(reason):
    with pytest.raises(ManifestError) as raised:
        edit(HEAD + REFUSED[reason], ("data", "x"), REMOVED)

    assert raised.value.reason.startswith(reason)
    assert raised.value.position.line > 0


def test_only_key_of_an_entry_is_not_removed_alone():
    with pytest.raises(ManifestError) as raised:
        edit(HEAD + "spec:\n  - name: a\n  - name: b\n", ("spec", 1, "name"), REMOVED)

    assert (raised.value.reason, raised.value.position.line) == ("the field shares its line with what stays", 7)


def test_field_that_is_not_in_the_file_is_refused():
    with pytest.raises(ManifestError, match="is not in the file"):
        edit(HEAD, ("metadata", "namespace"), REMOVED)


def test_removal_takes_what_only_held_the_field():
    obj = {"spec": {"a": {"b": [{"c": 1}]}, "d": 1}}

    assert editing.widen_removal(obj, ("spec", "a", "b", 0, "c")) == ("spec", "a")


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS.filter(lambda t: t != "<<"), below, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_every_value_is_written_so_that_it_is_read_again(value):
    texts = (f"spec: {write_inline(value)}\n", "spec:\n  " + write_block(value, 2) + "\n")

    for text in texts:
        read = parse_manifests((HEAD + text).encode(), "app.yaml")
        assert [d.obj["spec"] for d in read.documents] == [value], read.problems
