"""Map the HTTP statuses of an API server to sentences, and to whether a retry can help.

An error answer of the API server raises nothing here, because flows read it. Rule:
https://kubernetes.io/docs/reference/using-api/api-concepts/ (status codes of the API).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct

from applyviz.engine.objects.errors import UnreachableError


@dataclass(eq=False)
class NotSentError(UnreachableError):
    """The request never reached the server, so a retry cannot repeat its effect; `is_retryable`: it may help."""

    is_retryable: bool = field(default=False, kw_only=True)


class _Meaning(Struct, frozen=True):
    """The meaning of a status: a sentence, and whether a retry can help."""

    words: str
    is_retryable: bool = False


MEANINGS: dict[int, _Meaning] = {
    400: _Meaning("the server could not read the request"),
    401: _Meaning("the cluster no longer accepts the credential"),
    403: _Meaning("the identity is not allowed to do this"),
    404: _Meaning("there is no such object or resource"),
    405: _Meaning("the resource does not support this verb"),
    406: _Meaning("the server cannot answer in the requested format"),
    408: _Meaning("the server gave up waiting", is_retryable=True),
    409: _Meaning("the object changed since it was read, or it already exists"),
    410: _Meaning("the requested version is too old", is_retryable=True),
    413: _Meaning("the request is larger than the server accepts"),
    415: _Meaning("the server does not support this kind of patch for this resource"),
    422: _Meaning("the server rejected the object as invalid"),
    429: _Meaning("the server is overloaded", is_retryable=True),
    500: _Meaning("the server failed", is_retryable=True),
    501: _Meaning("the server does not implement this"),
    502: _Meaning("the server behind the gateway did not answer", is_retryable=True),
    503: _Meaning("the server is not available", is_retryable=True),
    504: _Meaning("the server did not answer in time", is_retryable=True),
}
_REDIRECT = _Meaning("the server redirects to another address, and redirects are never followed")
_OTHER_CLIENT = _Meaning("the server refused the request")
_OTHER_SERVER = _Meaning("the server failed", is_retryable=True)
_NO_ANSWER = _Meaning("no answer came", is_retryable=True)


def meaning_of(status: int) -> _Meaning:
    """Return the meaning of a status; every status outside 2xx has one."""
    if status in MEANINGS:
        return MEANINGS[status]
    if 300 <= status < 400:
        return _REDIRECT
    if 400 <= status < 500:
        return _OTHER_CLIENT
    return _OTHER_SERVER if status >= 500 else _NO_ANSWER
