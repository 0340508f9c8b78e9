"""Servers that are no git server, are slow, redirect or refuse; and where a login is sent."""

from __future__ import annotations

import socket
import time
from contextlib import suppress

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.git import fetching
from applyviz.sources.git.model import GitLogin, GitSource
from applyviz.sources.pinned import FetchPolicy
from tests.sources.git_server import GitRepository, serving_git
from tests.sources.servers import Authority, make_authority, serving
from tests.sources.test_git import APP, NOW, PATH, names


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def repository() -> GitRepository:
    return GitRepository()


_SAID = b"001e# service=git-upload-pack\n0000000bERR a\0b"


def answering(status: str, *headers: tuple[str, str], body: bytes = b""):
    return lambda environ: (status, list(headers), body)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answering("404 Not Found"), "answered 404: there is no repository localhost:"),
        (answering("401 Unauthorized"), "answered 401: .* does not exist, or it asks for a sign-in"),
        (answering("403 Forbidden"), "answered 403"),
        (answering("429 Too Many"), "answered 429 .*: try again later"),
        (answering("503 Away"), "answered 503 .*: try again later"),
        (answering("418 Teapot"), "answered 418 .*: check the address"),
        (answering("200 OK", ("Content-Type", "text/html"), body=b"<html>"), "did not answer as a git repository"),
        (
            answering("200 OK", ("Content-Type", "application/x-git-upload-pack-advertisement"), body=b"zzzz"),
            "did not keep to the git protocol|refused to send",
        ),
        (
            answering("200 OK", ("Content-Type", "application/x-git-upload-pack-advertisement"), body=_SAID),
            r"refused to send \S+: ab$",
        ),
        (answering("302 Found", ("Location", "https://127.0.0.1:1/x")), "redirects to another host"),
        (answering("302 Found", ("Location", "https://[")), "redirects to another host"),
        (answering("302 Found", ("Location", "/login")), "redirects to a page"),
    ],
)  # fmt: skip
def test_answers_that_are_no_repository(authority, repository, answer, reason):
    with serving_git({}, authority.context("localhost"), answer) as server:
        policy = FetchPolicy(internal=(server.origin,), ca_file=str(authority.file), failure_seconds=0.0)
        with pytest.raises(SourceError, match=reason):
            fetching.fetch(GitSource(server.url(PATH)), policy=policy, now=NOW)
    assert len(server.seen) == 1


def test_commit_that_a_server_does_not_give(authority):
    def answer(environ):
        if environ["REQUEST_METHOD"] == "GET":
            refs = b"0000".join((b"001e# service=git-upload-pack\n", b"003d" + b"1" * 40 + b" HEAD\0shallow thin-pac"))
            return "200 OK", [("Content-Type", "application/x-git-upload-pack-advertisement")], refs + b"k\n0000"
        said = b"0033ERR upload-pack: not our ref 000000000000000000"
        return "200 OK", [("Content-Type", "application/x-git-upload-pack-result")], said

    with serving_git({}, authority.context("localhost"), answer) as server:
        policy = FetchPolicy(internal=(server.origin,), ca_file=str(authority.file), failure_seconds=0.0)
        with pytest.raises(SourceError, match="does not give commit 000"):
            fetching.fetch(GitSource(server.url(PATH), "0" * 39 + "1"), policy=policy, now=NOW)


def test_slow_server_is_left_at_the_deadline(authority):
    def drip(_request: bytes, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n")
        with suppress(OSError):
            for _ in range(100):
                connection.sendall(b"0")
                time.sleep(0.1)

    with serving({f"{PATH}/info/refs?service=git-upload-pack": drip}, authority.context("localhost")) as server:
        policy = FetchPolicy(
            internal=(f"https://localhost:{server.port}",), ca_file=str(authority.file), failure_seconds=0.0,
            total_seconds=1.0,
        )  # fmt: skip
        with pytest.raises(SourceError, match="localhost"):
            fetching.fetch(GitSource(f"https://localhost:{server.port}{PATH}"), policy=policy, now=NOW)


def test_login_is_sent_to_its_own_prefix_only(authority, repository):
    repository.commit({"app.yaml": APP})
    with serving_git({PATH: repository, "/team-two/shop.git": repository}, authority.context("localhost")) as server:
        policy = FetchPolicy(internal=(server.origin,), ca_file=str(authority.file), failure_seconds=0.0)
        login = GitLogin(f"{server.origin}/team", "git", "canary")
        fetching.fetch(GitSource(server.url(PATH)), policy=policy, now=NOW, credential=login)
        assert all(authorization.startswith("Basic ") for _method, _path, authorization in server.seen)
        server.seen.clear()
        with pytest.raises(SourceError, match="registered for another address"):
            fetching.fetch(GitSource(server.url("/team-two/shop.git")), policy=policy, now=NOW, credential=login)
        assert server.seen == []
    assert "canary" not in repr(login)


@pytest.mark.parametrize("target", ["same host", "other host"])
def test_login_does_not_follow_a_redirect_out_of_its_prefix(authority, repository, target):
    repository.commit({"app.yaml": APP})
    with serving_git({"/elsewhere/shop.git": repository}, authority.context("localhost")) as other:

        def answer(environ):
            if environ["PATH_INFO"].startswith("/team/"):
                origin = "" if target == "same host" else other.origin
                where = f"{origin}/elsewhere/shop.git/info/refs?service=git-upload-pack"
                return "301 Moved", [("Location", where)], b""
            return None

        with serving_git({"/elsewhere/shop.git": repository}, authority.context("localhost"), answer) as server:
            policy = FetchPolicy(
                internal=(server.origin, other.origin), ca_file=str(authority.file), failure_seconds=0.0
            )
            login = GitLogin(f"{server.origin}/team", "git", "canary")
            source = GitSource(server.url(PATH))
            if target == "same host":
                assert names(fetching.fetch(source, policy=policy, now=NOW, credential=login)) == ["app.yaml"]
            else:
                with pytest.raises(SourceError, match="redirects to another host"):
                    fetching.fetch(source, policy=policy, now=NOW, credential=login)
    sent = [path for _method, path, authorization in server.seen if authorization]
    assert sent == [f"{PATH}/info/refs"]
    assert other.seen == []


def test_refused_login_is_said_without_its_token(authority):
    with serving_git({}, authority.context("localhost"), answering("401 No")) as server:
        policy = FetchPolicy(internal=(server.origin,), ca_file=str(authority.file), failure_seconds=0.0)
        login = GitLogin(server.origin, "git", "canary")
        with pytest.raises(SourceError, match="refused the token registered for") as caught:
            fetching.fetch(GitSource(server.url(PATH)), policy=policy, now=NOW, credential=login)
    assert "canary" not in str(caught.value)
