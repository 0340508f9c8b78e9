"""Clusters: who sees them, their objects, and what a kubeconfig may not hold."""

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from applyviz.clusters.sandbox import open_sandbox
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.records.models import Cluster
from applyviz.workflow.clusters import registration
from tests.web import rows

URL = reverse("clusters:list-clusters")
ADD = reverse("clusters:add-cluster")
KUBECONFIG = b"""
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:1", certificate-authority: /etc/ca.crt}}]
users: [{name: u, user: {exec: {apiVersion: v1, command: touch}}}]
"""


@pytest.fixture
def as_root(db):
    browser = Client()
    browser.force_login(User.objects.create_superuser("root"))
    return browser


def test_list_names_clusters(as_viewer):
    rows.make_cluster()

    assert "Shop" in as_viewer.get(URL).content.decode()


def write(cluster, obj):
    query = {"fieldManager": "ci"}
    path = "/api/v1/namespaces/default/configmaps"
    answer = open_sandbox(cluster).handle(Request("POST", path, query, JSON, obj), user="test")
    assert answer.status == 201


def test_cluster_shows_its_objects_and_their_field_managers(as_viewer):
    cluster = registration.create_sandbox(slug="box", name="Box")
    meta = {"name": "flags", "namespace": "default"}
    write(cluster, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}})

    page = as_viewer.get(reverse("clusters:show-cluster", args=["box"])).content.decode()

    assert [text for text in ("flags", "ConfigMap", "ci</span>", "Update") if text not in page] == []


def test_cluster_that_does_not_answer_says_so(as_viewer):
    Cluster.objects.create(slug="gone", name="Gone", kind="live", created_at=rows.NOW)

    page = as_viewer.get(reverse("clusters:show-cluster", args=["gone"])).content.decode()

    assert "Could not read the cluster" in page


def test_unknown_cluster_is_not_found(as_viewer):
    assert as_viewer.get(reverse("clusters:show-cluster", args=["none"])).status_code == 404


def test_clusters_are_hidden_from_outsiders(as_charlie):
    assert [as_charlie.get(address).status_code for address in (URL, ADD)] == [404, 404]


def test_only_administrators_add_clusters(as_alice, as_root):
    assert [browser.get(ADD).status_code for browser in (as_alice, as_root)] == [403, 200]


def test_kubeconfig_that_runs_commands_is_refused_with_every_reason(as_root):
    form = {"name": "Prod", "slug": "prod", "kubeconfig": SimpleUploadedFile("config", KUBECONFIG)}

    answer = as_root.post(ADD, form)

    page = answer.content.decode()
    assert answer.status_code == 422
    assert [
        text for text in ("runs a command on this machine", "reads a file of this machine") if text not in page
    ] == []
    assert Cluster.objects.count() == 0


def test_short_name_is_used_once(as_root):
    rows.make_cluster("prod")

    answer = as_root.post(ADD, {"name": "P", "slug": "prod", "kubeconfig": SimpleUploadedFile("config", KUBECONFIG)})

    assert "Another cluster already uses this slug." in answer.content.decode()
