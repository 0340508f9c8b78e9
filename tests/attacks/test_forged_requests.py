"""A request for changes that is withdrawn, moved or removed in the database still lets nothing run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import Role
from applyviz.records.models import ChangeRequest, Plan
from applyviz.workflow.approvals import approving
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.runs import approve_and_run
from tests.attacks.test_forged_rights import verify
from tests.blockers import name_blockers
from tests.builders import make_person
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


@pytest.fixture
def plan(team: Team) -> Plan:
    """A plan for which carol requested changes; the attacker holds the database, without any key."""
    plan = team.plan(config_map(a="1"))
    approving.request_changes(plan, by=make_person("carol", Role.APPROVER), digest=plan.digest, note="Rename it.")
    triggers.lift("default")
    return plan


def withdraw(plan: Plan) -> None:
    ChangeRequest.objects.update(withdrawn_at=timezone.now())


def move_to_another_digest(plan: Plan) -> None:
    ChangeRequest.objects.update(digest="0" * 64)


def give_to_somebody_without_the_role(plan: Plan) -> None:
    ChangeRequest.objects.update(by=make_person("nobody"))


def withdraw_with_another_mac(plan: Plan) -> None:
    ChangeRequest.objects.update(withdrawn_at=timezone.now(), mac="0" * 64)


def remove(plan: Plan) -> None:
    ChangeRequest.objects.all().delete()


FORGED = [withdraw, move_to_another_digest, give_to_somebody_without_the_role, withdraw_with_another_mac, remove]


@pytest.mark.core(2)
@pytest.mark.parametrize("forge", FORGED)
def test_nothing_runs_and_the_row_is_named(team: Team, plan: Plan, forge: Callable[[Plan], None]) -> None:
    forge(plan)

    assert [text for text in name_blockers(plan) if "requests changes" in text]
    with pytest.raises(NotPossibleError, match="requests changes"):
        approve_and_run(plan, by=team.bob, digest=plan.digest)
    assert "request for changes" in verify()


def test_withdrawn_request_is_not_put_back(team: Team, plan: Plan) -> None:
    """It would only block, and is named."""
    request = ChangeRequest.objects.get()
    approving.withdraw_request(request, by=request.by)
    assert name_blockers(plan) == ()
    assert "refused" not in verify()

    ChangeRequest.objects.update(withdrawn_at=None)

    assert "request for changes" in verify()


def test_changed_request_cannot_be_withdrawn(plan: Plan) -> None:
    ChangeRequest.objects.update(note="Fine.")
    request = ChangeRequest.objects.get()

    with pytest.raises(NotPossibleError, match="outside of this installation"):
        approving.withdraw_request(request, by=request.by)
