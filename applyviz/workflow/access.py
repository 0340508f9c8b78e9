"""Who may do what: the one place that answers it.

Groups grant rights. Somebody in no group is an outsider and learns nothing (404); a member whose role is
too weak is told so (403). An auditor reads everything and changes nothing; every member reads the history page by
page, while taking it away as a file is for auditors and approvers. A superuser holds every role and is still bound
by *never one's own*.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

from applyviz.records.enums import Role
from applyviz.workflow.errors import NotAllowedError, NotVisibleError

Person: TypeAlias = User
Visitor: TypeAlias = AbstractBaseUser | AnonymousUser


class Action(StrEnum):
    """Everything that needs a right."""

    EXPLORE = "read the guide and use the playground"
    LOOK = "look at reviews, runs and history"
    WRITE = "create reviews and plans"
    COMMENT = "comment"
    DECIDE = "decide conflicts"
    ACKNOWLEDGE = "acknowledge hazards and end standing rules"
    APPROVE = "approve plans"
    APPLY = "start and cancel apply runs"
    MANAGE = "manage clusters"
    AUDIT = "verify and export the history"


_ALL = frozenset(Role)
_GRANTED: dict[Action, frozenset[Role]] = {
    Action.EXPLORE: _ALL,
    Action.LOOK: _ALL,
    Action.COMMENT: _ALL - {Role.AUDITOR},
    Action.WRITE: frozenset({Role.AUTHOR}),
    Action.DECIDE: frozenset({Role.AUTHOR}),
    Action.ACKNOWLEDGE: frozenset({Role.AUTHOR, Role.APPROVER}),
    Action.APPROVE: frozenset({Role.APPROVER}),
    Action.APPLY: frozenset({Role.APPROVER}),
    Action.MANAGE: frozenset(),
    Action.AUDIT: frozenset({Role.APPROVER, Role.AUDITOR}),
}


def roles_of(user: Visitor) -> frozenset[Role]:
    """The roles of a person; none for a visitor who is not signed in or was deactivated."""
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    if user.is_superuser:
        return _ALL
    names = set(user.groups.values_list("name", flat=True))
    return frozenset(role for role in Role if role.value in names)


def can(user: Visitor, action: Action) -> bool:
    """Whether a person's roles grant an action."""
    if isinstance(user, User) and user.is_active and user.is_superuser:
        return True
    return not _GRANTED[action].isdisjoint(roles_of(user))


def is_public(action: Action) -> bool:
    """Whether the operator lets anybody do it, signed in or not."""
    return action is Action.EXPLORE and bool(settings.APPLYVIZ_PUBLIC_PLAYGROUND)


def require(user: Visitor, action: Action) -> Person:
    """Let a person pass, or raise.

    - An outsider gets `NotVisibleError`, a member with too weak a role `NotAllowedError`.
    """
    if not isinstance(user, User) or not roles_of(user):
        raise NotVisibleError("there is nothing here")
    if not can(user, action):
        wanted = " or ".join(sorted(str(role.label) for role in _GRANTED[action])) or "administrator"
        raise NotAllowedError(f"to {action.value}, {user.get_username()} needs the role {wanted}")
    return user
