"""An invited person claims the account by a link that works once; whoever made it never gets in (N5)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz import clock
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AccountClaim, AuditEntry
from applyviz.workflow.people import claims
from tests import moments
from tests.attacks.conftest import list_stored
from tests.builders import make_person

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


@pytest.fixture
def mallory(db: None) -> User:
    """The first administrator."""
    return make_person("mallory", Role.ADMINISTRATOR)


@pytest.fixture
def dana(mallory: User) -> User:
    """The second one, so that there have been two."""
    return make_person("dana", Role.ADMINISTRATOR)


@pytest.fixture
def as_mallory(mallory: User) -> Client:
    browser = Client()
    browser.force_login(mallory)
    return browser


def invite(browser: Client, name: str = "erin") -> str:
    """Make an account on the page; the address of the link that is shown."""
    page = browser.post(reverse("settings:add-person"), {"name": name, "email": ""}).content.decode()
    found = re.search(r"data-claim>https?://[^/]+([^<]+)<", page)
    assert found, page
    return found[1]


NEW = {"new": "a-long-enough-secret", "again": "a-long-enough-secret"}


def test_link_sets_the_persons_own_password_once(as_mallory: Client) -> None:
    link = invite(as_mallory)
    erin = Client()

    shown, done, again = erin.get(link), erin.post(link, NEW), erin.post(link, {"new": "b" * 20, "again": "b" * 20})

    assert (shown.status_code, done["Location"], again.status_code) == (200, "/login/", 404)
    assert User.objects.get(username="erin").check_password(NEW["new"])
    assert AuditEntry.objects.get(action=AuditAction.ACCOUNT_CLAIMED).actor_name == "erin"


def test_link_is_stored_as_a_hash_alone(as_mallory: Client) -> None:
    token = invite(as_mallory).strip("/").split("/")[-1]

    assert [where for where, text in list_stored() if token in text] == []


def test_link_ends_after_three_days(as_mallory: Client) -> None:
    link = invite(as_mallory)
    moments.move_to(clock.now() + claims.LASTS + timedelta(seconds=1))

    assert Client().post(link, NEW).status_code == 404


def test_newer_link_ends_the_older(as_mallory: Client) -> None:
    link = invite(as_mallory)
    as_mallory.post(reverse("settings:invite-again", args=["erin"]))

    assert Client().post(link, NEW).status_code == 404


def test_administrator_takes_no_account_over_by_a_link(as_mallory: Client, mallory: User, dana: User) -> None:
    answer = as_mallory.post(reverse("settings:invite-again", args=["dana"]))

    assert (answer.status_code, AccountClaim.objects.count()) == (403, 0)


def test_weak_password_and_guessed_link_claim_nothing(as_mallory: Client) -> None:
    link = invite(as_mallory)

    weak, guessed = Client().post(link, {"new": "12345678", "again": "12345678"}), Client().get("/claim/guess/")

    assert (weak.status_code, guessed.status_code) == (422, 404)
    assert not User.objects.get(username="erin").has_usable_password()


def test_who_is_signed_in_claims_nothing(as_mallory: Client) -> None:
    link = invite(as_mallory)

    assert as_mallory.post(link, NEW).status_code == 403
