"""Manifests that hold a NUL character: each is refused with its place, and the others go on."""

from __future__ import annotations

import pytest

from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.sandboxed import read_files

GOOD = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\ndata: {a: "\\\\u0000"}\n---\n'
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\n"
BAD = {
    "value": (HEAD + 'data:\n  a: "x\\0y"\n', ".data.a holds a NUL character (U+0000): remove it", 5 + 5),
    "key": (HEAD + 'data:\n  "a\\0": x\n', ".data holds a NUL character (U+0000): remove it", 5 + 4),
    "list": (HEAD + 'x: [a, [b, "\\0"]]\n', ".x[1][1] holds a NUL character (U+0000): remove it", 5 + 4),
}


def read(text: str, name: str = "a.yaml"):
    return read_files(SourceBundle((BundledFile(name, text.encode(), {}),))).files[0]


@pytest.mark.parametrize("case", BAD)
def test_document_with_a_nul_is_refused_at_its_place(case):
    text, reason, line = BAD[case]

    parsed = read(GOOD + text)

    assert [d.obj["metadata"]["name"] for d in parsed.documents] == ["good"]
    assert [(p.reason, p.position.line) for p in parsed.problems] == [(reason, line)]


def test_json_with_a_nul_is_refused_too():
    parsed = read(
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "\\u0000"}}', "a.json"
    )

    assert parsed.documents == ()
    assert [p.reason for p in parsed.problems] == [".data.a holds a NUL character (U+0000): remove it"]


def test_no_reason_holds_a_nul_itself():
    parsed = read('apiVersion: "\\0"\nkind: {"\\0": 1}\n"\\0": [\n')

    assert parsed.documents == ()
    assert [p.reason for p in parsed.problems if "\0" in p.reason] == []
