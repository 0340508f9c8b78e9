"""Servers that give no answer: each failure has its own sentence, and says whether anything can have been done."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from applyviz.clusters import facts, live
from applyviz.clusters.errors import NotSentError
from applyviz.clusters.kubeconfig import Credential
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ClusterError, ClusterTimeoutError, UnreachableError
from applyviz.engine.objects.exchange import Request
from tests.ports import free_port
from tests.sources.servers import Authority, make_authority, reply, serving

ANSWERS = {"/version": reply(200, b"{}")}


@pytest.fixture
def authority(tmp_path) -> Authority:
    return make_authority(tmp_path)


def fail(server: str, authority: Authority) -> ClusterError:
    trusted = base64.b64encode(authority.file.read_bytes()).decode()
    transport = live.from_credential(Credential(server, trusted, token="t0ken"))
    transport._limits = live.RequestLimits(connect=0.5, total=0.5)
    try:
        with pytest.raises(ClusterError) as raised:
            transport.send(Request("GET", "/version"))
    finally:
        transport.close()
    assert "t0ken" not in f"{raised.value} {raised.value.detail}"
    return raised.value


def check(error: ClusterError, kind: type[ClusterError], server: str, *told: str) -> None:
    assert type(error) is kind
    assert [text for text in (server, *told) if text not in error.reason] == []
    assert error.reason[0].isupper()
    assert error.reason.endswith(".")
    assert [text for text in ("SSL", "Errno", "_ssl", "GET ") if text in error.reason] == []


@contextmanager
def listening() -> Iterator[str]:
    """A port that takes connections and never says anything."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"


def test_expired_certificate(authority):
    with serving(ANSWERS, authority.context("127.0.0.1", days=30)) as served:
        server = f"https://127.0.0.1:{served.port}"
        error = fail(server, authority)

    check(error, NotSentError, server, "has expired", "Renew")
    assert isinstance(error, NotSentError)
    assert (error.is_retryable, "certificate has expired" in error.detail) == (False, True)


def test_certificate_of_another_authority(authority, tmp_path):
    (tmp_path / "other").mkdir()
    with serving(ANSWERS, make_authority(tmp_path / "other").context("127.0.0.1")) as served:
        server = f"https://127.0.0.1:{served.port}"
        error = fail(server, authority)

    check(error, NotSentError, server, "not signed by an authority", "`certificate-authority-data`")


def test_certificate_for_another_name(authority):
    with serving(ANSWERS, authority.context("127.0.0.1")) as served:
        server = f"https://localhost:{served.port}"
        error = fail(server, authority)

    check(error, NotSentError, server, "is for another name", "`tls-server-name`")


def test_refused_client_certificate(authority):
    demanding = authority.context("127.0.0.1")
    demanding.maximum_version = ssl.TLSVersion.TLSv1_2  # there the alert comes before the request is sent
    demanding.verify_mode = ssl.CERT_REQUIRED
    with serving(ANSWERS, demanding) as served:
        server = f"https://127.0.0.1:{served.port}"
        error = fail(server, authority)

    check(error, NotSentError, server, "client certificate", "Replace the credential")


def test_port_that_speaks_no_tls(authority):
    def speak(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with serving({"": speak}) as served:
        server = f"https://127.0.0.1:{served.port}"
        error = fail(server, authority)

    assert type(error) in (NotSentError, UnreachableError)
    assert server in error.reason


def test_nothing_listens(authority):
    server = f"https://127.0.0.1:{free_port()}"

    error = fail(server, authority)

    check(error, NotSentError, server, "refused the connection", "Start the API server")
    assert isinstance(error, NotSentError)
    assert (error.is_retryable, "refused" in error.detail) == (True, True)


def test_server_that_never_answers(authority):
    with listening() as server:
        error = fail(server, authority)

    check(error, ClusterTimeoutError, server, "did not answer within 0.5 s")


def test_name_that_nobody_knows(authority):
    server = "https://no-such-host.invalid:6443"

    check(fail(server, authority), NotSentError, server, "cannot be resolved", "DNS")


@pytest.mark.parametrize("number", [113, 101])
def test_address_without_a_route(authority, monkeypatch, number):
    def refuse(*_given: object, **_named: object) -> None:
        raise OSError(number, "no way")

    monkeypatch.setattr("urllib3.util.connection.create_connection", refuse)
    server = "https://10.255.0.1:6443"

    check(fail(server, authority), NotSentError, server, "no route", "firewall")


def test_connection_that_nobody_accepts(authority, monkeypatch):
    def wait(*_given: object, **_named: object) -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr("urllib3.util.connection.create_connection", wait)
    server = "https://10.255.0.1:6443"

    check(fail(server, authority), NotSentError, server, "did not accept a connection within 0.5 s")


def test_connection_that_breaks_may_have_carried_the_request(authority):
    cut = {"/version": reply(200, b"{", Content_Length="99")}
    with serving(cut, authority.context("127.0.0.1")) as served:
        server = f"https://127.0.0.1:{served.port}"
        error = fail(server, authority)

    check(error, UnreachableError, server, "broke before the answer was complete")


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254"])
def test_name_that_stands_for_a_link_local_address(authority, monkeypatch, address):
    """The name was harmless when the kubeconfig was taken; where it leads is looked at on every connection."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = [(family, socket.SOCK_STREAM, 6, "", (address, 6443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_given, **_named: found)
    server = "https://api.internal.example:6443"

    error = fail(server, authority)

    check(error, NotSentError, server, "link-local", "Nothing was sent")
    assert isinstance(error, NotSentError)
    assert not error.is_retryable


def test_name_that_changes_between_looking_and_connecting(authority, monkeypatch):
    class Peer:
        closed = False

        def getpeername(self) -> tuple[str, int]:
            return "169.254.169.254", 6443

        def close(self) -> None:
            self.closed = True

    peer = Peer()
    monkeypatch.setattr("urllib3.util.connection.create_connection", lambda *_given, **_named: peer)

    error = fail("https://127.0.0.1:6443", authority)

    assert ("link-local" in error.reason, peer.closed) == (True, True)


_PAGE = b"<html><body><h1>504 Gateway Time-out</h1><p>nginx t0ken</p></body></html>"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (reply(401, b'{"kind": "Status", "message": "Unauthorized"}'), "does not accept the credential (401)"),
        (reply(403, b'{"kind": "Status", "message": "forbidden"}'), "may not read /version"),
        (reply(429, b"", Retry_After="60"), "answered 429 Too Many Requests"),
        (reply(502, _PAGE, Content_Type="text/html"), "answered 502 Bad Gateway"),
        (reply(503, b'{"kind": "Status", "message": "etcd"}'), "answered 503 Service Unavailable"),
        (reply(504, _PAGE, Content_Type="text/html"), "answered 504 Gateway Timeout"),
        (reply(200, _PAGE, Content_Type="text/html"), "is not a Kubernetes API server"),
        (reply(302, b"", Location="https://login.example.org/"), "redirects to another address"),
        (reply(404, _PAGE, Content_Type="text/html"), "is not a Kubernetes API server"),
    ],
    ids=["401", "403", "429", "502-html", "503", "504-html", "200-html", "302", "404-html"],
)
def test_answer_that_is_no_kubernetes_answer_has_its_own_sentence(authority, answer, told):
    with serving({"/version": answer, facts.KUBE_SYSTEM_PATH: answer}, authority.context("127.0.0.1")) as served:
        server = served.url("127.0.0.1", "")
        trusted = base64.b64encode(authority.file.read_bytes()).decode()
        transport = live.from_credential(Credential(server, trusted, token="t0ken"))
        reader = ClusterReader(transport)
        with pytest.raises(ClusterError) as raised:
            facts.require_same(reader, uid="", server=server, name="shop")
        reader.close()

    error = raised.value
    assert [text for text in (server, told) if text not in error.reason] == []
    assert (error.reason[0].isupper(), error.reason[-1]) == (True, ".")
    assert [text for text in ("<", "t0ken", "nginx") if text in error.reason] == []
