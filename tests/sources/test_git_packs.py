"""Packs of hostile repositories: whatever they contain, one child ends and one sentence remains."""

from __future__ import annotations

import zlib
from hashlib import sha1

import pytest
from dulwich.pack import write_pack_header

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.git import fetching, refs
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
