"""Is a text of several lines written as a block only where the block reads back as that text?"""

from __future__ import annotations

import pytest

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.manifests.writing import write_block_text

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n"


@pytest.mark.parametrize(("text", "head"), [("a\nb", "|-"), ("a\nb\n", "|"), ("a\n\n  b\n", "|")])
def test_text_of_several_lines_is_a_block_that_reads_back(text, head):
    block = write_block_text(text, 4)

    assert block.partition("\n")[0] == head
    read = parse_manifests(f"{HEAD}  x: {block}\n".encode(), "app.yaml")
    assert [d.obj["data"] for d in read.documents] == [{"x": text}]


@pytest.mark.parametrize("text", ["", "\n", "one", "one\n", "a\nb\n\n", " a\nb", "\na\nb", "a\n\x07b", "a\n\tb"])
def test_text_that_a_block_would_not_hold_as_it_is_gives_none(text):
    assert write_block_text(text, 2) is None
