"""Tokens and service accounts: what opens, what does not, and that no program ever agrees."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import AuditAction, Role, TokenScope
from applyviz.records.models import AccountLink, ApiToken, AuditEntry, ServiceAccount
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError, WorkflowError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import teams, tokens
from tests import moments
from tests.builders import build_emergency, grant_role, make_approval, make_person, make_plan_row

pytestmark = pytest.mark.django_db
HERE = "192.0.2.7"


@pytest.fixture
def alice(db):
    return make_person("alice", Role.AUTHOR)


@pytest.fixture
def dana(db):
    return make_person("dana", Role.ADMINISTRATOR)


@pytest.fixture
def program(alice):
    return tokens.make_service_account(by=alice, name="pipeline", purpose="deploys the shop")


def give(person, account=None, scope=TokenScope.PLAN, days=30):
    return tokens.make_token(by=person, account=account or person, name="ci", scope=scope, days=days)


def test_token_opens_and_only_its_hash_is_kept(alice):
    token, text = give(alice)

    caller = tokens.find_caller(text, address=HERE)

    token.refresh_from_db()
    assert (caller.person, token.last_used_from, token.asked) == (alice, HERE, 1)
    assert text.startswith(token.hint)
    assert text not in str(ApiToken.objects.values().get())
    assert text not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize("text", ["", "x", "avz_", "avz_wrong", "Bearer", "avz_" + "A" * 5000, "avz_\x00"])
def test_what_is_no_token_opens_nothing(alice, text):
    give(alice)

    with pytest.raises(tokens.NotKnownError):
        tokens.find_caller(text, address=HERE)


def revoke(token, person):
    tokens.revoke_token(token, by=person)


ENDS = {
    "revoked": revoke,
    "expired": lambda token, person: None,
    "account closed": lambda token, person: User.objects.filter(pk=person.pk).update(is_active=False),
}


@pytest.mark.parametrize("how", list(ENDS))
def test_token_that_ended_opens_nothing(alice, how):
    token, text = give(alice)
    ENDS[how](token, alice)
    if how == "expired":
        moments.move_to(timezone.now() + timedelta(days=31))

    with pytest.raises(tokens.NotKnownError):
        tokens.find_caller(text, address=HERE)


def test_closing_the_owner_closes_the_program(alice, program):
    _, text = give(alice, program)
    User.objects.filter(pk=alice.pk).update(is_active=False)

    with pytest.raises(tokens.NotKnownError):
        tokens.find_caller(text, address=HERE)


def test_scope_comes_before_the_roles(alice):
    grant_role(alice, Role.OPERATOR)
    may = {
        scope: [
            action
            for action in Action
            if _passes(tokens.find_caller(give(alice, scope=scope)[1], address=HERE), action)
        ]
        for scope in TokenScope
    }

    assert may == {
        TokenScope.READ: [Action.VIEW],
        TokenScope.PLAN: [Action.VIEW, Action.WRITE],
        TokenScope.APPLY: [Action.VIEW, Action.WRITE, Action.APPLY],
    }


def _passes(caller, action):
    try:
        caller.require(action)
    except WorkflowError:
        return False
    return True


def test_token_is_asked_a_bounded_number_of_times_a_minute(alice):
    moment = timezone.now().replace(second=3)
    moments.move_to(moment, tick=False)
    _, text = give(alice)
    for _ in range(tokens.PER_MINUTE):
        tokens.find_caller(text, address=HERE)

    with pytest.raises(tokens.TooManyError) as refused:
        tokens.find_caller(text, address=HERE)
    moments.move_to(moment + timedelta(minutes=1), tick=False)

    assert (refused.value.status, 0 < refused.value.seconds <= 60) == (429, True)
    assert tokens.find_caller(text, address=HERE).person == alice


@pytest.mark.long
def test_address_of_many_wrong_tokens_is_slowed_and_good_ones_go_on(alice):
    _, text = give(alice)
    answers = []
    for number in range(60):
        try:
            tokens.find_caller(f"avz_{number}", address=HERE)
        except WorkflowError as error:
            answers.append(error.status)

    assert (answers[:50], answers[50:]) == ([401] * 50, [429] * 10)
    assert tokens.find_caller(text, address=HERE).person == alice
    with pytest.raises(tokens.NotKnownError):
        tokens.find_caller("avz_x", address="192.0.2.8")


def test_token_is_for_oneself_or_an_own_program(alice, program, dana):
    give(alice, program)
    for person, account in ((dana, alice), (dana, program), (alice, dana)):
        with pytest.raises(NotAllowedError):
            give(person, account)
    with pytest.raises(NotValidError):
        tokens.make_token(by=alice, account=alice, name=" ", scope=TokenScope.READ, days=30)
    with pytest.raises(NotValidError):
        tokens.make_token(by=alice, account=alice, name="x", scope=TokenScope.READ, days=10_000)


def test_token_is_revoked_by_owner_or_administrator(alice, program, dana):
    first, second, third = give(alice)[0], give(alice, program)[0], give(alice)[0]
    with pytest.raises(NotAllowedError):
        tokens.revoke_token(first, by=make_person("bob", Role.APPROVER))
    for token, person in ((first, alice), (second, alice), (third, dana)):
        tokens.revoke_token(token, by=person)
    with pytest.raises(NotPossibleError):
        tokens.revoke_token(first, by=alice)

    assert AuditEntry.objects.filter(action=AuditAction.TOKEN_REVOKED).count() == 3


def test_lists_show_ones_own_and_all_to_who_oversees(alice, program, dana):
    give(alice)
    give(alice, program)
    give(dana)

    assert [tokens.list_tokens(for_user=p).count() for p in (alice, dana)] == [2, 3]
    assert [tokens.list_service_accounts(for_user=p).count() for p in (alice, dana)] == [1, 1]


@pytest.mark.parametrize(
    "change", [{"scope": "apply"}, {"token_hash": "0" * 64}, {"expires_at": timezone.now() + timedelta(days=999)}]
)
def test_database_keeps_tokens_as_they_were_made(alice, program, change):
    token, _ = give(alice)

    for values in (change, {"person": program}):
        with pytest.raises(DatabaseError), transaction.atomic():
            ApiToken.objects.filter(pk=token.pk).update(**values)
    tokens.revoke_token(token, by=alice)
    with pytest.raises(DatabaseError), transaction.atomic():
        ApiToken.objects.filter(pk=token.pk).update(revoked_at=None)
    with pytest.raises(DatabaseError), transaction.atomic():
        ApiToken.objects.all().delete()


def test_program_holds_no_role_that_agrees(alice, program, dana):
    for role in (Role.APPROVER, Role.ADMINISTRATOR, Role.BREAK_GLASS, Role.AUDITOR):
        with pytest.raises(NotAllowedError, match="a service account can't have the role"):
            teams.grant_role(role, by=dana, person=program, scope=Scope())
        grant_role(program, role)  # past the use case
    teams.grant_role(Role.AUTHOR, by=dana, person=program, scope=Scope())

    assert access.roles_of(program) == {Role.AUTHOR}
    with pytest.raises(NotAllowedError, match="team"):
        teams.add_member(teams.create_team(by=dana, slug="sre", name="SRE"), program, by=dana)


def test_owner_grants_nothing_to_the_own_program(dana):
    program = tokens.make_service_account(by=_with(dana, Role.AUTHOR), name="mine", purpose="")

    with pytest.raises(NotAllowedError, match="you can't grant a role to your own service account"):
        teams.grant_role(Role.OPERATOR, by=dana, person=program, scope=Scope())


def _with(person, role):
    grant_role(person, role)
    return person


def approve(plan, person):
    return make_approval(plan, person)


def test_program_never_approves_in_the_database_either(alice, program):
    plan = make_plan_row(make_person("carl", Role.AUTHOR))
    grant_role(program, Role.APPROVER)

    with pytest.raises(DatabaseError, match="never approves"):
        approve(plan, program)
    with pytest.raises(WorkflowError):
        approving.approve_plan(plan, by=program, digest=plan.digest)
    with pytest.raises(DatabaseError, match="cannot start an emergency apply"), transaction.atomic():
        build_emergency(plan, program, reason="r", ticket="t").save()


@pytest.mark.parametrize("is_linked", [True, False])
def test_owner_of_the_program_never_approves_what_it_asked_for(alice, program, is_linked):
    grant_role(alice, Role.APPROVER)
    plan = make_plan_row(program)
    if not is_linked:
        triggers.lift("default")
        AccountLink.objects.all().delete()
        triggers.install("default")

    with pytest.raises(DatabaseError, match="a person cannot approve"):
        approve(plan, alice)
    if is_linked:
        assert quorum.is_involved(plan, alice)
        assert [p.username for p in quorum.list_candidates(plan)] == []
    assert approve(plan, make_person("bob", Role.APPROVER)).pk


def test_program_stays_with_its_owner(alice, program, dana):
    for act in (
        lambda: ServiceAccount.objects.update(owner=dana),
        lambda: ServiceAccount.objects.all().delete(),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            act()
    with pytest.raises(NotAllowedError, match="a service account can't create accounts"):
        tokens.make_service_account(by=_with(program, Role.AUTHOR), name="second", purpose="")
    assert not program.has_usable_password()
