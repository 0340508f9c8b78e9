"""The cast of the pages' tests, each with a browser of their own, and plans they look at."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.web.reviews.pages.plan_overview import read_plan
from applyviz.web.reviews.pages.search.field_lines import read_lines
from applyviz.workflow.foundation.plan_rows import list_rows
from tests.builders import grant_role
from tests.following import make_begun, make_people, make_session_authority, make_stage  # noqa: F401 - fixtures
from tests.sandboxes import keep_sandboxes_in_memory  # noqa: F401 - a fixture
from tests.stories import Team
from tests.web import builders, rows
from tests.web.template_names import note_missing


def _person(name: str, role: str = "") -> User:
    person = User.objects.create_user(name)
    if role:
        grant_role(person, role)
    return person


def _browser(person: User) -> Client:
    browser = Client()
    browser.force_login(person)
    return browser


@pytest.fixture(autouse=True)
def _in_utc(settings):
    """Tests of pages state their times in UTC, wherever the tests run."""
    settings.TIME_ZONE = "UTC"


@pytest.fixture(autouse=True)
def _forget_readings():
    read_plan.cache_clear()
    list_rows.cache_clear()
    read_lines.cache_clear()


@pytest.fixture
def alice(db) -> User:
    """Writes."""
    return _person("alice", "author")


@pytest.fixture
def bob(db) -> User:
    """Approves."""
    return _person("bob", "approver")


@pytest.fixture
def as_alice(alice) -> Client:
    return _browser(alice)


@pytest.fixture
def as_bob(bob) -> Client:
    return _browser(bob)


@pytest.fixture
def as_viewer(db) -> Client:
    return _browser(_person("vera", "viewer"))


@pytest.fixture
def as_dana(db) -> Client:
    """Administers."""
    return _browser(_person("dana", "administrator"))


@pytest.fixture
def as_charlie(db) -> Client:
    """Is in no group."""
    return _browser(_person("charlie"))


@pytest.fixture
def as_root(db) -> Client:
    """Is a superuser of Django."""
    return _browser(User.objects.create_superuser("root"))


@pytest.fixture
def as_auditor(db) -> Client:
    """Reads the audit log."""
    return _browser(_person("audrey", "auditor"))


@pytest.fixture
def team(monkeypatch) -> Team:
    """Alice writes, Bob approves; a wire counts what is sent to their sandbox, and can lose it."""
    return Team().wire_up(monkeypatch)


@pytest.fixture
def refused_plan(alice):
    """One object with a conflict."""
    return rows.make_plan(alice, [builders.build_change()])


@pytest.fixture
def plan(alice):
    """One object that can be applied."""
    change = builders.build_change()
    fields = tuple(f for f in change.fields if f.operation is not FieldOperation.CONFLICT)
    return rows.make_plan(alice, [replace(change, operation=Operation.UPDATE, conflicts=(), fields=fields)])


@pytest.fixture
def run(plan, bob):
    return rows.make_run(plan, bob)


@pytest.fixture(autouse=True)
def _templates_name_what_exists():
    """Fail a test that renders a template with a field that its read model does not have."""
    with note_missing() as missing:
        yield
    assert missing == set()
