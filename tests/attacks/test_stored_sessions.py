"""The database signs its reader in as no account: no value of a table is a cookie, no written row opens a session."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.records.models import OpenSession
from applyviz.web.frame.session_store import SessionStore
from tests.builders import make_person

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
PASSWORD = "a-long-password-of-nobody"
ACCOUNT = reverse("account")


@pytest.fixture
def alice(db) -> User:
    person = make_person("alice")
    person.set_password(PASSWORD)
    person.save()
    return person


def sign_in() -> Client:
    client = Client()
    assert client.post(reverse("login"), {"username": "alice", "password": PASSWORD}).status_code == 302
    assert opens(client.cookies[settings.SESSION_COOKIE_NAME].value)
    return client


def opens(cookie: str) -> bool:
    """Whether a browser with this cookie is signed in."""
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = cookie
    return client.get(ACCOUNT).status_code == 200


def cookie_of(client: Client) -> str:
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def test_the_settings_use_this_store() -> None:
    assert import_module(settings.SESSION_ENGINE).SessionStore is SessionStore


def test_no_value_of_the_tables_opens_a_session(alice: User) -> None:
    cookie = cookie_of(sign_in())
    rows = [*Session.objects.values_list(), *OpenSession.objects.values_list()]
    values = {str(value) for row in rows for value in row}

    assert len(rows) == 2
    assert not any(cookie in value for value in values)
    assert [value for value in values if "\n" not in value and opens(value.replace(" ", ""))] == []


def test_an_inserted_row_opens_nothing(alice: User) -> None:
    """The content of Alice's row, and content of her own making, below a key that the attacker knows."""
    sign_in()
    content = Session.objects.get().session_data
    known, later = "k" * 32, timezone.now() + timedelta(days=1)
    own = Client()
    own.cookies[settings.SESSION_COOKIE_NAME] = known
    Session.objects.create(session_key=known, session_data=content, expire_date=later)
    from_site = SessionStore()
    from_site["visited"] = True
    from_site.save()

    found = [opens(known)]
    Session.objects.exclude(session_data=content).update(session_data=content)  # of a session that the site gave
    found.append(opens(from_site.session_key or ""))

    assert found == [False, False]


def test_a_session_that_is_too_old_stays_closed(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = cookie_of(sign_in())
    Session.objects.update(expire_date=timezone.now() + timedelta(days=900))
    monkeypatch.setattr(settings, "SESSION_COOKIE_AGE", -1)

    assert not opens(cookie)


def test_sessions_are_listed_ended_and_signed_out(alice: User) -> None:
    first, second, third = sign_in(), sign_in(), sign_in()
    page = first.get(ACCOUNT).content.decode()

    assert OpenSession.objects.filter(person=alice).count() == 3
    assert page.count("this one") == 1
    second.post(reverse("logout"))
    assert [opens(cookie_of(one)) for one in (first, third)] == [True, True]
    assert Session.objects.count() == 2

    first.post(reverse("end-sessions"))
    assert [opens(cookie_of(one)) for one in (first, third)] == [True, False]
    assert Session.objects.count() == 1
