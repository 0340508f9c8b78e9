"""Corners of the readers that kubectl's answers do not reach."""

from __future__ import annotations

import pytest

from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.scalars import resolve_plain, resolve_tagged, write_key
from applyviz.engine.manifests.tree_parts import allowed_alias_share

HEAD = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"


def said(text: str) -> list[str]:
    return [str(problem) for problem in parse_manifests(text.encode(), "a.yaml").problems]


def data_of(text: str) -> object:
    (document,) = parse_manifests((HEAD + text).encode(), "a.yaml").documents
    return document.obj["data"]


@pytest.mark.parametrize(("count", "share"), [(1_000, 0.99), (400_000, 0.99), (2_200_000, 0.545), (4_000_000, 0.10)])
def test_share_of_aliases_falls_as_documents_grow(count: int, share: float) -> None:
    assert allowed_alias_share(count) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [!!str,x]\n", "a.yaml:2:1: YAML syntax: did not find expected ',' or ']'"),
        ("[*a]\n", "a.yaml:1:2: unknown anchor referenced"),
        ("*a\n", "a.yaml:1:1: unknown anchor referenced"),
        ("a: &x [1]\n*x : b\n", "a.yaml:2:1: invalid map key: a key must be a single value"),
        ("a: {? {b: c} : d}\n", "a.yaml:1:7: invalid map key: a key must be a single value"),
        ("a: &x [1]\nb: {<<: *x}\n", "a.yaml:2:9: map merge requires map or sequence of maps as the value"),
        ("a: &x 1\nb: {<<: [*x]}\n", "a.yaml:2:10: map merge requires map or sequence of maps as the value"),
        ("a: {<<: [[b]]}\n", "a.yaml:1:10: map merge requires map or sequence of maps as the value"),
        ('{"a" 1}', "a.yaml:1:6: YAML syntax: did not find expected ',' or '}'"),
        ('{"a": 1}{"b": 2}{"c" 3}', 'a.yaml:1:22: JSON syntax: unexpected \'3\''),
        ('{"a": 1}{"b": 2}{3: 3}', "a.yaml:1:18: JSON syntax: unexpected '3'"),
        ('{"a": 1}{"b": 2}{"c": [1 2]}', "a.yaml:1:26: JSON syntax: unexpected '2'"),
        ('{"a": 1}{"b": 2}{"c": ', "a.yaml:1:23: JSON syntax: unexpected end of the text"),
        ('{"a": 1}{"b": 2}{"c": "x', "a.yaml:1:23: JSON syntax: unexpected '\"'"),
    ],
)  # fmt: skip
def test_broken_text_is_named_with_its_place(text: str, reason: str) -> None:
    assert reason in said(text)


def test_covered_colons_and_marks_come_back_in_values_keys_and_notes() -> None:
    text = "data: {x: [a:, {b:: on, b:: y}], z:}\n"

    (document,) = parse_manifests((HEAD + text).encode(), "a.yaml").documents

    assert document.obj["data"] == {"x": ["a:", {"b:": True}], "z:": None}
    assert [note.path for note in document.retyped] == [("data", "x", 1, "b:"), ("data", "x", 1, "b:")]
    assert [note.path for note in document.duplicates] == [("data", "x", 1, "b:")]
    assert str(document.positions.find(("data", "x", 1, "b:"))) == "a.yaml:4:25"


def test_colons_are_refused_when_no_character_is_free_or_there_are_too_many() -> None:
    used = HEAD + 'data: {free: "\ue0fa\ue0fb\ue0fc\ue0fd", x: [a:]}\n'
    many = HEAD + "data: [" + "a:," * 150 + "]\n"

    assert said(used) == ["a.yaml:4:27: YAML syntax: found unexpected ':'"]
    assert [reason.partition(" ")[2] for reason in said(many)] == ["YAML syntax: found unexpected ':'"]


def test_tags_make_text_of_dates_and_floats_of_integers() -> None:
    assert resolve_tagged("tag:yaml.org,2002:float", "7").value == 7
    assert resolve_tagged("tag:yaml.org,2002:timestamp", "2026-01-01").value == "2026-01-01"
    with pytest.raises(ValueError, match="cannot decode !!str as a !!int"):
        resolve_tagged("tag:yaml.org,2002:int", "2026-01-01")


def test_keys_beyond_a_short_float_are_infinite() -> None:
    assert [write_key(resolve_plain(text)) for text in ("1e39", "-1e39", ".nan")] == [".inf", "-.inf", ".nan"]


def test_very_long_digits_are_never_counted() -> None:
    assert resolve_plain("1" * 100_000).value == "1" * 100_000
    assert resolve_plain("0" * 100).value == 0


def test_reading_stops_behind_the_last_object_that_is_allowed() -> None:
    parsed = parse_manifests("---\n".join([HEAD] * 50).encode(), "a.yaml", limits=ReadLimits(documents=3))

    assert (len(parsed.documents), len(parsed.problems)) == (3, 1)


def test_values_beyond_the_limit_within_one_list_are_found_at_its_end() -> None:
    parsed = parse_manifests(b"a: [1, 2, 3, 4]\n", "a.yaml", limits=ReadLimits(values=4))

    assert [p.reason for p in parsed.problems] == ["more than 4 values after aliases and merge keys are expanded"]


def test_empty_objects_and_lists_of_json_are_read() -> None:
    assert data_of("data: 1\n") == 1
    (document,) = parse_manifests(
        b'{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "x": {}, "y": [], "z": [[], {}]}', "a.json"
    ).documents
    assert [document.obj[name] for name in "xyz"] == [{}, [], [[], {}]]


def test_list_without_items_holds_nothing_and_null_items_have_no_name() -> None:
    assert said("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: A}]\n") == [
        "a.yaml:3:9: resource name may not be empty"
    ]
    (problem,) = said("apiVersion: v1\nkind: AList\nitems: [null]\n")
    assert problem.startswith("a.yaml:3:9: resource name may not be empty: kubectl reads AList as a list")
    assert said("apiVersion: v1\nkind: AList\nitems: null\n") == []


def test_kind_with_items_is_named_as_what_kubectl_reads_it() -> None:
    text = "apiVersion: net.example.com/v1\nkind: AllowList\nmetadata: {name: a}\nitems:\n- {host: a}\n- {host: b}\n"
    assert said(text) == [
        f"a.yaml:{line}:3: resource name may not be empty: kubectl reads AllowList as a list, because it has the "
        "field items, and this entry as an object of kind Allow. kubectl cannot apply another kind with this field"
        for line in (5, 6)
    ]


@pytest.mark.parametrize(
    ("keys", "is_refused"),
    [
        (["1", "'1'"], True),
        (["'1'", "1"], True),
        (["1.0", "1"], True),
        (["true", "'true'"], True),
        (["on", "'true'"], True),
        (["01", "1"], False),
        (["on", "true"], False),
        (["'1'", '"1"'], False),
        (["2001-01-01", "'2001-01-01'"], False),
        (["1", "'2'"], False),
    ],
)
def test_keys_that_differ_in_type_only_are_refused(keys: list[str], is_refused: bool) -> None:
    first, second = keys
    found = said(f"apiVersion: v1\nkind: A\nmetadata: {{name: a}}\ndata:\n  {first}: x\n  {second}: z\n")

    assert bool(found) == is_refused
    if is_refused:
        assert "a.yaml:6:3: the keys in lines 5 and 6 differ in type only: as JSON both are" in found[0]


def test_key_of_another_type_overrides_a_merged_one() -> None:
    assert said("apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: &x {'1': a}\ny: {<<: *x, 2: b}\n") == []


@pytest.mark.parametrize(
    ("meta", "reason"),
    [
        ("{name: ..}", "invalid resource name \"..\": [may not be '..']"),
        ("{name: a/b}", "invalid resource name \"a/b\": [may not contain '/']"),
        ("{name: a, namespace: x%2f}", "invalid namespace \"x%2f\": [may not contain '%']"),
    ],
)
def test_name_that_would_lead_to_another_object_is_refused(meta: str, reason: str) -> None:
    (told,) = said(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {meta}\n")

    assert told.endswith(reason)


def test_lists_that_are_deeper_than_the_parser_goes_are_refused_like_others() -> None:
    (told,) = said(HEAD + "data: " + "[" * 20_000)

    assert "nested deeper than" in told
