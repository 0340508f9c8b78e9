"""What surrounds every request: health, request ids, the content security policy."""

import pytest

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
