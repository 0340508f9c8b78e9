"""An API server that misbehaves on request: the sandbox behind real sockets, every byte remembered.

`choose(seen, number)` names what goes wrong with a request (`PHASES`), `before(seen, number)` lets another actor
change live objects just before it arrives. Numbers count the requests since `begin`.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote

from applyviz.engine.objects.exchange import Answer, Request
from applyviz.sandbox.api.http import HttpFace, Response
from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from tests.faults.history import Exchange
from tests.faults.points import CUTS, REFUSED, UNTOUCHED

TOKEN = "a-token-that-only-these-tests-know"
_PATIENCE = 10.0


def _status(code: int, reason: str) -> bytes:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": reason,
    }
    return json.dumps(body).encode()


def _another(body: bytes) -> Any:
    """The answer about somebody else's object."""
    told = json.loads(body)
    if isinstance(told, dict) and isinstance(told.get("metadata"), dict):
        return {**told, "metadata": {**told["metadata"], "name": "somebody-elses", "uid": "another"}}
    return told


class ApiServer:
    """One API server over a sandbox in memory; use it as a context manager."""

    def __init__(
        self, *, durable: Callable[[str], tuple[str, ...] | None] = lambda place: (), delay: float = 0.0
    ) -> None:
        self.store = MemoryStore()
        self.sandbox = Sandbox(self.store, lambda: datetime.now(UTC))
        self.face = HttpFace(
            self.sandbox, lambda token: "applyviz" if token == TOKEN else None, lambda: datetime.now(UTC)
        )
        self.uid = str(self.act(Request("GET", "/api/v1/namespaces/kube-system")).body["metadata"]["uid"])
        self._start = (dict(self.store._objects), dict(self.store._meta))
        self.durable, self.delay = durable, delay
        self.lock = threading.RLock()
        self.exchanges: list[Exchange] = []
        self.number, self.generation = 0, 0
        self.choose: Callable[[Exchange, int], str] = lambda seen, number: ""
        self.before: Callable[[Exchange, int], None] = lambda seen, number: None
        self.http = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self) -> ApiServer:
        serve = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        serve.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()

    def begin(self) -> None:
        """A new cluster, nothing heard yet, nothing goes wrong."""
        with self.lock:
            self.store._objects, self.store._meta = dict(self._start[0]), dict(self._start[1])
            self.exchanges, self.number = [], 0
            self.generation += 1
            self.choose, self.before = lambda seen, number: "", lambda seen, number: None

    def act(self, request: Request) -> Answer:
        """Somebody else asks this server."""
        return self.sandbox.handle(request, user="somebody")

    def find(self, place: str) -> Any:
        """The stored object at an address, None when there is none."""
        answer = self.act(Request("GET", place))
        return answer.body if answer.is_ok and isinstance(answer.body, dict) and "metadata" in answer.body else None

    def wait_for_the_dead(self, standing: frozenset[Any]) -> None:
        """Until the server is done with all that killed clients sent; `standing`: connections of those who live."""
        with socket.create_connection(self.http.server_address[:2]) as knock:  # accepted after all that came before
            _wait_until(lambda: knock.getsockname() in self.http.served)
        _wait_until(lambda: self.http.served <= standing)

    def hear(self, method: str, target: str, content_type: str, raw: bytes) -> tuple[Exchange, str]:
        """Remember a request that arrived; tells what goes wrong with it."""
        path, _, query = target.partition("?")
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = {"unreadable": raw.decode("latin-1")}
        request = Request(method, unquote(path), dict(parse_qsl(query, keep_blank_values=True)), content_type, body)
        is_write = request.is_write and not request.is_dry_run
        seen = Exchange(self.uid, time.time(), method, request.path, request.query, content_type, body, is_write)
        intents = self.durable(seen.place) if is_write else ()
        with self.lock:
            seen.intents = intents
            self.number += 1
            number, before, choose = self.number, self.before, self.choose  # those that stood when it arrived
            self.exchanges.append(seen)
            before(seen, number)
            seen.phase = choose(seen, number)
            return seen, seen.phase

    def carry_out(self, seen: Exchange, target: str, headers: dict[str, str], raw: bytes) -> Response:
        """Act, and remember what it did to the stored object."""
        path, _, query = target.partition("?")
        if not seen.is_write:
            response = self.face.handle(seen.method, path, query, headers, raw)
            seen.status = response.status
            return response
        with self.lock:
            seen.before, revision = self.find(seen.place), self.store.revision()
            response = self.face.handle(seen.method, path, query, headers, raw)
            seen.status, seen.is_effective = response.status, self.store.revision() != revision
            seen.after = self.find(seen.place)
        return response


def _wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < deadline, "the server is not done with the requests of a client that was killed"
        time.sleep(0.002)


class _Server(ThreadingHTTPServer):
    """Says nothing of clients that were killed; `served` are the addresses of the connections that stand."""

    daemon_threads = True

    def __init__(self, *given: Any) -> None:
        self.served: set[Any] = set()
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note the connection before its thread starts."""
        self.served.add(client_address)
        super().process_request(request, client_address)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection to its end."""
        try:
            super().finish_request(request, client_address)
        finally:
            self.served.discard(client_address)

    def handle_error(self, *_: object) -> None:
        """A broken connection is what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    """One connection; `api` is the server it belongs to."""

    api: ApiServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.generation = self.api.generation

    def do(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        if len(raw) < length:  # its worker was killed while it sent the body: no server acts on half a request
            return self._cut()
        if self.generation != self.api.generation:  # what a killed worker of an earlier trial left in its socket
            return self._cut()
        seen, phase = self.api.hear(self.command, self.path, self.headers.get("Content-Type", ""), raw)
        if self.api.delay:
            time.sleep(self.api.delay)
        try:
            self._answer(seen, phase, raw)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        seen.answered = time.time()
        return None

    def _answer(self, seen: Exchange, phase: str, raw: bytes) -> None:
        if phase.startswith("cut before"):
            return self._cut()
        if phase == "silent":
            return self._wait_for_the_client()
        if phase in UNTOUCHED or phase in REFUSED:
            seen.status = 429 if phase == "429" else seen.status
            return self._refuse(phase)
        response = self.api.carry_out(seen, self.path, dict(self.headers.items()), raw)
        if phase == "cut after acting":
            return self._cut()
        if phase == "silent after acting":
            return self._wait_for_the_client()
        if phase in ("500 after", "504 after"):
            return self._send(int(phase[:3]), _status(int(phase[:3]), "the server failed"))
        return self._deliver(seen, phase, response)

    def _refuse(self, phase: str) -> None:
        if phase == "redirect":
            return self._send(307, b"", [("Location", "http://127.0.0.1:9/elsewhere")])
        code = int(phase[:3])
        return self._send(code, _status(code, f"refused with {code}"), [("Retry-After", "0")] if code == 429 else [])

    def _deliver(self, seen: Exchange, phase: str, response: Response) -> None:
        body = response.body
        odd = {
            "not JSON": b"<html>hello</html>",
            "half JSON": body[: len(body) // 2],
            "another object": json.dumps(_another(body)).encode(),
            "an empty body": b"",
        }
        if phase in odd:
            return self._send(response.status, odd[phase])
        if phase == "a gigabyte":
            return self._pour(response.status)
        head = f"HTTP/1.1 {response.status} OK\r\nContent-Type: application/json\r\n"
        length = len(body) + (7 if phase == "wrong length" else 0)
        raw = (head + f"Content-Length: {length}\r\n\r\n").encode() + body
        ends = {
            "cut in the status line": 5,
            "cut in the headers": len(head) + 4,
            "cut in the body": len(raw) - len(body) // 2,
            "cut before the last byte": len(raw) - 1,
            **{cut: len(raw) * int(cut.split()[2]) // 100 for cut in CUTS},
        }
        if phase == "a byte now and then":
            return self._drip(raw)
        self.wfile.write(raw[: ends.get(phase, len(raw))] * (2 if phase == "answered twice" else 1))
        seen.is_delivered = phase in ("", "answered twice")
        return self._cut() if phase else None

    def _pour(self, status: int) -> None:
        """More than anybody wants to keep, all of it white space before a JSON value."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(1 << 30))
        self.end_headers()
        for _ in range(1 << 10):
            self.wfile.write(b" " * (1 << 20))
        self._cut()

    def _drip(self, raw: bytes) -> None:
        until = time.monotonic() + _PATIENCE
        for number in range(len(raw)):
            if time.monotonic() > until:
                break
            self.wfile.write(raw[number : number + 1])
            time.sleep(0.1)
        self._cut()

    def _wait_for_the_client(self) -> None:
        """A connection that stands and says nothing, until the other end has had enough."""
        self.connection.settimeout(_PATIENCE)
        with suppress(OSError):
            self.connection.recv(1)
        self._cut()

    def _send(self, status: int, body: bytes, headers: list[tuple[str, str]] | None = None) -> None:
        self.send_response(status)
        for name, value in headers or []:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _cut(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            self.close_connection = True

    # The standard library asks for these names.
    do_GET = do_PATCH = do_POST = do_PUT = do_DELETE = do  # noqa: N815 - names of the standard library

    def log_message(self, *_: object) -> None:
        """Nothing: the exchanges tell."""
