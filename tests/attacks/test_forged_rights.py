"""Whoever writes into the database, past triggers too, gets no right by it, and `audit verify` names the row."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import Grant, Team, TeamMember
from applyviz.workflow.approvals import quorum
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import humans, teams
from tests.builders import add_member, grant_team, make_approval, make_person, make_plan_row

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


@pytest.fixture
def ida(db: None) -> User:
    """The administrator, the only one there is."""
    return make_person("ida", Role.ADMINISTRATOR)


@pytest.fixture
def mallory(ida: User) -> User:
    """An author who holds the database, without any key."""
    triggers.lift("default")
    return make_person("mallory", Role.AUTHOR)


def verify() -> str:
    """What `audit verify` says."""
    said = StringIO()
    try:
        call_command("audit", "verify", "--processes", "1", stdout=said)
    except CommandError as error:
        return f"refused: {error}"
    return said.getvalue()


def without_mac(who: User) -> Grant:
    """The row of a command on the machine: nobody granted it."""
    return Grant.objects.create(role=Role.APPROVER, person=who, since=timezone.now())


def with_guessed_mac(who: User) -> Grant:
    return Grant.objects.create(role=Role.APPROVER, person=who, since=timezone.now(), mac="0" * 64)


def with_mac_of_another(who: User) -> Grant:
    """What a genuine grant to somebody else carries."""
    genuine = Grant.objects.get(person__username="ida")
    return Grant.objects.create(role=Role.APPROVER, person=who, since=genuine.since, mac=genuine.mac)


def with_its_own_entry(who: User) -> Grant:
    """An entry continues the chain as a true one does, because hashes need no key."""
    entry = trail.record(AuditAction.ROLE_GRANTED, by=None, about=trail.AuditSubject(), detail={"to": "mallory"})
    return Grant.objects.create(role=Role.APPROVER, person=who, since=timezone.now(), entry=entry, mac="1" * 64)


def with_mac_under_no_key(who: User) -> Grant:
    """The MAC that an empty key would make, which everybody can calculate."""
    row = Grant(role=Role.APPROVER, person=who, since=timezone.now())
    row.mac = row_macs._make(row, "")
    row.save()
    return row


def by_raising_a_role(who: User) -> Grant:
    """One's own genuine grant, with another role."""
    Grant.objects.filter(person=who).update(role=Role.APPROVER)
    return Grant.objects.get(person=who)


FORGERIES = [
    without_mac,
    with_guessed_mac,
    with_mac_of_another,
    with_its_own_entry,
    with_mac_under_no_key,
    by_raising_a_role,
]


@pytest.mark.core(3)
@pytest.mark.parametrize("forge", FORGERIES)
def test_forged_grant_gives_nothing_and_is_named(mallory: User, forge: Callable[[User], Grant]) -> None:
    plan = make_plan_row(make_person("alice", Role.AUTHOR))
    forged = forge(mallory)
    make_approval(plan, mallory)

    assert not access.can(mallory, Action.APPROVE)
    assert quorum.count_quorum(plan).missing == 1
    assert f"grant {forged.pk} (approver on */*): it was not made by this installation" in verify()


def test_grant_with_another_reach_gives_nothing(mallory: User) -> None:
    """A grant for one namespace, made into one for all."""
    bob = make_person("bob")
    grant = teams.grant_role(
        Role.APPROVER, by=User.objects.get(username="ida"), person=bob, scope=Scope("*", "shop", False)
    )
    assert "refused" not in verify()

    Grant.objects.filter(person=bob).update(namespace_pattern="*")

    assert (access.can(bob, Action.APPROVE), f"grant {grant.pk}" in verify()) == (False, True)


@pytest.mark.parametrize("mac", ["", "0" * 64])
def test_forged_membership_gives_nothing_and_is_named(mallory: User, mac: str) -> None:
    team = Team.objects.create(slug="sre", name="SRE", created_at=timezone.now())
    grant_team(team, Role.APPROVER)
    bob = make_person("bob")
    add_member(team, bob)

    forged = TeamMember.objects.create(team=team, person=mallory, since=timezone.now(), mac=mac)

    assert (access.can(bob, Action.APPROVE), access.can(mallory, Action.APPROVE)) == (True, False)
    assert humans.list_teams([bob, mallory]) == {bob.pk: frozenset({"sre"}), mallory.pk: frozenset()}
    assert f"membership {forged.pk} ({mallory.pk} in {team.pk}): it was not made" in verify()


def test_rows_that_are_gone_or_came_back_are_named(ida: User, mallory: User) -> None:
    """Entries and rows agree: the audit log says who was granted what, and what ended."""
    bob, team = make_person("bob"), teams.create_team(by=ida, slug="sre", name="SRE")
    ended = teams.grant_role(Role.APPROVER, by=ida, person=bob, scope=Scope())
    gone = teams.grant_role(Role.OPERATOR, by=ida, person=bob, scope=Scope())
    left, lost = (teams.add_member(team, one, by=ida) for one in (bob, mallory))
    assert isinstance(ended, Grant)
    assert isinstance(left, TeamMember)
    teams.end_grant(ended, by=ida)
    teams.end_member(left, by=ida)
    assert "refused" not in verify()

    Grant.objects.filter(pk=ended.pk).update(ended_at=None)
    TeamMember.objects.filter(pk=left.pk).update(ended_at=None)
    Grant.objects.filter(pk=gone.pk).delete()
    TeamMember.objects.filter(pk=lost.pk).delete()

    said = verify()
    assert f"grant {ended.pk} (approver on */*): audit entry" in said
    assert f"member {left.pk} ({bob.pk} in {team.pk}): audit entry" in said
    assert "(bob): it is missing" in said
    assert "(mallory): it is missing" in said
    assert "4 rows differ from the history" in said


def test_key_of_before_still_vouches(ida: User, settings: object) -> None:
    before = settings.APPLYVIZ_APPROVAL_KEY  # type: ignore[attr-defined]
    settings.APPLYVIZ_APPROVAL_KEY = "the-next-key-of-this-installation-0123456789"  # type: ignore[attr-defined]
    assert not access.can(ida, Action.MANAGE)

    settings.APPLYVIZ_APPROVAL_KEY_FALLBACKS = [before]  # type: ignore[attr-defined]

    assert access.can(ida, Action.MANAGE)
