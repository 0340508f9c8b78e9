"""A recording proxy: plain HTTP on loopback for kubectl, TLS to the API server behind it, every exchange kept.

The program that stands in for kubectl announces each invocation under `ANNOUNCE`, so that exchanges are told apart.
Discovery and OpenAPI documents are passed on but not kept: they are the same in every story.
"""

from __future__ import annotations

import http.client
import http.server
import json
import ssl
import threading
import urllib.parse
from types import TracebackType
from typing import Any, Self

from tests.controlplane.controlplane import ADMIN_TOKEN, ControlPlane

ANNOUNCE = "/-/invocation"
_OWN_HEADERS = ("host", "accept-encoding", "connection", "authorization", "content-length", "transfer-encoding")
_MOST_TEXT = 2_000
JSONObject = dict[str, Any]


class Recorder:
    """The proxy and what went through it; use it as a context manager."""

    def __init__(self, plane: ControlPlane) -> None:
        self.port = int(plane.url.rpartition(":")[2])
        self.context = ssl.create_default_context(cadata=plane.authority.decode())
        self.exchanges: list[JSONObject] = []
        self.invocations: list[JSONObject] = []
        self.lock = threading.Lock()
        self._server = _Server(self)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where kubectl is to be pointed at."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def take(self) -> tuple[list[JSONObject], list[JSONObject]]:
        """Invocations and exchanges since the last time, in order."""
        with self.lock:
            taken = self.invocations, self.exchanges
            self.invocations, self.exchanges = [], []
        return taken

    def announce(self, invocation: JSONObject) -> None:
        """A kubectl starts."""
        with self.lock:
            self.invocations.append(invocation)

    def keep(self, exchange: JSONObject) -> None:
        """An exchange of the kubectl that started last."""
        with self.lock:
            self.exchanges.append({"invocation": len(self.invocations) - 1, **exchange})


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.recorder = recorder


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == ANNOUNCE:
            self.server.recorder.announce(json.loads(body))
            self._answer(204, [], b"")
            return
        recorder = self.server.recorder
        server = http.client.HTTPSConnection("127.0.0.1", recorder.port, context=recorder.context, timeout=60)
        sent = {k: v for k, v in self.headers.items() if k.lower() not in _OWN_HEADERS}
        server.request(self.command, self.path, body or None, {**sent, "Authorization": f"Bearer {ADMIN_TOKEN}"})
        response = server.getresponse()
        is_watch = "watch" in urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        answered = b"" if is_watch else response.read()
        content_type = self.headers.get("Content-Type") or ""
        recorder.keep(describe(self.command, self.path, content_type, body, response, answered))
        kept = [(k, v) for k, v in response.getheaders() if k.lower() not in _OWN_HEADERS]
        if is_watch:
            self._stream(response, kept)
        else:
            self._answer(response.status, kept, answered)
        server.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self, response: http.client.HTTPResponse, headers: list[tuple[str, str]]) -> None:
        self.send_response(response.status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while part := response.read1(65_536):
                self.wfile.write(part)
                self.wfile.flush()
        except OSError:  # one side has had enough of the watch
            return

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any  # noqa: N815 - named so by the library

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is told: the exchanges are the record."""


def describe(
    method: str, target: str, content_type: str, body: bytes, response: http.client.HTTPResponse, answered: bytes
) -> JSONObject:
    """One exchange in the format of the recorded stories (`tests/conformance/README.md`)."""
    parts = urllib.parse.urlsplit(target)
    query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    told: JSONObject = {"method": method, "path": parts.path, "query": query}
    if content_type:
        told["content_type"] = content_type
    if body:
        told |= _describe_text("body", body)
    told["status"] = response.status
    warnings = [value for name, value in response.getheaders() if name.lower() == "warning"]
    if warnings:
        told["warnings"] = warnings
    if "watch" in query:
        return {**told, "watch": True}
    if is_discovery(method, parts.path):
        return {**told, "discovery": True}
    return told | _describe_text("response", answered, most=_MOST_TEXT)


def is_discovery(method: str, path: str) -> bool:
    """Whether a request only asks which kinds there are."""
    steps = path.strip("/").split("/")
    if steps[0] in ("openapi", "version"):
        return True
    return method == "GET" and steps[0] in ("api", "apis") and len(steps) <= (2 if steps[0] == "api" else 3)


def _describe_text(name: str, data: bytes, *, most: int | None = None) -> JSONObject:
    """A body parsed; as text when it is no JSON, and beside it when parsing loses something."""
    lost: list[str] = []

    def read_pairs(pairs: list[tuple[str, Any]]) -> JSONObject:
        if len(dict(pairs)) != len(pairs):
            lost.append("a duplicate key")
        return dict(pairs)

    def read_float(text: str) -> float:
        lost.append(text)
        return float(text)

    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text, object_pairs_hook=read_pairs, parse_float=read_float)
    except ValueError:
        return {f"{name}_text": text[:most]}
    return {name: value, f"{name}_raw": text} if lost else {name: value}
