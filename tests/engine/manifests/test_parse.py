"""What the reader adds to kubectl's reading: positions, every problem, retyped values, limits."""

from __future__ import annotations

import pytest

from applyviz.engine.manifests.documents import ParsedFile, Retyping
from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.parse import parse_manifests

TEXT = """\
# a comment
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 0x10
  template:
    spec:
      containers:
      - name: web
        image: web:1
        env: [{name: A, value: "1"},
              {name: B, value: on}]
---
broken: [
---
kind: Deployment
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
  data:
    x: "1"

    x: "2"
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, labels: {on: y}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
"""


def read(text: str | bytes, **limits: int) -> ParsedFile:
    data = text.encode() if isinstance(text, str) else text
    return parse_manifests(data, "app.yaml", limits=ReadLimits(**limits))


def test_every_field_has_its_place() -> None:
    positions = read(TEXT).documents[0].positions

    places = {
        (): "app.yaml:3:1",
        ("kind",): "app.yaml:4:1",
        ("metadata", "name"): "app.yaml:6:3",
        ("spec", "template", "spec", "containers", 0): "app.yaml:12:9",
        ("spec", "template", "spec", "containers", 0, "image"): "app.yaml:13:9",
        ("spec", "template", "spec", "containers", 0, "env", 1): "app.yaml:15:15",
        ("spec", "template", "spec", "containers", 0, "env", 1, "value"): "app.yaml:15:25",
    }
    assert {path: str(positions.find(path)) for path in places} == places
    assert positions.find(("spec", "nowhere")) is None
    assert positions.find(("spec", "template", "spec", "containers", 1)) is None
    assert str(positions.nearest(("spec", "replicas", "deeper"))) == "app.yaml:8:3"


def test_every_problem_is_named_and_the_others_go_on() -> None:
    parsed = read(TEXT)

    assert [str(problem) for problem in parsed.problems] == [
        "app.yaml:18:1: YAML syntax: did not find expected node content",
        "app.yaml:19:1: apiVersion not set",
        "app.yaml:33:32: "
        + "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
    ]
    assert [document.ref.name for document in parsed.documents] == ["web", "a", "c"]
    assert parsed.kubectl_stops_after == 1


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("y", "`y` is read as true: quote it"),
        ("No", "`No` is read as false: quote it"),
        ("0o17", "`0o17` is read as 15: quote it"),
        ("true", "`true` is read as a boolean: quote it"),
        ("8080", "`8080` is read as a number: quote it"),
        ("{}", ""),
        ('"y"', None),
    ],
)
@pytest.mark.parametrize("text", ["{kind: ConfigMap, apiVersion: v1, metadata: {name: a, labels: {on: WRITTEN}}}"])
def test_label_that_is_no_text_is_refused_with_what_to_do(text: str, written: str, advice: str | None) -> None:
    items = "{kind: List, apiVersion: v1, items: [%s]}" % text  # noqa: UP031 braces
    found = [read(one.replace("WRITTEN", written)).problems for one in (text, items)]

    assert [[p.advice for p in problems] for problems in found] == [[advice] if advice is not None else []] * 2
    for problem in found[0]:
        assert problem.explanation == (f"{advice} ({problem.reason})" if advice else problem.reason)


def test_object_without_version_is_a_problem_that_keeps_it() -> None:
    parsed = read("kind: ConfigMap\nmetadata: {name: a}\n---\nmetadata: {name: b}\n")

    kept = [(p.reason, p.document and p.document.obj["metadata"]["name"]) for p in parsed.problems]
    assert kept == [("apiVersion not set", "a"), ("[apiVersion not set, kind not set]", None)]


def test_documents_know_their_lines_and_their_list() -> None:
    found = [(str(d.position), d.end_line, d.list_kind) for d in read(TEXT).documents]

    assert found == [("app.yaml:3:1", 15, ""), ("app.yaml:24:3", 30, "List"), ("app.yaml:34:3", 36, "List")]


def test_positions_of_list_items_are_their_own() -> None:
    item = read(TEXT).documents[1]

    assert str(item.positions.find(("metadata", "name"))) == "app.yaml:26:14"


def test_retyped_values_and_keys_are_noted() -> None:
    text = (
        "apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: {on: 1.10, b: 010, c: [1_0, 1e2, y], d: 9007199254740993}\n"
    )

    notes = [(n.path, n.text, n.value, n.retyping, n.is_key) for n in read(text).documents[0].retyped]

    assert notes == [
        (("x", "true"), "on", True, Retyping.BOOLEAN, True),
        (("x", "true"), "1.10", 1.1, Retyping.FLOAT, False),
        (("x", "b"), "010", 8, Retyping.OCTAL, False),
        (("x", "c", 0), "1_0", 10, Retyping.SEPARATED, False),
        (("x", "c", 1), "1e2", 100, Retyping.EXPONENT, False),
        (("x", "c", 2), "y", True, Retyping.BOOLEAN, False),
        (("x", "d"), "9007199254740993", 9007199254740993, Retyping.BIG_INTEGER, False),
    ]


def test_plain_numbers_booleans_and_quoted_texts_are_not_retyped() -> None:
    text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: [1, -5, 1.5, true, null, \"on\", '010', 12:30, v1.10]\n"

    assert read(text).documents[0].retyped == ()


def test_duplicate_keys_are_noted_with_both_places() -> None:
    (note,) = read(TEXT).documents[1].duplicates

    assert (note.path, str(note.first), str(note.second)) == (("data", "x"), "app.yaml:28:5", "app.yaml:30:5")


def test_merged_keys_that_are_overridden_are_no_duplicates() -> None:
    text = "x: &x {a: 1}\napiVersion: v1\nkind: A\nmetadata: {name: a}\nspec:\n  <<: *x\n  a: 2\n"

    (document,) = read(text).documents

    assert (document.obj["spec"], document.duplicates) == ({"a": 2}, ())


def test_merged_and_aliased_values_stand_where_they_are_written() -> None:
    text = "x: &x {a: 1}\napiVersion: v1\nkind: A\nmetadata: {name: a}\nspec:\n  <<: *x\n  b: *x\n"

    positions = read(text).documents[0].positions

    assert str(positions.find(("spec", "a"))) == "app.yaml:1:8"
    assert str(positions.find(("spec", "b"))) == "app.yaml:7:3"
    assert str(positions.find(("spec", "b", "a"))) == "app.yaml:1:8"


def test_json_has_places_too() -> None:
    text = '{\n "apiVersion": "v1", "kind": "A",\n "metadata": {"name": "a"},\n "x": [1,\n  {"y": 2, "y": 3}]\n}\n'

    (document,) = read(text).documents

    assert str(document.positions.find(("x", 1, "y"))) == "app.yaml:5:12"
    assert [(n.path, n.first.column, n.second.column) for n in document.duplicates] == [(("x", 1, "y"), 4, 12)]
    assert document.end_line == 6


def test_lines_count_through_windows_line_ends_and_marks() -> None:
    text = ("\ufeff" + TEXT).replace("\n", "\r\n")

    assert str(read(text).documents[0].positions.find(("metadata", "name"))) == "app.yaml:6:3"


def test_limits_are_named() -> None:
    good = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"

    def said(text: str, **limits: int) -> list[str]:
        return [str(problem) for problem in read(text, **limits).problems]

    assert said(good, file_bytes=10) == ["app.yaml: the file is larger than 10 bytes"]
    assert said(good, document_bytes=10) == ["app.yaml:1:1: the document is larger than 10 bytes"]
    assert said(good, depth=1) == ["app.yaml:3:11: nested deeper than 1 levels"]
    assert said('{"a": [[1]]}', depth=2) == ["app.yaml:1:8: nested deeper than 2 levels"]
    assert said(good, values=3) == ["app.yaml:2:1: more than 3 values after aliases and merge keys are expanded"]
    assert said("---\n".join([good] * 3), documents=2) == ["app.yaml:9:1: more than 2 objects in one file"]


def test_kubectl_would_not_read_what_stands_before_a_broken_separator() -> None:
    good = "apiVersion: v1\nkind: A\nmetadata: {name: %s}\n"

    parsed = read(good % "a" + "---\n" + good % "b" + "--- text\n" + good % "c")

    assert [document.ref.name for document in parsed.documents] == ["a", "b", "c"]
    assert [str(problem) for problem in parsed.problems] == ["app.yaml:8:1: invalid Yaml document separator"]
    assert parsed.kubectl_stops_after == 1


def test_generated_names_and_missing_names_are_refused() -> None:
    parsed = read("apiVersion: v1\nkind: A\nmetadata: {generateName: a-}\n---\napiVersion: v1\nkind: A\n")

    assert [str(problem) for problem in parsed.problems] == [
        "app.yaml:3:12: from a-: cannot use generate name with apply",
        "app.yaml:5:1: resource name may not be empty",
    ]
    assert parsed.kubectl_stops_after is None


@pytest.mark.parametrize(
    ("text", "value", "retyping"),
    [
        ("0644", 420, Retyping.OCTAL),
        ("0o17", 15, Retyping.OCTAL),
        ("-017", -15, Retyping.OCTAL),
        ("017", 15, Retyping.OCTAL),
        ("08", 8, Retyping.LEADING_ZERO),
        ("0888", 888, Retyping.LEADING_ZERO),
        ("0o18", "0o18", None),
    ],
)
def test_leading_zero_is_octal_only_without_eight_and_nine(text, value, retyping):
    (document,) = read(f"apiVersion: v1\nkind: A\nmetadata: {{name: a}}\nx: {text}\n").documents

    assert (document.obj["x"], next((n.retyping for n in document.retyped), None)) == (value, retyping)
