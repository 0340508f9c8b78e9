"""Visitors without an account put hostile questions: they cost a bounded child each, and nobody else waits."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from django.test import Client

from applyviz.guide import limited, playground
from applyviz.records.enums import Role
from applyviz.records.models import PlaygroundInput
from tests.builders import make_person

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\ndata: {theme: light}\n"


def ask(client: Client, manifest: str = MANIFEST, **meta):
    return client.post("/playground/", {"mode": "server", "field_manager": "shop", "manifest": manifest}, **meta)


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(make_person("alice", Role.AUTHOR))
    return client


def test_nothing_is_computed_in_the_web_process(client, monkeypatch):
    def refuse(*_given, **_named):
        raise AssertionError("the web process must not compute what a visitor sent")

    for name in ("explain", "read", "without_secrets", "mask", "parse_manifests"):
        monkeypatch.setattr(playground, name, refuse)

    asked = ask(client)
    answer = client.get(asked.headers["Location"].partition("#")[0])

    assert (asked.status_code, answer.status_code) == (302, 200)
    assert "theme" in answer.content.decode()


def test_question_that_burns_the_processor_ends_in_its_child(client, monkeypatch):
    monkeypatch.setattr(limited, "CHILD", "tests.attacks.burning_child")
    monkeypatch.setattr(limited, "LIMITS", replace(limited.LIMITS, cpu_seconds=1))
    ours = time.process_time()

    refused = ask(client)

    assert refused.status_code == 422
    assert "computing it took longer than 1 seconds of computing" in refused.content.decode()
    assert time.process_time() - ours < 0.7
    assert not PlaygroundInput.objects.exists()


def test_limits_are_those_that_are_promised():
    assert (limited.LIMITS.cpu_seconds, limited.VISITOR_BYTES) == (5, 64 * 1024)


def test_visitors_are_answered_one_at_a_time_and_keep_nobody_else_waiting(client, alice, monkeypatch):
    monkeypatch.setattr(limited, "VISITORS", replace(limited.VISITORS, wait_seconds=0.01))
    with limited.VISITORS.take_turn():
        visitor, person = ask(client), ask(alice)

    assert visitor.status_code == 422
    assert "ask again in a moment" in visitor.content.decode()
    assert person.status_code == 302
    assert ask(client).status_code == 302


def test_visitor_may_send_64_kilobytes(client, alice):
    large = MANIFEST + "# " + "x" * limited.VISITOR_BYTES + "\n"

    refused, taken = ask(client, large), ask(alice, large)

    assert refused.status_code == 422
    assert "at most 65,536" in refused.content.decode()
    assert taken.status_code == 302


def test_address_may_ask_ten_questions_a_minute(client):
    statuses = [ask(client, "{").status_code for _ in range(11)]

    assert statuses == [422] * 10 + [429]
