"""Clusters: who sees them, their objects, and what a kubeconfig may not hold."""

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from applyviz.clusters.sandbox import open_sandbox
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.records.models import Cluster, ReviewScope
from applyviz.web.components.pagers import PER_PAGE
from applyviz.workflow.clusters import registration
from tests.builders import grant_role
from tests.web import reading, rows

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


def test_list_names_clusters(as_viewer):
    rows.make_cluster()

    assert "Shop" in as_viewer.get(URL).content.decode()


def test_list_counts_the_reviews_that_its_reader_may_see(as_viewer, alice, plan):
    other = rows.make_plan(alice, [])
    for review, namespace in ((plan.review, "shop"), (other.review, "vault")):
        ReviewScope.objects.create(review=review, cluster=plan.target.cluster, namespace=namespace)
    near = User.objects.create_user("nadia")
    grant_role(near, "viewer", cluster="shop", namespace="shop", is_cluster_scoped=False)
    browser = Client()
    browser.force_login(near)

    counts = [
        [reading.text_of(cell) for cell in reading.find_all(reading.read(client, URL), "td", has="data-label")][2]
        for client in (as_viewer, browser)
    ]

    assert counts == ["2", "1"]


def write(cluster, obj):
    query = {"fieldManager": "ci"}
    path = "/api/v1/namespaces/default/configmaps"
    answer = open_sandbox(cluster).handle(Request("POST", path, query, JSON, obj), user="test")
    assert answer.status == 201


def test_cluster_shows_its_objects_and_their_field_managers(as_viewer):
    cluster = registration.create_sandbox(slug="box", name="Box")
    meta = {"name": "flags", "namespace": "default"}
    write(cluster, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}})

    page = as_viewer.get(reverse("clusters:show-objects", args=["box"])).content.decode()
    managers = reading.lines_of(reading.read(as_viewer, reverse("clusters:show-managers", args=["box"])))

    assert [text for text in ("flags", "ConfigMap", "ci</span>", "Update") if text not in page] == []
    assert "1 field manager" in managers


def test_live_objects_are_narrowed_by_words_of_any_column(as_viewer):
    cluster = registration.create_sandbox(slug="box", name="Box")
    for name in ("flags", "limits"):
        meta = {"name": name, "namespace": "default"}
        write(cluster, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}})
    address = reverse("clusters:show-objects", args=["box"])

    pages = [
        as_viewer.get(address, {"q": typed}).content.decode()
        for typed in ("FLAG", "configmap/lim", "ci", "nothing-like-it")
    ]

    assert [("flags" in page, "limits" in page) for page in pages] == [
        (True, False),
        (False, True),
        (True, True),
        (False, False),
    ]
    assert "No object matches." in pages[3]


def test_live_objects_stand_on_pages_that_keep_the_filter(as_viewer):
    cluster = registration.create_sandbox(slug="box", name="Box")
    for n in range(PER_PAGE + 2):
        meta = {"name": f"flags{n:02}", "namespace": "default"}
        write(cluster, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}})
    address = reverse("clusters:show-objects", args=["box"])

    first = reading.read(as_viewer, f"{address}?q=flags")
    (following,) = (a for a in reading.find_all(first, "a") if reading.attribute(a, "rel") == "next")
    second = reading.read(as_viewer, address + (reading.attribute(following, "href") or ""))

    assert "flags00" in reading.text_of(first)
    assert "flags31" not in reading.text_of(first)
    assert "Next" in reading.text_of(following)
    assert [name in reading.text_of(second) for name in ("flags00", "flags29", "flags30", "flags31")] == [
        False, False, True, True,
    ]  # fmt: skip
    assert f"Config Map 2 of {PER_PAGE + 2}" in reading.text_of(second)


@pytest.mark.parametrize("tab", ["cluster", "objects", "managers", "applysets", "runs", "settings"])
def test_each_tab_is_a_page_and_current(as_viewer, tab):
    registration.create_sandbox(slug="box", name="Box")

    page = reading.read(as_viewer, reverse(f"clusters:show-{tab}", args=["box"]))

    (nav,) = (e for e in reading.find_all(page, "nav") if reading.attribute(e, "aria-label") == "Cluster")
    (current,) = reading.find_all(nav, "a", has="aria-current")
    assert reading.attribute(current, "href") == reverse(f"clusters:show-{tab}", args=["box"])
    assert len(reading.find_all(nav, "a")) == 6


def test_first_tab_does_not_wait_for_the_cluster(as_viewer):
    Cluster.objects.create(slug="gone", name="Gone", kind="live", created_at=rows.NOW)

    page = as_viewer.get(reverse("clusters:show-cluster", args=["gone"])).content.decode()

    assert ("Last 90 days" in page, "Not scanned yet" in page, "Could not read the cluster" in page) == (
        True,
        True,
        False,
    )


def test_reviews_and_runs_of_a_cluster_are_listed(as_viewer, plan, bob):
    slug = plan.target.cluster.slug
    address = reverse("clusters:show-runs", args=[slug])
    before = reading.lines_of(reading.read(as_viewer, address))
    run = rows.make_run(plan, bob)
    page = reading.read(as_viewer, address)

    links = {reading.attribute(a, "href") for a in reading.find_all(page, "a")}
    assert ("No runs yet." in before, "No reviews yet." in before) == (True, False)
    assert reverse("runs:show-run", args=[run.number]) in links


def test_work_of_other_places_is_not_listed(plan, bob):
    rows.make_run(plan, bob)
    person = User.objects.create_user("nora")
    slug = plan.target.cluster.slug
    grant_role(person, "viewer", cluster=slug, namespace="elsewhere", is_cluster_scoped=False)
    browser = Client()
    browser.force_login(person)

    page = reading.lines_of(reading.read(browser, reverse("clusters:show-runs", args=[slug])))

    assert ("No runs yet." in page, "No reviews yet." in page) == (True, True)


def test_cluster_that_does_not_answer_says_so(as_viewer):
    Cluster.objects.create(slug="gone", name="Gone", kind="live", created_at=rows.NOW)

    pages = [
        as_viewer.get(reverse(f"clusters:{name}", args=["gone"])).content.decode()
        for name in ("show-objects", "show-managers")
    ]

    assert ["Could not read the cluster" in page for page in pages] == [True, True]


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
