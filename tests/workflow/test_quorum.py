"""Whose approval stands: kept by a re-plan that does the same, dropped by another, expired, never one's own."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from applyviz import clock
from applyviz.engine.risks.reach import RBAC_CHANGED
from applyviz.records.enums import Role, RunState
from applyviz.records.models import AccountLink, Approval, Resolution, TeamMember
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving, plan_blockers, quorum
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError
from applyviz.workflow.people import account_links, teams
from applyviz.workflow.people import humans as people
from applyviz.workflow.plans import planner, reviews
from applyviz.workflow.policies import RiskDemand
from tests.blockers import name_blockers
from tests.builders import grant_role, make_approval, make_person, make_plan_row, make_policy, take_roles
from tests.stories import SETTINGS, config_map

pytestmark = pytest.mark.django_db


@pytest.fixture
def plan():
    return make_plan_row(make_person("alice", Role.AUTHOR))


@pytest.fixture
def bob():
    return make_person("bob", Role.APPROVER)


def replan(team, plan):
    following = reviews.replan_review(plan.review, by=team.alice)
    planner.make_plan(following.pk)
    following.refresh_from_db()
    return following


def test_plan_that_does_the_same_keeps_its_approvals(team):
    plan = team.plan(config_map(a="1"))
    given_before = approving.approve_plan(plan, by=team.bob, digest=plan.digest)

    following = replan(team, plan)

    assert following.digest == plan.digest
    assert quorum.list_valid_approvals(following) == [given_before]
    run = team.work(runs.start_run(following, by=team.bob, digest=following.digest))
    assert run.state == RunState.APPLIED
    assert list(run.approvals.all()) == [given_before]


def test_plan_that_does_something_else_drops_them(team):
    team.apply(config_map(a="1"))
    plan = team.plan(config_map(a="2"))
    given_before = approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    team.edit(SETTINGS, {"data": {"b": "somebody else"}})
    team.edit(SETTINGS, {"data": {"a": "7"}}, manager="applyviz")

    following = replan(team, plan)

    assert following.digest != plan.digest
    assert quorum.list_valid_approvals(following) == []
    assert quorum.list_dropped(following) == [given_before]


def test_approval_of_one_review_counts_in_no_other(bob):
    first, second = make_plan_row(make_person("alice")), make_plan_row(make_person("ann"))
    approving.approve_plan(first, by=bob, digest=first.digest)

    assert first.digest == second.digest
    assert quorum.list_valid_approvals(second) == []


def test_expired_approval_counts_no_more_and_can_be_given_again(plan, bob, move_clock):
    make_policy(approval_hours=2)
    plan = make_plan_row(make_person("ann"), policy_version="strict@1")
    first = approving.approve_plan(plan, by=bob, digest=plan.digest)
    assert first.expires_at is not None
    assert first.expires_at - first.created_at == timedelta(hours=2)

    move_clock(first.expires_at + timedelta(seconds=1))

    assert quorum.list_valid_approvals(plan) == []
    with pytest.raises(IntegrityError, match="expired"), transaction.atomic():
        Approval.objects.filter(pk=first.pk).update(spent_at=clock.now())
    again = approving.approve_plan(plan, by=bob, digest=plan.digest)
    assert quorum.list_valid_approvals(plan) == [again]


def test_approvals_of_a_team_are_asked_for(bob):
    dana = make_person("dana", Role.ADMINISTRATOR)
    sre = teams.create_team(by=dana, slug="sre", name="SRE")
    make_policy(approvals=1, approving_team="sre")
    plan = make_plan_row(make_person("alice"), policy_version="strict@1")
    approving.approve_plan(plan, by=bob, digest=plan.digest)
    assert sentences.describe_all(quorum.count_quorum(plan).lacking) == ("1 approval from team sre missing",)

    teams.add_member(sre, bob, by=dana)

    assert quorum.count_quorum(plan).missing == 0
    TeamMember.objects.update(ended_at=timezone.now())
    assert quorum.count_quorum(plan).missing == 1


def test_high_risk_asks_for_more(bob):
    make_policy(approvals=1, for_risks=(RiskDemand(RBAC_CHANGED, 2),))
    calm = make_plan_row(make_person("alice"), policy_version="strict@1")
    grave = make_plan_row(make_person("ann"), policy_version="strict@1", risk_levels=[["rbac", "high"]])

    assert quorum.count_quorum(calm).needed == 1
    assert quorum.count_quorum(grave).needed == 2


def test_editor_and_decider_do_not_approve(plan, bob):
    Resolution.objects.create(
        review=plan.review, plan=plan, by=bob, object_key="x", choice="overwrite", created_at=timezone.now()
    )

    with pytest.raises(NotAllowedError, match="resolved"):
        approving.approve_plan(plan, by=bob, digest=plan.digest)
    with pytest.raises(IntegrityError, match="a person cannot approve"), transaction.atomic():
        make_approval(plan, bob)


def test_linked_account_of_the_author_does_not_approve(plan, bob):
    teams.link_accounts([plan.review.author, bob], by=make_person("dana", Role.ADMINISTRATOR))

    with pytest.raises(NotAllowedError, match="you can't approve your own changes"):
        approving.approve_plan(plan, by=bob, digest=plan.digest)
    with pytest.raises(IntegrityError, match="a person cannot approve"), transaction.atomic():
        make_approval(plan, bob)


def test_link_made_afterwards_takes_the_approval_away(plan, bob):
    approving.approve_plan(plan, by=bob, digest=plan.digest)
    assert quorum.count_quorum(plan).missing == 0

    teams.link_accounts([plan.review.author, bob], by=make_person("dana", Role.ADMINISTRATOR))

    assert quorum.count_quorum(plan).missing == 1


@pytest.mark.parametrize("address", ["alice@example.org", "Alice+work@Example.org", " alice@EXAMPLE.ORG"])
def test_mail_alias_of_the_author_does_not_approve(plan, bob, address):
    plan.review.author.email = "alice@example.org"
    plan.review.author.save()
    bob.email = address
    bob.save()

    assert sentences.describe_all(plan_blockers.find_role_blockers(plan, for_user=bob)) == (
        "you can't approve your own changes: you wrote, edited, resolved or requested this plan",
    )


def test_link_is_read_anew_for_an_account_that_was_linked_before(plan, bob):
    carol, dora, eric = (make_person(name, Role.APPROVER) for name in ("carol", "dora", "eric"))
    for pair in ([bob, carol], [dora, eric], [carol, eric]):
        account_links.count_as_one(pair)

    named = people.name_humans([bob, carol, dora, eric])

    assert len(set(named.values())) == 1


@pytest.mark.long
@settings(max_examples=40)
@given(links=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6))
def test_linked_accounts_never_reach_quorum_alone(links):
    with transaction.atomic():
        make_policy(approvals=2)
        cast = [make_person(f"p{n}", Role.APPROVER) for n in range(5)]
        plan = make_plan_row(cast[0], policy_version="strict@1")
        for left, right in links:
            if left != right:
                account_links.count_as_one([cast[left], cast[right]])
        for person in cast:
            try:
                with transaction.atomic():
                    make_approval(plan, person)
            except IntegrityError:
                continue

        humans = people.name_humans(cast)
        others = set(humans.values()) - {humans[cast[0].pk]}
        standing = quorum.list_valid_approvals(plan)
        assert len(standing) == len({humans[a.by_id] for a in standing}) == len(others)
        assert (quorum.count_quorum(plan).missing == 0) == (len(others) >= 2)
        transaction.set_rollback(True)


def test_request_for_changes_blocks_until_it_is_taken_back(plan, bob):
    carol = make_person("carol", Role.APPROVER)
    approving.approve_plan(plan, by=bob, digest=plan.digest)

    asked = approving.request_changes(plan, by=bob, digest=plan.digest, note="two replicas, please")

    assert quorum.list_valid_approvals(plan) == []
    assert name_blockers(plan) == ("bob requests changes",)
    with pytest.raises(NotPossibleError, match="bob requests changes"):
        approving.approve_plan(plan, by=carol, digest=plan.digest)
    with pytest.raises(NotAllowedError):
        approving.withdraw_request(asked, by=carol)
    approving.withdraw_request(asked, by=bob)
    assert name_blockers(plan) == ()


def test_request_for_changes_needs_words(plan, bob):
    with pytest.raises(NotValidError):
        approving.request_changes(plan, by=bob, digest=plan.digest, note="  ")


def test_who_still_may_is_named(plan, bob):
    make_person("charlie", Role.VIEWER)
    elsewhere = make_person("erin")
    grant_role(elsewhere, Role.APPROVER, cluster="other")
    carol = make_person("carol", Role.APPROVER)
    approving.approve_plan(plan, by=bob, digest=plan.digest)

    assert quorum.list_candidates(plan) == [carol]
    take_roles(carol)
    assert quorum.list_candidates(plan) == []


def test_links_are_joined_into_one_human():
    first, second, third = (make_person(name) for name in ("a", "b", "c"))
    dana = make_person("dana", Role.ADMINISTRATOR)

    teams.link_accounts([first, second], by=dana)
    teams.link_accounts([second, third], by=dana)

    assert len(set(AccountLink.objects.values_list("human", flat=True))) == 1
