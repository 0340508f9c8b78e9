"""Every status that an API server can answer has a meaning."""

from http import HTTPStatus

import pytest

from applyviz.clusters.errors import error_for, meaning_of
from applyviz.engine.objects.errors import (
    ClusterError,
    ClusterTimeoutError,
    ForbiddenError,
    UnreachableError,
    WriteConflictError,
)
from applyviz.engine.objects.exchange import Answer, Request

READ = Request("GET", "/api/v1/namespaces/shop")


@pytest.mark.parametrize("status", [s.value for s in HTTPStatus if s.value >= 300] + [0, 418, 499, 599])
def test_every_status_is_mapped(status):
    error = error_for(READ, Answer(status))

    assert isinstance(error, ClusterError)
    assert (error.status, error.retryable) == (status, meaning_of(status).is_retryable)
    assert str(error).startswith("GET /api/v1/namespaces/shop: ")


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        (401, ForbiddenError),
        (403, ForbiddenError),
        (409, WriteConflictError),
        (408, ClusterTimeoutError),
        (503, UnreachableError),
        (504, ClusterTimeoutError),
        (0, UnreachableError),
    ],
)
def test_status_becomes_its_error(status, wanted):
    assert type(error_for(READ, Answer(status))) is wanted


def test_error_holds_no_text_of_the_server():
    answer = Answer(422, {"kind": "Status", "message": "Secret is invalid: data: czNjcjN0"})

    assert "czNjcjN0" not in str(error_for(READ, answer))


def test_redirects_are_never_followed():
    assert "never followed" in str(error_for(READ, Answer(302)))
