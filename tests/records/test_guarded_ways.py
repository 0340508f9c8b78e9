"""Every way past the use cases to what the database refuses: the ORM row by row and in bulk, SQL, and tricks."""

import pytest
from django.db import connection
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AccountLink, Approval
from applyviz.workflow.audit import trail
from tests.builders import build_approval, build_emergency, make_person, make_plan_row, make_policy
from tests.records.rows import approve, refused, run_row

pytestmark = pytest.mark.django_db


WAYS = {
    "bulk_create": lambda plan, person: Approval.objects.bulk_create([row_of(plan, person)]),
    "bulk_create, ignoring conflicts": lambda plan, person: Approval.objects.bulk_create(
        [row_of(plan, person)], ignore_conflicts=True
    ),
    "get_or_create": lambda plan, person: Approval.objects.get_or_create(
        plan=plan, by=person, defaults={"digest": plan.digest, "by_name": "x", "created_at": timezone.now()}
    ),
    "save": lambda plan, person: row_of(plan, person).save(force_insert=True),
    "SQL": lambda plan, person: execute(
        "INSERT INTO records_approval (plan_id, digest, by_id, by_name, note, created_at)"
        " VALUES (%s, %s, %s, 'x', '', %s)",
        plan.pk, plan.digest, person.pk, timezone.now(),
    ),
    "SQL, a row of another": lambda plan, person: execute(
        "UPDATE records_approval SET by_id = %s WHERE id = %s", person.pk, approve(plan, make_person("carol")).pk
    ),
    "bulk_update of another": lambda plan, person: Approval.objects.bulk_update(
        [turned(approve(plan, make_person("carol")), by=person)], ["by"]
    ),
}  # fmt: skip


def row_of(plan, person):
    return build_approval(plan, person)


def turned(row, **values):
    for name, value in values.items():
        setattr(row, name, value)
    return row


def execute(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


@pytest.mark.core(7)
@pytest.mark.parametrize("way", list(WAYS))
def test_no_way_leads_to_an_approval_of_ones_own(way):
    alice = make_person("alice")
    plan = make_plan_row(alice)

    assert refused(lambda: WAYS[way](plan, alice))
    assert not Approval.objects.filter(by=alice).exists()


@pytest.mark.core(8)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records_auditentry SET actor_name = 'mallory'",
        "UPDATE records_auditentry SET hash = previous_hash",
        "DELETE FROM records_auditentry",
        "UPDATE records_approval SET spent_at = NULL, run_id = NULL",
        "DELETE FROM records_approval",
        "DELETE FROM records_emergencyapply",
        "UPDATE records_policyversion SET rules = '{}'",
        "UPDATE records_grant SET role = 'administrator'",
    ],
)
def test_statements_are_refused_as_the_orm_is(statement):
    alice, bob = make_person("alice", Role.VIEWER), make_person("bob")
    plan, now = make_plan_row(alice), timezone.now()
    trail.record(AuditAction.COMMENT_ADDED, by=None, about=trail.AuditSubject(review=1))
    make_policy(approvals=2)
    Approval.objects.filter(pk=approve(plan, bob).pk).update(spent_at=now, run=run_row(plan, bob))
    build_emergency(plan, bob, reason="r", ticket="t").save()

    assert refused(lambda: execute(statement))


@pytest.mark.core(20)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no TRUNCATE")
@pytest.mark.parametrize("table", triggers.KEPT_TABLES)
def test_no_table_that_is_kept_is_emptied(table):
    assert f"{table} is never emptied" in refused(lambda: execute(f"TRUNCATE {table} CASCADE"))


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one schema")
def test_tables_of_a_session_do_not_take_the_place_of_ours():
    """A temporary table is found before ours, and would say that nobody is linked and nobody took part."""
    alice, twin = make_person("alice"), make_person("twin")
    for person in (alice, twin):
        AccountLink.objects.create(person=person, human="a")
    row = row_of(make_plan_row(alice), twin)  # reads our tables; past it, nothing but the guards reads them
    execute("CREATE TEMP TABLE records_accountlink (person_id bigint, human text)")
    execute("CREATE TEMP TABLE records_review AS SELECT * FROM public.records_review LIMIT 0")

    assert "a person cannot approve what they wrote" in refused(lambda: row.save(force_insert=True))
