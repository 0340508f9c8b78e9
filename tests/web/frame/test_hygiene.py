"""What surrounds every page of a signed-in person: caches, proxies, characters that no database keeps."""

from __future__ import annotations

import json
from ipaddress import ip_network

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from applyviz.web.frame.client_address import find_address
from applyviz.web.frame.middleware import ProxyMiddleware
from tests.web.api.test_api import Program


@pytest.fixture
def behind_proxy(settings):
    settings.APPLYVIZ_TRUSTED_PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::1/128"))
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


@pytest.mark.parametrize("path", ["/", "/reviews/", "/clusters/", "/history/", "/guide/", "/no-such-page/"])
def test_pages_of_signed_in_people_are_kept_by_no_cache(as_alice, path):
    assert as_alice.get(path)["Cache-Control"] == "no-store"


def test_answer_that_begins_a_session_is_kept_by_no_cache(client, alice):
    alice.set_password("sesame-opens-7")
    alice.save()

    answer = client.post("/login/", {"username": "alice", "password": "sesame-opens-7"})

    assert (answer.status_code, answer["Cache-Control"]) == (302, "no-store")


def test_static_files_stay_cacheable(as_alice):
    answer = as_alice.get("/static/css/tokens.css")

    assert "no-store" not in answer.headers.get("Cache-Control", "")
    answer.close()


def _ask(sender: str, forwarded: str = "", proto: str = ""):
    request = RequestFactory().get("/", REMOTE_ADDR=sender)
    if forwarded:
        request.META["HTTP_X_FORWARDED_FOR"] = forwarded
    if proto:
        request.META["HTTP_X_FORWARDED_PROTO"] = proto
    ProxyMiddleware(lambda _: HttpResponse())(request)
    return request


@pytest.mark.parametrize("sender", ["127.0.0.1", "203.0.113.9", "::1", ""])
def test_forwarded_headers_of_anybody_count_for_nothing(sender):
    request = _ask(sender, "198.51.100.1", "https")

    assert (find_address(request), request.is_secure()) == (sender, False)


@pytest.mark.parametrize(
    ("sender", "forwarded", "found"),
    [
        ("10.1.2.3", "198.51.100.1", "198.51.100.1"),
        ("10.1.2.3", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        ("10.1.2.3", "1.1.1.1, 198.51.100.1, 10.9.9.9", "198.51.100.1"),
        ("::ffff:10.1.2.3", "198.51.100.1", "198.51.100.1"),
        ("fd00::1", "2001:db8::7", "2001:db8::7"),
        ("10.1.2.3", "", "10.1.2.3"),
        ("10.1.2.3", "nonsense", ""),
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("10.1.2.3", ",".join(["10.0.0.1"] * 100_000), "10.0.0.1"),
    ],
)
def test_client_is_who_the_trusted_proxy_heard(behind_proxy, sender, forwarded, found):
    assert find_address(_ask(sender, forwarded)) == found


def test_scheme_is_believed_from_the_trusted_proxy_alone(behind_proxy):
    assert _ask("10.1.2.3", proto="https").is_secure()
    assert not _ask("203.0.113.9", proto="https").is_secure()


@pytest.mark.parametrize(
    "path", ["/clusters/a%00b/", "/reviews/?q=%00", "/history/?name=a%00", "/history/objects/a/b/%00/d/e/"]
)
def test_nul_in_an_address_is_refused(as_alice, path):
    assert as_alice.get(path).status_code == 400


def test_nul_in_a_cookie_is_refused(client):
    client.cookies.load('applyviz_session="\\000abcdefgh"')

    assert client.get("/login/").status_code == 400


def test_api_names_its_refusals_by_slugs(alice):
    program = Program(alice)
    answers = [
        Client().get("/api/v1/"),
        program.get("reviews/99/"),
        program.post("reviews/", "{"),
        Client().post("/api/v1/reviews/", "{}", content_type="text/plain", HTTP_AUTHORIZATION=f"Bearer {program.text}"),
        program.post("reviews/", {}),
        program.ask("delete", "reviews/1/"),
    ]

    codes = [json.loads(answer.content)["error"]["code"] for answer in answers]

    wanted = ["unauthorized", "not-found", "bad-request", "unsupported-media-type", "invalid", "method-not-allowed"]
    assert codes == wanted


@pytest.mark.parametrize("field", ["title", "reason", "cluster"])
def test_nul_in_the_body_of_the_api_is_named(alice, field):
    sent = {"title": "a", "reason": "b", "cluster": "box", "files": [], field: "x\0"}

    answer = Program(alice).post("reviews/", sent)

    assert answer.status_code == 422
    assert field in [problem.get("field") for problem in answer.json()["error"]["problems"]]
