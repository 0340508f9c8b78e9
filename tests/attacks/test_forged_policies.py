"""An attacker who writes policies or accounts into the database gains nothing, and `audit verify` names the rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from applyviz.records import triggers
from applyviz.records.enums import Role
from applyviz.records.models import AccountLink, AccountMac, Plan, Policy, PolicyVersion
from applyviz.workflow import policies
from applyviz.workflow.approvals import quorum
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import administrators, sign_in, teams
from applyviz.workflow.policies import Rules, editing, rules_to_json
from tests.attacks.test_forged_rights import verify
from tests.blockers import name_blockers
from tests.builders import make_approval, make_person, make_plan_row, set_email
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
LAX, STRICT = Rules(approvals=0), Rules(approvals=2)
PASSWORD = "a-long-enough-secret"


@pytest.fixture
def ida(db: None) -> User:
    """The administrator, the only one there is."""
    return make_person("ida", Role.ADMINISTRATOR)


@pytest.fixture
def plan(ida: User) -> Plan:
    """A plan that needs two approvals; the attacker holds the database, without any key."""
    editing.save_policy("prod", by=ida, scope=Scope(), rules=STRICT)
    made = make_plan_row(make_person("mallory", Role.AUTHOR, Role.OPERATOR), policy_version="prod@1")
    triggers.lift("default")
    return made


def replaced() -> None:
    """Under the same name and number."""
    PolicyVersion.objects.update(rules=rules_to_json(LAX))


def inserted() -> None:
    policy = Policy.objects.get(slug="prod")
    row = PolicyVersion(policy=policy, number=2, rules=rules_to_json(LAX), created_at=timezone.now(), mac="0" * 64)
    row.save(force_insert=True)
    Policy.objects.update(number=2)


def moved_elsewhere() -> None:
    """It covers nothing any more."""
    PolicyVersion.objects.update(cluster_pattern="nowhere")


@pytest.mark.parametrize("forge", [replaced, inserted])
def test_forged_policy_lets_nothing_run_and_is_named(plan: Plan, forge: Callable[[], None]) -> None:
    forge()
    Plan.objects.update(policy_version=str(Policy.objects.get()))

    assert "was not published by this installation" in name_blockers(plan)[0]
    assert f"policy version {PolicyVersion.objects.first().pk}" in verify()


def test_policy_that_was_moved_elsewhere_is_noticed(plan: Plan) -> None:
    moved_elsewhere()

    assert "the policy changed" in name_blockers(plan)[0]
    assert "it was not made by this installation" in verify()


def test_genuine_policy_with_other_content_is_another_policy(plan: Plan, ida: User) -> None:
    """The plan digest names the content, not only the number."""
    assert plan.policy_digest
    Plan.objects.update(policy_digest="0" * 64)

    assert "the policy changed" in name_blockers(Plan.objects.get())[0]


def test_earlier_version_is_not_put_back_in_force(plan: Plan, ida: User) -> None:
    """Both versions are genuine; the newest is in force, whatever the row of the policy says."""
    editing.save_policy("prod", by=ida, scope=Scope(), rules=Rules(approvals=3))
    Policy.objects.update(number=1)

    assert policies.find_policy(plan).demands[0].approvals == 3
    assert "put version 2 in force" in verify()


def test_policy_is_not_archived_in_the_database(plan: Plan, ida: User) -> None:
    Policy.objects.update(archived_at=timezone.now(), mac="0" * 64)
    assert policies.find_policy(plan).version == "prod@1"
    assert "policy" in verify()

    Policy.objects.update(archived_at=None, mac="")
    assert "refused" not in verify()
    editing.archive_policy("prod", by=ida)
    assert policies.find_policy(plan).version == policies.BUILT_IN
    assert "refused" not in verify()
    Policy.objects.update(archived_at=None)
    assert "archived it" in verify()


def test_missing_policies_are_named(plan: Plan) -> None:
    PolicyVersion.objects.all().delete()
    assert "(prod@1): it is missing" in verify()


def test_removed_policy_lets_nothing_run_until_it_is_published_again(plan: Plan, ida: User) -> None:
    """Without it, the built-in policy would be in force, which requires less."""
    PolicyVersion.objects.all().delete()
    Policy.objects.all().delete()
    Plan.objects.update(policy_version=policies.BUILT_IN, policy_digest="")

    found = Plan.objects.get()
    assert "policy prod@1 was removed from the database: publish it again" in name_blockers(found)[0]
    assert "(prod): it is missing" in verify()

    editing.save_policy("prod", by=ida, scope=Scope(), rules=STRICT)
    assert policies.find_policy(found).missing == ()


def test_removed_version_does_not_put_the_earlier_one_in_force(plan: Plan, ida: User) -> None:
    editing.save_policy("prod", by=ida, scope=Scope(), rules=Rules(approvals=3))
    PolicyVersion.objects.filter(number=2).delete()
    Policy.objects.update(number=1)

    assert "policy prod@2 was removed" in name_blockers(plan)[0]


def test_archived_policy_is_not_missed(plan: Plan, ida: User) -> None:
    editing.archive_policy("prod", by=ida)

    assert policies.find_policy(plan).missing == ()


def test_run_under_a_forged_policy_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team().wire_up(monkeypatch)
    editing.save_policy("prod", by=make_person("ida", Role.ADMINISTRATOR), scope=Scope(), rules=Rules())
    run = team.start(team.plan(config_map(a="1")))
    triggers.lift("default")
    PolicyVersion.objects.update(rules=rules_to_json(LAX))

    team.work(run)

    assert (team.wire.writes, "was not published by this installation" in run.error) == ([], True)


# Accounts -------------------------------------------------------------------------------------------


@pytest.fixture
def bob(ida: User) -> User:
    """Approves, and signs in with a password that Mallory does not know."""
    person = make_person("bob", Role.APPROVER)
    person.set_password("another-long-secret")
    person.save()
    return person


def signs_in(name: str, password: str = PASSWORD) -> bool:
    """Whether the page of sign-in takes a password."""
    return Client().login(username=name, password=password)


def test_copied_password_signs_nobody_in_and_is_named(bob: User) -> None:
    mallory = make_person("mallory")
    mallory.set_password(PASSWORD)
    mallory.save()
    assert (signs_in("mallory"), signs_in("bob", "another-long-secret")) == (True, True)
    assert "refused" not in verify()

    User.objects.filter(pk=bob.pk).update(password=mallory.password)
    bob.refresh_from_db()

    assert not signs_in("bob")
    assert sign_in.reauthenticate(bob, PASSWORD, "192.0.2.1", session="s") is sign_in.Proof.WRONG
    assert f"account {bob.pk} (bob): its password was not set by this installation" in verify()


def test_mac_of_another_account_confirms_no_password(bob: User) -> None:
    mallory = make_person("mallory")
    mallory.set_password(PASSWORD)
    mallory.save()
    User.objects.filter(pk=bob.pk).update(password=mallory.password)
    AccountMac.objects.filter(person=bob).update(macs=AccountMac.objects.get(person=mallory).macs)

    assert not signs_in("bob")


def test_change_of_one_aspect_confirms_no_other(bob: User) -> None:
    """Bob changes his password after his address was forged."""
    User.objects.filter(pk=bob.pk).update(email="mallory@example.org")
    bob.refresh_from_db()
    sign_in.change_password(bob, new=PASSWORD, address="", keep_session="")

    assert signs_in("bob")
    assert f"account {bob.pk} (bob): its address was not set by this installation" in verify()


def test_reactivated_account_does_not_sign_in(bob: User, ida: User) -> None:
    teams.set_active(bob, by=ida, is_active=False)
    User.objects.filter(pk=bob.pk).update(is_active=True)

    assert not signs_in("bob", "another-long-secret")
    assert "activated or deactivated past this installation" in verify()


def test_superuser_of_the_database_has_no_role(bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(is_superuser=True)
    forged, root = User.objects.get(pk=bob.pk), User.objects.create_superuser("root")

    assert (access.can(forged, Action.MANAGE), access.can(root, Action.MANAGE)) == (False, True)
    assert f"account {bob.pk} (bob): it was not made a superuser by this installation" in verify()


@pytest.mark.parametrize("whose", ["alice", "alias"])
def test_changed_address_makes_no_second_person(ida: User, whose: str) -> None:
    """The author and her second account share a mailbox, until the database says otherwise."""
    alice, alias = make_person("alice", Role.AUTHOR), make_person("alias", Role.APPROVER)
    for name in ("alice", "alias"):
        set_email(name, "alice@example.org")
    plan = make_plan_row(alice)
    triggers.lift("default")
    User.objects.filter(username=whose).update(email="other@example.org")
    make_approval(plan, User.objects.get(pk=alias.pk))

    assert administrators.is_same_human(*User.objects.filter(username__in=["alice", "alias"]))
    assert quorum.count_quorum(Plan.objects.get()).missing == 1
    assert "its address was not set by this installation" in verify()


def test_link_that_is_gone_separates_nobody(ida: User) -> None:
    alice, alias = make_person("alice", Role.AUTHOR), make_person("alias", Role.APPROVER)
    teams.link_accounts([alice, alias], by=ida)
    assert "refused" not in verify()
    plan = make_plan_row(alice)
    triggers.lift("default")
    AccountLink.objects.all().delete()
    make_approval(plan, alias)

    assert quorum.count_quorum(Plan.objects.get()).missing == 1
    assert "its link was not made by this installation" in verify()


def test_missing_accounts_and_other_addresses_are_named(ida: User) -> None:
    for name in ("erin", "frank"):
        teams.add_person(by=ida, name=name, email=f"{name}@example.org")
    assert "refused" not in verify()

    User.objects.filter(username="erin").update(username="gone")
    frank = User.objects.get(username="frank")
    frank.email = "replayed@example.org"
    frank.save(update_fields=["email"])

    said = verify()
    assert "(erin): it is missing" in said
    assert "(frank): the entry set another address" in said


def test_check_of_accounts_adds_no_query(ida: User, django_assert_num_queries: Callable) -> None:
    """The MACs come with the accounts that are read anyway."""
    people = [*User.objects.filter(pk=ida.pk), make_person("erin")]
    with django_assert_num_queries(1):
        administrators.is_same_human(*people)
