"""Explain why no answer came from an API server: what happened, where, why, and what to do next.

The text of OpenSSL, of the operating system or of a server is not such a sentence: it is kept separately as `detail`,
and pages fold it behind "Server message". Rule for the numbers: `X509_V_ERR_…` of OpenSSL.
"""

from __future__ import annotations

import errno
import ssl
from collections.abc import Iterator

from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
)

from applyviz.clusters.deadlines import LinkLocalError
from applyviz.clusters.errors import NotSentError
from applyviz.engine.objects.errors import ClusterError, ClusterTimeoutError, UnreachableError

_EXPIRED, _NOT_YET, _REVOKED = 10, 9, 23
_OTHER_NAME = (62, 64)
_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EACCES, errno.EPERM)

_CERTIFICATES = {
    _EXPIRED: "The certificate of {server} has expired. Renew the certificate of the API server, then try again.",
    _NOT_YET: "The certificate of {server} is not valid yet. Check the clocks of the API server and of this machine.",
    _REVOKED: "The certificate of {server} was revoked. Renew the certificate of the API server, then try again.",
}
_OTHER = (
    "The certificate of {server} is for another name. Use a name that the certificate holds as `server`, or set "
    "`tls-server-name` in the credential."
)
_UNTRUSTED = (
    "The certificate of {server} is not signed by an authority that the credential trusts. Put the certificate "
    "authority of the cluster in `certificate-authority-data`, and check that the address belongs to your cluster."
)
_CLIENT = (
    "The server {server} does not accept the client certificate of the credential, or wants one where there is none. "
    "Replace the credential."
)
_NOT_TLS = "The server at {server} does not speak TLS. Correct the address or the port in the credential."
_LINK_LOCAL = (
    "The name of {server} stands for a link-local address or a metadata service of a cloud, where no cluster is. "
    "Nothing was sent. Correct the address in the credential."
)
_UNKNOWN_NAME = (
    "The name of {server} cannot be resolved. Correct the name in the credential, or the DNS of this machine."
)
_REFUSED = (
    "The server {server} refused the connection: nothing listens at this port. Start the API server, or correct "
    "the address in the credential."
)
_ROUTELESS = (
    "There is no route to {server}. Check the address in the credential, and the network and firewall between "
    "this machine and the cluster."
)
_NO_CONNECTION = "No connection to {server} could be made. Check the address in the credential, and the network."
_CONNECT_TIMEOUT = (
    "The server {server} did not accept a connection within {connect:g} s. Check that it is up, and the network and "
    "firewall between this machine and the cluster."
)
_READ_TIMEOUT = (
    "The server {server} accepted the connection and did not answer within {total:g} s. Check that the API server is "
    "healthy, then try again."
)
_BROKE = (
    "The connection to {server} broke before the answer was complete. Check the API server and the proxies in front "
    "of it, then try again."
)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, from the outermost to the innermost."""
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        inner = (found.__cause__, found.__context__, *found.args)
        waiting += [one for one in inner if isinstance(one, BaseException)]


def _explain_tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        code = error.verify_code
        return _OTHER if code in _OTHER_NAME else _CERTIFICATES.get(code, _UNTRUSTED)
    text = str(error).upper()
    if "WRONG_VERSION_NUMBER" in text or "HTTP_REQUEST" in text or "RECORD_LAYER" in text:
        return _NOT_TLS
    is_refused = "ALERT" in text and any(word in text for word in ("CERTIFICATE", "UNKNOWN_CA", "HANDSHAKE_FAILURE"))
    return _CLIENT if is_refused else _BROKE


def _explain_connection(causes: list[BaseException]) -> str:
    if any(isinstance(cause, LinkLocalError) for cause in causes):
        return _LINK_LOCAL
    if any(isinstance(cause, NameResolutionError) for cause in causes):
        return _UNKNOWN_NAME
    numbers = {cause.errno for cause in causes if isinstance(cause, OSError)}
    if errno.ECONNREFUSED in numbers:
        return _REFUSED
    if errno.ETIMEDOUT in numbers:
        return _CONNECT_TIMEOUT
    return _ROUTELESS if numbers & set(_NO_ROUTE) else _NO_CONNECTION


def explain_failure(error: HTTPError, *, server: str, connect: float, total: float) -> ClusterError:
    """Return the `ClusterError` for a request without an answer.

    - `NotSentError` if the request certainly never reached the server; a retry may help if `is_retryable`.
    - `connect` and `total` are the time limits for the connection and the whole request, in seconds.
    """
    causes = list(_causes(error))
    detail = str(causes[-1])[:1000]
    facts = {"server": server, "connect": connect, "total": total}
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    sentence = _BROKE if tls is None else _explain_tls(tls)
    if sentence != _BROKE:  # each of these ends a handshake: no server acts on a request after it
        return NotSentError(sentence.format(**facts), detail=detail)
    if isinstance(error, (NewConnectionError, NameResolutionError)):
        sentence = _explain_connection(causes)
        return NotSentError(sentence.format(**facts), is_retryable=sentence != _LINK_LOCAL, detail=detail)
    if isinstance(error, ConnectTimeoutError):
        return NotSentError(_CONNECT_TIMEOUT.format(**facts), is_retryable=True, detail=detail)
    if isinstance(error, ReadTimeoutError):
        return ClusterTimeoutError(_READ_TIMEOUT.format(**facts), detail=detail)
    return UnreachableError(_BROKE.format(**facts), detail=detail)
