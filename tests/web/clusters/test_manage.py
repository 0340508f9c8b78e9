"""The page on which administrators manage a cluster, and who is told of which clusters."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from applyviz.clusters import connect
from applyviz.engine.objects.errors import UnreachableError
from applyviz.records.models import Cluster, Review
from applyviz.records.sealing import Unsealed
from applyviz.workflow.clusters import lifecycle
from tests.builders import grant_role, make_cluster_row, make_policy
from tests.clusters.test_kubeconfig import build
from tests.web import reading, rows
from tests.web.api.test_api import Program, body

pytestmark = pytest.mark.django_db
NEW = reverse("reviews:add-review")


def url(name: str, slug: str = "prod") -> str:
    return reverse(f"clusters:{name}", args=[slug])


@pytest.fixture
def prod(db):
    values = {"kind": "live", "server": "https://api.example:6443", "credential": Unsealed.of_json({"form": "test"})}
    return make_cluster_row("prod", name="Production", **values)


@pytest.fixture
def down(monkeypatch):
    class Door:
        def acting_as(self, _identity):
            return self

        def send(self, _request):
            raise UnreachableError("The server refused the connection.", detail="[Errno 111] refused")

        def close(self):
            pass

    monkeypatch.setattr(connect, "open_transport", lambda _cluster: Door())


def test_every_change_has_a_button(as_root, prod):
    page = as_root.get(url("manage-cluster")).content.decode()

    for name in ("replace-credential", "rename-cluster", "pause-cluster", "archive-cluster"):
        assert f'action="{url(name)}"' in page
    assert url("test-connection") in page


def test_pausing_and_archiving_ask_first_and_say_what_they_hold_up(as_root, alice, prod):
    plan = rows.make_plan(alice, [])
    plan.target.cluster = prod
    plan.target.save()
    page = reading.read(as_root, url("manage-cluster"))
    asking = [d for d in reading.find_all(page, "details") if reading.attribute(d, "class") == "asks-first"]

    assert [reading.attribute(d, "open") for d in asking] == [None, None]
    for details, name, act in zip(asking, ("pause-cluster", "archive-cluster"), ("Pause", "Archive"), strict=True):
        (form,) = reading.find_all(details, "form")
        (summary,) = reading.find_all(details, "summary")
        assert reading.attribute(form, "action") == url(name)
        assert "1 open review is for this cluster." in reading.text_of(form)
        assert reading.text_of(summary) == f"{act} cluster…"
        assert [reading.text_of(b) for b in reading.find_all(form, "button")] == [f"{act} {prod.name} now"]


def test_name_pause_and_archive_by_forms(as_root, prod):
    assert as_root.post(url("rename-cluster"), {"name": "Shop"}).status_code == 302
    assert as_root.post(url("rename-cluster"), {"name": ""}).status_code == 422
    assert as_root.post(url("pause-cluster"), {"reason": "moving <etcd>"}).status_code == 302
    paused = as_root.get(url("manage-cluster")).content.decode()
    assert as_root.post(url("pause-cluster"), {}).status_code == 409
    assert as_root.post(url("resume-cluster")).status_code == 302
    assert as_root.post(url("archive-cluster")).status_code == 302
    archived = as_root.get(url("manage-cluster")).content.decode()
    listed = as_root.get(reverse("clusters:list-clusters")).content.decode()
    assert as_root.post(url("restore-cluster")).status_code == 302

    assert [
        t for t in ("This cluster is paused", "moving &lt;etcd&gt;", url("resume-cluster")) if t not in paused
    ] == []
    assert ("This cluster is archived" in archived, url("restore-cluster") in archived) == (True, True)
    assert ("Shop" in listed, "archived" in listed) == (True, True)
    prod.refresh_from_db()
    assert (prod.name, prod.paused_at, prod.archived_at) == ("Shop", None, None)


def test_failure_is_a_sentence_with_the_server_message_folded(as_root, prod, down):
    tested = as_root.get(url("test-connection")).content.decode()
    form = {"kubeconfig": SimpleUploadedFile("config", build())}
    replaced = as_root.post(url("replace-credential"), form)

    for page in (tested, replaced.content.decode()):
        assert "The server refused the connection." in page
        folded = page[page.index("<summary>Server message") :]
        assert "[Errno 111] refused" in folded[: folded.index("</details>")]
        assert page.count("[Errno 111]") == 1
    assert replaced.status_code == 422


@pytest.mark.parametrize("path", ["manage-cluster", "test-connection"])
def test_others_manage_nothing(as_alice, as_bob, as_charlie, prod, path):
    answers = [browser.get(url(path)).status_code for browser in (as_alice, as_bob, as_charlie)]

    assert answers == [403, 403, 404]
    assert "manage/" not in as_alice.get(url("show-cluster")).content.decode()


def author_of(pattern: str, role: str = "author", **patterns: object) -> Client:
    person = User.objects.create_user(f"some-{role}-{pattern}")
    grant_role(person, role, cluster=pattern, **patterns)
    browser = Client()
    browser.force_login(person)
    return browser


def test_form_names_the_clusters_of_the_author_alone(prod):
    make_cluster_row("secret-project", name="Secret project")

    page = author_of("prod", namespace="shop", is_cluster_scoped=False).get(NEW).content.decode()

    assert ("Production" in page, "secret-project" in page or "Secret project" in page) == (True, False)


def test_form_names_no_cluster_that_may_only_be_looked_at(prod):
    make_cluster_row("other", name="Looked-at")
    browser = author_of("prod")
    grant_role(User.objects.get(username="some-author-prod"), "viewer", cluster="other")

    page = browser.get(NEW).content.decode()

    assert ("Production" in page, "Looked-at" in page) == (True, False)


def test_cluster_that_is_not_offered_is_refused_like_one_that_is_not_there(prod):
    make_cluster_row("secret-project")
    browser, sent = author_of("prod"), {"title": "x", "namespace": "default", "mode": "server", "text": "a: 1"}
    sent |= {"field_manager": "applyviz"}

    errors = [
        browser.post(NEW, {**sent, "cluster": slug}).context["form"].errors["cluster"]
        for slug in ("secret-project", "no-such-one")
    ]

    assert errors[0] == errors[1]
    assert Review.objects.count() == 0


def test_api_tells_nothing_of_other_clusters(prod):
    make_cluster_row("secret-project")
    person = User.objects.create_user("pipeline")
    grant_role(person, "author", cluster="prod")
    program = Program(person)

    told = [
        program.post("reviews/", body("a: 1", cluster=slug)).json()["error"]["problems"][0]
        for slug in ("secret-project", "no-such-one-xx")
    ]

    assert told[0]["message"] == "there is no cluster secret-project"
    assert told[1]["message"] == "there is no cluster no-such-one-xx"


def test_archived_cluster_is_in_no_form(as_alice, prod):
    make_cluster_row("left", name="Leftover")
    lifecycle.archive_cluster(Cluster.objects.get(slug="left"), by=None)

    assert "Leftover" not in as_alice.get(NEW).content.decode()
    assert "Leftover" in as_alice.get(reverse("clusters:list-clusters")).content.decode()


def test_policies_name_no_cluster_of_others(prod):
    make_cluster_row("secret-project")
    make_policy("of-secret", cluster="secret-project")
    make_policy("of-prod", cluster="prod")
    make_policy("of-all", cluster="*")
    browser, root = author_of("prod"), User.objects.create_superuser("root")
    listed = browser.get(reverse("settings:list-policies")).content.decode()
    as_root = Client()
    as_root.force_login(root)

    assert [name for name in ("of-prod", "of-all") if name not in listed] == []
    assert [name for name in ("of-secret", "secret-project") if name in listed] == []
    assert browser.get(reverse("settings:show-policy", args=["of-secret"])).status_code == 404
    assert browser.get(reverse("settings:show-policy", args=["of-prod"])).status_code == 200
    assert "secret-project" in as_root.get(reverse("settings:list-policies")).content.decode()
