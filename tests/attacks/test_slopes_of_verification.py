"""`audit verify` looks for what was taken back in time proportional to it, in one review and of one person, too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoAssertNumQueries

from applyviz.engine.risks.deletions import DELETED
from applyviz.records import triggers
from applyviz.records.enums import AuditAction, Role, TokenScope
from applyviz.records.models import Acknowledgment
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.audit import taken_back, trail
from applyviz.workflow.people import tokens
from tests.attacks.test_forged_rights import verify
from tests.attacks.test_slopes import MOST_EXPONENT, TIMES, find_exponent
from tests.builders import acknowledge_all, make_approval, make_person, make_plan_row
from tests.pace import measure

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
SMALL = 60
RISKY = {"operation": "delete", "risk_levels": [[DELETED.slug, "high"]]}


def withdraw(count: int, person: User) -> None:
    """Each of many risks of one plan is acknowledged, every second one withdrawn."""
    plan = make_plan_row(make_person(f"author-{count}", Role.AUTHOR), changes=2 * count, **RISKY)
    acknowledge_all(plan, person)
    for position in range(0, 2 * count, 2):
        acknowledgments.withdraw_acknowledgment(plan, DELETED, by=person, position=position)


def approve(count: int, person: User) -> None:
    """Many people approve one plan, each after an approval of theirs was revoked."""
    plan = make_plan_row(make_person(f"author-{count}", Role.AUTHOR))
    about = trail.AuditSubject(review=plan.review.number, plan=plan.number, plan_digest=plan.digest)
    for number in range(count):
        approver = make_person(f"approver-{count}-{number}")
        trail.record(AuditAction.APPROVAL_REVOKED, by=approver, about=about)
        make_approval(plan, approver)


def revoke(count: int, person: User) -> None:
    """Many tokens of one person were revoked."""
    for number in range(2 * count):
        made = {"account": person, "name": f"ci-{count}-{number}", "scope": TokenScope.READ, "days": 7}
        token = tokens.make_token(by=person, **made)[0]
        if number >= 20:  # of the others each person has few
            tokens.revoke_token(token, by=person)


@pytest.mark.core(2)
@pytest.mark.parametrize("play", [withdraw, approve, revoke])
def test_cost_of_verification_grows_in_proportion(
    django_assert_max_num_queries: DjangoAssertNumQueries, play: Callable[[int, User], None]
) -> None:
    bob = make_person("bob", Role.APPROVER, Role.AUTHOR)
    play(SMALL, bob)
    found, small = min((measure(taken_back.check_taken_back) for _ in range(3)), key=lambda one: one[1])
    assert found == ()

    play(SMALL * TIMES, bob)
    with django_assert_max_num_queries(30):  # none for each of them
        assert taken_back.check_taken_back() == ()
    assert find_exponent(small, min(measure(taken_back.check_taken_back)[1] for _ in range(3))) < MOST_EXPONENT


def test_acknowledgment_of_another_effect_is_not_said_to_be_restored() -> None:
    """It was given to an earlier plan that did something else, and nobody withdrew it."""
    bob = make_person("bob", Role.APPROVER)
    plan = make_plan_row(make_person("carol", Role.AUTHOR), **RISKY)
    acknowledge_all(plan, bob)
    triggers.lift("default")
    Acknowledgment.objects.update(effect="f" * 64)  # as if the plan before it had done something else
    acknowledge_all(plan, bob)
    acknowledgments.withdraw_acknowledgment(plan, DELETED, by=bob, position=0)

    assert "withdrew it" not in verify()
    Acknowledgment.objects.update(withdrawn_at=None)
    assert verify().count("withdrew it") == 1
