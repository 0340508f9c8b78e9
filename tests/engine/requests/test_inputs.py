"""Are the files read that kubectl reads, in its order?"""

from __future__ import annotations

import pytest

from applyviz.engine.requests.argv import parse_apply
from applyviz.engine.requests.inputs import Material, read_inputs

FILES = {
    "a.yaml": "A",
    "d/one.yaml": "1",
    "d/notes.txt": "N",
    "d/sub.yaml": "S",
    "d/sub/two.yml": "2",
    "d/sub/three.json": "3",
    "e/readme.md": "R",
}


def read(line: str, **material):
    return read_inputs(parse_apply(line.split(), {}), Material(FILES, **material))


def texts(line: str, **material):
    return [t.text for t in read(line, **material).texts]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("apply -f a.yaml -f d/one.yaml", ["A", "1"]),
        ("apply -f ./d/../a.yaml", ["A"]),
        ("apply -f d", ["1", "S"]),
        ("apply -f d/", ["1", "S"]),
        ("apply -R -f d", ["1", "3", "2", "S"]),
        ("apply -f .", ["A"]),
        ("apply -f d/notes.txt", ["N"]),
        ("apply -f d/*.yaml", ["1", "S"]),
        ("apply -f d/[^s]*.yaml", ["1"]),
        ("apply -f */one.yaml", ["1"]),
        ("apply -f d/*", ["N", "1", "3", "2", "S"]),
        ("apply -f a.yaml -f e", ["A"]),
    ],
)
def test_files_in_kubectl_s_order(line, expected):
    found = read(line)

    assert ([t.text for t in found.texts], found.problems, found.is_usable) == (expected, (), True)


def test_paths_count_from_the_folder_of_the_command():
    assert texts("apply -f one.yaml -f ../a.yaml -f sub", folder="d") == ["1", "A", "3", "2"]


def test_names_are_those_of_messages():
    assert [t.name for t in read("apply -R -f ./d").texts] == [
        "./d/one.yaml",
        "./d/sub/three.json",
        "./d/sub/two.yml",
        "./d/sub.yaml",
    ]


@pytest.mark.parametrize("line", ["apply -f a.yaml -f missing", "apply -f z*.yaml", "apply -f - -f -"])
def test_nothing_is_usable(line):
    found = read(line, stdin="")

    assert (len(found.problems), found.is_usable) == (1, False)


def test_folder_without_manifests_is_a_problem():
    assert read("apply -f e").problems[0].startswith("no manifests in e")


def test_standard_input_and_what_others_rendered():
    assert texts("apply -f - -f a.yaml", stdin="I") == ["I", "A"]
    assert texts("apply -f https://example.org/x", rendered={"https://example.org/x": "U"}) == ["U"]
    assert texts("apply -k d", rendered={"d": "K"}) == ["K"]


def test_link_that_cannot_be_read_spoils_only_itself():
    found = read("apply -f https://example.org/x -f a.yaml")

    assert ([t.text for t in found.texts], found.is_usable) == (["A"], True)
    assert found.problems == ('"https://example.org/x" could not be rendered',)
