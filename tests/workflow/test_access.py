"""Who may do what: every action for every role, and what is said to those who may not."""

import pytest
from django.contrib.auth.models import AnonymousUser, User

from applyviz.records.enums import Role
from applyviz.workflow import access
from applyviz.workflow.access import Action
from applyviz.workflow.errors import NotAllowedError, NotVisibleError
from tests.builders import make_person

pytestmark = pytest.mark.django_db

EVERYBODY = set(Role)
MATRIX = {
    Action.EXPLORE: EVERYBODY,
    Action.LOOK: EVERYBODY,
    Action.COMMENT: EVERYBODY - {Role.AUDITOR},
    Action.WRITE: {Role.AUTHOR},
    Action.DECIDE: {Role.AUTHOR},
    Action.ACKNOWLEDGE: {Role.AUTHOR, Role.APPROVER},
    Action.APPROVE: {Role.APPROVER},
    Action.APPLY: {Role.APPROVER, Role.OPERATOR},
    Action.BREAK_GLASS: {Role.BREAK_GLASS},
    Action.MANAGE: {Role.ADMINISTRATOR},
    Action.OVERSEE: {Role.ADMINISTRATOR, Role.AUDITOR},
    Action.AUDIT: {Role.APPROVER, Role.AUDITOR, Role.ADMINISTRATOR},
}


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("role", list(Role))
def test_role_grants(action, role):
    person = make_person("somebody", role)

    assert access.can(person, action) == (role in MATRIX[action])


@pytest.mark.parametrize("action", list(Action))
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
    assert not access.can(person, Action.LOOK)


def test_superuser_holds_every_role():
    root = User.objects.create_superuser("root")

    assert {action for action in Action if access.can(root, action)} == set(Action)
