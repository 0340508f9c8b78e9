"""Who may do what, and where: the one place that answers it.

Grants give roles, to a person or to a team, on the clusters and namespaces that fit two patterns. Somebody without
a grant is an outsider and learns nothing (404), and so is everybody else where no grant of theirs reaches; a member
whose role is too weak is told so (403). A superuser holds every role everywhere. All are bound by *never one's own*.

Rule: what touches several namespaces needs the right in each of them; objects of no namespace only count where the
grant says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import TypeAlias

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from applyviz.records.enums import Role
from applyviz.records.models import (
    AuditEntry,
    Cluster,
    Grant,
    LiveFinding,
    Review,
    ReviewScope,
    ServiceAccount,
    TeamMember,
)
from applyviz.workflow.foundation.errors import NotAllowedError, NotVisibleError
from applyviz.workflow.foundation.scopes import ScopeEntry, fits, holds_at, is_everywhere, select_covered

Person: TypeAlias = User
Visitor: TypeAlias = AbstractBaseUser | AnonymousUser


class Action(StrEnum):
    """Everything that needs a right."""

    EXPLORE = "read the guide and use the playground"
    USE_ACCOUNT = "use one's own account"
    VIEW = "view reviews, runs and history"
    WRITE = "create reviews and plans"
    COMMENT = "comment"
    DECIDE = "decide conflicts"
    ACKNOWLEDGE = "acknowledge risks and end conflict rules"
    APPROVE = "approve plans"
    APPLY = "start and cancel apply runs"
    BREAK_GLASS = "run a plan without the approval that its policy asks for"
    MANAGE = "manage clusters, people and policies"
    VIEW_ACCOUNTS = "see accounts and grants"
    AUDIT = "verify and export the audit log"
    MANAGE_TOKENS = "make and revoke API tokens"


_ALL = frozenset(Role)
_GRANTED: dict[Action, frozenset[Role]] = {
    Action.USE_ACCOUNT: _ALL,
    Action.EXPLORE: _ALL,
    Action.VIEW: _ALL,
    Action.COMMENT: _ALL - {Role.AUDITOR},
    Action.WRITE: frozenset({Role.AUTHOR}),
    Action.DECIDE: frozenset({Role.AUTHOR}),
    Action.ACKNOWLEDGE: frozenset({Role.AUTHOR, Role.APPROVER}),
    Action.APPROVE: frozenset({Role.APPROVER}),
    Action.APPLY: frozenset({Role.APPROVER, Role.OPERATOR}),
    Action.BREAK_GLASS: frozenset({Role.BREAK_GLASS}),
    Action.MANAGE: frozenset({Role.ADMINISTRATOR}),
    Action.VIEW_ACCOUNTS: frozenset({Role.ADMINISTRATOR, Role.AUDITOR}),
    Action.MANAGE_TOKENS: _ALL - {Role.AUDITOR},
    Action.AUDIT: frozenset({Role.APPROVER, Role.AUDITOR, Role.ADMINISTRATOR}),
}
OF_PROGRAMS = frozenset({Role.VIEWER, Role.AUTHOR, Role.OPERATOR})
"""The roles that a service account can hold: a program asks and runs, it never agrees."""
# What concerns the installation as a whole; a grant on some clusters only gives nothing of it.
_OF_THE_WHOLE = frozenset({Action.MANAGE, Action.VIEW_ACCOUNTS})


_moment: ContextVar[dict[int, tuple[Grant, ...]] | None] = ContextVar("moment", default=None)


@contextmanager
def at_one_moment() -> Iterator[None]:
    """While this lasts, the grants of a person are read once: to show a page, never around what changes anything."""
    token = _moment.set({})
    try:
        yield
    finally:
        _moment.reset(token)


def list_grants(user: Visitor) -> tuple[Grant, ...]:
    """The grants of a person that are in force, those of their teams too; none for who was deactivated."""
    if not isinstance(user, User) or not user.is_active:
        return ()
    known = _moment.get()
    if known is None:
        return _read_grants(user)
    if user.pk not in known:
        known[user.pk] = _read_grants(user)
    return known[user.pk]


def _read_grants(user: Person) -> tuple[Grant, ...]:
    through_team = Q(team__members__person=user, team__members__ended_at=None, team__archived_at=None)
    is_program = Exists(ServiceAccount.objects.filter(person=user))
    allowed = Q(role__in=OF_PROGRAMS) | ~is_program
    return tuple(Grant.objects.filter(Q(person=user) | through_team, allowed, ended_at=None).distinct())


def _is_superuser(user: Visitor) -> bool:
    return isinstance(user, User) and user.is_active and user.is_superuser


def roles_of(user: Visitor, at: ScopeEntry | None = None) -> frozenset[Role]:
    """The roles of a person, anywhere or in one place; none for a visitor and for who was deactivated."""
    if _is_superuser(user):
        return _ALL
    return frozenset(Role(grant.role) for grant in list_grants(user) if at is None or holds_at(grant, at))


def _suffices(grants: Iterable[Grant], action: Action, at: Iterable[ScopeEntry] | None) -> bool:
    fitting = [grant for grant in grants if grant.role in _GRANTED[action]]
    if any(is_everywhere(grant) for grant in fitting):
        return True
    if at is None:
        return bool(fitting) and action not in _OF_THE_WHOLE
    places = tuple(at)
    # Nothing is known of a thing without places: then only a grant that holds everywhere is enough.
    return bool(places) and all(any(holds_at(grant, place) for grant in fitting) for place in places)


def rests_on_sole(user: Person, action: Action, at: Iterable[ScopeEntry]) -> bool:
    """Whether a right rests on grants that the sole administrator made, in any of these places."""
    if _is_superuser(user):
        return False
    fitting = [grant for grant in list_grants(user) if grant.role in _GRANTED[action] and not grant.is_sole]
    joined = TeamMember.objects.filter(person=user, ended_at=None, is_sole=True).values_list("team_id", flat=True)
    sole_teams = frozenset(joined) if any(grant.team_id for grant in fitting) else frozenset()
    return not _suffices([grant for grant in fitting if grant.team_id not in sole_teams], action, at)


def can(user: Visitor, action: Action, at: Iterable[ScopeEntry] | None = None) -> bool:
    """Whether a person may do something: in all of these places, or, when none is named, anywhere at all."""
    return _is_superuser(user) or _suffices(list_grants(user), action, at)


def is_public(action: Action) -> bool:
    """Whether the operator lets anybody do it, signed in or not."""
    return action is Action.EXPLORE and bool(settings.APPLYVIZ_PUBLIC_PLAYGROUND)


def require(user: Visitor, action: Action, at: Iterable[ScopeEntry] | None = None) -> Person:
    """Let a person pass, or raise.

    - Who may not even look there gets `NotVisibleError`, a member with too weak a role `NotAllowedError`.
    """
    if not isinstance(user, User):
        raise NotVisibleError("there is nothing here")
    if _is_superuser(user) or action is Action.USE_ACCOUNT:
        return user
    grants = list_grants(user)
    if _suffices(grants, action, None) and any(is_everywhere(g) and g.role in _GRANTED[action] for g in grants):
        return user
    places = None if at is None else tuple(at)
    if not _suffices(grants, Action.VIEW, places):
        raise NotVisibleError("there is nothing here")
    if not _suffices(grants, action, places):
        wanted = _(" or ").join(sorted(str(role.label) for role in _GRANTED[action]))
        facts = {"what": action.value, "name": user.get_username(), "wanted": wanted}
        if _suffices(grants, action, None):
            raise NotAllowedError(_("%(name)s needs the role %(wanted)s there to %(what)s") % facts)
        raise NotAllowedError(_("%(name)s needs the role %(wanted)s to %(what)s") % facts)
    return user


def places_of(review: Review) -> Iterator[ScopeEntry]:
    """What a review touches; read only when somebody asks who has no right everywhere."""
    rows = ReviewScope.objects.filter(review=review)
    for slug, namespace in rows.values_list("cluster__slug", "namespace").order_by("pk"):
        yield ScopeEntry(slug, namespace)


def _looking(user: Visitor) -> tuple[Grant, ...] | None:
    """The grants that let a person look; None when they see everything."""
    grants = tuple(grant for grant in list_grants(user) if grant.role in _GRANTED[Action.VIEW])
    return None if _is_superuser(user) or any(is_everywhere(grant) for grant in grants) else grants


def select_reviews(user: Visitor) -> Q:
    """The reviews that a person sees: those of which every place is theirs."""
    grants = _looking(user)
    if grants is None:
        return Q()
    places = ReviewScope.objects.filter(review=OuterRef("pk"))
    covered = select_covered(grants, cluster="cluster__slug", namespace="namespace")
    return Q(Exists(places)) & ~Q(Exists(places.exclude(covered)))


def visible_entries(entries: QuerySet[AuditEntry], user: Visitor) -> QuerySet[AuditEntry]:
    """The entries that a person sees: of reviews they see, and of objects in places of theirs."""
    grants = _looking(user)
    if grants is None:
        return entries
    reviews = Review.objects.filter(select_reviews(user)).values("number")
    covered = select_covered(grants, cluster="cluster", namespace="namespace") & ~Q(cluster="")
    return entries.filter(Q(review__in=reviews) | (Q(review=None) & covered))


def limit_findings(findings: QuerySet[LiveFinding], user: Visitor) -> QuerySet[LiveFinding]:
    """What was found in places that a person may look at."""
    grants = _looking(user)
    if grants is None:
        return findings
    return findings.filter(select_covered(grants, cluster="cluster__slug", namespace="namespace"))


def sees_cluster(user: Visitor, slug: str) -> bool:
    """Whether any of a person's grants reaches into a cluster."""
    grants = _looking(user)
    return grants is None or any(fits(grant.cluster_pattern, slug) for grant in grants)


def sees_pattern(user: Visitor, pattern: str) -> bool:
    """Whether a pattern of clusters tells a person nothing new: it is `*`, or fits a cluster that they see."""
    if pattern == "*" or _looking(user) is None:
        return True
    slugs = Cluster.objects.values_list("slug", flat=True)
    return any(fits(pattern, slug) and sees_cluster(user, slug) for slug in slugs)


def may_use(user: Visitor, action: Action, slug: str) -> bool:
    """Whether a person may do something somewhere in a cluster: in one namespace of it at least."""
    if _is_superuser(user):
        return True
    return any(g.role in _GRANTED[action] and fits(g.cluster_pattern, slug) for g in list_grants(user))


def sees_places(user: Visitor, places: Iterable[ScopeEntry]) -> frozenset[ScopeEntry]:
    """Those of many places that a person may look at."""
    grants = _looking(user)
    return frozenset(p for p in places if grants is None or any(holds_at(grant, p) for grant in grants))
