"""Links: what is connected to, what is refused, what is said; one test per way in that others left open."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources import pinned as fetching
from applyviz.sources.bundle import BundledFile
from applyviz.sources.pinned import FetchPolicy
from applyviz.sources.url import fetch
from tests.sources.servers import Authority, Server, make_authority, reply, serving

BODY = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


def policy_for(*servers: Server, host: str = "localhost", ca: Path | None = None, seconds: float = 3.0) -> FetchPolicy:
    origins = tuple(f"{server.scheme}://{host}:{server.port}" for server in servers)
    return FetchPolicy(
        internal=origins, ca_file=str(ca or ""), max_bytes=100_000, total_seconds=seconds, failure_seconds=0.0
    )


def fetch_now(url: str, policy: FetchPolicy, resolver: fetching.Resolver = fetching.resolve_name) -> BundledFile:
    return fetch(url, policy=policy, now=NOW, resolver=resolver)


def refusal(url: str, policy: FetchPolicy, resolver: fetching.Resolver = fetching.resolve_name) -> str:
    with pytest.raises(SourceError) as caught:
        fetch_now(url, policy, resolver)
    return str(caught.value)


def test_fetch_freezes_bytes_with_provenance() -> None:
    with serving({"/m.yaml": reply(200, BODY, Content_Type="text/yaml")}) as server:
        file = fetch_now(server.url(), policy_for(server))

    assert (file.name, file.data) == ("m.yaml", BODY)
    assert file.provenance == {
        "from": "link",
        "url": server.url(),
        "final_url": server.url(),
        "fetched_at": NOW,
        "content_type": "text/yaml",
    }


def test_page_of_a_file_is_fetched_in_its_raw_form() -> None:
    with serving({"/group/app/-/raw/main/m.yaml": reply(200, BODY)}) as server:
        page = server.url(path="/group/app/-/blob/main/m.yaml")
        file = fetch_now(page, policy_for(server))

    raw = server.url(path="/group/app/-/raw/main/m.yaml")
    assert (file.name, file.data) == ("m.yaml", BODY)
    assert [file.provenance[name] for name in ("url", "raw_url", "final_url")] == [page, raw, raw]


def test_fetch_sends_no_credentials_and_asks_for_plain_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine localhost login alice password canary\n")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NETRC", str(netrc))

    with serving({"/m.yaml": reply(200, BODY)}) as server:
        fetch_now(server.url(), policy_for(server))

    (request,) = server.requests
    assert request.decode().split("\r\n") == [
        "GET /m.yaml HTTP/1.1",
        f"Host: localhost:{server.port}",
        "Accept-Encoding: identity",
        "Accept: */*",
        "User-Agent: applyviz",
        "",
        "",
    ]


def test_fetch_over_tls_keeps_the_name_and_connects_to_the_vetted_address(authority: Authority) -> None:
    with serving({"/m.yaml": reply(200, BODY)}, authority.context("git.internal")) as server:
        policy = policy_for(server, host="git.internal", ca=authority.file)
        file = fetch_now(server.url("git.internal"), policy, lambda _host, _port: ("127.0.0.1",))

    assert file.data == BODY
    assert f"Host: git.internal:{server.port}".encode() in server.requests[0]


def test_fetch_refuses_a_certificate_for_another_name(authority: Authority) -> None:
    with serving({"/m.yaml": reply(200, BODY)}, authority.context("other.internal")) as server:
        policy = policy_for(server, host="git.internal", ca=authority.file)
        said = refusal(server.url("git.internal"), policy, lambda _host, _port: ("127.0.0.1",))

    assert said == "the certificate of git.internal is not trusted"
    assert server.requests == []


def test_fetch_refuses_an_unknown_authority(authority: Authority) -> None:
    with serving({"/m.yaml": reply(200, BODY)}, authority.context("localhost")) as server:
        assert refusal(server.url(), policy_for(server)) == "the certificate of localhost is not trusted"


INSIDE = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "0.0.0.0",
    "0",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:10.0.0.1]",
    "[::127.0.0.1]",
    "[::169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::10.0.0.1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[100::1]",
    "[2600:1f18::5efe:a9fe:a9fe]",
]


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every address that a connection is tried to; none is made."""
    tried: list[object] = []

    def refuse(address: object, *_rest: object, **_named: object) -> socket.socket:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    return tried


@pytest.mark.parametrize("host", INSIDE)
def test_fetch_never_connects_to_an_inside_address(host: str, connections: list[object]) -> None:
    said = refusal(f"https://{host}/", FetchPolicy(failure_seconds=0.0))

    assert said == f"nothing could be fetched from {host.strip('[]').rstrip('.').lower()}"
    assert connections == []


@pytest.mark.parametrize(
    "addresses",
    [
        ("93.184.216.34", "127.0.0.1"),
        ("127.0.0.1", "93.184.216.34"),
        ("93.184.216.34", "::1"),
        ("2606:2800:220:1::1", "fe80::1"),
        ("93.184.216.34", "64:ff9b::a9fe:a9fe"),
        ("93.184.216.34", "not an address"),
        ("fe80::1%eth0",),
        (),
    ],
)
def test_fetch_refuses_a_name_with_one_inside_address(addresses: tuple[str, ...], connections: list[object]) -> None:
    said = refusal("https://rebind.example/", FetchPolicy(failure_seconds=0.0), lambda _h, _p: addresses)

    assert said == "nothing could be fetched from rebind.example"
    assert connections == []


def test_fetch_resolves_once_and_connects_to_what_was_vetted(connections: list[object]) -> None:
    answers = iter([("93.184.216.34",), ("127.0.0.1",)])

    refusal("https://rebind.example/", FetchPolicy(failure_seconds=0.0), lambda _h, _p: next(answers))

    assert connections == [("93.184.216.34", 443)]
    assert next(answers) == ("127.0.0.1",)


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("http://example.com/", "only https links are fetched"),
        ("ftp://example.com/", "only https links are fetched"),
        ("file:///etc/passwd", "the host of the link is not written as a plain name or address"),
        ("gopher://127.0.0.1:6379/_x", "only https links are fetched"),
        ("https://example.com:8443/", "only links to port 443 are fetched"),
        ("https://example.com:99999/", "this is not a link"),
        ("https://alice:secret@example.com/", "a link with a user name or password is not fetched"),
        ("https://example.com@127.0.0.1/", "a link with a user name or password is not fetched"),
        ("https://exa mple.com/", "the link contains spaces, control characters or backslashes, or is too long"),
        (
            "https://example.com\\@127.0.0.1/",
            "the link contains spaces, control characters or backslashes, or is too long",
        ),
        ("https://example.com/\r\nX: y", "the link contains spaces, control characters or backslashes, or is too long"),
        ("https://ⓛocalhost/", "the host of the link is not written as a plain name or address"),
        ("https://\uff11\uff12\uff17.0.0.1/", "the host of the link is not written as a plain name or address"),
        ("https://[fe80::1%25eth0]/", "the host of the link is not written as a plain name or address"),
        ("https:///x", "the host of the link is not written as a plain name or address"),
        ("https://%31%32%37.0.0.1/", "the host of the link is not written as a plain name or address"),
        ("https://[::1/", "this is not a link"),
        ("nonsense", "the host of the link is not written as a plain name or address"),
        ("", "the host of the link is not written as a plain name or address"),
    ],
)
def test_fetch_refuses_links_of_other_forms(link: str, said: str, connections: list[object]) -> None:
    assert refusal(link, FetchPolicy(failure_seconds=0.0)) == said
    assert connections == []


def test_inside_hosts_are_allowed_by_origin_and_nothing_beside_it() -> None:
    with serving({"/m.yaml": reply(200, BODY)}) as server:
        policy = policy_for(server)
        assert fetch_now(server.url(), policy).data == BODY
        assert refusal(server.url("127.0.0.1"), policy) == "only https links are fetched"
        assert refusal(f"https://localhost:{server.port}/", policy) == "only links to port 443 are fetched"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_within_allowed_hosts_are_followed(status: int) -> None:
    with serving({"/a": reply(status, b"x" * 50, Location="/b/c.yaml"), "/b/c.yaml": reply(200, BODY)}) as server:
        file = fetch_now(server.url(path="/a"), policy_for(server))

    assert (file.name, file.provenance["final_url"]) == ("c.yaml", server.url(path="/b/c.yaml"))


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/latest", "https://10.0.0.1/", "https://[::1]/", "file:///x"]
)
def test_redirects_are_vetted_anew(target: str) -> None:
    with serving({"/a": reply(302, Location=target)}) as server:
        said = refusal(server.url(path="/a"), policy_for(server))

    assert said in (
        "only https links are fetched",
        "nothing could be fetched from 10.0.0.1",
        "nothing could be fetched from ::1",
        "the host of the link is not written as a plain name or address",
    )
    assert len(server.requests) == 1


def test_redirect_to_another_inside_server_sends_nothing_there() -> None:
    with (
        serving({"/m.yaml": reply(200, BODY)}) as catcher,
        serving({"/a": reply(302, Location=catcher.url())}) as server,
    ):
        refusal(server.url(path="/a"), policy_for(server))

    assert catcher.requests == []


def test_redirects_end_after_three() -> None:
    with serving({"/a": reply(302, Location="/a")}) as server:
        said = refusal(server.url(path="/a"), policy_for(server))

    assert said == "the link is redirected more than 3 times"
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (reply(200, b"x" * 100_001), "what the link gives is larger than 100,000 bytes"),
        (reply(200, b"", Content_Length="99999999999999"), "what the link gives is larger than 100,000 bytes"),
        (
            reply(200, gzip.compress(b"x" * 10_000_000), Content_Encoding="gzip"),
            "localhost answered with compressed content, which is not read",
        ),
        (reply(418, b"canary"), "localhost answered 418: check the link"),
        (
            reply(200, b"\n<!doctype html><title>canary</title>", Content_Type="text/html; charset=utf-8"),
            "localhost answered with a web page, not a manifest: link to the raw file",
        ),
        (reply(200, b"short", Content_Length="50"), "nothing could be fetched from localhost"),
        (lambda _r, c: c.sendall(b"SSH-2.0-OpenSSH\r\n"), "nothing could be fetched from localhost"),
        (
            lambda _r, c: c.sendall(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200),
            "nothing could be fetched from localhost",
        ),
        (lambda _r, c: c.close(), "nothing could be fetched from localhost"),
    ],
)
def test_fetch_refuses_answers(answer: Callable[..., None], said: str) -> None:
    with serving({"/m.yaml": answer}) as server:
        assert refusal(server.url(), policy_for(server)) == said


def test_endless_body_without_length_is_cut() -> None:
    def pour(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(1000):
            connection.sendall(b"x" * 10_000)

    with serving({"/m.yaml": pour}) as server:
        assert refusal(server.url(), policy_for(server)) == "what the link gives is larger than 100,000 bytes"


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"])
def test_slow_answers_end_at_the_deadline(head: bytes) -> None:
    def drip(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(head)
        for _ in range(1_000):
            connection.sendall(b"H")
            time.sleep(0.05)

    with serving({"/m.yaml": drip}) as server:
        started = time.monotonic()
        said = refusal(server.url(), policy_for(server, seconds=0.4))

    assert said == "nothing could be fetched from localhost"
    assert time.monotonic() - started < 20


def test_slow_resolver_ends_at_the_deadline() -> None:
    def wait(_host: str, _port: int) -> tuple[str, ...]:
        time.sleep(5)
        return ("93.184.216.34",)

    started = time.monotonic()
    said = refusal("https://slow.example/", FetchPolicy(total_seconds=0.2, failure_seconds=0.0), wait)

    assert said == "nothing could be fetched from slow.example"
    assert time.monotonic() - started < 4.5


def test_closed_refused_and_forbidden_look_alike() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        origin = f"https://target.example:{port}"
        said = {
            refusal(origin, FetchPolicy(internal=(origin,), failure_seconds=0.0), lambda _h, _p: ("127.0.0.1",)),
            refusal("https://target.example/", FetchPolicy(failure_seconds=0.0), lambda _h, _p: ("10.0.0.1",)),
            refusal("https://target.example/", FetchPolicy(failure_seconds=0.0), lambda _h, _p: ()),
        }

    assert said == {"nothing could be fetched from target.example"}


def test_failures_are_told_no_earlier_than_agreed() -> None:
    waited: list[float] = []
    ticks = iter([100.0, 100.25])

    with pytest.raises(SourceError):
        fetch(
            "http://example.com/",
            policy=FetchPolicy(failure_seconds=1.0),
            now=NOW,
            sleep=waited.append,
            clock=lambda: next(ticks),
        )

    assert waited == [0.75]


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254"])
def test_allowed_host_leads_to_no_link_local_address(address):
    origin = "https://git.internal:8443"

    said = refusal(origin, FetchPolicy(internal=(origin,), failure_seconds=0.0), lambda _h, _p: ("10.0.0.1", address))

    assert said == "nothing could be fetched from git.internal"
