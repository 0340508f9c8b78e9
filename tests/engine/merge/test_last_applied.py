"""The last-applied annotation, byte for byte."""

from __future__ import annotations

import pytest

from applyviz.engine.merge.last_applied import attach, find, render
from applyviz.engine.objects.errors import MergeError
from applyviz.engine.objects.known_names import LAST_APPLIED


def live(text):
    return {"metadata": {"annotations": {LAST_APPLIED: text}}}


def test_render_writes_compact_sorted_escaped_json_with_a_newline():
    manifest = {
        "kind": "ConfigMap",
        "metadata": {"name": "a", "creationTimestamp": None},
        "data": {"b": "<&>\u2028\t\u0001é\\b", "a": 1.0, "c": 1e-7},
        "status": {},
    }

    assert render(manifest) == (
        '{"data":{"a":1,"b":"\\u003c\\u0026\\u003e\\u2028\\t\\u0001é\\\\b","c":1e-7},"kind":"ConfigMap",'
        '"metadata":{"annotations":{},"creationTimestamp":null,"name":"a"},"status":{}}\n'
    )


def test_attach_replaces_the_annotation_and_keeps_the_others():
    manifest = {"metadata": {"name": "a", "annotations": {"x": "1", "empty": None, LAST_APPLIED: "old"}}}

    attached = attach(manifest)

    text = '{"metadata":{"annotations":{"empty":"","x":"1"},"name":"a"}}\n'
    assert attached == {"metadata": {"name": "a", "annotations": {"x": "1", "empty": "", LAST_APPLIED: text}}}
    assert find(attached) == {"metadata": {"annotations": {"empty": "", "x": "1"}, "name": "a"}}
    assert manifest["metadata"]["annotations"][LAST_APPLIED] == "old"


def test_attach_loses_all_annotations_when_one_is_no_text():
    assert render({"metadata": {"annotations": {"a": "b", "n": 1}}}) == '{"metadata":{"annotations":{}}}\n'


@pytest.mark.parametrize(("text", "value"), [("", {}), ("null", {}), ("{}", {}), ('{"a":1}\n', {"a": 1})])
def test_find_reads_what_kubectl_reads(text, value):
    assert find(live(text)) == value


def test_find_reads_integers_beyond_64_bits_as_floats():
    found = find(live('{"a":9223372036854775807,"b":9223372036854775808}'))

    assert [type(v) for v in found.values()] == [int, float]


def test_find_tells_missing_from_empty():
    assert find({"metadata": {"annotations": {}}}) is None
    assert find({}) is None


@pytest.mark.parametrize("text", ["{", "[]", "1", "{} {}", '{"a":NaN}', "[" * 100_000])
def test_find_refuses_what_is_no_object(text):
    with pytest.raises(MergeError, match="invalid JSON document"):
        find(live(text))
