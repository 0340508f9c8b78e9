"""The kubeconfig of the machine: a team installation never reads it, and only administrators of a personal one do."""

import stat
import sys

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.clusters import own_kubeconfig
from applyviz.records.enums import Role
from applyviz.records.models import AuditEntry, Cluster
from applyviz.workflow.clusters import own_contexts, registration
from applyviz.workflow.foundation.errors import NotAllowedError, NotVisibleError
from tests.builders import grant_role, make_person

LIST, ADD = reverse("clusters:list-clusters"), reverse("clusters:add-own-context")


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """A kubeconfig whose plugin leaves a mark; returns the mark."""
    found = tmp_path / "mark"
    command = tmp_path / "login-plugin"
    command.write_text(f"#!{sys.executable}\nimport pathlib\npathlib.Path({str(found)!r}).touch()\n")
    command.chmod(stat.S_IRWXU)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(command)}}
    config = {
        "contexts": [{"name": "very-own", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": user}],
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    return found


def sign_in(person):
    browser = Client()
    browser.force_login(person)
    return browser


@pytest.fixture
def as_root(db):
    return sign_in(User.objects.create_superuser("root"))


def test_team_installation_never_reads_the_kubeconfig_of_its_machine(as_root, mark, settings, monkeypatch):
    settings.APPLYVIZ_IS_PERSONAL = False
    read = []
    monkeypatch.setattr(own_kubeconfig, "_read_file", lambda path: read.append(path) or {})

    page = as_root.get(LIST)
    answer = as_root.post(ADD, {"context": "very-own"})

    assert (page.status_code, answer.status_code) == (200, 404)
    assert "very-own" not in page.content.decode()
    assert "contexts" not in page.content.decode()
    for call in (
        lambda: own_contexts.list_own_contexts(by=User.objects.get()),
        lambda: own_contexts.add_own_context("very-own", by=User.objects.get()),
    ):
        with pytest.raises(NotVisibleError):
            call()
    assert (read, mark.exists(), Cluster.objects.count()) == ([], False, 0)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUTHOR, Role.APPROVER, Role.OPERATOR, Role.BREAK_GLASS])
def test_only_people_who_may_add_clusters_see_contexts(mark, settings, role, db):
    settings.APPLYVIZ_IS_PERSONAL = True
    person = make_person("p", role)
    browser = sign_in(person)

    page, answer = browser.get(LIST), browser.post(ADD, {"context": "very-own"})

    assert (page.status_code, answer.status_code) == (200, 403)
    assert "very-own" not in page.content.decode()
    with pytest.raises(NotAllowedError):
        own_contexts.list_own_contexts(by=person)
    assert not mark.exists()


def test_page_runs_no_plugin_and_adding_needs_a_form_of_this_site(as_root, mark, settings):
    settings.APPLYVIZ_IS_PERSONAL = True
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get())

    assert "very-own" in as_root.get(LIST).content.decode()
    assert as_root.get(ADD).status_code == 405
    assert strict.post(ADD, {"context": "very-own"}).status_code == 403
    assert not mark.exists()


def test_unknown_name_runs_nothing(as_root, mark, settings):
    settings.APPLYVIZ_IS_PERSONAL = True

    answer = as_root.post(ADD, {"context": "../other"})

    assert answer.status_code == 422
    assert (mark.exists(), Cluster.objects.count(), AuditEntry.objects.count()) == (False, 0, 0)


def test_plugin_that_answers_nothing_adds_no_cluster(as_root, mark, settings):
    settings.APPLYVIZ_IS_PERSONAL = True

    answer = as_root.post(ADD, {"context": "very-own"})

    assert answer.status_code == 422
    assert "did not answer with an ExecCredential" in answer.content.decode()
    assert (mark.exists(), Cluster.objects.count()) == (True, 0)


def test_kubeconfig_of_a_sandbox_is_for_people_who_may_apply_and_is_never_stored(db):
    registration.create_sandbox(slug="box", name="Box")
    registration.create_sandbox(slug="other", name="Other")
    address = reverse("clusters:download-kubeconfig", args=["box"])
    people = {role: sign_in(make_person(role, role)) for role in (Role.VIEWER, Role.AUTHOR, Role.AUDITOR)}
    elsewhere = make_person("elsewhere")
    grant_role(elsewhere, Role.APPROVER, cluster="other")
    bob = sign_in(make_person("bob", Role.APPROVER))

    refused = [browser.get(address).status_code for browser in people.values()]
    hidden = sign_in(elsewhere).get(address).status_code
    given = bob.get(address)

    assert (refused, hidden, given.status_code) == ([403, 403, 403], 404, 200)
    assert given["Cache-Control"] == "no-store"
    assert given["Content-Disposition"] == 'attachment; filename="box.kubeconfig"'
    assert yaml.safe_load(given.content)["current-context"] == "applyviz-box"
    cluster_page = reverse("clusters:show-cluster", args=["box"])
    offers = [address in browser.get(cluster_page).content.decode() for browser in (*people.values(), bob)]
    assert offers == [False, False, False, True]
    assert Client().get(address).status_code == 302
