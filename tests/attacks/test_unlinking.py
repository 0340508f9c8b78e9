"""One administrator alone does not unlink an account, and by it make two people of one."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import AuditEntry, PendingChange
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.people import account_links, administrators, confirmations, teams, tokens
from tests.builders import grant_role, make_person, set_email

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]


@pytest.fixture
def mallory(db: None) -> User:
    """The first administrator."""
    return make_person("mallory", Role.ADMINISTRATOR)


@pytest.fixture
def dana(mallory: User) -> User:
    """The second one."""
    return make_person("dana", Role.ADMINISTRATOR)


def test_no_administrator_alone_unlinks_an_account(dana: User, mallory: User) -> None:
    """Else an author and her second account would be two, and one approved what the other wrote."""
    alice, alias = make_person("alice", Role.AUTHOR), make_person("alias", Role.APPROVER)
    account_links.count_as_one([alice, alias])

    asked = teams.unlink_account(alias, by=mallory)

    assert isinstance(asked, PendingChange)
    assert administrators.is_same_human(alice, alias)
    with pytest.raises(NotAllowedError, match="you requested this"):
        confirmations.confirm_change(asked, by=mallory)
    confirmations.confirm_change(asked, by=dana)
    assert not administrators.is_same_human(alice, alias)
    entry = AuditEntry.objects.filter(action=AuditAction.PERSON_CHANGED).latest("pk")
    assert (entry.detail["account"], entry.detail["unlinked from"]) == ("alias", ["alice"])


def test_nobody_unlinks_their_own_accounts(dana: User, mallory: User) -> None:
    alias, other = make_person("alias", Role.APPROVER), make_person("other")
    account_links.count_as_one([mallory, alias])

    for account in (mallory, alias):
        with pytest.raises(NotAllowedError, match="your own accounts"):
            teams.unlink_account(account, by=mallory)
    account_links.count_as_one([dana, other])
    asked = teams.unlink_account(other, by=mallory)
    assert isinstance(asked, PendingChange)
    with pytest.raises(NotAllowedError, match="this benefits you"):
        confirmations.confirm_change(asked, by=dana)


def test_unlinked_account_makes_no_second_administrator(mallory: User) -> None:
    """She is still the only one, so her grants are marked."""
    twin, other = make_person("twin"), make_person("other")
    teams.link_accounts([mallory, twin], by=mallory)
    grant_role(twin, Role.ADMINISTRATOR)
    account_links.separate(twin)

    assert administrators.count_ever() == 1
    with pytest.raises(NotPossibleError, match="is not linked"):
        teams.unlink_account(other, by=mallory)


def test_program_is_never_unlinked_from_its_owner(dana: User, mallory: User) -> None:
    alice = make_person("alice", Role.AUTHOR)
    program = tokens.make_service_account(by=alice, name="ci", purpose="builds")

    with pytest.raises(NotPossibleError, match="always counts as its owner"):
        teams.unlink_account(program, by=mallory)
    for name in ("erin", "frank"):
        make_person(name)
        set_email(name, "both@example.org")
    erin = User.objects.get(username="erin")
    account_links.link_mailbox(erin)
    with pytest.raises(NotPossibleError, match="same mailbox"):
        teams.unlink_account(erin, by=mallory)
