"""Bytes are read in each spelling, and what is beyond the limits is marked as not read."""

from __future__ import annotations

import base64
import gzip
import json
import lzma

import pytest

from applyviz.engine.diff.encoded import decode_all, looks_encoded

# Written in base85, it has more signs than an address.
PLAIN = "what stood in the key of 2026: jam & tea, <b>no</b> sugar!"
RAW = PLAIN.encode()


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"%{one:02X}" for one in RAW),
        "".join(f"&#x{one:x};" for one in RAW),
        "".join(f"={one:02X}" for one in RAW),
        ", ".join(f"0x{one:02x}" for one in RAW),
        " ".join(f"\\x{one:02x}" for one in RAW),
        "".join(f"\\{one:03o}" for one in RAW),
        ":".join(f"{one:02x}" for one in RAW),
        f"[{', '.join(map(str, RAW))}]",
        " ".join(f"{one:08b}" for one in RAW),
        base64.b32encode(RAW).decode(),
        base64.b32hexencode(RAW).decode().lower(),
        base64.b85encode(RAW).decode(),
        base64.a85encode(RAW, adobe=True).decode(),
        base64.b64encode(RAW).decode()[::-1],
    ],
    ids=lambda text: text[:12],
)
def test_each_spelling_is_read(text):
    assert looks_encoded(text)
    assert PLAIN in decode_all(text).texts


def test_object_that_was_written_backwards_is_read():
    held = json.dumps({"answer": PLAIN})

    assert held in decode_all(base64.b64encode(held[::-1].encode()).decode()).texts


def test_long_hex_that_is_no_text_is_not_read_but_a_digest_is_no_copy():
    noise = bytes(range(128, 256))

    assert not decode_all(noise.hex()).is_whole
    assert decode_all(noise[:32].hex()).is_whole


def test_stream_of_more_members_than_are_read_is_not_read():
    member = gzip.compress(b"x")

    assert decode_all(base64.b64encode(2 * member).decode()).is_whole
    assert not decode_all(base64.b64encode(300 * member).decode()).is_whole


def test_stream_that_is_broken_is_not_read():
    whole = bytearray(lzma.compress(RAW))
    whole[9] ^= 255

    assert not decode_all(base64.b64encode(whole).decode()).is_whole
