"""One click signs in as a demo account: only where that opens nothing but the demo, and only from this machine."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.records.enums import AuditAction, ClusterKind, Role
from applyviz.records.models import AuditEntry, Cluster
from applyviz.workflow.clusters import own_contexts, registration
from applyviz.workflow.ops import demo
from tests.builders import make_person

pytestmark = pytest.mark.django_db
URL = reverse("login-demo")


@pytest.fixture(autouse=True)
def demo_data(settings):
    """The accounts and the sandbox of the demo, in a personal installation."""
    settings.APPLYVIZ_IS_PERSONAL = True
    registration.create_sandbox(slug=demo.SLUG, name="Demo sandbox")
    return demo.make_accounts()


def click(name: str = "alice", client: Client | None = None, **headers: str) -> str:
    """Who is signed in after the click; "" for nobody."""
    client = client or Client()
    client.post(URL, {"name": name}, **headers)
    found = client.session.get("_auth_user_id")
    return User.objects.get(pk=found).get_username() if found else ""


def test_one_click_signs_in_and_is_recorded():
    page = Client().get(reverse("login")).content.decode()

    assert 'value="alice"' in page
    assert [click(name) for name in demo.ROLES] == list(demo.ROLES)
    assert AuditEntry.objects.filter(action=AuditAction.SIGNED_IN).count() == len(demo.ROLES)


def test_team_installation_offers_and_accepts_nothing(settings):
    settings.APPLYVIZ_IS_PERSONAL = False

    page = Client().get(reverse("login")).content.decode()

    assert "login/demo" not in page
    assert [click(name) for name in demo.ROLES] == [""] * len(demo.ROLES)


def add_real_cluster() -> None:
    Cluster.objects.create(slug="prod", name="Production", kind=ClusterKind.LIVE, created_at=timezone.now())


def test_real_cluster_ends_it():
    add_real_cluster()

    page = Client().get(reverse("login")).content.decode()

    assert ("login/demo" in page, "demo accounts need their passwords" in page) == (False, True)
    assert click() == ""


@pytest.mark.core(1)
@pytest.mark.parametrize("name", demo.ROLES)
def test_real_cluster_ends_the_sessions_of_one_click(name):
    client = Client()
    click(name, client)
    before = client.get(reverse("home")).status_code

    add_real_cluster()

    after = client.get(reverse("home"))
    assert (before, after.status_code, after.headers.get("Location", "")[:7]) == (200, 302, "/login/")


def test_real_cluster_ends_no_session_of_a_password(demo_data):
    client = Client()
    client.post(reverse("login"), {"username": "dana", "password": demo_data[-1].password})

    add_real_cluster()

    assert client.get(reverse("home")).status_code == 200


def test_session_that_added_the_real_cluster_goes_on_alone(monkeypatch):
    adding, other = Client(), Client()
    click("dana", adding)
    click("dana", other)
    monkeypatch.setattr(
        own_contexts, "add_own_context", lambda _, by: add_real_cluster() or Cluster.objects.get(slug="prod")
    )

    adding.post(reverse("clusters:add-own-context"), {"context": "prod"})

    assert [client.get(reverse("home")).status_code for client in (adding, other)] == [200, 302]


@pytest.mark.parametrize(
    "headers",
    [
        {"REMOTE_ADDR": "10.0.0.7"},
        {"REMOTE_ADDR": ""},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_FORWARDED": "for=x"},
        {"HTTP_X_FORWARDED_PORT": "443"},
        {"HTTP_VIA": "1.1 proxy"},
        {"HTTP_X_REAL_IP": "10.0.0.7"},
        {"HTTP_CF_CONNECTING_IP": "10.0.0.7"},
    ],
)
def test_other_machines_are_refused(headers):
    assert "login/demo" not in Client().get(reverse("login"), **headers).content.decode()
    assert click(**headers) == ""


@pytest.mark.parametrize("name", ["", "root", "erin", "ALICE", "alice\0", "a" * 4000])
def test_only_demo_accounts_are_signed_in(name):
    make_person("erin", Role.ADMINISTRATOR)
    User.objects.create_superuser("root")

    assert click(name) == ""


def test_deactivated_account_stays_out():
    User.objects.filter(username="bob").update(is_active=False)

    assert (click("bob"), 'value="bob"' in Client().get(reverse("login")).content.decode()) == ("", False)


def test_without_demo_data_nobody_is_signed_in():
    Cluster.objects.filter(slug=demo.SLUG).update(slug="mine")

    assert click() == ""


def test_other_sites_cannot_sign_anybody_in():
    strict = Client(enforce_csrf_checks=True)

    assert strict.post(URL, {"name": "alice"}).status_code == 403
    assert (Client().get(URL).status_code, "_auth_user_id" in strict.session) == (405, False)
