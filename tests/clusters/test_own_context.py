"""This machine's own kubeconfig: what would make the client ask with other rights than kubectl is refused."""

import sys
from pathlib import Path

import pytest
import yaml

from applyviz.clusters import live
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Request
from tests.yaml_files import read_yaml


def write(tmp_path, **user):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "plain",
        "contexts": [
            {"name": "plain", "context": {"cluster": "c", "user": "plain"}},
            {"name": "other", "context": {"cluster": "c", "user": "other"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "plain", "user": {"token": "t"}}, {"name": "other", "user": {"token": "t", **user}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    return str(path)


@pytest.mark.parametrize(
    "user", [{"as": "root"}, {"as-groups": ["system:masters"]}, {"as-uid": "7"}, {"as-user-extra": {"a": ["b"]}}]
)
def test_impersonation_is_refused_not_left_out(tmp_path, user):
    path = write(tmp_path, **user)

    with pytest.raises(ClusterError, match=f"impersonates .`{next(iter(user))}`"):
        live.from_own_context("other", path=path)


def test_context_that_does_not_impersonate_is_taken(tmp_path):
    path = write(tmp_path, **{"as": "root"})

    for context in ("", "plain"):
        transport = live.from_own_context(context, path=path)
        assert transport.server == "https://127.0.0.1:1"
        transport.close()


PLUGIN = """
import json, pathlib, sys
runs = pathlib.Path(sys.argv[1])
number = len(runs.read_text()) + 1 if runs.exists() else 1
runs.write_text("x" * number)
status = {"token": f"t{number}", "expirationTimestamp": sys.argv[2]}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""


@pytest.mark.parametrize(
    ("expires", "tokens"),
    [("9999-01-01T00:00:00Z", ["t1", "t1", "t1"]), ("2001-01-01T00:00:00Z", ["t2", "t3", "t4"])],
)
def test_credential_of_a_plugin_is_renewed_when_it_has_expired(tmp_path, expires, tokens):
    runs = tmp_path / "runs"
    words = ["-c", PLUGIN, str(runs), expires]
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": words}
    path = Path(write(tmp_path))
    config = read_yaml(path)
    config["users"][0]["user"] = {"exec": plugin}
    path.write_text(yaml.safe_dump(config))
    transport = live.from_own_context("plain", path=str(path))

    sent = [transport._headers(Request("GET", "/version"))["authorization"] for _ in tokens]

    assert sent == [f"Bearer {token}" for token in tokens]
    transport.close()


def test_settings_are_not_set_again_before_each_request(tmp_path, monkeypatch):
    transport = live.from_own_context("plain", path=write(tmp_path))
    asked = []
    monkeypatch.setattr("kubernetes.client.configuration.getproxies", lambda: asked.append(1) or {})

    headers = [transport._headers(Request("GET", "/version")) for _ in range(3)]

    assert [one["authorization"] for one in headers] == ["Bearer t"] * 3
    assert asked == []
    transport.close()
