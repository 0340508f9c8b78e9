"""What surrounds every request: health, request ids, the content security policy."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, connection
from django.http import HttpResponse

from applyviz.web.frame import middleware

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


@pytest.mark.parametrize("path", ["/livez", "/healthz"])
def test_liveness_needs_nothing(client, path):
    answer = client.get(path, HTTP_HOST="10.0.0.17")

    assert (answer.status_code, answer.json(), list(answer.cookies)) == (200, {"status": "ok"}, [])


@pytest.mark.django_db
def test_readiness_looks_at_database_and_migrations(client):
    answer = client.get("/readyz", HTTP_HOST="10.0.0.17")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_readiness_is_cheap_once_migrations_are_done(rf, django_assert_num_queries):
    health = middleware.HealthMiddleware(None)
    assert health(rf.get("/readyz")).status_code == 200

    with django_assert_num_queries(1):
        assert health(rf.get("/readyz")).status_code == 200


@pytest.mark.django_db
def test_readiness_fails_while_the_database_is_away(rf, monkeypatch):
    health = middleware.HealthMiddleware(None)
    health(rf.get("/readyz"))

    def fail():
        raise DatabaseError

    monkeypatch.setattr(connection, "cursor", fail)

    assert health(rf.get("/readyz")).status_code == 503


@pytest.mark.django_db
def test_every_page_carries_the_policy(client):
    answer = client.get("/login/")

    assert answer.headers["Content-Security-Policy"] == POLICY
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.django_db
def test_unknown_host_is_refused(client):
    assert client.get("/login/", HTTP_HOST="evil.example").status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "kept"),
    [("abcd-1234.efgh", True), ("x" * 65, False), ("evil\nheader-line", False), ("", False)],
)
def test_request_is_named(client, given, kept):
    answer = client.get("/login/", HTTP_X_REQUEST_ID=given)

    assert (answer.headers["X-Request-ID"] == given) == kept
    assert len(answer.headers["X-Request-ID"]) >= 8


class Handler:
    """Answers once the event is set, and counts how many requests it answers at once."""

    def __init__(self):
        self.lock, self.let_go = threading.Lock(), threading.Event()
        self.inside = self.most = 0

    def __call__(self, request):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.let_go.wait(10)
        with self.lock:
            self.inside -= 1
        return HttpResponse("done")


def test_requests_beyond_the_limit_wait_for_their_turn(rf, settings):
    settings.APPLYVIZ_CONCURRENT_REQUESTS = 3
    handler = Handler()
    bounded = middleware.ConcurrencyMiddleware(handler)

    with ThreadPoolExecutor(10) as people:
        answers = [people.submit(bounded, rf.get("/", REMOTE_ADDR=f"203.0.113.{n}")) for n in range(10)]
        while handler.inside < 3:
            pass
        handler.let_go.set()

    assert [answer.result().status_code for answer in answers] == [200] * 10
    assert handler.most == 3


def test_request_that_waits_too_long_is_told_to_come_back(rf, settings, monkeypatch):
    settings.APPLYVIZ_CONCURRENT_REQUESTS = 1
    monkeypatch.setattr(middleware, "TURN_SECONDS", 0.01)
    handler = Handler()
    bounded = middleware.ConcurrencyMiddleware(handler)

    with ThreadPoolExecutor(1) as people:
        first = people.submit(bounded, rf.get("/"))
        while not handler.inside:
            pass
        second = bounded(rf.get("/"))
        handler.let_go.set()

    assert (first.result().status_code, second.status_code, second["Retry-After"]) == (200, 503, "5")


def test_turn_comes_back_after_an_error(rf, settings):
    settings.APPLYVIZ_CONCURRENT_REQUESTS = 1

    def fail(request):
        raise ValueError("broken")

    bounded = middleware.ConcurrencyMiddleware(fail)
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            bounded(rf.get("/"))
