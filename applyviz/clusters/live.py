"""A live API server: raw requests over the pool of the `kubernetes` client, without its typed API.

The client provides kubeconfigs, rotating tokens, TLS and proxies; this module adds the limits: no redirect is followed,
one deadline per request, bounded answers, `Retry-After` of 429 honored within a budget. A write is sent again only if
the server said that it did not accept it, or if the connection was never established.
"""

from __future__ import annotations

import base64
import copy
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import urllib3
from kubernetes import client, config
from kubernetes.client.rest import RESTClientObject
from msgspec import Struct
from urllib3 import HTTPHeaderDict
from urllib3.exceptions import HTTPError

from applyviz import __version__
from applyviz.clusters import own_connection
from applyviz.clusters.answers import read_body
from applyviz.clusters.deadlines import install_deadline
from applyviz.clusters.failures import explain_failure
from applyviz.clusters.identity import Identity
from applyviz.clusters.kubeconfig import Credential
from applyviz.clusters.request_guard import check_request
from applyviz.clusters.server_clock import read_date
from applyviz.engine.objects.errors import ClusterError, ClusterTimeoutError, UnreachableError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.json_text import write_json

_WARNING = re.compile(r'[0-9]{3} \S+ "((?:[^"\\]|\\.)*)"')
_CHUNK = 256 * 1024
# The number of concurrent requests of a run; with fewer, each further connection would be opened and closed again.
_CONNECTIONS = 32
# The two discovery requests that return everything; servers older than 1.30 answer in the second form.
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


class RequestLimits(Struct, frozen=True):
    """Limits of one request: seconds to connect and in total, bytes of the answer, budget for `Retry-After`."""

    connect: float = 5.0
    total: float = 30.0
    max_bytes: int = 64 * 1024 * 1024
    max_wait: float = 10.0
    max_attempts: int = 4


def read_warnings(header: str) -> tuple[str, ...]:
    """Return the texts of a Warning header (RFC 9111, code 299 from an API server)."""
    return tuple(re.sub(r"\\(.)", r"\1", text) for text in _WARNING.findall(header))


def _accept(request: Request) -> str:
    return AGGREGATED if request.path in ("/api", "/apis") else "application/json"


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        return max(0.0, float(headers.get("Retry-After", "0")))
    except ValueError:
        return 0.0


class LiveTransport:
    """Carries requests to one API server; several threads may use it."""

    def __init__(
        self,
        configuration: Any,
        *,
        limits: RequestLimits | None = None,
        folder: tempfile.TemporaryDirectory[str] | None = None,
        is_routed: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._configuration = configuration
        configuration.connection_pool_maxsize = _CONNECTIONS
        self._rest = RESTClientObject(configuration)
        self._pool: urllib3.PoolManager = self._rest.pool_manager
        install_deadline(self._pool, is_routed=is_routed)
        self._limits = limits or RequestLimits()
        self._folder = folder
        self._sleep, self._clock = sleep, clock
        self._acting: tuple[tuple[str, str], ...] = ()

    @property
    def server(self) -> str:
        """The address of the server."""
        return str(self._configuration.host)

    def send(self, request: Request) -> Answer:
        """Send one request; retry a 429 with `Retry-After` within the budget.

        - Raises `NotSentError` for a path that applyviz did not build.
        """
        check_request(request)
        waited = 0.0
        for _ in range(self._limits.max_attempts - 1):
            answer = self._send_once(request)
            wait = answer.retry_after or 1.0
            if answer.status != 429 or waited + wait > self._limits.max_wait:
                return answer
            waited += wait
            self._sleep(wait)
        return self._send_once(request)

    def acting_as(self, identity: Identity) -> Self:
        """Return the same connections, with the headers of an impersonated identity on every request."""
        twin = copy.copy(self)
        twin._acting = identity.list_headers()
        return twin

    def close(self) -> None:
        """Close the connections; remove the files of a client certificate."""
        self._pool.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def _headers(self, request: Request) -> HTTPHeaderDict:
        headers = HTTPHeaderDict({"Accept": _accept(request), "User-Agent": f"applyviz/{__version__}"})
        if request.content_type:
            headers["Content-Type"] = request.content_type
        for setting in self._configuration.auth_settings().values():
            headers[setting["key"]] = setting["value"]
        for name, value in self._acting:
            headers.add(name, value)
        return headers

    def _send_once(self, request: Request) -> Answer:
        body = None if request.body is None else write_json(request.body)
        url = self.server.rstrip("/") + request.path
        if request.query:
            url += "?" + urlencode(request.query)
        deadline = self._clock() + self._limits.total
        try:
            response = self._pool.request(
                request.method,
                url,
                body=body,
                headers=self._headers(request),
                redirect=False,
                retries=False,
                preload_content=False,
                timeout=urllib3.Timeout(connect=self._limits.connect, read=self._limits.total),
            )
            try:
                raw = self._read(response, deadline)
            finally:
                response.release_conn()
        except HTTPError as error:
            limits = self._limits
            raise explain_failure(error, server=self.server, connect=limits.connect, total=limits.total) from error
        return self._answer(request, response, raw)

    def _read(self, response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while chunk := response.read1(_CHUNK, decode_content=True):
            parts.append(chunk)
            size += len(chunk)
            if size > self._limits.max_bytes:
                response.close()
                raise UnreachableError(f"the answer is larger than {self._limits.max_bytes} bytes", response.status)
            if self._clock() > deadline:
                response.close()
                raise ClusterTimeoutError(f"the answer took longer than {self._limits.total:g} s")
        return b"".join(parts)

    def _answer(self, request: Request, response: urllib3.BaseHTTPResponse, raw: bytes) -> Answer:
        if 300 <= response.status < 400:
            raise ClusterError(
                "the server redirects to another address, and redirects are never followed", response.status
            )
        warnings = read_warnings(", ".join(response.headers.getlist("Warning")))
        body = read_body(response.status, raw, is_object=not request.path.startswith("/openapi/"))
        at = read_date(response.headers.get("Date", ""))
        return Answer(response.status, body, warnings, _retry_after(response.headers), at)


def _write_private(folder: Path, name: str, data: str) -> str:
    path = folder / name
    path.touch(mode=0o600)
    path.write_bytes(base64.b64decode(data))
    return str(path)


def from_credential(credential: Credential) -> LiveTransport:
    """Return a transport for a checked upload.

    - A client certificate is written to a private folder, because TLS reads it only from files; `close` removes it.
    """
    folder = None
    made = client.Configuration(host=credential.server)
    made.verify_ssl = True
    made.proxy = None
    if credential.token:
        made.api_key["authorization"] = f"Bearer {credential.token}"
    if credential.tls_server_name:
        made.tls_server_name = credential.tls_server_name
    if credential.ca_data:
        # TLS reads text of ASCII only; comments between the certificates of a bundle may be in any language.
        made.ca_cert_data = base64.b64decode(credential.ca_data).decode("ascii", "ignore")
    if credential.client_certificate_data:
        folder = tempfile.TemporaryDirectory(prefix="applyviz-")
        made.cert_file = _write_private(Path(folder.name), "tls.crt", credential.client_certificate_data)
        made.key_file = _write_private(Path(folder.name), "tls.key", credential.client_key_data)
    return LiveTransport(made, folder=folder, is_routed=True)


def from_own_context(context: str = "", *, path: str = "") -> LiveTransport:
    """Return a transport for a context of this process's own kubeconfig (`KUBECONFIG`, else `~/.kube/config`).

    - Only for clusters that an administrator added on this machine, because its plugins run.
    """
    made, folder = own_connection.load_context(context, given=path)
    return LiveTransport(made, folder=folder)


def from_service_account() -> LiveTransport:
    """Return a transport for the service account of this process's pod; its token is re-read."""
    made = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=made)
    except config.ConfigException as error:
        raise ClusterError(f"this process does not run in a cluster: {error}") from error
    return LiveTransport(made)
