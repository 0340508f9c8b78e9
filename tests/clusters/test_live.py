"""A live API server over HTTP: what is sent, what comes back, and what is refused."""

import json
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from kubernetes import client

from applyviz.clusters.errors import NotSentError
from applyviz.clusters.live import LiveTransport, RequestLimits, read_warnings
from applyviz.engine.objects.errors import ClusterError, ClusterTimeoutError, UnreachableError
from applyviz.engine.objects.exchange import APPLY_PATCH, Request

PATH = "/api/v1/namespaces/shop/configmaps/settings"


class Server:
    """A tiny server that answers what the test tells it, and keeps what it was asked."""

    def __init__(self):
        self.seen, self.answers = [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self):
                size = int(self.headers.get("Content-Length") or 0)
                outer.seen.append(
                    (self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, self.rfile.read(size))
                )
                outer.answers.pop(0)(self) if outer.answers else reply(200, {})(self)

            # The standard library asks for these names.
            do_GET = do_PATCH = do_POST = do_DELETE = do_PUT = do  # noqa: N815 - names of the standard library

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def reply(status, body, headers=(), length=None):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    def _reply(handler):
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(length if length is not None else len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)
        if length is not None:
            handler.close_connection = True

    return _reply


@pytest.fixture
def server():
    served = Server()
    yield served
    served.close()


def connect(server, **limits):
    made = client.Configuration(host=server if isinstance(server, str) else server.url)
    made.proxy = None
    made.api_key["authorization"] = "Bearer t0ken"
    waits = []
    transport = LiveTransport(
        made, limits=RequestLimits(**{"connect": 1.0, "total": 2.0, **limits}), sleep=waits.append
    )
    transport.waits = waits  # type: ignore[attr-defined]  # for the test that made it
    return transport


def test_request_is_sent_as_it_is(server):
    server.answers.append(reply(201, {"kind": "ConfigMap"}, [("Warning", '299 - "old version"')]))
    request = Request("PATCH", PATH, {"fieldManager": "a b", "force": "false"}, APPLY_PATCH, {"ü": [1, 1.0, None]})

    answer = connect(server).send(request)

    method, path, headers, body = server.seen[0]
    assert (method, path) == ("PATCH", PATH + "?fieldManager=a+b&force=false")
    assert (headers["content-type"], headers["authorization"]) == (APPLY_PATCH, "Bearer t0ken")
    assert headers["user-agent"].startswith("applyviz/")
    assert body == '{"ü":[1,1.0,null]}'.encode()
    assert (answer.status, answer.body, answer.warnings) == (201, {"kind": "ConfigMap"}, ("old version",))


@pytest.mark.parametrize(("header", "day"), [("Thu, 20 Aug 2026 12:00:00 GMT", 20), ("soon", None)])
def test_answer_says_what_time_it_is_for_the_server(server, monkeypatch, header, day):
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda handler, timestamp=None: header)

    answer = connect(server).send(Request("GET", PATH))

    assert answer.at == (day and datetime(2026, 8, day, 12, tzinfo=UTC))


def test_discovery_asks_for_the_aggregated_form(server):
    connect(server).send(Request("GET", "/apis"))
    connect(server).send(Request("GET", PATH))

    assert "apidiscovery.k8s.io" in server.seen[0][2]["accept"]
    assert server.seen[1][2]["accept"] == "application/json"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_never_followed(server, status):
    server.answers.append(reply(status, b"", [("Location", server.url + "/elsewhere")]))

    with pytest.raises(ClusterError, match="never followed"):
        connect(server).send(Request("GET", PATH))
    assert len(server.seen) == 1


def test_overload_is_waited_for_within_the_budget(server):
    server.answers += [
        reply(429, {}, [("Retry-After", "2")]),
        reply(429, {}, [("Retry-After", "3")]),
        reply(200, {"a": 1}),
    ]
    transport = connect(server)

    assert transport.send(Request("GET", PATH)).body == {"a": 1}
    assert transport.waits == [2.0, 3.0]


@pytest.mark.parametrize("after", ["999999", "60"])
def test_overload_beyond_the_budget_is_an_answer(server, after):
    server.answers.append(reply(429, {"kind": "Status", "message": "slow down"}, [("Retry-After", after)]))
    transport = connect(server)

    assert transport.send(Request("GET", PATH)).status == 429
    assert transport.waits == []


@pytest.mark.parametrize("after", ["soon", "", "-5", "Fri, 31 Dec 2027 23:59:59 GMT"])
def test_unreadable_retry_after_waits_a_second(server, after):
    server.answers += [reply(429, {}, [("Retry-After", after)]), reply(200, {})]
    transport = connect(server)

    assert transport.send(Request("GET", PATH)).status == 200
    assert transport.waits == [1.0]


def test_refusal_is_an_answer(server):
    server.answers.append(reply(409, {"kind": "Status", "reason": "Conflict", "message": "modified"}))

    answer = connect(server).send(Request("PATCH", PATH, {}, APPLY_PATCH, {}))

    assert (answer.status, answer.reason, answer.message) == (409, "Conflict", "modified")


def test_error_page_of_a_gateway_keeps_its_text_out(server):
    server.answers.append(reply(502, b"<html>secret internals</html>"))

    answer = connect(server).send(Request("GET", PATH))

    assert (answer.status, answer.message) == (502, "the server answered 502 without a Status")


def test_success_that_is_no_json_is_no_answer(server):
    server.answers.append(reply(200, b"<html>"))

    with pytest.raises(UnreachableError, match="not JSON"):
        connect(server).send(Request("GET", PATH))


def test_cut_answer_is_no_answer(server):
    server.answers.append(reply(200, b'{"a": 1', length=5_000))

    with pytest.raises(UnreachableError) as raised:
        connect(server).send(Request("PATCH", PATH, {}, APPLY_PATCH, {}))
    assert not isinstance(raised.value, NotSentError)


def _say(raw, pause=0.0):
    """Bytes as they are, then the end of the connection; a pause after each byte, if one is given."""

    def _reply(handler):
        for part in (raw,) if not pause else (raw[n : n + 1] for n in range(len(raw))):
            handler.wfile.write(part)
            time.sleep(pause)
        handler.close_connection = True

    return _reply


WHOLE = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"kind": "A"}'


def test_answer_cut_at_any_byte_is_no_answer(server):
    server.answers += [_say(WHOLE[:end]) for end in range(len(WHOLE))] + [_say(WHOLE)]
    transport = connect(server)

    for end in range(len(WHOLE)):
        with pytest.raises(UnreachableError) as raised:
            transport.send(Request("PATCH", PATH, {}, APPLY_PATCH, {}))
        assert not isinstance(raised.value, NotSentError), end
    assert transport.send(Request("PATCH", PATH, {}, APPLY_PATCH, {})).body == {"kind": "A"}
    assert len(server.seen) == len(WHOLE) + 1


@pytest.mark.parametrize("is_in_the_body", [False, True], ids=["from the first byte", "in the body"])
def test_answer_that_comes_byte_by_byte_ends_with_its_time(server, is_in_the_body):
    head = WHOLE.replace(b"Content-Length: 13", b"Content-Length: 999") if is_in_the_body else b""
    began = time.monotonic()

    server.answers.append(lambda handler: (handler.wfile.write(head), _say((WHOLE + b" " * 900)[:99], 0.1)(handler)))
    with pytest.raises(ClusterTimeoutError):
        connect(server, total=0.5).send(Request("GET", PATH))

    assert time.monotonic() - began < 9


def test_large_answer_is_refused(server):
    server.answers.append(reply(200, {"a": "x" * 5_000}))

    with pytest.raises(UnreachableError, match="larger than 1000 bytes"):
        connect(server, max_bytes=1_000).send(Request("GET", PATH))


def test_silent_server_is_a_timeout(server):
    gone = threading.Event()
    server.answers.append(lambda handler: gone.wait(5))
    try:
        with pytest.raises(ClusterTimeoutError):
            connect(server, total=0.2).send(Request("GET", PATH))
    finally:
        gone.set()


def test_no_connection_is_known_as_not_sent():
    with pytest.raises(NotSentError) as raised:
        connect("http://127.0.0.1:1").send(Request("PATCH", PATH, {}, APPLY_PATCH, {}))

    assert raised.value.is_retryable


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        ("", ()),
        ('299 - "a"', ("a",)),
        ('299 - "a, b", 299 - "c \\"d\\""', ("a, b", 'c "d"')),
        (
            '299 kube-apiserver "policy/v1beta1 is deprecated" "Sat, 01 Jan 2028 00:00:00 GMT"',
            ("policy/v1beta1 is deprecated",),
        ),
        ("garbage", ()),
    ],
)
def test_warnings_are_read(header, texts):
    assert read_warnings(header) == texts
