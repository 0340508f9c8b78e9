"""A page reads each row once; a use case reads it again as soon as anything was written."""

import pytest
from django.db import DatabaseError, connection, transaction

from applyviz import moments
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.deletions import DELETED
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.records.enums import Role
from applyviz.workflow.approvals import acknowledgments, quorum, viewed_objects
from applyviz.workflow.foundation import access, plan_rows
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.people import humans
from applyviz.workflow.policies import risks
from tests.blockers import name_blockers
from tests.builders import make_person, make_plan_row, take_roles
from tests.web import builders, rows


def test_answer_is_kept_within_a_moment_only():
    asked = []

    def ask() -> int:
        asked.append(1)
        return len(asked)

    assert [moments.read_once("a", ask), moments.read_once("a", ask)] == [1, 2]
    with moments.at_one_moment():
        assert [moments.read_once("a", ask), moments.read_once("a", ask), moments.read_once("b", ask)] == [3, 3, 4]
    assert moments.read_once("a", ask) == 5


def test_nothing_is_kept_outside_a_moment():
    moments.keep("kept", 1)
    with moments.at_one_moment():
        first = moments.find("kept")
        moments.keep("kept", 2)
        second = moments.find("kept")

    assert (first, second, moments.find("kept")) == (None, 2, None)


@pytest.mark.django_db
def test_what_many_are_asked_is_read_with_one_call_on_a_page_only():
    asked = []

    def read(missing: list[int]) -> dict[int, int]:
        asked.append(missing)
        return {key: -key for key in missing}

    moments.read_together("a", [1, 2], read)
    with moments.until_written():
        moments.read_together("a", [1, 2], read)
        unkept = moments.find(("a", 1)), moments.read_on_page("b", lambda: 1), moments.read_on_page("b", lambda: 2)
    with moments.at_one_moment():
        moments.read_together("a", [1], read)  # one alone is read when it is asked for
        moments.keep(("a", 2), 5)
        moments.read_together("a", [1, 2, 3], read)
        found = [moments.read_once(("a", key), lambda: 0) for key in (1, 2, 3)]
        kept = moments.read_on_page("b", lambda: 1), moments.read_on_page("b", lambda: 2)

    assert (asked, found) == ([[1, 3]], [-1, 5, -3])
    assert (unkept, kept) == ((None, 1, 2), (1, 1))


def test_moment_that_fails_keeps_nothing():
    def fail() -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"), moments.at_one_moment():
        moments.read_once("kept", fail)

    assert not moments.is_within()


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sql", "is_kept"),
    [
        ("SELECT 1", True),
        ("SAVEPOINT a", True),
        ("UPDATE auth_user SET id = 1 WHERE id = 0", False),
        ("DELETE FROM auth_user WHERE id = 0", False),
        ("INSERT INTO auth_group (name) VALUES ('a')", False),
        ("WITH a AS (SELECT 1) DELETE FROM auth_user WHERE id IN a", False),
    ],
)
def test_use_case_forgets_what_it_read_before_a_write(sql, is_kept):
    with moments.until_written():
        assert moments.read_once("a", lambda: 1) == 1
        execute(sql)
        assert moments.read_once("a", lambda: 2) == (1 if is_kept else 2)
    assert moments.read_once("a", lambda: 3) == 3


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT "a" FROM "b" WHERE "a" = %s FOR UPDATE',
        'SELECT "a" FROM "b" FOR NO KEY UPDATE OF "b"',
        "BEGIN IMMEDIATE",
        'ROLLBACK TO SAVEPOINT "a"',
    ],
)
def test_use_case_forgets_what_it_read_before_a_lock_or_a_rollback(sql):
    """Statements of PostgreSQL too, which the database of these tests does not know."""
    moment = moments._ReadOnce(is_page=False, kept={"a": 1})
    moment.watch(lambda *statement: None, sql, (), False, {})

    assert moment.kept == {}


@pytest.mark.django_db
def test_write_that_fails_is_forgotten_before_too():
    with moments.until_written():
        moments.keep("a", 1)
        with pytest.raises(DatabaseError), transaction.atomic():
            execute("INSERT INTO auth_group (id, name) VALUES (1, NULL)")
        assert moments.find("a") is None


def test_moment_within_a_moment_goes_on_with_it():
    with moments.at_one_moment():
        moments.keep("a", 1)
        with moments.until_written():
            assert (moments.find("a"), moments.is_within()) == (1, True)
            moments.keep("b", 2)
        assert moments.find("b") == 2


@pytest.mark.django_db
def test_only_a_page_is_within():
    with moments.until_written():
        assert not moments.is_within()


@pytest.mark.django_db
def test_right_that_is_taken_during_a_use_case_is_missing_at_once():
    person = make_person("one", Role.APPROVER)
    with moments.until_written():
        before = access.can(person, Action.APPROVE)
        take_roles(person)
        assert (before, access.can(person, Action.APPROVE)) == (True, False)


@pytest.mark.django_db
def test_change_between_two_questions_of_a_use_case_is_seen():
    person, other = make_person("one"), make_person("two")
    plan = make_plan_row(person)
    before = quorum.find_involved(plan)
    plan.review.decisions.create(plan=plan, by=other, object_key="x", choice="y", created_at=plan.created_at)

    assert (other.pk in before, other.pk in quorum.find_involved(plan)) == (False, True)


@pytest.fixture
def risky(db):
    """A plan with a high risk and a conflict, and a person who may approve it."""
    deleted = Risk(DELETED, RiskLevel.HIGH)
    changes = [
        replace(builders.build_change(), operation=Operation.UPDATE, risks=(deleted,)),
        replace(builders.build_change(), ref=builders.build_change().ref._replace(name="other")),
    ]
    approver = make_person("approver", Role.APPROVER)
    return rows.make_plan(make_person("author", Role.AUTHOR), changes), approver


def test_page_and_use_case_find_the_same(risky):
    """Rows that a page has read and rows that a use case asks for lead to the same blockers and risks."""
    plan, reader = risky

    def read() -> tuple[object, ...]:
        policy = quorum.count_quorum(plan).policy
        unopened = [row.position for row in viewed_objects.find_unopened(plan, by=reader)]
        return (
            name_blockers(plan),
            risks.list_risks(plan, many=policy.many_objects),
            acknowledgments.list_required(plan),
            quorum.find_involved(plan),
            humans.name_humans([reader, plan.review.author]),
            unopened,
        )

    apart = read()
    with moments.at_one_moment():
        plan_rows.read_rows(plan)
        together = read()

    assert together == apart
    assert all(apart)
