"""Encoded text is decoded layer by layer, and text beyond the limits is marked as not read."""

from __future__ import annotations

import base64
import bz2
import json
import lzma
import zlib

import pytest

from applyviz.engine.diff.encoded import DecodedText, decode_all
from applyviz.engine.diff.marks import is_masked
from applyviz.engine.diff.masking import mask
from applyviz.engine.objects.refs import GroupVersionKind

PLAIN = "the answer is in the annotation"


def encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def encode_often(times: int) -> str:
    text = PLAIN
    for _ in range(times):
        text = encode(text.encode())
    return text


@pytest.mark.parametrize(
    "text",
    [
        encode(PLAIN.encode()),
        encode(zlib.compress(PLAIN.encode())),
        encode(zlib.compress(zlib.compress(PLAIN.encode()))),
        encode(PLAIN.encode("utf-16")),
        "".join(f"\\u{ord(one):04x}" for one in PLAIN),
        "".join(f"\\x{ord(one):02x}" for one in PLAIN),
    ],
)
def test_text_is_read_through_its_encodings(text):
    found = decode_all(text)

    assert PLAIN in found.texts
    assert found.is_whole


def test_text_of_as_many_layers_as_are_read_is_whole_and_of_more_is_not():
    assert decode_all(encode_often(5)).texts[-1] == PLAIN
    assert decode_all(encode_often(5)).is_whole
    assert not decode_all(encode_often(8)).is_whole


def test_stream_compressed_more_often_than_is_read_is_no_text():
    raw = PLAIN.encode()
    for _ in range(7):
        raw = zlib.compress(raw)

    assert PLAIN not in decode_all(encode(raw)).texts


def test_bytes_that_only_begin_like_a_compressed_stream_are_no_text():
    assert decode_all(encode(b"\x78\x9cno stream follows")) == DecodedText((), is_whole=True)


def test_text_that_grows_beyond_the_limit_is_not_read_to_its_end():
    found = decode_all(encode(zlib.compress(b"a" * 100_000)))

    assert not found.is_whole
    assert all(len(text) < 100_000 for text in found.texts)


def test_parts_that_grow_beyond_the_limit_together_are_not_read_to_their_end():
    parts = [encode(zlib.compress(f"{n}: abcdefghijklmnopqrstuvwxyz".encode() * 90)) for n in range(9)]

    found = decode_all("\n".join(f"part: {part}" for part in parts))

    assert not found.is_whole
    assert 0 < len([text for text in found.texts if text.startswith(tuple("012345678"))]) < 9


class Counting:
    """A machine that decompresses, and the bytes that all of its kind have made."""

    made: list[int]

    def __init__(self, make, *given, **named):
        self.machine = make(*given, **named)

    def __getattr__(self, name):
        return getattr(self.machine, name)

    def decompress(self, raw, most):
        """Count what the machine makes; what a fault throws away counts as all that was asked for."""
        self.made.append(most)
        found = self.machine.decompress(raw, most)
        self.made[-1] = len(found)
        return found


def count_decompressed(monkeypatch, text):
    made = []
    kind = type("CountingHere", (Counting,), {"made": made})
    inflater, unpacker = zlib.decompressobj, lzma.LZMADecompressor
    with monkeypatch.context() as patched:
        patched.setattr(zlib, "decompressobj", lambda *a, **k: kind(inflater, *a, **k))
        patched.setattr(lzma, "LZMADecompressor", lambda *a, **k: kind(unpacker, *a, **k))
        is_whole = decode_all(text).is_whole
    return sum(made), len(made), is_whole


NO_TEXT = b"\xff" * 2_000_000
FAULTY = zlib.compress(NO_TEXT)[:-1] + b"!"


@pytest.mark.parametrize(
    "packed",
    [zlib.compress(zlib.compress(NO_TEXT)), lzma.compress(NO_TEXT), zlib.compress(FAULTY)],
    ids=["zlib", "xz", "fault at the end"],
)
def test_parts_that_inflate_to_no_text_share_one_limit(monkeypatch, packed):
    text = "!".join(encode(packed + bytes([n])) for n in range(80))

    made, _, is_whole = count_decompressed(monkeypatch, text)

    assert not is_whole
    assert len(text) < made < 300 * len(text)


def test_stream_beyond_the_limit_hides_no_text_behind_it():
    bomb, copied = encode(zlib.compress(b"\xff" * 2_000_000)), encode(zlib.compress(PLAIN.encode()))

    found = decode_all(f"{bomb} | {copied}")

    assert PLAIN in found.texts
    assert not found.is_whole


def test_only_a_fixed_number_of_members_of_a_stream_is_read(monkeypatch):
    few, many = (encode(zlib.compress(b"some words, ") * count) for count in (256, 20_000))

    assert decode_all(few) == DecodedText(("some words, " * 256,), is_whole=True)
    _, runs, is_whole = count_decompressed(monkeypatch, many)
    assert not is_whole
    assert runs < 1_000


def test_what_is_compressed_otherwise_is_said_to_be_there():
    assert not decode_all(encode(bz2.compress(PLAIN.encode()))).is_whole


def test_object_with_a_secret_is_hidden_in_its_encoding_and_one_without_stays():
    config_map = GroupVersionKind("", "v1", "ConfigMap")

    def show(copied):
        obj = {"kind": "ConfigMap", "data": {"copy": encode(json.dumps(copied).encode())}}
        return obj["data"]["copy"], mask(obj, gvk=config_map, tag_key=b"k")["data"]["copy"]

    written, shown = show({"apiVersion": "v1", "kind": "Secret", "stringData": {"pin": "q7Rz0xWv"}})
    assert written != shown
    assert is_masked(shown)
    written, shown = show({"apiVersion": "v1", "kind": "ConfigMap", "data": {"color": "blue"}})
    assert written == shown


def test_annotation_that_repeats_a_value_of_its_secret_in_an_encoding_is_hidden():
    value, harmless = "q7Rz0xWv-canary", encode(b"how this Secret came to be")
    copied, packed = encode(f"it was {value} before".encode()), encode(zlib.compress(value.encode()))
    notes = {"copy": copied, "packed": packed, "how": harmless}
    obj = {"kind": "Secret", "metadata": {"annotations": notes}, "data": {"opening": encode(value.encode())}}

    found = mask(obj, gvk=GroupVersionKind("", "v1", "Secret"), tag_key=b"k")["metadata"]["annotations"]

    assert [name for name in notes if is_masked(found[name])] == ["copy", "packed"]
    assert found["how"] == harmless
