"""A copy of a Secret that a tool keeps encoded in an annotation or a text: nobody reads it there.

Tools write their own last-applied as base64 of JSON, often compressed first.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import tarfile
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from urllib.parse import quote

import pytest

from applyviz.engine.diff.encoded import decode_all
from applyviz.engine.diff.masking import mask
from applyviz.engine.diff.patch_masking import mask_patch
from applyviz.engine.objects.exchange import JSON_PATCH
from applyviz.engine.objects.refs import GroupVersionKind

pytestmark = pytest.mark.attacks
CANARY = "q7Rz0xWv-canary"
SECRET, MAP = GroupVersionKind("", "v1", "Secret"), GroupVersionKind("", "v1", "ConfigMap")
DATA = {"password": base64.b64encode(CANARY.encode()).decode()}
OBJECT = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": DATA}
JSON_TEXT = json.dumps(OBJECT)
YAML_TEXT = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: login}}\ndata:\n  password: {DATA['password']}\n"


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def url64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


FORMS: dict[str, Callable[[bytes], str]] = {
    "base64": b64,
    "base64 for addresses": url64,
    "base64 in lines": lambda raw: base64.encodebytes(raw).decode(),
    "hex": bytes.hex,
    "gzip": lambda raw: b64(gzip.compress(raw)),
    "gzip in two members": lambda raw: b64(gzip.compress(b"{") + gzip.compress(raw[1:])),
    "zlib": lambda raw: b64(zlib.compress(raw)),
    "zlib as hex": lambda raw: zlib.compress(raw, 9).hex(),
    "of an address": lambda raw: quote(raw.decode(), safe=""),
    "base64 of base64": lambda raw: b64(b64(raw).encode()),
    "gzip of base64 of gzip": lambda raw: url64(gzip.compress(b64(gzip.compress(raw)).encode())),
    "in a JSON text": lambda raw: b64(json.dumps(raw.decode()).encode()),
    "in a field of JSON": lambda raw: json.dumps({"version": 2, "copy": b64(gzip.compress(raw))}),
    "in a list of JSON": lambda raw: json.dumps([b64(gzip.compress(raw))]),
    "in a field of YAML": lambda raw: f"version: 2\ncopy: {b64(gzip.compress(raw))}\nmore: x\n",
    "in a block of YAML": lambda raw: f"copy: |\n  {indent(b64(gzip.compress(raw)))}\nversion: 2\n",
    "in an address of data": lambda raw: f"data:application/json;base64,{b64(raw)}",
    "in the path of an address": lambda raw: f"https://tool.example/restore/{url64(gzip.compress(raw))}",
    "in the query of an address": lambda raw: f"https://tool.example/?copy={quote(b64(raw), safe='')}",
    "in a sentence": lambda raw: f"the copy {b64(gzip.compress(raw))} of yesterday",
    "in pieces": lambda raw: ",".join(indent(b64(raw)).split("\n  ")),
    "in quoted lines": lambda raw: "\n".join(f'"{line}"' for line in indent(b64(raw)).split("\n  ")),
    "hex with colons": lambda raw: ":".join(f"{byte:02x}" for byte in raw),
    "hex with a prefix": lambda raw: "0x" + raw.hex(),
    "escaped characters": lambda raw: "".join(f"\\u{byte:04x}" for byte in raw),
    "UTF-16": lambda raw: b64(raw.decode().encode("utf-16")),
    "UTF-16 as hex": lambda raw: raw.decode().encode("utf-16-le").hex(),
    "base32": lambda raw: base64.b32encode(raw).decode(),
    "base32 in small letters": lambda raw: base64.b32encode(raw).decode().lower().rstrip("="),
    "base32 of hex letters": lambda raw: base64.b32hexencode(raw).decode(),
    "base85": lambda raw: base64.b85encode(raw).decode(),
    "ASCII85": lambda raw: base64.a85encode(raw).decode(),
    "ASCII85 of Adobe": lambda raw: base64.a85encode(raw, adobe=True).decode(),
    "deflate without a header": lambda raw: b64(deflate(raw)),
    "deflate as hex": lambda raw: deflate(raw).hex(),
    "xz": lambda raw: b64(lzma.compress(raw)),
    "lzma": lambda raw: b64(lzma.compress(raw, format=lzma.FORMAT_ALONE)),
    "an archive": lambda raw: b64(archive(raw)),
    "base64 backwards": lambda raw: b64(raw)[::-1],
    "hex with dashes": lambda raw: raw.hex("-"),
    "hex with points": lambda raw: raw.hex("."),
    "hex in a list": lambda raw: ", ".join(f"0x{byte:02x}" for byte in raw),
    "numbers": lambda raw: " ".join(map(str, raw)),
    "numbers in JSON": lambda raw: json.dumps(list(raw)),
    "bits": lambda raw: " ".join(f"{byte:08b}" for byte in raw),
    "quoted-printable": lambda raw: "".join(f"={byte:02X}" for byte in raw),
    "entities": lambda raw: "".join(f"&#{byte};" for byte in raw),
    "entities in hex": lambda raw: "".join(f"&#x{byte:x};" for byte in raw),
    "JSON in JSON in JSON": lambda raw: json.dumps(json.dumps(json.dumps(raw.decode()))),
    "escapes in JSON in JSON": lambda raw: json.dumps({"a": json.dumps({"b": FORMS["escaped characters"](raw)})}),
    "in pieces with points": lambda raw: ".".join(indent(b64(raw)).split("\n  ")),
}
# Not read: masked beside a masked value only.
UNREAD = {
    "bzip2": lambda raw: b64(bz2.compress(raw)),
    "bzip2 as hex": lambda raw: bz2.compress(raw).hex(),
    "large dictionary": lambda raw: b64(lzma.compress(raw, preset=9)),
    "zip": lambda raw: b64(zipped(raw)),
    "encrypted": lambda raw: b64(bytes(byte ^ (71 * n + 13) % 256 for n, byte in enumerate(raw))),
    "another alphabet": lambda raw: b64(raw).swapcase(),
}


WORDS = ("and then ", "part of the copy: ", "- ", "(see the next one) ", "\n", '"quoted" ')
# How a person or a tool writes a text in pieces between words.
CUTS: dict[str, Callable[[list[str]], dict[str, str]]] = {
    "commas": lambda pieces: {"a": f"the copy: {', '.join(pieces)} of yesterday"},
    "blanks": lambda pieces: {"a": f"the copy {' '.join(pieces)} of yesterday"},
    "line breaks": lambda pieces: {"a": "\n".join(("The copy:", *pieces, "of yesterday."))},
    "quotes": lambda pieces: {"a": " and ".join(f'"{piece}"' for piece in pieces)},
    "numbers": lambda pieces: {"a": "\n".join(f"{n}. {piece}" for n, piece in enumerate(pieces, 1))},
    "words": lambda pieces: {"a": "".join(WORDS[n % len(WORDS)] + piece + " " for n, piece in enumerate(pieces))},
    "JSON": lambda pieces: {"a": json.dumps({"version": 2, **{f"part{n}": one for n, one in enumerate(pieces)}})},
    "annotations": lambda pieces: {f"tool/{n}": piece for n, piece in enumerate(pieces)},
    "sentences": lambda pieces: {f"tool/{n}": f"part {n}: {piece}" for n, piece in enumerate(pieces)},
}


def deflate(raw: bytes) -> bytes:
    machine = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return machine.compress(raw) + machine.flush()


def archive(raw: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        about = tarfile.TarInfo("login.yaml")
        about.size = len(raw)
        made.addfile(about, io.BytesIO(raw))
    return packed.getvalue()


def zipped(raw: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("login.yaml", raw)
    return packed.getvalue()


def indent(text: str) -> str:
    return "\n  ".join(text[n : n + 40] for n in range(0, len(text), 40))


def shows(masked: object, *texts: str) -> bool:
    shown = json.dumps(masked)
    return any(text[:24] in shown for text in texts) or CANARY in shown or DATA["password"][:12] in shown


@pytest.mark.parametrize("text", [JSON_TEXT, YAML_TEXT], ids=["json", "yaml"])
@pytest.mark.parametrize("form", FORMS)
def test_an_encoded_copy_is_masked(form, text) -> None:
    copy = FORMS[form](text.encode())
    annotated = {**OBJECT, "metadata": {"name": "login", "annotations": {"tool/last": copy}}}
    config_map = {"kind": "ConfigMap", "metadata": {"name": "m", "annotations": {"a": copy}}, "data": {"b": copy}}
    patch = [{"op": "add", "path": "/metadata/annotations", "value": {"a": copy}}]

    assert not shows(mask(annotated, gvk=SECRET, tag_key=b"k"), copy)
    assert not shows(mask(config_map, gvk=MAP, tag_key=b"k"), copy)
    assert not shows(mask_patch(patch, JSON_PATCH, gvk=SECRET, tag_key=b"k"), copy)


@pytest.mark.parametrize("form", FORMS)
def test_an_encoded_value_is_masked_beside_it(form) -> None:
    copy = FORMS[form](json.dumps({"note": f"the password is {CANARY}", "more": "x" * 40}).encode())
    obj = {**OBJECT, "metadata": {"name": "login", "annotations": {"a": copy}}}

    assert not shows(mask(obj, gvk=SECRET, tag_key=b"k"), copy)


@pytest.mark.core(70)  # every pair of a cut, a form and a length
@pytest.mark.parametrize("length", [10, 20, 40])
@pytest.mark.parametrize("form", ["base64", "base64 for addresses", "gzip", "xz", "bzip2", "zip", "encrypted"])
@pytest.mark.parametrize("cut", CUTS)
def test_a_copy_in_pieces_is_masked_beside_a_masked_value(cut, form, length) -> None:
    text = (FORMS | UNREAD)[form](JSON_TEXT.encode())
    pieces = [text[n : n + length] for n in range(0, len(text), length)]
    obj = {**OBJECT, "metadata": {"name": "login", "annotations": CUTS[cut](pieces)}}

    shown = json.dumps(mask(obj, gvk=SECRET, tag_key=b"k"))
    told = [piece for piece in pieces if "AAAAA" not in piece and piece in shown]
    assert len(told) <= (len(pieces) // 4 if length == 10 else 0)  # a short piece may look like a word
    assert CANARY not in shown


@pytest.mark.parametrize("before", range(3))
def test_a_short_value_is_found_at_every_position_of_base64(before) -> None:
    """Each piece alone is too short to be decoded."""
    text = b64(b"x" * before + CANARY.encode() + b"yz1234")
    notes = {"a": f"first {text[:8]}", "b": f"second {text[8:16]}", "c": f"third {text[16:]}"}
    obj = {**OBJECT, "metadata": {"name": "login", "annotations": notes}}

    shown = mask(obj, gvk=SECRET, tag_key=b"k")["metadata"]["annotations"]
    assert not any(text[8:16] in one or text[16:] in one for one in shown.values())


def test_what_cannot_be_decoded_is_masked_beside_a_masked_value_only() -> None:
    bomb = b64(gzip.compress(b"0" * 4_000_000))
    assert not decode_all(bomb).is_whole

    secret = {**OBJECT, "metadata": {"name": "login", "annotations": {"a": bomb}}}
    config_map = {"kind": "ConfigMap", "metadata": {"annotations": {"a": bomb}}}

    assert not shows(mask(secret, gvk=SECRET, tag_key=b"k"), bomb)
    assert mask(config_map, gvk=MAP, tag_key=b"k") == config_map


def test_fields_of_an_object_in_an_annotation_of_a_live_secret_have_names_of_their_own() -> None:
    """The author of an annotation calls a field of it what they like, so all of it is masked."""
    copies = {"a": json.dumps({"spec": {"x": json.dumps({"p": CANARY})}}), "b": json.dumps({"spec": {"x": CANARY}})}
    obj = {**OBJECT, "metadata": {"name": "login", "annotations": copies}}

    for beside in (None, ()):
        assert CANARY not in json.dumps(mask(obj, gvk=SECRET, tag_key=b"k", beside=beside, is_live=True))


@pytest.mark.parametrize("form", UNREAD)
def test_what_is_not_read_is_masked_beside_a_masked_value(form) -> None:
    copy = UNREAD[form](JSON_TEXT.encode())
    obj = {**OBJECT, "metadata": {"name": "login", "annotations": {"a": copy, "b": json.dumps({"copy": copy})}}}

    assert not shows(mask(obj, gvk=SECRET, tag_key=b"k"), copy)


def test_what_is_not_read_hides_no_copy_behind_it() -> None:
    """The text has an escape, so all of it is read as one."""
    text = f"%41 {UNREAD['bzip2'](JSON_TEXT.encode())} {FORMS['gzip'](JSON_TEXT.encode())}"

    assert not shows(mask({"kind": "ConfigMap", "data": {"a": text}}, gvk=MAP, tag_key=b"k"), text[-48:])


def test_names_and_digests_are_shown_beside_a_masked_value() -> None:
    """Most words are written in the letters of base64, too."""
    certificate = b64(b"\x30\x82\x05\x39\x30\x82" + bytes(range(255, 100, -1)))
    shown = {
        "name": "kubectl-client-side-apply-of-the-whole-shop-in-production-v2-Blue",
        "checksum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "long-checksum": "9f86d081884c7d65" * 8,
        "image": "registry.example/team/web-frontend-of-the-shop@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b8",
        "uid": "0a1b2c3d-1111-2222-3333-444455556666",
        "certificate": certificate,
        "address": "https://shop.example/cart?item=12&size=L&color=blue#top",
        "ports": "80, 443, 8080",
    }
    obj = {**OBJECT, "metadata": {"name": "login", "annotations": shown}}

    assert mask(obj, gvk=SECRET, tag_key=b"k")["metadata"]["annotations"] == shown


def test_copies_take_memory_in_proportion_to_the_text() -> None:
    """Each of 1,000 parts inflates to 470 times its size; all of them had been kept."""
    text = " ".join(b64(gzip.compress(b"%05d" % n + b"0" * 60_000)) for n in range(1_000))
    obj = {**OBJECT, "metadata": {"annotations": {"a": text}}}
    tracemalloc.start()
    mask(obj, gvk=SECRET, tag_key=b"k")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < 48 * len(text)


def test_only_the_part_of_a_text_that_is_a_copy_is_masked() -> None:
    text = FORMS["in a field of YAML"](JSON_TEXT.encode())
    (shown,) = mask({"kind": "ConfigMap", "data": {"a": text}}, gvk=MAP, tag_key=b"k")["data"].values()

    assert shown.startswith("version: 2\ncopy: \u27ea")
    assert shown.endswith("\u27eb\nmore: x\n")


def test_encoded_text_without_a_secret_is_shown() -> None:
    certificate = b64(b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    data = {"ca": certificate, "sum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "n": "a-b-c"}
    data |= {
        "image": f"registry.example/team/web@sha256:{data['sum']}",
        "lines": f"a: {certificate}\nb: {data['sum']}\n",
    }
    config = {"kind": "ConfigMap", "data": {**data, "json": b64(b'{"kind": "Widget", "metadata": {"name": "one"}}')}}

    assert mask(config, gvk=MAP, tag_key=b"k") == config


def test_the_cost_is_linear_in_hostile_text() -> None:
    """Sixteen times the text costs about sixteen times the CPU; quadratic work would cost 256 times."""

    def measure(size: int) -> float:
        text = b64(gzip.compress(b64(bytes(range(256)) * size).encode()))
        obj = {**OBJECT, "metadata": {"annotations": {str(n): text for n in range(size)}}}
        begun = time.process_time()
        mask(obj, gvk=SECRET, tag_key=b"k")
        return time.process_time() - begun

    measure(4)
    assert min(measure(128) for _ in range(2)) < 40 * max(measure(32), 0.02)
