"""Queries whose SQL is written once: they find what Django finds, for each number, and never more."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.db.models import Count, F
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from applyviz.records.written_queries import WrittenQuery

pytestmark = pytest.mark.django_db


def put_together(content_type: int, least: int):
    """Permissions of one kind from a number on, with what is joined and counted."""
    rows = Permission.objects.filter(content_type=content_type, pk__gte=least).exclude(codename="none")
    return rows.select_related("content_type").annotate(users=Count("user"), kind=F("content_type__model"))


def describe(rows):
    return [(row.pk, row.codename, row.content_type.model, row.users, row.kind) for row in rows]


def test_each_number_finds_what_django_finds():
    query = WrittenQuery(put_together)
    User.objects.create(username="one").user_permissions.set(Permission.objects.all()[:3])
    numbers = list(Permission.objects.values_list("content_type_id", "pk"))

    found = {pair: describe(query.ask(*pair)) for pair in numbers}

    assert found == {pair: describe(put_together(*pair)) for pair in numbers}
    assert len(set(map(str, found.values()))) == len(numbers)


def test_rows_come_with_what_is_joined():
    (row,) = WrittenQuery(lambda pk: Permission.objects.select_related("content_type").filter(pk=pk)).ask(1)

    with CaptureQueriesContext(connection) as asked:
        assert row.content_type.model
    assert len(asked) == 0


def test_values_come_as_they_were_asked_for():
    names = WrittenQuery(lambda pk: Permission.objects.filter(pk=pk).values_list("codename", flat=True))
    pairs = WrittenQuery(lambda: Permission.objects.order_by("pk").values_list("pk", "codename")[:1])

    assert (names.ask(1), pairs.ask()) == ([pairs.ask()[0][1]], [(1, names.ask(1)[0])])


def test_its_sql_is_written_once(monkeypatch):
    written = []
    write = SQLCompiler.pre_sql_setup
    monkeypatch.setattr(SQLCompiler, "pre_sql_setup", lambda *a, **k: written.append(1) or write(*a, **k))
    query = WrittenQuery(lambda pk: User.objects.filter(pk=pk))

    with CaptureQueriesContext(connection) as asked:
        assert [query.ask(number) for number in range(3)] == [[], [], []]
    assert (len(written), len(asked)) == (1, 3)


def test_only_columns_that_are_converted_are_asked_how(monkeypatch):
    query = WrittenQuery(lambda pk: User.objects.filter(pk=pk))
    at = datetime(2026, 11, 24, tzinfo=UTC)
    person = User.objects.create(username="one", last_login=at, is_active=False)
    query.ask(0)
    asked = []
    find = connection.ops.get_db_converters
    monkeypatch.setattr(connection.ops, "get_db_converters", lambda column: asked.append(column) or find(column))

    (found,) = query.ask(person.pk)

    assert (found.last_login, found.is_active, found.username) == (at, False, "one")
    assert {column.target.attname for column in asked} == {
        "last_login",
        "date_joined",
        "is_active",
        "is_staff",
        "is_superuser",
    }


def test_a_text_is_found_as_it_is():
    query = WrittenQuery(lambda name, pk: User.objects.filter(username=name, pk__gte=pk))
    names = ["1908472651", "o'neill", "%s", "", "ü"]
    people = {name: User.objects.create(username=name) for name in names}

    assert {name: query.find(name, people[name].pk) for name in names} == people
    assert query.find("%", 0) is None


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**40])
def test_a_number_that_no_row_can_have_finds_nothing(number):
    assert WrittenQuery(lambda pk: User.objects.filter(pk__gte=pk)).ask(number) == []


def test_a_number_that_is_no_parameter_is_refused():
    with pytest.raises(ValueError, match="is not a parameter"):
        WrittenQuery(lambda pk: User.objects.all()).ask(1)
    with pytest.raises(ValueError, match="is not a parameter"):
        WrittenQuery(lambda pk: User.objects.filter(pk=pk + 1)).ask(1)
    with pytest.raises(ValueError, match="is not a parameter"):
        WrittenQuery(lambda count: User.objects.filter(pk__gte=count)[:count]).ask(1)


def test_rows_that_a_query_would_name_are_refused():
    with pytest.raises(ValueError, match="named by a query"):
        WrittenQuery(lambda pk: User.objects.filter(pk=pk).values("username")).ask(1)


def test_a_lock_needs_a_transaction(monkeypatch):
    query = WrittenQuery(lambda pk: User.objects.select_for_update().filter(pk=pk))
    assert query.ask(0) == []
    monkeypatch.setattr(connection, "get_autocommit", lambda: True)

    with pytest.raises(TransactionManagementError):
        query.ask(0)
