"""This machine's own kubeconfig: merged as kubectl merges it, listed without effect, and plugins with plain errors."""

import json
import os
import stat
import sys
import time
from pathlib import Path

import pytest
import yaml

from applyviz.clusters import exec_plugins, own_connection, own_kubeconfig
from applyviz.engine.objects.errors import ClusterError


def write(path, *, contexts=(), clusters=None, users=None, current=""):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in contexts],
        "clusters": [{"name": name, "cluster": value} for name, value in (clusters or {}).items()],
        "users": [{"name": name, "user": value} for name, value in (users or {}).items()],
    }
    if current:
        config["current-context"] = current
    path.write_text(yaml.safe_dump(config))
    return str(path)


def one(path, name="kind", server="https://127.0.0.1:6443", **user):
    return write(path, contexts=[name], clusters={name: {"server": server}}, users={name: user or {"token": "t"}})


def plugin(tmp_path, body):
    path = tmp_path / "login-plugin"
    path.write_text(f"#!{sys.executable}\nimport json, os, pathlib, sys, time\n{body}\n")
    path.chmod(stat.S_IRWXU)
    return {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path), "interactiveMode": "Never"}


ANSWER = (
    'print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", '
    '"status": {"token": "from-plugin"}}))'
)


def test_files_are_merged_and_the_first_name_wins(tmp_path, monkeypatch):
    first = write(
        tmp_path / "a",
        contexts=["dev"],
        clusters={"dev": {"server": "https://first"}},
        users={"dev": {}},
        current="dev",
    )
    second = write(
        tmp_path / "b",
        contexts=["dev", "prod"],
        clusters={"dev": {"server": "https://second"}, "prod": {"server": "https://prod:8443/base/"}},
        users={"dev": {}, "prod": {}},
        current="prod",
    )
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(tmp_path / "missing"), first, "", second]))

    found = own_kubeconfig.list_contexts()

    assert [(c.name, c.server, c.is_current) for c in found.contexts] == [
        ("dev", "https://first", True),
        ("prod", "https://prod:8443/base", False),
    ]
    assert found.problems == ()
    assert found.paths == (str(tmp_path / "missing"), first, second)


def test_default_is_the_file_of_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".kube").mkdir()
    one(tmp_path / ".kube" / "config")

    assert [context.name for context in own_kubeconfig.list_contexts().contexts] == ["kind"]


def test_listing_runs_no_plugin_and_shows_no_token(tmp_path):
    mark = tmp_path / "mark"
    given = plugin(tmp_path, f"pathlib.Path({str(mark)!r}).touch()")
    path = write(
        tmp_path / "config",
        contexts=["eks"],
        clusters={"eks": {"server": "https://user:secret@[::1]:6443/?token=secret"}},
        users={"eks": {"exec": given}},
    )

    (context,) = own_kubeconfig.list_contexts(path).contexts

    assert (context.server, context.plugin, context.problem) == ("https://[::1]:6443", "login-plugin", "")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{a: [", "is not readable YAML"),
        ("- a", "is not a kubeconfig"),
        ("expires: 2026-02-30", "is not readable YAML"),
        ("a: !!bool maybe", "is not readable YAML"),
        ("a: !!timestamp now", "is not readable YAML"),
        ("a: 1" + ":1" * 200 + ".5", "is not readable YAML"),
        ("\xff\xfe".encode("latin-1"), "is not readable YAML"),
    ],
)
def test_file_that_cannot_be_read_is_named_and_the_others_are_listed(tmp_path, content, sentence):
    bad, good = tmp_path / "bad", one(tmp_path / "good")
    bad.write_bytes(content if isinstance(content, bytes) else content.encode())

    found = own_kubeconfig.list_contexts(f"{bad}{os.pathsep}{good}")

    assert [context.name for context in found.contexts] == ["kind"]
    assert found.problems[0].startswith(str(bad))
    assert sentence in found.problems[0]


def test_folder_in_place_of_a_file_and_a_huge_file_are_named(tmp_path):
    (tmp_path / "huge").write_bytes(b"#" * (4 * 1024 * 1024 + 1))

    found = own_kubeconfig.list_contexts(f"{tmp_path}{os.pathsep}{tmp_path / 'huge'}")

    assert ["cannot be read" in found.problems[0], "is larger than 4 MiB" in found.problems[1]] == [True, True]


@pytest.mark.parametrize(
    ("clusters", "users", "problem"),
    [
        ({}, {"x": {}}, "its cluster is not in the kubeconfig"),
        ({"x": {"server": "https://s"}}, {}, "its user is not in the kubeconfig"),
        ({"x": {}}, {"x": {}}, "its cluster has no server address"),
        ({"x": {"server": "https://s"}}, {"x": {"as": "root"}}, "it impersonates (`as`), which is not followed"),
    ],
)
def test_context_that_cannot_be_used_says_why(tmp_path, clusters, users, problem):
    path = write(tmp_path / "config", contexts=["x"], clusters=clusters, users=users)

    (context,) = own_kubeconfig.list_contexts(path).contexts

    assert context.problem == problem
    with pytest.raises(ClusterError, match="the context x of this machine cannot be used"):
        own_connection.load_context("x", given=path)


def test_current_context_of_the_first_file_is_loaded(tmp_path):
    first = one(tmp_path / "a", "a", "https://first")
    second = write(
        tmp_path / "b", contexts=["b"], clusters={"b": {"server": "https://b"}}, users={"b": {}}, current="b"
    )
    (tmp_path / "a").write_text((tmp_path / "a").read_text() + "current-context: a\n")

    made, _folder = own_connection.load_context(given=f"{first}{os.pathsep}{second}")

    assert made.host == "https://first"


def test_relative_paths_are_relative_to_their_file(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "token").write_text("from-file")
    path = one(tmp_path / "sub" / "config", tokenFile="token")

    made, _folder = own_connection.load_context("kind", given=path)

    assert made.api_key["BearerToken"] == "Bearer from-file"


def test_file_that_is_missing_is_named(tmp_path):
    path = write(
        tmp_path / "config",
        contexts=["kind"],
        clusters={"kind": {"server": "https://s", "certificate-authority": "gone.crt"}},
        users={"kind": {}},
    )

    with pytest.raises(ClusterError, match="File does not exist"):
        own_connection.load_context("kind", given=path)


@pytest.mark.parametrize(("name", "sentence"), [("none", "there is no context none"), ("", "no context is chosen")])
def test_unknown_context_is_named(tmp_path, name, sentence):
    with pytest.raises(ClusterError, match=sentence):
        own_connection.load_context(name, given=one(tmp_path / "config"))


def test_plugin_gives_the_token_and_sees_nothing_of_applyviz(tmp_path, monkeypatch):
    monkeypatch.setenv("APPLYVIZ_KEY", "secret")
    seen = tmp_path / "seen"
    given = plugin(
        tmp_path, f"pathlib.Path({str(seen)!r}).write_text(json.dumps([dict(os.environ), sys.argv[1:]]))\n{ANSWER}"
    )
    given |= {"args": ["get-token", 7], "env": [{"name": "AWS_PROFILE", "value": "dev"}], "provideClusterInfo": True}
    path = one(tmp_path / "config", exec=given)

    made, _folder = own_connection.load_context("kind", given=path)

    environment, arguments = json.loads(seen.read_text())
    info = json.loads(environment["KUBERNETES_EXEC_INFO"])
    assert made.api_key["BearerToken"] == "Bearer from-plugin"
    assert (environment["AWS_PROFILE"], arguments) == ("dev", ["get-token", "7"])
    assert info["spec"] == {"interactive": False, "cluster": {"server": "https://127.0.0.1:6443"}}
    assert "APPLYVIZ_KEY" not in environment


def test_plugin_gives_a_client_certificate_in_private_files(tmp_path):
    status = {"clientCertificateData": "CERT", "clientKeyData": "KEY", "expirationTimestamp": "2030-01-01T00:00:00Z"}
    given = plugin(tmp_path, f"print(json.dumps({{'kind': 'ExecCredential', 'status': {status!r}}}))")

    made, folder = own_connection.load_context("kind", given=one(tmp_path / "config", exec=given))

    key = Path(made.key_file)
    assert key.read_text() == "KEY"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    folder.cleanup()
    assert not key.exists()


@pytest.mark.parametrize(
    ("body", "sentence", "detail"),
    [
        ("print('Token expired, run aws sso login', file=sys.stderr); sys.exit(255)", "failed (exit code 255)", "sso"),
        ("print('hello')", "did not answer with an ExecCredential", ""),
        ("print('[]')", "did not answer with an ExecCredential", ""),
        ("print(json.dumps({'status': {'token': 7}}))", "did not answer with an ExecCredential", ""),
        ("print(json.dumps({'status': {}}))", "returned neither a token nor a client certificate", ""),
    ],
)
def test_plugin_that_fails_says_so_in_a_sentence(tmp_path, body, sentence, detail):
    path = one(tmp_path / "config", exec=plugin(tmp_path, body))

    with pytest.raises(ClusterError) as error:
        own_connection.load_context("kind", given=path)

    assert sentence in str(error.value)
    assert detail in error.value.detail


@pytest.mark.parametrize(
    ("change", "sentence", "detail"),
    [
        ({"command": "no-such-plugin", "installHint": "brew install it"}, "is not installed", "brew install it"),
        ({"command": "./no-such-plugin"}, "is not installed", ""),
        ({"command": "."}, "cannot be started", ""),
        ({"command": ""}, "names no command", ""),
        ({"args": "all"}, "names no command", ""),
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "speaks client.authentication.k8s.io/v1alpha1", ""),
        ({"interactiveMode": "Always"}, "needs a terminal", ""),
    ],
)
def test_plugin_that_cannot_run_says_why(tmp_path, change, sentence, detail):
    given = plugin(tmp_path, ANSWER) | change

    with pytest.raises(ClusterError) as error:
        exec_plugins.run_plugin(given, folder=str(tmp_path), cluster={})

    assert sentence in str(error.value)
    assert error.value.detail == detail


def test_plugin_that_hangs_ends_with_its_children(tmp_path):
    given = plugin(tmp_path, "if os.fork() == 0: time.sleep(60)\ntime.sleep(60)")
    start = time.monotonic()

    with pytest.raises(ClusterError, match="did not finish within 1 s"):
        exec_plugins.run_plugin(given, folder="", cluster={}, seconds=1)

    assert time.monotonic() - start < 20


def test_credential_is_never_printed():
    assert "secret" not in repr(exec_plugins.PluginCredential(token="secret"))
