"""A copy that nothing reads (compressed otherwise, encrypted, in pieces) is masked beside its Secret in every place."""

from __future__ import annotations

import base64
import bz2
import json
import lzma
import zlib

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from applyviz.engine.requests.options import ApplyMode
from applyviz.workflow.live import scans
from applyviz.workflow.notifications import events
from tests.attacks.answers import read_words, share
from tests.attacks.conftest import list_stored
from tests.attacks.test_identical_pages import READ, World, make_token
from tests.builders import make_person
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CANARY = "q7Rz0xWv-canary"
BODY = json.dumps({"kind": "Secret", "stringData": {"password": CANARY, "more": "a7Tz1kQ9" * 4}}).encode()
ZSTD = b"\x28\xb5\x2f\xfd" + zlib.compress(BODY)[2:]  # its header, and content that looks as random


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def cut(text: str, length: int = 20) -> list[str]:
    return [text[n : n + length] for n in range(0, len(text), length)]


COPIES = {
    "tool/bzip2": b64(bz2.compress(BODY)),
    "tool/xz": b64(lzma.compress(BODY, preset=9)),
    "tool/zstd": b64(ZSTD),
    "tool/zip": b64(b"PK\x03\x04" + zlib.compress(BODY)),
    "tool/words": " and then ".join(cut(b64(zlib.compress(BODY, 9)))),
    **{f"tool/part-{n}": f"part {n}: {piece}" for n, piece in enumerate(cut(b64(bz2.compress(BODY + b" "))))},
}


def write(value: str, **annotations: str) -> str:
    metadata = {"name": "login", "namespace": "default", "annotations": annotations}
    return yaml.safe_dump(
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": value}}
    )


def list_pieces() -> list[str]:
    """Words of the copies that no other text holds."""
    found = [word for text in COPIES.values() for word in text.split() if len(word) > 12 and "AAAA" not in word]
    return [word[4:16] for word in found]


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", [ApplyMode.SERVER, pytest.param(ApplyMode.CLIENT, marks=pytest.mark.long)])
def test_no_place_shows_a_copy_that_nothing_reads(team: Team, monkeypatch, mode: ApplyMode, step: int) -> None:
    team.wire_up(monkeypatch)
    first = team.apply(write(CANARY, **COPIES), mode=mode)
    assert first.state == "applied", first.error
    more = {name: f"{text} " for name, text in COPIES.items()}
    plans = [
        first.plan,
        team.plan(write(CANARY, **more), mode=mode),
        team.plan(write("another-one-1", seen="x"), mode=mode),
    ]
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
    events.send_pending()
    world, pieces = World(team, plans, [first]), list_pieces()
    client, token = Client(), make_token(make_person("reader", "viewer"))
    client.force_login(team.alice)

    every = [(name, address) for name, list_addresses in READ.items() for address in list_addresses(world)]
    every += [("search", f"{reverse('search')}?q={piece}") for piece in pieces[:3]]
    shown = set()
    for name, address in share(every, 5, step):
        given = {"HTTP_AUTHORIZATION": f"Bearer {token}"} if name.startswith("api:") else {}
        text = "\n".join(read_words(client.get(address, **given)))
        shown |= {f"{address}: {piece}" for piece in pieces if piece in text and piece not in address}

    assert shown == set()
    assert {where for where, text in list_stored() for piece in pieces if piece in text} == set()
