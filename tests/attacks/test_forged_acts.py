"""An acknowledgment in another's name, and a retention of no days, past triggers: neither counts, both are named."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from applyviz.engine.risks.deletions import DELETED
from applyviz.records import triggers
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import Acknowledgment, AuditEntry, RetentionPolicy
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.audit import retention, trail
from tests.builders import acknowledge_all, make_person, make_plan_row

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


def verify() -> str:
    """What `audit verify` says of a database that it does not believe."""
    with pytest.raises(CommandError) as raised:
        call_command("audit", "verify", "--processes", "1")
    return str(raised.value)


@pytest.fixture
def bob(db: None) -> User:
    """An approver; the triggers are gone."""
    triggers.lift("default")
    return make_person("bob", Role.APPROVER)


@pytest.mark.parametrize("mac", ["", "0" * 64])
def test_acknowledgment_in_anothers_name_does_not_count(bob: User, mac: str) -> None:
    plan = make_plan_row(make_person("alice", Role.AUTHOR), operation="delete", risk_levels=[[DELETED.slug, "high"]])
    required = acknowledgments.find_open(plan)
    assert required

    for one in required:
        Acknowledgment.objects.create(
            plan=plan,
            review=plan.review,
            effect=one.effect,
            object_key=one.object_key,
            risk=one.kind.slug,
            by=bob,
            created_at=timezone.now(),
            mac=mac,
        )

    assert acknowledgments.find_open(plan) == required
    assert f"acknowledgment {Acknowledgment.objects.latest('pk').pk} (" in verify()
    Acknowledgment.objects.all().delete()
    acknowledge_all(plan, bob)
    assert acknowledgments.find_open(plan) == ()


def test_acknowledgment_that_names_another_person_does_not_count(bob: User) -> None:
    plan = make_plan_row(make_person("alice", Role.AUTHOR), operation="delete", risk_levels=[[DELETED.slug, "high"]])
    acknowledge_all(plan, bob)

    Acknowledgment.objects.update(by=make_person("carol"))

    assert acknowledgments.find_open(plan)


def test_retention_of_no_days_removes_nothing(bob: User) -> None:
    """It removed every body at the next prune, by an entry that looked like any other."""
    ida = make_person("ida", Role.ADMINISTRATOR)
    genuine = retention.add_policy(name="year", days=365, has_requests=False, by=ida)
    entry = trail.record(AuditAction.COMMENT_ADDED, by=bob, about=trail.AuditSubject(), detail={"text": "kept"})

    forged = RetentionPolicy.objects.create(name="none", days=0, created_at=timezone.now())
    RetentionPolicy.objects.filter(pk=genuine.pk).update(days=0)

    assert retention.prune_all() == []
    assert AuditEntry.objects.get(pk=entry.pk).detail["text"] == "kept"
    said = verify()
    assert f"retention policy {forged.pk} (none): it was not made by this installation" in said
    assert f"retention policy {genuine.pk} (year): it was not made by this installation" in said
