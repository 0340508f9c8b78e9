"""Who may do what: every action for every role, and what is said to those who may not."""

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from applyviz import moments
from applyviz.records.enums import Role
from applyviz.records.models import Cluster, Grant, Review, ReviewScope
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError, NotVisibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.foundation.scopes import EVERY_NAMESPACE, ScopeEntry
from applyviz.workflow.people import teams
from tests.builders import grant_role, make_cluster_row, make_person, make_plan_row

pytestmark = pytest.mark.django_db

EVERYBODY = set(Role)
MATRIX = {
    Action.EXPLORE: EVERYBODY,
    Action.VIEW: EVERYBODY,
    Action.COMMENT: EVERYBODY - {Role.AUDITOR},
    Action.WRITE: {Role.AUTHOR},
    Action.RESOLVE: {Role.AUTHOR},
    Action.ACKNOWLEDGE: {Role.AUTHOR, Role.APPROVER},
    Action.APPROVE: {Role.APPROVER},
    Action.APPLY: {Role.APPROVER, Role.OPERATOR},
    Action.BREAK_GLASS: {Role.BREAK_GLASS},
    Action.USE_ACCOUNT: set(Role),
    Action.MANAGE: {Role.ADMINISTRATOR},
    Action.VIEW_ACCOUNTS: {Role.ADMINISTRATOR, Role.AUDITOR},
    Action.AUDIT: {Role.APPROVER, Role.AUDITOR, Role.ADMINISTRATOR},
    Action.MANAGE_TOKENS: set(Role) - {Role.AUDITOR},
}


@pytest.mark.core(20)
@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("role", list(Role))
def test_role_grants(action, role):
    person = make_person("somebody", role)

    assert access.can(person, action) == (role in MATRIX[action])


def test_own_account_needs_no_role():
    charlie = make_person("charlie")

    assert access.require(charlie, Action.USE_ACCOUNT) == charlie
    with pytest.raises(NotVisibleError):
        access.require(AnonymousUser(), Action.USE_ACCOUNT)


@pytest.mark.core(4)
@pytest.mark.parametrize("action", [action for action in Action if action is not Action.USE_ACCOUNT])
def test_outsiders_learn_nothing(action):
    for visitor in (AnonymousUser(), make_person(f"charlie-{action.name}")):
        with pytest.raises(NotVisibleError) as raised:
            access.require(visitor, action)
        assert str(raised.value) == "there is nothing here"


def test_weak_role_is_told_what_it_needs():
    with pytest.raises(NotAllowedError) as raised:
        access.require(make_person("victor", Role.VIEWER), Action.APPROVE)

    assert str(raised.value) == "to approve plans, victor needs the role approver"


def test_deactivated_person_has_no_role():
    person = make_person("alice", Role.AUTHOR)
    person.is_active = False

    assert access.roles_of(person) == frozenset()
    assert not access.can(person, Action.VIEW)


def test_superuser_holds_every_role():
    root = User.objects.create_superuser("root")

    assert {action for action in Action if access.can(root, action)} == set(Action)


def person_with(*grants):
    """Somebody with roles in places: (role, cluster, namespace, whether objects of no namespace are covered)."""
    person = make_person(f"person-{Grant.objects.count()}")
    for role, cluster, namespace, is_wide in grants:
        grant_role(person, role, cluster=cluster, namespace=namespace, is_cluster_scoped=is_wide)
    return person


@pytest.mark.core(6)
@pytest.mark.parametrize(
    ("cluster", "namespace", "is_wide", "places", "may"),
    [
        ("*", "*", True, [("prod", "shop"), ("prod", "")], True),
        ("prod-*", "*", False, [("prod-eu", "shop")], True),
        ("prod-*", "*", False, [("prod-eu", "")], False),
        ("prod-*", "*", False, [("dev", "shop")], False),
        ("prod-?", "shop*", False, [("prod-1", "shop"), ("prod-2", "shop-api")], True),
        ("prod-?", "shop*", False, [("prod-12", "shop")], False),
        ("prod", "shop", False, [("prod", "shop"), ("prod", "vault")], False),
        ("prod", "shop", True, [("prod", "")], True),
        ("prod", "s.op", False, [("prod", "shop")], False),
        ("prod", "?", False, [("prod", EVERY_NAMESPACE)], False),
        ("prod", "*", False, [("prod", EVERY_NAMESPACE)], True),
        ("*", "shop", True, [], False),
    ],
)
def test_grant_holds_in_its_places_alone(cluster, namespace, is_wide, places, may):
    person = person_with((Role.AUTHOR, cluster, namespace, is_wide))

    assert access.can(person, Action.WRITE, [ScopeEntry(*place) for place in places]) is may


def test_right_is_needed_in_each_place():
    person = person_with((Role.AUTHOR, "prod", "shop", False), (Role.APPROVER, "prod", "vault", False))
    shop, vault = ScopeEntry("prod", "shop"), ScopeEntry("prod", "vault")

    assert access.can(person, Action.WRITE, [shop])
    assert not access.can(person, Action.WRITE, [shop, vault])
    assert access.can(person, Action.VIEW, [shop, vault])
    with pytest.raises(NotAllowedError, match="there"):
        access.require(person, Action.WRITE, [vault])
    with pytest.raises(NotVisibleError):
        access.require(person, Action.WRITE, [ScopeEntry("prod", "other")])


def test_administrator_of_a_part_manages_nothing():
    person = person_with((Role.ADMINISTRATOR, "prod", "*", True))

    assert not access.can(person, Action.MANAGE)


def test_team_gives_its_roles_while_somebody_is_in_it():
    dana, bob = make_person("dana", Role.ADMINISTRATOR), make_person("bob")
    team = teams.create_team(by=dana, slug="sre", name="SRE")
    teams.grant_role(Role.OPERATOR, by=dana, team=team, scope=Scope("prod"))
    member = teams.add_member(team, bob, by=dana)
    assert access.can(bob, Action.APPLY, [ScopeEntry("prod", "shop")])
    assert not access.can(bob, Action.APPLY, [ScopeEntry("dev", "shop")])

    teams.end_member(member, by=dana)

    assert not access.can(bob, Action.VIEW)


PATTERNS = st.sampled_from(["*", "prod", "prod-*", "p*", "????", "*-eu", "dev"])
SLUGS = st.sampled_from(["prod", "prod-eu", "prod-us", "dev"])


GRANTS = st.lists(st.tuples(PATTERNS, PATTERNS, st.booleans()), max_size=3)
PLACES = st.lists(st.tuples(SLUGS, st.one_of(st.just(""), SLUGS)), min_size=1, max_size=3, unique=True)


@settings(max_examples=15)
@given(GRANTS, PLACES)
def test_lists_and_doors_agree(grants, places):
    compare_list_and_door(grants, places)


@pytest.mark.long
@settings(max_examples=60)
@given(GRANTS, PLACES)
def test_lists_and_doors_agree_in_many_cases(grants, places):
    compare_list_and_door(grants, places)


def compare_list_and_door(grants, places):
    with transaction.atomic():
        person = person_with(*((Role.VIEWER, *grant) for grant in grants))
        plan = make_plan_row(make_person("author"))
        for slug, namespace in places:
            cluster = Cluster.objects.filter(slug=slug).first() or make_cluster_row(slug)
            ReviewScope.objects.create(review=plan.review, cluster=cluster, namespace=namespace)

        listed = Review.objects.filter(access.select_reviews(person)).exists()
        door = access.can(person, Action.VIEW, access.scopes_of(plan.review))
        transaction.set_rollback(True)

    assert listed == door


def test_grants_are_read_once_while_a_page_is_shown_and_anew_afterwards(django_assert_num_queries):
    person = make_person("watcher", Role.VIEWER)

    with django_assert_num_queries(1), moments.at_one_moment():
        assert [access.can(person, Action.VIEW) for _ in range(3)] == [True] * 3
    Grant.objects.filter(person=person).update(ended_at=timezone.now())

    assert not access.can(person, Action.VIEW)
    with moments.at_one_moment():
        assert not access.can(person, Action.VIEW)
