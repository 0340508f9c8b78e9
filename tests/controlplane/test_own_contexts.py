"""The contexts of this machine's kubeconfig, as the real kubectl sees them, and one added through its plugin."""

import base64
import os
import subprocess
import sys

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.clusters import own_kubeconfig
from applyviz.records.models import Cluster
from tests.controlplane.controlplane import ADMIN_TOKEN

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]


@pytest.fixture
def files(control_plane, tmp_path, monkeypatch):
    """Two kubeconfigs that contradict each other; the first gets its token from a plugin beside it."""
    plugin = tmp_path / "a" / "bin" / "login"
    plugin.parent.mkdir(parents=True)
    status = {"token": ADMIN_TOKEN}
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    plugin.write_text(f"#!{sys.executable}\nimport json\nprint(json.dumps({answer!r}))\n")
    plugin.chmod(0o700)
    (tmp_path / "a" / "ca.crt").write_bytes(control_plane.authority)
    run = {"apiVersion": answer["apiVersion"], "command": "./bin/login", "interactiveMode": "Never"}
    first = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "dev_cluster.local",
        "contexts": [{"name": "dev_cluster.local", "context": {"cluster": "dev", "user": "dev"}}],
        "clusters": [{"name": "dev", "cluster": {"server": control_plane.url, "certificate-authority": "ca.crt"}}],
        "users": [{"name": "dev", "user": {"exec": run}}],
    }
    second = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "other",
        "contexts": [
            {"name": "other", "context": {"cluster": "dev", "user": "nobody"}},
            {"name": "dev_cluster.local", "context": {"cluster": "none", "user": "nobody"}},
        ],
        "clusters": [{"name": "dev", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "dev", "user": {"token": "wrong"}}],
    }
    (tmp_path / "b").mkdir()
    for folder, content in (("a", first), ("b", second)):
        (tmp_path / folder / "config").write_text(yaml.safe_dump(content))
    paths = [str(tmp_path / folder / "config") for folder in ("a", "missing", "b")]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(paths))


@pytest.fixture
def as_root(db):
    browser = Client()
    browser.force_login(User.objects.create_superuser("root"))
    return browser


def ask_kubectl(control_plane, *arguments):
    done = subprocess.run([control_plane.binaries.kubectl, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_context_is_added_with_its_plugin_and_listed_as_kubectl_lists_it(control_plane, files, as_root):
    found = own_kubeconfig.list_contexts()

    assert [context.name for context in found.contexts] == sorted(
        ask_kubectl(control_plane, "config", "get-contexts", "-o", "name")
    )
    assert [c.name for c in found.contexts if c.is_current] == ask_kubectl(control_plane, "config", "current-context")
    assert ask_kubectl(control_plane, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}") == ["admin"]

    answer = as_root.post(reverse("clusters:add-own-context"), {"context": "dev_cluster.local"})

    added = Cluster.objects.get()
    assert (answer.status_code, added.slug, added.account["user"]) == (302, "dev-cluster-local", "admin")
    page = as_root.get(reverse("clusters:list-clusters")).content.decode()
    assert f'<a href="{reverse("clusters:show-cluster", args=[added.slug])}">dev_cluster.local</a>' in page
    assert "its user is not in the kubeconfig" in page
    objects = as_root.get(reverse("clusters:show-objects", args=[added.slug]), {"q": "namespace/def"})
    assert "default" in objects.content.decode()


def test_same_cluster_is_not_added_twice(control_plane, files, as_root, monkeypatch, tmp_path):
    as_root.post(reverse("clusters:add-own-context"), {"context": "dev_cluster.local"})
    text = yaml.safe_load(control_plane.render_kubeconfig())
    text["clusters"][0]["cluster"] = {
        "server": control_plane.url.replace("127.0.0.1", "localhost"),
        "certificate-authority-data": base64.b64encode(control_plane.authority).decode(),
        "tls-server-name": "127.0.0.1",
    }
    (tmp_path / "again").write_text(yaml.safe_dump(text))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "again"))

    answer = as_root.post(reverse("clusters:add-own-context"), {"context": text["contexts"][0]["name"]})

    assert answer.status_code == 422
    assert "was already added as dev_cluster.local" in answer.content.decode()
    assert Cluster.objects.count() == 1
