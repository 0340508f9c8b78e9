"""Where there have been two administrators, no single one gets around the other: links, mail, teams, policies, claims.

Each attack was carried out by one administrator alone, and ended with a plan that she approved or ran herself.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AccountLink, AuditEntry, Grant, PendingChange, Team
from applyviz.records.pending_enums import PendingKind
from applyviz.workflow import policies
from applyviz.workflow.approvals import quorum
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError, NotVisibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import (
    account_links,
    administrators,
    claims,
    confirmations,
    pending_changes,
    teams,
    tokens,
)
from applyviz.workflow.policies import Rules, editing
from applyviz.workflow.policies.owners import OwnerOf
from tests.builders import add_member, grant_role, make_approval, make_person, make_plan_row, set_email

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
PASSWORD = "a-long-enough-secret"


@pytest.fixture
def mallory(db: None) -> User:
    """The first administrator, who also writes and runs."""
    return make_person("mallory", Role.ADMINISTRATOR, Role.AUTHOR, Role.OPERATOR)


@pytest.fixture
def dana(mallory: User) -> User:
    """The second one, with a mailbox that everybody knows."""
    person = make_person("dana", Role.ADMINISTRATOR)
    set_email("dana", "dana@example.com")
    person.refresh_from_db()
    return person


def invite(by: User, name: str, email: str = "") -> User:
    """An account that its maker claims by the link that she was shown."""
    return claims.claim_account(teams.add_person(by=by, name=name, email=email).token, password=PASSWORD, address="")


def grants_alone(by: User) -> bool:
    """Whether she makes somebody an approver without anybody else."""
    who = make_person(f"puppet-{User.objects.count()}")
    return isinstance(teams.grant_role(Role.APPROVER, by=by, person=who, scope=Scope()), Grant)


def make_team(*members: User) -> Team:
    team = Team.objects.create(slug="sre", name="SRE", created_at=timezone.now())
    for member in members:
        add_member(team, member)
    return team


def publish(by: User, rules: Rules, *, confirmed_by: User | None = None) -> None:
    """A version in force, with the second administrator where one is needed."""
    made = editing.save_policy("prod", by=by, scope=Scope(), rules=rules)
    if isinstance(made, PendingChange):
        assert confirmed_by is not None
        confirmations.confirm_change(made, by=confirmed_by)


def sign_in(name: str, password: str = "") -> Client:
    browser = Client()
    browser.post("/login/", {"username": name, "password": password or f"{name}-secret"})
    return browser


# Links ---------------------------------------------------------------------------------------------


def test_own_program_is_not_linked_with_an_account_on_the_others_mailbox(dana: User, mallory: User) -> None:
    """Both administrators counted as one from then on: she alone granted and approved."""
    program = tokens.make_service_account(by=mallory, name="pipeline", purpose="")
    alias = invite(mallory, "alias", "dana+x@example.com")
    for change in PendingChange.objects.filter(kind=PendingKind.MAIL):
        confirmations.confirm_change(change, by=dana)  # she takes it for an account of her own

    with pytest.raises(NotAllowedError, match=r"manage\.py people link"):
        teams.link_accounts([program, alias], by=mallory)

    assert not administrators.is_same_human(dana, mallory)
    assert not grants_alone(mallory)


def test_link_of_others_waits_for_the_second(dana: User, mallory: User) -> None:
    """One administrator alone could keep an approver from approving what an author wrote."""
    alice, bob = make_person("alice", Role.AUTHOR), make_person("bob", Role.APPROVER)

    asked = teams.link_accounts([alice, bob], by=mallory)

    assert isinstance(asked, PendingChange)
    assert not administrators.is_same_human(alice, bob)
    with pytest.raises(NotAllowedError, match="you requested this"):
        confirmations.confirm_change(asked, by=mallory)
    confirmations.confirm_change(asked, by=dana)
    assert administrators.is_same_human(alice, bob)
    assert AuditEntry.objects.get(action=AuditAction.PERSON_CHANGED).detail == {
        "one human": ["alice", "bob"],
        "asked by": "mallory",
        "confirmed by": "dana",
    }


def test_link_that_became_one_of_two_administrators_is_not_confirmed(dana: User, mallory: User) -> None:
    alias, other, erin = make_person("alias"), make_person("other"), make_person("erin", Role.ADMINISTRATOR)
    asked = teams.link_accounts([alias, other], by=mallory)
    assert asked is not None
    account_links.count_as_one([alias, dana])
    account_links.count_as_one([other, mallory])

    with pytest.raises(NotAllowedError, match=r"manage\.py people link"):
        confirmations.confirm_change(asked, by=erin)


def test_no_link_lowers_the_number_of_administrators(dana: User, mallory: User) -> None:
    """Not even one by the operator of the server, and not one past the use cases."""
    account_links.count_as_one([mallory, dana])

    assert (administrators.count_ever(), grants_alone(mallory)) == (2, False)
    with pytest.raises(DatabaseError, match="a second administrator"), transaction.atomic():
        grant_role(make_person("puppet"), Role.APPROVER, by=mallory)
    with pytest.raises(DatabaseError, match="how many administrators"), transaction.atomic():
        AccountLink.objects.update(counted_as="one")
    with pytest.raises(DatabaseError, match="how many administrators"), transaction.atomic():
        AccountLink.objects.create(person=make_person("erin", Role.ADMINISTRATOR), human="one")


def test_second_account_of_one_administrator_is_no_second_one(mallory: User) -> None:
    """Linked before it administers, it counts as her; she is still the only one, and her grants are marked."""
    twin = make_person("twin")
    teams.link_accounts([mallory, twin], by=mallory)
    grant_role(twin, Role.ADMINISTRATOR)

    assert administrators.count_ever() == 1


def test_linked_accounts_are_never_separated(dana: User, mallory: User) -> None:
    """Else an author and her second account would be two, and one approved what the other wrote."""
    account_links.count_as_one([make_person("alice"), make_person("alias")])

    with pytest.raises(DatabaseError, match="stay one"), transaction.atomic():
        AccountLink.objects.filter(person__username="alias").delete()


# Mail ----------------------------------------------------------------------------------------------


def test_account_on_the_others_mailbox_is_made_without_its_address(dana: User, mallory: User) -> None:
    """An address alone links accounts, and attributes commits."""
    alias = invite(mallory, "alias", "dana+x@example.com")

    asked = PendingChange.objects.get(kind=PendingKind.MAIL)
    assert (alias.email, administrators.is_same_human(alias, dana)) == ("", False)
    with pytest.raises(NotAllowedError, match="you requested this"):
        confirmations.confirm_change(asked, by=mallory)
    confirmations.confirm_change(asked, by=dana)
    alias.refresh_from_db()
    assert (alias.email, administrators.is_same_human(alias, dana)) == ("dana+x@example.com", True)


def test_address_is_not_changed_by_one(dana: User, mallory: User) -> None:
    bob = make_person("bob", Role.APPROVER)

    asked = teams.set_mail(bob, "alice@example.com", by=mallory)

    assert isinstance(asked, PendingChange)
    assert User.objects.get(pk=bob.pk).email == ""
    with pytest.raises(NotAllowedError, match="another administrator must change"):
        teams.set_mail(mallory, "m@example.com", by=mallory)
    with pytest.raises(NotAllowedError, match=r"manage\.py people link"):
        teams.set_mail(mallory, "dana@example.com", by=make_person("erin", Role.ADMINISTRATOR))


def test_changed_address_separates_nobody(mallory: User) -> None:
    """Accounts that only shared a mailbox are linked before one leaves it."""
    alice, alias = make_person("alice", Role.AUTHOR), make_person("alias", Role.APPROVER)
    for name in ("alice", "alias"):
        set_email(name, "alice@example.com")

    teams.set_mail(alias, "other@example.com", by=mallory)

    accounts = User.objects.in_bulk([alice.pk, alias.pk])
    assert administrators.is_same_human(accounts[alice.pk], accounts[alias.pk])


# Teams that policies name ---------------------------------------------------------------------------


NAMING = [
    Rules(approving_team="sre"),
    Rules(asking_teams=("sre",)),
    Rules(for_risks=(policies.RiskDemand(policies.POLICY_RISKS[0], 1, "sre"),)),
    Rules(owners=(policies.OwnerRule(OwnerOf.KIND, "core/Secret", "sre"),)),
]


@pytest.mark.parametrize("rules", NAMING)
def test_team_that_a_policy_names_changes_by_two(dana: User, mallory: User, rules: Rules) -> None:
    """The team of a policy without a role of its own took in anybody, by one administrator."""
    bob, eve = make_person("bob", Role.APPROVER), make_person("eve", Role.APPROVER)
    team = make_team(bob)
    publish(mallory, rules, confirmed_by=dana)

    changes = (
        teams.add_member(team, eve, by=mallory),
        teams.end_member(team.members.get(person=bob), by=mallory),
        teams.archive_team(team, by=mallory),
    )

    assert all(isinstance(change, PendingChange) for change in changes)
    assert list(team.members.filter(ended_at=None).values_list("person__username", flat=True)) == ["bob"]
    with pytest.raises(DatabaseError, match="or a policy names"), transaction.atomic():
        add_member(team, eve, by=mallory)


def test_member_whom_two_agreed_on_counts(dana: User, mallory: User) -> None:
    eve, alice = make_person("eve", Role.APPROVER), make_person("alice", Role.AUTHOR)
    team = make_team()
    publish(mallory, Rules(approving_team="sre"), confirmed_by=dana)
    asked = teams.add_member(team, eve, by=mallory)
    plan = make_plan_row(alice, policy_version="prod@1")
    make_approval(plan, eve)
    missing = quorum.count_quorum(plan).missing

    assert isinstance(asked, PendingChange)
    confirmations.confirm_change(asked, by=dana)

    assert (missing, quorum.count_quorum(plan).missing) == (1, 0)


# Claims ---------------------------------------------------------------------------------------------


@pytest.fixture
def erin_link(dana: User, mallory: User) -> str:
    """A link to an account that Dana made an administrator; Mallory was shown the link."""
    invited = teams.add_person(by=mallory, name="erin", email="")
    asked = teams.grant_role(Role.ADMINISTRATOR, by=mallory, person=invited.person, scope=Scope())
    assert isinstance(asked, PendingChange)
    confirmations.confirm_change(asked, by=dana)
    return invited.token


def test_who_made_the_link_does_not_become_whom_two_agreed_on(mallory: User, dana: User, erin_link: str) -> None:
    """She claimed the account herself, and had the second administrator's voice as well."""
    erin = claims.claim_account(erin_link, password=PASSWORD, address="192.0.2.1")

    asked = PendingChange.objects.get(kind=PendingKind.CLAIM)
    assert not access.can(erin, Action.MANAGE)
    with pytest.raises(NotAllowedError, match="you requested this"):
        confirmations.confirm_change(asked, by=mallory)
    with pytest.raises(NotVisibleError):
        confirmations.confirm_change(asked, by=erin)
    assert sign_in("erin", PASSWORD).get("/").status_code != 200
    confirmations.confirm_change(asked, by=dana)
    assert access.can(User.objects.get(username="erin"), Action.MANAGE)


def test_declined_claim_lets_nobody_in(mallory: User, dana: User, erin_link: str) -> None:
    claims.claim_account(erin_link, password=PASSWORD, address="")

    pending_changes.decline(PendingChange.objects.get(kind=PendingKind.CLAIM), by=dana)

    erin = User.objects.get(username="erin")
    assert (erin.has_usable_password(), erin.is_active) == (False, True)
    assert claims.make_link(erin, by=dana)


def test_link_of_the_operator_needs_no_second(mallory: User, dana: User, erin_link: str) -> None:
    token = claims.recover(User.objects.get(username="erin"), reason="she came in person")

    assert claims.claim_account(token, password=PASSWORD, address="").is_active


def test_account_without_such_a_role_is_claimed_at_once(mallory: User, dana: User) -> None:
    assert invite(mallory, "carol").is_active


# Before, not after ----------------------------------------------------------------------------------


def test_who_administers_only_since_then_confirms_nothing(mallory: User, dana: User) -> None:
    asked = teams.grant_role(Role.APPROVER, by=mallory, person=make_person("puppet"), scope=Scope())
    erin = make_person("erin", Role.ADMINISTRATOR)

    assert isinstance(asked, PendingChange)
    with pytest.raises(NotAllowedError, match="became an administrator after"):
        confirmations.confirm_change(asked, by=erin)


# Pages ----------------------------------------------------------------------------------------------


def post(browser: Client, page: str, *words: str, **form: Any) -> str:
    return browser.post(reverse(f"settings:{page}", args=words), form, follow=True).content.decode()


def test_pages_say_what_waits(mallory: User, dana: User) -> None:
    """Each page of what would change shows it, with the way to confirm it."""
    make_person("alice")
    team = make_team(make_person("bob"))
    publish(mallory, Rules(approvals=2, approving_team="sre"))
    browser, waits = sign_in("mallory"), "Nothing has changed yet."

    assert waits in post(browser, "link-accounts", "alice", person="bob")
    assert waits in post(browser, "set-mail", "alice", email="alice@example.com")
    assert waits in post(browser, "end-member", "sre", str(team.members.get().pk))
    assert waits in post(browser, "archive-policy", "prod")
    assert "The email address is set once" in post(browser, "add-person", name="carl", email="carl@example.com")

    pages = {
        name: browser.get(reverse(f"settings:show-{name}", args=[slug])).content.decode()
        for name, slug in (("person", "alice"), ("team", "sre"), ("policy", "prod"))
    }
    assert "accounts: alice, bob" in pages["person"]
    assert "mail: alice@example.com" in pages["person"]
    assert "leaves: bob" in pages["team"]
    assert "archive a policy" in pages["policy"]
    page = sign_in("dana").get(reverse("settings:list-pending")).content.decode()
    assert page.count(">Confirm<") == 5


def test_claim_page_says_that_it_waits(mallory: User, dana: User, erin_link: str) -> None:
    form = {"new": PASSWORD, "again": PASSWORD}

    page = Client().post(reverse("claim", args=[erin_link]), form, follow=True).content.decode()

    assert "once a second administrator confirms it" in page
