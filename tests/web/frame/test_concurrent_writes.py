"""What PostgreSQL gave up because of somebody else is a refusal that says so, on pages and in the API."""

import pytest
from django.db import OperationalError
from django.test import RequestFactory

from applyviz.records.enums import Role, TokenScope
from applyviz.web.api import guard
from applyviz.web.frame import view_guard
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.people import tokens
from tests.builders import make_person

pytestmark = pytest.mark.django_db


class GivenUpError(Exception):
    """As psycopg tells it."""

    def __init__(self, sqlstate):
        self.sqlstate = sqlstate


def give_up(sqlstate):
    def view(*_):
        raise OperationalError("given up") from GivenUpError(sqlstate)

    return view


@pytest.fixture
def request_of(rf: RequestFactory):
    request = rf.get("/")
    request.user = make_person("alice", Role.AUTHOR)
    return request


@pytest.mark.parametrize("sqlstate", ["40P01", "40001", "55P03"])
def test_collision_is_told_on_a_page(request_of, sqlstate):
    response = view_guard.requires(Action.VIEW)(give_up(sqlstate))(request_of)

    assert (response.status_code, "try again" in getattr(response, "content", b"").decode()) == (409, True)


def test_collision_is_told_by_the_api(rf, request_of):
    alice = request_of.user
    given = {"account": alice, "name": "x", "scope": TokenScope.READ, "days": 30}
    text = tokens.make_token(by=alice, **given)[1]
    response = guard.requires(Action.VIEW)(give_up("40P01"))(rf.get("/", headers={"Authorization": f"Bearer {text}"}))

    assert (response.status_code, b"try again" in getattr(response, "content", b"")) == (409, True)


def test_database_that_is_away_is_no_collision(request_of):
    with pytest.raises(OperationalError):
        view_guard.requires(Action.VIEW)(give_up("08006"))(request_of)
