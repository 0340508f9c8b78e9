"""Bodies of people who are not signed in are refused before anything keeps them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.test import Client
from django.urls import get_resolver

from applyviz.records.enums import Role, TokenScope
from applyviz.web.frame import bodies
from applyviz.workflow.people import tokens
from tests.attacks.test_scopes import list_all_addresses
from tests.builders import make_person

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
PART = 64 * 1024
PATHS = ("/login/", "/healthz", "/", "/push/some/", "/playground/", "/playground/sets/")
PATHS += ("/playground/channels/",)
PATHS += ("/sandboxes/box/api", "/reviews/new/", "/api/v1/x/")
INVENTED = ({"Cookie": f"{settings.SESSION_COOKIE_NAME}=invented"}, {"Authorization": "Bearer avt_invented"})


@pytest.fixture(autouse=True)
def _nothing_is_written(monkeypatch):
    """No body of these tests may reach a disk."""

    def refuse(self):
        raise AssertionError("a body was written to the temporary folder")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", refuse)


def ask(path: str, size: int, *, has_length: bool, headers: dict[str, str] | None = None) -> tuple[int, int]:
    """Send a body to what the server runs; return the status and how many bytes it took."""
    given = [(b"host", b"testserver"), *((k.lower().encode(), v.encode()) for k, v in (headers or {}).items())]
    if has_length:
        given.append((b"content-length", str(size).encode()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": given,
        "client": ("203.0.113.9", 1),
        "server": ("testserver", 80),
    }
    taken, statuses = 0, []

    async def receive():
        nonlocal taken
        if taken >= size:
            await asyncio.sleep(3600)
        taken += PART
        return {"type": "http.request", "body": b"x" * PART, "more_body": taken < size}

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async_to_sync(bodies.BodyLimits(get_asgi_application()))(scope, receive, send)
    return statuses[0], taken


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("headers", [{}, *INVENTED])
def test_large_body_of_a_stranger_is_refused(has_length, headers):
    found = {path: ask(path, 300 * 1024 * 1024, has_length=has_length, headers=headers) for path in PATHS}

    assert {status for status, _taken in found.values()} == {413}
    assert [p for p in PATHS if found[p][1] > (0 if has_length else bodies.find_limit(p) + PART)] == []


def test_large_body_of_a_stranger_is_refused_at_every_address():
    addresses = sorted(set(list_all_addresses(get_resolver().url_patterns)))
    assert len(addresses) > 150

    found = {path: ask(path, 300 * 1024 * 1024, has_length=True) for path in addresses}

    assert {path: answer for path, answer in found.items() if answer != (413, 0)} == {}


def test_server_runs_with_the_limits():
    code = "import applyviz.asgi; print(type(applyviz.asgi.application).__name__)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert found.stdout == "BodyLimits\n"


def test_small_body_of_a_stranger_is_answered():
    assert ask("/healthz", PART, has_length=True)[0] == 200


def test_people_and_programs_may_send_files():
    alice = make_person("alice", Role.AUTHOR)
    client = Client()
    client.force_login(alice)
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    text = tokens.make_token(by=alice, account=alice, name="ci", scope=TokenScope.PLAN, days=7)[1]
    given = ({"Cookie": cookie}, {"Authorization": f"Bearer {text}"})

    statuses = [ask("/livez", 2 * 1024 * 1024, has_length=b, headers=h)[0] for h in given for b in (True, False)]
    above = [ask("/livez", bodies.SIGNED_IN + 1, has_length=True, headers=h)[0] for h in given]

    assert statuses == [200] * 4
    assert above == [413] * 2
