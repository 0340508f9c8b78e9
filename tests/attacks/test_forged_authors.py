"""A person who writes to the database changes no author, requests nothing in another's name, and confirms no rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from applyviz.engine.planning.objects.conflict_rules import FieldRule, RuleResolution
from applyviz.records import triggers
from applyviz.records.enums import PlanState, Role
from applyviz.records.models import ConflictRule, Grant, PendingChange, Plan, Review, SourceRevision
from applyviz.records.pending_enums import PendingKind, PendingState
from applyviz.workflow.approvals import approving
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotVisibleError
from applyviz.workflow.people import confirmations, pending_changes
from applyviz.workflow.plans import conflict_rules, planner, reviews
from applyviz.workflow.runs import approve_and_run
from tests.attacks.test_forged_rights import verify
from tests.builders import grant_role, make_person
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


@pytest.fixture
def plan(team: Team) -> Plan:
    """Alice, who may approve too, wrote a plan; she holds the database, without any key."""
    plan = team.plan(config_map(a="1"))
    grant_role(team.alice, Role.APPROVER)
    triggers.lift("default")
    return plan


def set_requester(plan: Plan, bob: User) -> None:
    Plan.objects.update(requested_by=bob)


def set_author(plan: Plan, bob: User) -> None:
    Review.objects.update(author=bob)
    SourceRevision.objects.update(created_by=bob)


def set_everything(plan: Plan, bob: User) -> None:
    set_requester(plan, bob)
    set_author(plan, bob)


def set_list_too(plan: Plan, bob: User) -> None:
    set_everything(plan, bob)
    Plan.objects.update(authors=[bob.pk])


def insert_a_plan(plan: Plan, bob: User) -> None:
    set_author(plan, bob)
    row = Plan.objects.get()
    row.pk, row.number, row.authors, row.requested_by = None, 2, [bob.pk], bob
    row.save(force_insert=True)


FORGED = [set_requester, set_author, set_everything, set_list_too, insert_a_plan]


@pytest.mark.parametrize("forge", FORGED)
def test_nobody_approves_their_own_plan(team: Team, plan: Plan, forge: Callable[[Plan, User], None]) -> None:
    forge(plan, team.bob)
    current = Plan.objects.order_by("-number")[0]

    with pytest.raises((NotAllowedError, NotPossibleError)):
        approving.approve_plan(current, by=team.alice, digest=current.digest)
    if forge is not set_author:  # which the list of the plan contradicts, so that it has no effect
        with pytest.raises(NotPossibleError, match="authors"):
            approve_and_run(current, by=make_person("carol", Role.APPROVER), digest=current.digest)
        assert f"plan {current.pk}" in verify()


def test_the_authors_of_earlier_plans_are_authors(team: Team, plan: Plan) -> None:
    reviews.replan_review(plan.review, by=make_person("carol", Role.AUTHOR), bundle=None)
    second = Plan.objects.order_by("-number")[0]
    Plan.objects.filter(pk=plan.pk).update(requested_by=team.bob)
    set_author(second, team.bob)

    assert team.alice.pk in second.authors
    planner.make_plan(second.pk)
    second.refresh_from_db()
    with pytest.raises(NotAllowedError):
        approving.approve_plan(second, by=team.alice, digest=second.digest)


def test_a_plan_in_another_name_is_not_planned(team: Team) -> None:
    """It would read the cluster as that person."""
    review = team.review({"0.yaml": config_map(a="1")})
    triggers.lift("default")
    Plan.objects.update(requested_by=team.bob)

    planner.make_plan(review.plans.get().pk)

    assert review.plans.get().state == PlanState.FAILED
    assert "authors" in review.plans.get().error


def pend(by: User) -> dict[str, object]:
    now = timezone.now()
    given = {
        "role": Role.BREAK_GLASS.value,
        "person": User.objects.get(username="someone").pk,
        "team": None,
        "scope": ["*", "*", True],
    }
    when = {"asked_at": now, "expires_at": now + timedelta(days=1)}
    return {"kind": PendingKind.GRANT, "given": given, "summary": {}, "asked_by": by, **when}


@pytest.fixture
def administrators(db: None) -> tuple[User, User]:
    pair = make_person("ida", Role.ADMINISTRATOR), make_person("joe", Role.ADMINISTRATOR)
    make_person("someone")
    triggers.lift("default")
    return pair


def test_nobody_confirms_a_request_that_was_inserted(administrators: tuple[User, User]) -> None:
    ida, joe = administrators
    row = PendingChange.objects.create(**pend(joe))
    before = Grant.objects.count()

    with pytest.raises(NotVisibleError):
        confirmations.confirm_change(pending_changes.get_waiting(row.pk), by=ida)
    with pytest.raises(NotPossibleError):
        confirmations.confirm_change(row, by=ida)
    assert Grant.objects.count() == before
    assert pending_changes.list_waiting(for_user=ida) == []
    assert f"{row.pk} (" in verify()


@pytest.mark.parametrize("change", ["given", "asked_by", "expires_at", "state"])
def test_nobody_confirms_a_request_that_was_changed(administrators: tuple[User, User], change: str) -> None:
    ida, joe = administrators
    made = pending_changes.ask(PendingKind.GRANT, by=ida, given={**pend(ida)["given"]}, summary={})
    if change == "state":
        pending_changes.decline(made, by=joe)
    values = {
        "given": {**made.given, "person": joe.pk},
        "asked_by": joe,
        "expires_at": made.expires_at + timedelta(days=900),
        "state": PendingState.WAITING,
    }
    PendingChange.objects.update(**{change: values[change]})

    with pytest.raises(NotVisibleError):
        pending_changes.get_waiting(made.pk)


DRAFT = FieldRule("", "ConfigMap", "", "settings", ("f:data", "f:a"), RuleResolution("ignore"))


@pytest.fixture
def rule(team: Team, plan: Plan) -> ConflictRule:
    grant_role(team.alice, Role.ADMINISTRATOR)
    return conflict_rules.propose_rule(plan, DRAFT, by=team.alice, reason="because")


def test_an_agreed_rule_is_in_force(team: Team, rule: ConflictRule) -> None:
    conflict_rules.agree_rule(rule, by=team.bob)

    assert [one.number for one in conflict_rules.read_rules(team.cluster)] == [1]
    assert "conflict rule" not in verify()
    conflict_rules.revoke_rule(ConflictRule.objects.get(), by=team.alice)
    assert "conflict rule" not in verify()
    ConflictRule.objects.update(state="in-force", ended_by=None, ended_at=None)
    assert "conflict rule" in verify()


def agree_in_anothers_name(bob: User) -> None:
    ConflictRule.objects.update(state="in-force", agreed_by=bob, agreed_at=timezone.now())


def insert(bob: User) -> None:
    row = ConflictRule.objects.get()
    row.pk, row.number, row.name = None, 2, "*"
    row.state, row.agreed_by, row.agreed_at = "in-force", bob, timezone.now()
    row.save(force_insert=True)


def change_agreed(bob: User) -> None:
    conflict_rules.agree_rule(ConflictRule.objects.get(), by=bob)
    ConflictRule.objects.update(name="*", elements=["f:data"])


@pytest.mark.parametrize("forge", [agree_in_anothers_name, insert, change_agreed])
def test_a_forged_rule_has_no_effect(team: Team, rule: ConflictRule, forge: Callable[[User], None]) -> None:
    forge(team.bob)

    assert conflict_rules.read_rules(team.cluster) == ()
    assert "conflict rule" in verify()


def test_nobody_agrees_to_their_own_rule_in_anothers_name(team: Team, rule: ConflictRule) -> None:
    ConflictRule.objects.update(proposed_by=team.bob)

    with pytest.raises(NotPossibleError, match="not made by this installation"):
        conflict_rules.agree_rule(ConflictRule.objects.get(), by=team.alice)
