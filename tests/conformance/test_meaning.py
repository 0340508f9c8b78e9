"""When an answer of the server means what was asked for."""

from __future__ import annotations

import pytest

from applyviz.conformance.covering import NOTHING
from applyviz.conformance.meaning import means
from applyviz.engine.objects.paths import fields
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.topology import of_root

KIND = bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))
TEXT, BYTES = fields("data", "a"), fields("binaryData", "a")


@pytest.mark.parametrize(
    ("path", "asked", "answer", "is_so"),
    [
        (TEXT, "aaaa\nbbbb", "aaaabbbb", False),
        (BYTES, "aaaa\nbbbb", "aaaabbbb", True),
        (fields("binaryData"), {"a": "aaaa\r\nbbbb\n"}, {"a": "aaaabbbb", "b": "c"}, True),
        (fields("data"), {"a": "aaaa\n"}, {"a": "aaaa"}, False),
        (BYTES, "aaaa", "bbbb", False),
        (TEXT, "60s", "1m", False),
        (TEXT, "1000m", "1", False),
        (TEXT, "", NOTHING, True),
        (TEXT, None, "x", True),
        (fields("metadata", "finalizers"), ["a"], ["a", "b"], False),
        (fields("metadata", "finalizers"), [], ["a"], True),
        (fields("metadata", "finalizers"), ["a"], ["a"], True),
    ],
)
def test_answer_means_what_was_asked_for(path, asked, answer, is_so):
    assert KIND is not None

    assert means(asked, answer, of_root(KIND.root), path) is is_so
