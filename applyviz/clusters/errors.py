"""What a status or a broken connection means: one table from the edge to our own errors.

An answer of the API server is not an error by itself: flows read it. `error_for` is for callers that need
a success. Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/ (status codes of the API).
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from applyviz.engine.objects.errors import (
    ClusterError,
    ClusterTimeoutError,
    ForbiddenError,
    UnreachableError,
    WriteConflictError,
)
from applyviz.engine.objects.exchange import Answer, Request


class NotSentError(UnreachableError):
    """The request never reached the server: asking again cannot do anything twice."""


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a status means: which error, whether asking again can help, and words for people."""

    error: type[ClusterError]
    words: str
    is_retryable: bool = False


MEANINGS: dict[int, _Meaning] = {
    400: _Meaning(ClusterError, "the server could not read the request"),
    401: _Meaning(ForbiddenError, "the credential of this cluster is not accepted any more"),
    403: _Meaning(ForbiddenError, "the identity used may not do this"),
    404: _Meaning(ClusterError, "there is no such object or resource"),
    405: _Meaning(ClusterError, "the resource does not know this verb"),
    406: _Meaning(ClusterError, "the server cannot answer in the form asked for"),
    408: _Meaning(ClusterTimeoutError, "the server gave up waiting", is_retryable=True),
    409: _Meaning(WriteConflictError, "the object changed since it was read, or exists already"),
    410: _Meaning(ClusterError, "the version asked for is too old", is_retryable=True),
    413: _Meaning(ClusterError, "the request is larger than the server takes"),
    415: _Meaning(ClusterError, "the server does not take this kind of patch for this resource"),
    422: _Meaning(ClusterError, "the server found the object invalid"),
    429: _Meaning(ClusterError, "the server is overloaded", is_retryable=True),
    500: _Meaning(ClusterError, "the server failed", is_retryable=True),
    501: _Meaning(ClusterError, "the server does not implement this"),
    502: _Meaning(UnreachableError, "the server behind the gateway did not answer", is_retryable=True),
    503: _Meaning(UnreachableError, "the server is not available", is_retryable=True),
    504: _Meaning(ClusterTimeoutError, "the server did not answer in time", is_retryable=True),
}
_REDIRECT = _Meaning(ClusterError, "the server redirects elsewhere, which is never followed")
_OTHER_CLIENT = _Meaning(ClusterError, "the server refused the request")
_OTHER_SERVER = _Meaning(ClusterError, "the server failed", is_retryable=True)
_NO_ANSWER = _Meaning(UnreachableError, "no answer came", is_retryable=True)


def meaning_of(status: int) -> _Meaning:
    """What a status means; every status outside 2xx has a meaning."""
    if status in MEANINGS:
        return MEANINGS[status]
    if 300 <= status < 400:
        return _REDIRECT
    if 400 <= status < 500:
        return _OTHER_CLIENT
    return _OTHER_SERVER if status >= 500 else _NO_ANSWER


def error_for(request: Request, answer: Answer) -> ClusterError:
    """The error for an answer that is no success: what was asked, what it means; no text of the server."""
    meaning = meaning_of(answer.status)
    phrase = HTTPStatus(answer.status).phrase if answer.status in HTTPStatus._value2member_map_ else ""
    named = f" ({answer.status} {phrase})".rstrip() if answer.status else ""
    return meaning.error(
        f"{request.method} {request.path}: {meaning.words}{named}", answer.status, meaning.is_retryable
    )
