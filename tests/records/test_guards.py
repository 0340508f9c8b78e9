"""The database itself refuses: changing history, approving one's own, changing what was agreed."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from applyviz.records import guards
from applyviz.records.enums import AuditAction, PlanState, Role
from applyviz.records.models import Approval, AuditEntry, ObjectChange, Plan
from applyviz.workflow import audit
from tests.builders import make_person, make_plan_row

pytestmark = pytest.mark.django_db


def approve(plan, person, **values):
    given = {
        "plan": plan,
        "digest": plan.digest,
        "by": person,
        "by_name": person.username,
        "created_at": timezone.now(),
    }
    with transaction.atomic():
        return Approval.objects.create(**{**given, **values})


def refused(action):
    with pytest.raises((IntegrityError, DatabaseError)) as raised, transaction.atomic():
        action()
    return str(raised.value)


TRIGGERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name NOT LIKE 'audit_words%'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgname NOT LIKE '%_no_truncate'",
}


def test_every_guard_is_installed():
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS[connection.vendor])
        found = {row[0] for row in cursor.fetchall()}

    assert found == {guard.name for guard in guards.GUARDS}


def test_audit_entries_are_never_changed():
    entry = audit.record(AuditAction.COMMENT_ADDED, by=None, about=audit.Subject(review=1))

    assert "never changed" in refused(lambda: AuditEntry.objects.filter(pk=entry.pk).update(actor_name="mallory"))
    assert "never deleted" in refused(lambda: AuditEntry.objects.filter(pk=entry.pk).delete())


def test_nobody_approves_what_they_wrote_or_requested():
    alice, bob, dora = (make_person(name, Role.AUTHOR, Role.APPROVER) for name in ("alice", "bob", "dora"))
    plan = make_plan_row(alice, requester=bob)

    for person in (alice, bob):
        assert "nobody approves" in refused(lambda person=person: approve(plan, person))
    assert approve(plan, dora).pk


def test_approval_names_the_digest_of_a_complete_plan():
    alice, bob = make_person("alice"), make_person("bob")
    failed = make_plan_row(alice, state=PlanState.FAILED)
    plan = make_plan_row(alice)

    assert "complete plan" in refused(lambda: approve(failed, bob))
    assert "complete plan" in refused(lambda: approve(plan, bob, digest="b" * 64))


def test_one_person_approves_once():
    plan = make_plan_row(make_person("alice"))
    bob = make_person("bob")
    approve(plan, bob)

    assert "unique" in refused(lambda: approve(plan, bob)).lower()


def test_spent_approval_stays_spent():
    plan = make_plan_row(make_person("alice"))
    approval = approve(plan, make_person("bob"))
    now = timezone.now()
    Approval.objects.filter(pk=approval.pk).update(spent_at=now)

    assert "once" in refused(lambda: Approval.objects.filter(pk=approval.pk).update(spent_at=None))
    assert "once" in refused(lambda: Approval.objects.filter(pk=approval.pk).update(revoked_at=now))
    assert "never deleted" in refused(lambda: Approval.objects.filter(pk=approval.pk).delete())


def test_complete_plan_is_immutable():
    plan = make_plan_row(make_person("alice"))

    assert "immutable" in refused(lambda: Plan.objects.filter(pk=plan.pk).update(digest="b" * 64))
    assert "immutable" in refused(lambda: ObjectChange.objects.filter(plan=plan).update(effect="f" * 64))
    assert "never deleted" in refused(lambda: ObjectChange.objects.filter(plan=plan).delete())
