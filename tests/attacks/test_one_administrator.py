"""One administrator with a second account gets nothing approved and run alone (N5)."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz import clock
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, Grant, PendingChange, Team
from applyviz.records.pending_enums import PendingKind
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotVisibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import account_links, administrators, claims, confirmations, pending_changes, teams
from tests import moments
from tests.builders import add_member, grant_role, grant_team, make_person, make_plan_row, make_policy

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


@pytest.fixture
def mallory(db: None) -> User:
    """The first administrator."""
    return make_person("mallory", Role.ADMINISTRATOR)


@pytest.fixture
def dana(mallory: User) -> User:
    """The second one, so that there have been two."""
    return make_person("dana", Role.ADMINISTRATOR)


@pytest.fixture
def puppet(mallory: User) -> User:
    """An account that Mallory made, and claimed by the link that was shown."""
    invited = teams.add_person(by=mallory, name="puppet", email="")
    return claims.claim_account(invited.token, password="a-long-enough-secret", address="")


def make_team(by: User, *members: User) -> Team:
    team = teams.create_team(by=by, slug="sre", name="SRE")
    for member in members:
        add_member(team, member)
    return team


SENSITIVE = sorted(administrators.SENSITIVE)


# One's own ---------------------------------------------------------------------------------------


@pytest.mark.core(3)
@pytest.mark.parametrize("role", list(Role))
def test_nobody_grants_to_themselves_under_any_account(mallory: User, role: Role) -> None:
    twin = make_person("twin")
    account_links.count_as_one([mallory, twin])

    for person in (mallory, twin):
        with pytest.raises(NotAllowedError, match="you can't grant a role to yourself"):
            teams.grant_role(role, by=mallory, person=person, scope=Scope())
        with pytest.raises(DatabaseError, match="to themselves"), transaction.atomic():
            grant_role(person, role, by=mallory)


@pytest.mark.core(3)
@pytest.mark.parametrize("role", list(Role))
def test_nobody_grants_to_a_team_of_theirs_under_any_account(mallory: User, role: Role) -> None:
    twin = make_person("twin")
    account_links.count_as_one([mallory, twin])
    team = make_team(mallory, twin)

    with pytest.raises(NotAllowedError, match="a role to a team that you belong to"):
        teams.grant_role(role, by=mallory, team=team, scope=Scope())
    with pytest.raises(DatabaseError, match="to their own team"), transaction.atomic():
        grant_team(team, role, by=mallory)


def test_nobody_joins_a_team_under_another_account(mallory: User) -> None:
    twin, team = make_person("twin"), teams.create_team(by=mallory, slug="sre", name="SRE")
    account_links.count_as_one([mallory, twin])

    with pytest.raises(NotAllowedError, match="add your own accounts to a team"):
        teams.add_member(team, twin, by=mallory)
    with pytest.raises(DatabaseError, match="themselves to a team"), transaction.atomic():
        add_member(team, twin, by=mallory)


# Two -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", SENSITIVE)
def test_one_of_two_grants_nothing_that_approves_or_runs(dana: User, mallory: User, puppet: User, role: Role) -> None:
    asked = teams.grant_role(role, by=mallory, person=puppet, scope=Scope())

    assert isinstance(asked, PendingChange)
    assert access.list_grants(puppet) == ()
    with pytest.raises(NotAllowedError, match="you requested this"):
        confirmations.confirm_change(asked, by=mallory)
    with pytest.raises(DatabaseError, match="a second administrator"), transaction.atomic():
        grant_role(puppet, role, by=mallory)
    with pytest.raises(DatabaseError, match="a second administrator"), transaction.atomic():
        grant_role(puppet, role, by=mallory, confirmed_by=mallory)
    with pytest.raises(DatabaseError, match="a second administrator"), transaction.atomic():
        grant_role(puppet, role, by=mallory, confirmed_by=puppet)


@pytest.mark.parametrize("role", sorted(set(Role) - administrators.SENSITIVE))
def test_what_only_looks_or_writes_needs_no_second(dana: User, mallory: User, puppet: User, role: Role) -> None:
    assert isinstance(teams.grant_role(role, by=mallory, person=puppet, scope=Scope()), Grant)


def test_team_that_approves_takes_nobody_in_by_one(dana: User, mallory: User, puppet: User) -> None:
    team = make_team(mallory)
    grant_team(team, Role.APPROVER)

    asked = teams.add_member(team, puppet, by=mallory)

    assert (isinstance(asked, PendingChange), team.members.count()) == (True, 0)
    with pytest.raises(DatabaseError, match="a second administrator"), transaction.atomic():
        add_member(team, puppet, by=mallory)


def test_second_confirms_and_both_are_in_the_history(dana: User, mallory: User, puppet: User) -> None:
    asked = teams.grant_role(Role.APPROVER, by=mallory, person=puppet, scope=Scope())

    confirmations.confirm_change(asked, by=dana)

    grant = Grant.objects.get(person=puppet)
    entry = AuditEntry.objects.get(action=AuditAction.ROLE_GRANTED)
    assert (grant.by, grant.confirmed_by, grant.is_sole) == (mallory, dana, False)
    assert (entry.actor_name, entry.detail["asked by"], entry.detail["confirmed by"]) == ("dana", "mallory", "dana")
    with pytest.raises(NotPossibleError, match="already confirmed or declined"):
        confirmations.confirm_change(asked, by=dana)
    assert Grant.objects.filter(person=puppet).count() == 1


def test_linked_account_is_no_second(dana: User, mallory: User, puppet: User) -> None:
    twin = make_person("twin", Role.ADMINISTRATOR)
    account_links.count_as_one([mallory, twin])
    asked = teams.grant_role(Role.APPROVER, by=mallory, person=puppet, scope=Scope())

    with pytest.raises(NotAllowedError, match="you requested this"):
        confirmations.confirm_change(asked, by=twin)


def test_who_gains_by_it_does_not_confirm_it(dana: User, mallory: User) -> None:
    team = make_team(mallory, dana)
    for asked in (
        teams.grant_role(Role.APPROVER, by=mallory, person=dana, scope=Scope()),
        teams.grant_role(Role.OPERATOR, by=mallory, team=team, scope=Scope()),
    ):
        with pytest.raises(NotAllowedError, match="this benefits you"):
            confirmations.confirm_change(asked, by=dana)


def test_request_of_who_joined_the_team_meanwhile_is_not_confirmed(dana: User, mallory: User) -> None:
    team = make_team(mallory)
    asked = teams.grant_role(Role.APPROVER, by=mallory, team=team, scope=Scope())
    add_member(team, mallory)

    with pytest.raises(NotAllowedError, match="would benefit from it"):
        confirmations.confirm_change(asked, by=dana)


def test_request_ends_after_a_week_and_with_the_office(dana: User, mallory: User, puppet: User) -> None:
    first = teams.grant_role(Role.APPROVER, by=mallory, person=puppet, scope=Scope())
    Grant.objects.filter(person=mallory).update(ended_at=timezone.now())
    with pytest.raises(NotAllowedError, match="no longer an administrator"):
        confirmations.confirm_change(first, by=dana)
    grant_role(mallory, Role.ADMINISTRATOR)
    moments.move_to(clock.now() + pending_changes.LASTS)

    with pytest.raises(NotPossibleError, match="it has expired"):
        confirmations.confirm_change(first, by=dana)


REMOVALS: dict[str, tuple[PendingKind, Callable[[User, User], PendingChange | None]]] = {
    "grant": (PendingKind.END_GRANT, lambda by, who: teams.end_grant(Grant.objects.get(person=who), by=by)),
    "account": (PendingKind.DEACTIVATE, lambda by, who: teams.set_active(who, by=by, is_active=False)),
}


@pytest.mark.parametrize("way", list(REMOVALS))
def test_one_of_two_removes_no_administrator(dana: User, mallory: User, way: str) -> None:
    kind, remove = REMOVALS[way]
    erin = make_person("erin", Role.ADMINISTRATOR)

    asked = remove(mallory, dana)

    assert asked is not None
    assert asked.kind == kind
    assert access.can(dana, Action.MANAGE)
    confirmations.confirm_change(asked, by=erin)
    assert not access.can(User.objects.get(pk=dana.pk), Action.MANAGE)


def test_removal_through_a_team_needs_two(dana: User, mallory: User) -> None:
    team = make_team(mallory)
    member = add_member(team, dana)
    grant_team(team, Role.ADMINISTRATOR)

    asked = (teams.end_member(member, by=mallory), teams.archive_team(team, by=mallory))

    assert all(isinstance(one, PendingChange) for one in asked)


def test_account_that_approves_is_not_activated_by_one(dana: User, mallory: User) -> None:
    bob = make_person("bob", Role.APPROVER)
    User.objects.filter(pk=bob.pk).update(is_active=False)

    asked = teams.set_active(User.objects.get(pk=bob.pk), by=mallory, is_active=True)

    assert (isinstance(asked, PendingChange), User.objects.get(pk=bob.pk).is_active) == (True, False)


def test_administrators_are_not_made_one_human_by_one_of_them(dana: User, mallory: User) -> None:
    """Else there would have been only one ever, and everything were allowed again."""
    with pytest.raises(NotAllowedError, match=r"manage\.py people link"):
        teams.link_accounts([mallory, dana], by=mallory)

    assert administrators.count_ever() == 2


def test_two_stay_two_when_one_has_gone(dana: User, mallory: User, puppet: User) -> None:
    User.objects.filter(pk=dana.pk).update(is_active=False)
    Grant.objects.filter(person=dana).update(ended_at=timezone.now())

    assert isinstance(teams.grant_role(Role.APPROVER, by=mallory, person=puppet, scope=Scope()), PendingChange)


def test_last_administrator_stays(mallory: User, dana: User) -> None:
    team = make_team(mallory)
    Grant.objects.filter(person=mallory).update(ended_at=timezone.now())
    last = Grant.objects.get(person=dana)

    asked = teams.end_grant(last, by=dana)

    with pytest.raises(NotPossibleError, match="at least one administrator must remain"):
        confirmations.recover(asked, reason="a trial")
    assert (team.slug, access.can(dana, Action.MANAGE)) == ("sre", True)


# Only one ever -------------------------------------------------------------------------------------


def test_what_the_sole_administrator_grants_is_marked_everywhere(mallory: User, puppet: User) -> None:
    grant = teams.grant_role(Role.APPROVER, by=mallory, person=puppet, scope=Scope())
    plan = make_plan_row(make_person("alice", Role.AUTHOR))

    approval = approving.approve_plan(plan, by=puppet, digest=plan.digest)

    assert isinstance(grant, Grant)
    assert (grant.is_sole, approval.is_sole) == (True, True)
    for action in (AuditAction.ROLE_GRANTED, AuditAction.APPROVAL_GIVEN):
        assert AuditEntry.objects.get(action=action).detail["sole administrator"] is True


def test_approval_through_a_team_of_the_sole_administrator_is_marked(mallory: User, puppet: User) -> None:
    team = teams.create_team(by=mallory, slug="sre", name="SRE")
    grant_team(team, Role.APPROVER)
    teams.add_member(team, puppet, by=mallory)
    plan = make_plan_row(make_person("alice", Role.AUTHOR))

    assert approving.approve_plan(plan, by=puppet, digest=plan.digest).is_sole


def test_policy_refuses_what_rests_on_the_sole_administrator(mallory: User, puppet: User) -> None:
    make_policy("strict", approvals=1, refuses_sole=True)
    teams.grant_role(Role.APPROVER, by=mallory, person=puppet, scope=Scope())
    plan = make_plan_row(make_person("alice", Role.AUTHOR), policy_version="strict@1")

    with pytest.raises(NotAllowedError, match="granted by the sole administrator"):
        approving.approve_plan(plan, by=puppet, digest=plan.digest)
    grant_role(puppet, Role.APPROVER)  # a grant that the machine's owner made
    approving.approve_plan(plan, by=puppet, digest=plan.digest)
    assert quorum.count_quorum(plan).missing == 0


def test_invitation_that_nobody_accepted_is_no_second_administrator(mallory: User, puppet: User) -> None:
    invited = teams.add_person(by=mallory, name="ghost", email="")
    grant = teams.grant_role(Role.ADMINISTRATOR, by=mallory, person=invited.person, scope=Scope())

    assert isinstance(grant, Grant)
    assert (grant.is_sole, administrators.needs_second()) == (True, False)
    claims.claim_account(invited.token, password="a-long-enough-secret", address="")
    assert administrators.needs_second()
    assert isinstance(teams.grant_role(Role.APPROVER, by=mallory, person=puppet, scope=Scope()), PendingChange)


# Pages and commands --------------------------------------------------------------------------------


@pytest.fixture
def as_mallory(mallory: User) -> Client:
    browser = Client()
    browser.force_login(mallory)
    return browser


NEW = {"new": "a-long-enough-secret", "again": "a-long-enough-secret"}


def test_second_administrator_confirms_on_the_page(as_mallory: Client, mallory: User, dana: User, puppet: User) -> None:
    form = {"role": "approver", "cluster_pattern": "*", "namespace_pattern": "*", "is_cluster_scoped": "on"}
    as_mallory.post(reverse("settings:grant-to-person", args=["puppet"]), form)
    asked = PendingChange.objects.get()
    as_dana, page = Client(), reverse("settings:list-pending")
    as_dana.post("/login/", {"username": "dana", "password": "dana-secret"})
    confirm = reverse("settings:confirm-pending", args=[asked.pk])

    assert as_mallory.post(confirm).status_code in (302, 403)
    assert "you requested this" in as_mallory.get(page).content.decode()
    assert confirm in as_dana.get(page).content.decode()
    assert Grant.objects.filter(person=puppet).count() == 0
    assert as_dana.post(confirm)["Location"] == page
    assert Grant.objects.get(person=puppet).confirmed_by == dana


def test_request_is_declined_and_stays_undone(as_mallory: Client, mallory: User, dana: User, puppet: User) -> None:
    asked = teams.grant_role(Role.APPROVER, by=mallory, person=puppet, scope=Scope())

    pending_changes.decline(asked, by=dana)

    with pytest.raises(NotVisibleError):
        pending_changes.get_waiting(asked.pk)
    assert Grant.objects.filter(person=puppet).count() == 0
    assert AuditEntry.objects.get(action=AuditAction.SECOND_DECLINED).actor_name == "dana"


def run(*words: str) -> str:
    said = StringIO()
    call_command("people", *words, stdout=said)
    return said.getvalue()


def test_recovery_by_command_is_audited(dana: User, mallory: User, puppet: User) -> None:
    User.objects.filter(pk=dana.pk).update(is_active=False)
    asked = teams.grant_role(Role.APPROVER, by=mallory, person=puppet, scope=Scope())

    assert "asked by mallory" in run("pending")
    with pytest.raises(CommandError, match="reason"):
        run("confirm", str(asked.pk), "--reason", " ")
    run("confirm", str(asked.pk), "--reason", "dana left")

    entry = AuditEntry.objects.get(action=AuditAction.ROLE_GRANTED)
    assert (entry.actor_name, entry.detail["recovery"], entry.detail["reason"]) == ("applyviz", True, "dana left")
    assert Grant.objects.get(person=puppet).by is None


def test_first_administrator_comes_by_command(db: None) -> None:
    said = run("invite", "first", "--reason", "the first one")
    run("grant", "first", "administrator", "--reason", "the first one")
    link = said.split()[0]

    assert Client().post(link, NEW)["Location"] == "/login/"
    assert access.can(User.objects.get(username="first"), Action.MANAGE)
