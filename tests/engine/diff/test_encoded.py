"""Encoded text is decoded layer by layer, and text beyond the limits is marked as not read."""

from __future__ import annotations

import base64
import bz2
import json
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
