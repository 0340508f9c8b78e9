"""Repositories over ssh: a deploy key, pinned host keys, the address rules of links, and what hostile hosts get."""

from __future__ import annotations

import socket
import subprocess
import threading

import asyncssh
import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.git import addresses, fetching, ssh_keys
from applyviz.sources.git.model import DeployKey, GitLogin, GitSource
from applyviz.sources.pinned import FetchPolicy
from tests.sources.git_server import GitRepository
from tests.sources.ssh_server import serving_ssh

APP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"
NOW = "2026-01-01T00:00:00Z"
PATH = "/team/shop.git"
PRIVATE, PUBLIC = ssh_keys.make_key()


@pytest.fixture
def repository():
    found = GitRepository()
    found.commit({"deploy/app.yaml": APP})
    return found


@pytest.fixture
def server(repository):
    with serving_ssh({PATH: repository}, PUBLIC) as found:
        yield found


def make_policy(server, **values) -> FetchPolicy:
    return FetchPolicy(**{"internal": (server.origin,), "failure_seconds": 0.0, "total_seconds": 10.0, **values})


def make_credential(server, **values) -> DeployKey:
    keys = ssh_keys.read_host_keys(server.host_line)
    return DeployKey(**{"prefix": server.url("/team"), "host_keys": keys, "private_key": PRIVATE, **values})


def fetch(server, url="", **rest):
    rest = {"policy": make_policy(server), "credential": make_credential(server), **rest}
    return fetching.fetch(GitSource(url or server.url(PATH), path="deploy"), now=NOW, **rest)


def refuse(server, url="", **rest) -> str:
    with pytest.raises(SourceError) as caught:
        fetch(server, url, **rest)
    assert PRIVATE not in str(caught.value)
    return str(caught.value)


def test_commit_is_fetched_with_a_deploy_key(server, repository):
    found = fetch(server)

    assert [(file.name, file.data) for file in found.files] == [("deploy/app.yaml", APP)]
    assert found.facts["commit"] == repository.repo.head().decode()
    assert found.facts["repository"] == server.url(PATH)
    assert found.facts["ref"] == "main"
    assert (server.seen, server.users) == ([f"git-upload-pack {PATH}"], ["git"])


def test_default_branch_shows_that_a_credential_works(server, repository):
    found = fetching.find_branch(server.url(PATH), policy=make_policy(server), credential=make_credential(server))

    assert (found.name, found.oid) == ("main", repository.repo.head())


def test_another_host_key_is_refused_before_anything_is_sent(server):
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode()
    keys = ssh_keys.read_host_keys(other)

    said = refuse(server, credential=make_credential(server, host_keys=keys))

    assert server.host_key.get_fingerprint() in said
    assert "not among the host keys" in said
    assert (server.seen, server.users) == ([], [])


def test_host_without_a_key_of_a_pinned_type_is_refused(server):
    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key("openssh").decode()

    said = refuse(server, credential=make_credential(server, host_keys=ssh_keys.read_host_keys(other)))

    assert "localhost" in said
    assert server.users == []


def test_refused_key_says_what_to_do(server):
    said = refuse(server, credential=make_credential(server, private_key=ssh_keys.make_key()[0]))

    assert "refused the deploy key" in said


def test_unknown_repository_repeats_what_the_host_said(server):
    assert "Repository not found" in refuse(server, server.url("/team/other"))


def test_error_output_of_a_host_is_cut(repository):
    with serving_ssh({PATH: repository}, PUBLIC, answer=lambda _command: b"fatal: \x1b[31m" + b"x" * 100_000) as server:
        said = refuse(server)

    assert "\x1b" not in said
    assert len(said) < 500


@pytest.mark.parametrize("credential", [None, GitLogin("https://localhost", "x", "y")])
def test_ssh_needs_a_deploy_key_for_its_address(server, credential):
    said = refuse(server, credential=credential)

    assert "deploy key" in said or "another address" in said
    assert server.users == []


def test_key_of_another_user_or_folder_is_not_used(server):
    for prefix in (server.url("/other"), server.url("/team").replace("git@", "root@")):
        assert "another address" in refuse(server, credential=make_credential(server, prefix=prefix))
    assert server.users == []


def test_private_addresses_are_refused_unless_allowed_by_name(server):
    said = refuse(server, policy=make_policy(server, internal=()))
    assert "port 22" in said
    key = make_credential(server, prefix="ssh://git@localhost/team")
    said = refuse(
        server, "ssh://git@localhost/team/shop", policy=make_policy(server, internal=()), credential=key,
        resolver=lambda _host, _port: ("127.0.0.1",),
    )  # fmt: skip
    assert said == "nothing could be fetched from localhost"
    assert server.users == []


def test_link_local_addresses_are_refused_even_for_allowed_hosts(server):
    assert "nothing could be fetched" in refuse(server, resolver=lambda _host, _port: ("169.254.169.254",))


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"SSH-2.0-x\r\n" + b"\xff" * 100_000, b"x" * 10_000_000]
)
def test_host_that_speaks_no_ssh_is_refused(server, answer):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve():
            connection, _address = listening.accept()
            with connection, pytest.MonkeyPatch.context():
                try:
                    connection.sendall(answer)
                except OSError:
                    return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        origin = f"ssh://localhost:{port}"
        said = refuse(
            server, f"ssh://git@localhost:{port}/a", policy=make_policy(server, internal=(origin,), total_seconds=3.0),
            credential=make_credential(server, prefix=f"ssh://git@localhost:{port}/a"),
        )  # fmt: skip
        thread.join(5)
    assert said == "nothing could be fetched from localhost"


def test_silent_host_is_left_at_the_deadline(server):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        said = refuse(
            server,
            f"ssh://git@localhost:{port}/a",
            policy=make_policy(server, internal=(f"ssh://localhost:{port}",), total_seconds=0.5),
            credential=make_credential(server, prefix=f"ssh://git@localhost:{port}/a"),
        )
    assert said == "nothing could be fetched from localhost"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("git@github.com:owner/app.git", "ssh://git@github.com/owner/app.git"),
        ("ssh://git@github.com/owner/app.git/", "ssh://git@github.com/owner/app.git"),
        ("ssh://deploy@git.example:22/a", "ssh://deploy@git.example:22/a"),
    ],
)
def test_forms_of_ssh_addresses(text, url):
    assert addresses.read_repository(text, FetchPolicy()).url == url


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ssh://github.com/owner/app", "names its user"),
        ("ssh://git:secret@github.com/owner/app", "no password"),
        ("ssh://-oProxyCommand@github.com/a", "names its user"),
        ("ssh://git@-oProxyCommand=x/a", "not written as a plain name"),
        ("ssh://git@github.com/a/../b", "does not name a repository"),
        ("ssh://git@github.com/a';id;'", "letters, digits"),
        ("ssh://git@github.com/a%20b", "letters, digits"),
        ("ssh://git@github.com:2222/a", "port 22"),
        ("ssh://git@github.com", "letters, digits"),
        ("git@github.com:", "https or ssh address"),
    ],
)
def test_ssh_addresses_that_are_refused(text, reason):
    with pytest.raises(SourceError, match=reason) as caught:
        addresses.read_repository(text, FetchPolicy())
    assert "secret" not in str(caught.value)


def test_made_key_is_one_that_openssh_reads(tmp_path):
    file = tmp_path / "key"
    file.write_text(PRIVATE)
    file.chmod(0o600)

    printed = subprocess.run(["ssh-keygen", "-y", "-f", file], capture_output=True, text=True, check=True).stdout

    assert printed.split()[:2] == PUBLIC.split()[:2]
    assert ssh_keys.read_key(PRIVATE).split()[:2] == PUBLIC.split()[:2]


@pytest.mark.parametrize(
    "text",
    ["", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----", PUBLIC],
    ids=["nothing", "no key", "a public key"],
)
def test_what_is_no_private_key_is_refused_without_repeating_it(text):
    with pytest.raises(SourceError, match="not a private key") as caught:
        ssh_keys.read_key(text)
    assert "AAAA" not in str(caught.value)


def test_key_with_a_passphrase_is_refused():
    key = asyncssh.generate_private_key("ssh-ed25519").export_private_key("pkcs8-pem", "long passphrase").decode()

    with pytest.raises(SourceError, match="passphrase"):
        ssh_keys.read_key(key)


def test_host_keys_are_read_from_known_hosts_and_key_files():
    plain = " ".join(PUBLIC.split()[:2])
    text = f"# comment\n\ngithub.com,140.82.0.1 {plain} note\n{plain}\n|1|abc=|def= {plain}\n"

    assert ssh_keys.read_host_keys(text) == (plain,)
    assert ssh_keys.fingerprint(plain).startswith("SHA256:")


@pytest.mark.parametrize(
    "text", ["", "# nothing", "host ssh-ed25519 AAAA", "words", f"@cert-authority * {PUBLIC}", "a\n" * 21, "x" * 20_000]
)
def test_what_is_no_host_key_is_refused(text):
    with pytest.raises(SourceError):
        ssh_keys.read_host_keys(text)
