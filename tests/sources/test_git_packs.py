"""Packs of hostile repositories: whatever they contain, one child ends and one sentence remains."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from hashlib import sha1

import pytest
from dulwich.pack import write_pack_header

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.git import fetching, history, refs
from applyviz.sources.git.model import GitLimits, GitSource


def pack_of(*entries: bytes) -> bytes:
    parts: list[bytes] = []
    write_pack_header(parts.append, len(entries))
    data = b"".join([*parts, *entries])
    return data + sha1(data).digest()


def entry(kind: int, size: int, body: bytes, base: bytes = b"") -> bytes:
    head = bytearray()
    first, rest = (kind << 4) | (size & 15), size >> 4
    while rest:
        head.append(first | 0x80)
        first, rest = rest & 0x7F, rest >> 7
    head.append(first)
    return bytes(head) + base + zlib.compress(body)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append((number & 0x7F) | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def chain_bomb() -> bytes:
    """A blob of 64 KiB, and deltas that each copy their base 256 times: 4 TiB at the third."""
    base = b"\0" * 0x10000
    entries = [entry(3, len(base), base)]
    size = len(base)
    oid = sha1(b"blob %d\0" % size + base).digest()
    for _ in range(3):
        copy = b"\xf0" + (0).to_bytes(3, "little") if size == 0x10000 else b"\xf0\xff\xff\xff"
        delta = varint(size) + varint(size * 256) + copy * 256
        entries.append(entry(7, len(delta), delta, oid))
        size *= 256
        oid = sha1(f"{size}".encode()).digest()
    return pack_of(*entries)


@pytest.mark.core(3)
@pytest.mark.parametrize(
    "make",
    [
        chain_bomb,
        lambda: pack_of(entry(3, 10, b"\0" * 400_000_000)),
        lambda: pack_of(entry(3, 2_000_000_000, b"\0" * 2_000)),
        lambda: pack_of(entry(7, 4, b"\1\1\1\1", b"\7" * 20)),
        lambda: pack_of(entry(6, 4, b"\1\1\1\1", b"\x05")),
        lambda: b"PACK\0\0\0\2\0\0\0\1",
        lambda: b"PACK\0\0\0\2\xff\xff\xff\xff" + b"\0" * 40,
        lambda: b"",
        lambda: b"\0" * 100,
    ],
    ids=["delta chain", "inflates", "claims", "no base", "own base", "short", "many", "empty", "zeros"],
)
def test_hostile_packs_end_in_a_refusal(make):
    limits = GitLimits(memory_bytes=300 * 1024 * 1024, cpu_seconds=5)
    found = refs.FoundRef("branch", "main", b"1" * 40)

    with pytest.raises(SourceError, match="repo"):
        fetching._read_pack(make(), found, GitSource("https://repo"), "repo", limits)


COMMIT = {"commit": "1" * 40, "author": "a", "date": "", "subject": "s"}
GOOD = {"name": "good.yaml", "content": b64encode(b"a: 1").decode()}
MALFORMED = {
    "no JSON": [b"{"],
    "no map": [b"[]"],
    "no commit first": [GOOD],
    "a commit without a subject": [{"commit": "1", "author": "a", "date": ""}],
    "a number": [COMMIT, {"name": 1, "content": ""}],
    "neither a file nor a refusal": [COMMIT, {"name": "a"}],
}


def write_rows(rows) -> bytes:
    return b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_answer_of_the_child_is_a_refusal(case, monkeypatch):
    monkeypatch.setattr(fetching, "ask_child", lambda *given: (write_rows(MALFORMED[case]), ""))

    with pytest.raises(SourceError, match="repo: the process that reads it gave no valid answer"):
        fetching._read_pack(b"", refs.FoundRef("branch", "main", b"1" * 40), GitSource("x"), "repo", GitLimits())


@pytest.mark.parametrize("rows", [[{"error": "no"}, GOOD], [COMMIT, {"error": ""}, GOOD]])
def test_answer_that_goes_on_after_an_error_is_a_refusal(rows, monkeypatch):
    monkeypatch.setattr(fetching, "ask_child", lambda *given: (write_rows(rows), ""))

    with pytest.raises(SourceError, match="repo: "):
        fetching._read_pack(b"", refs.FoundRef("branch", "main", b"1" * 40), GitSource("x"), "repo", GitLimits())


def test_file_whose_content_is_malformed_is_refused_and_the_others_are_taken():
    files, refused = fetching._open_rows([GOOD, {"name": "odd.yaml", "content": "!"}, GOOD | {"name": "last.yaml"}])

    assert [(file.name, file.data) for file in files] == [("good.yaml", b"a: 1"), ("last.yaml", b"a: 1")]
    assert refused == (("odd.yaml", "damaged: the process that reads the repository gave no valid content"),)


@pytest.mark.parametrize("rows", [[b"{"], [[]], [[COMMIT]], [[], ["a.yaml", "1", "2"]], [["x"]]])
def test_malformed_history_is_none(rows, monkeypatch):
    monkeypatch.setattr(history, "ask_child", lambda *given: (write_rows(rows), ""))

    assert history.read_history(b"", b"1" * 40, GitSource("x"), ()) is None
