"""Authorization: every decision about who may do what, and where, is made here.

Grants give roles to a person or a team on the clusters and namespaces that match two patterns. Without a grant that
reaches a scope, a person learns nothing about it (404); a member whose role is too weak gets a refusal that names the
required role (403). A superuser has every role everywhere. No role lifts the rule that people cannot approve their
own changes.

Rule: an act on several namespaces needs the right in each of them; cluster-scoped objects count only where the grant
includes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz import moments
from applyviz.records.enums import Role
from applyviz.records.models import (
    AuditEntry,
    Cluster,
    ConflictRule,
    Grant,
    LiveFinding,
    Review,
    ReviewScope,
    ServiceAccount,
    TeamMember,
)
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.foundation import account_macs, row_macs
from applyviz.workflow.foundation.errors import NotAllowedError, NotVisibleError
from applyviz.workflow.foundation.scopes import ScopeEntry, fits, holds_at, is_everywhere, select_covered

Person: TypeAlias = User
Visitor: TypeAlias = AbstractBaseUser | AnonymousUser


class Action(StrEnum):
    """Every act that needs a right."""

    EXPLORE = "explore"
    USE_ACCOUNT = "use-account"
    VIEW = "view"
    WRITE = "write"
    COMMENT = "comment"
    RESOLVE = "resolve"
    ACKNOWLEDGE = "acknowledge"
    APPROVE = "approve"
    APPLY = "apply"
    BREAK_GLASS = "break-glass"
    MANAGE = "manage"
    VIEW_ACCOUNTS = "view-accounts"
    AUDIT = "audit"
    MANAGE_TOKENS = "manage-tokens"


_WORDS = {
    Action.EXPLORE: gettext_lazy("read the guide and use the playground"),
    Action.USE_ACCOUNT: gettext_lazy("use your own account"),
    Action.VIEW: gettext_lazy("view reviews, runs and history"),
    Action.WRITE: gettext_lazy("create reviews and plans"),
    Action.COMMENT: gettext_lazy("comment"),
    Action.RESOLVE: gettext_lazy("resolve conflicts"),
    Action.ACKNOWLEDGE: gettext_lazy("acknowledge risks and end conflict rules"),
    Action.APPROVE: gettext_lazy("approve plans"),
    Action.APPLY: gettext_lazy("start and cancel runs"),
    Action.BREAK_GLASS: gettext_lazy("start an emergency apply"),
    Action.MANAGE: gettext_lazy("manage clusters, people and policies"),
    Action.VIEW_ACCOUNTS: gettext_lazy("view accounts and grants"),
    Action.AUDIT: gettext_lazy("verify and export the audit log"),
    Action.MANAGE_TOKENS: gettext_lazy("create and revoke API tokens"),
}
_ALL = frozenset(Role)
_GRANTED: dict[Action, frozenset[Role]] = {
    Action.USE_ACCOUNT: _ALL,
    Action.EXPLORE: _ALL,
    Action.VIEW: _ALL,
    Action.COMMENT: _ALL - {Role.AUDITOR},
    Action.WRITE: frozenset({Role.AUTHOR}),
    Action.RESOLVE: frozenset({Role.AUTHOR}),
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
"""The roles that a service account can hold: a program can request and run, but never approve."""
# Acts on the installation as a whole; a grant on some clusters does not give them.
_OF_THE_WHOLE = frozenset({Action.MANAGE, Action.VIEW_ACCOUNTS})


def list_grants(user: Visitor) -> tuple[Grant, ...]:
    """Return the genuine grants of a person in force, those of their teams included; none for a deactivated account."""
    if not isinstance(user, User) or not user.is_active:
        return ()
    return moments.read_once(("grants", user.pk), lambda: _read_grants(user))


def _select_grants(person: int) -> QuerySet[Grant]:
    """Return the query for the grants of a person and of their teams in force, with their audit entries."""
    through_team = Q(team__members__person=person, team__members__ended_at=None, team__archived_at=None)
    allowed = Q(role__in=OF_PROGRAMS) | ~Exists(ServiceAccount.objects.filter(person=person))
    rows = Grant.objects.filter(Q(person=person) | through_team, allowed, ended_at=None)
    return rows.select_related("entry").defer("entry__detail").distinct().order_by("pk")


_GRANTS = WrittenQuery(_select_grants)


def _read_grants(user: Person) -> tuple[Grant, ...]:
    grants = row_macs.keep_genuine(_GRANTS.ask(user.pk))
    if any(grant.team_id for grant in grants):
        joined = TeamMember.objects.filter(person=user, ended_at=None).select_related("entry", "team")
        teams = {member.team_id for member in row_macs.keep_genuine(joined)}
        grants = [grant for grant in grants if grant.team_id is None or grant.team_id in teams]
    return tuple(grants)


def _is_superuser(user: Visitor) -> bool:
    return (
        isinstance(user, User)
        and user.is_active
        and user.is_superuser
        and account_macs.is_genuine(user, "is_superuser")
    )


def roles_of(user: Visitor, at: ScopeEntry | None = None) -> frozenset[Role]:
    """Return a person's roles, anywhere or in one scope; none for a visitor or a deactivated account."""
    if _is_superuser(user):
        return _ALL
    return frozenset(Role(grant.role) for grant in list_grants(user) if at is None or holds_at(grant, at))


def _suffices(grants: Iterable[Grant], action: Action, at: Iterable[ScopeEntry] | None) -> bool:
    fitting = [grant for grant in grants if grant.role in _GRANTED[action]]
    if any(is_everywhere(grant) for grant in fitting):
        return True
    if not fitting:  # so the scopes need not be read
        return False
    if at is None:
        return action not in _OF_THE_WHOLE
    scopes = tuple(at)
    # Without known scopes, only a grant that applies everywhere is enough.
    return bool(scopes) and all(any(holds_at(grant, scope) for grant in fitting) for scope in scopes)


def rests_on_sole(user: Person, action: Action, at: Iterable[ScopeEntry]) -> bool:
    """Return whether a right rests on grants that the sole administrator made, in any of these scopes."""
    if _is_superuser(user):
        return False
    fitting = [grant for grant in list_grants(user) if grant.role in _GRANTED[action] and not grant.is_sole]
    joined = TeamMember.objects.filter(person=user, ended_at=None, is_sole=True).values_list("team_id", flat=True)
    sole_teams = frozenset(joined) if any(grant.team_id for grant in fitting) else frozenset()
    return not _suffices([grant for grant in fitting if grant.team_id not in sole_teams], action, at)


def can(user: Visitor, action: Action, at: Iterable[ScopeEntry] | None = None) -> bool:
    """Return whether a person may perform an action: in all of these scopes or, without any, anywhere at all."""
    return _is_superuser(user) or _suffices(list_grants(user), action, at)


def is_public(action: Action) -> bool:
    """Return whether the operator allows the action without signing in."""
    return action is Action.EXPLORE and bool(settings.APPLYVIZ_PUBLIC_PLAYGROUND)


def require(user: Visitor, action: Action, at: Iterable[ScopeEntry] | None = None) -> Person:
    """Return the person if they may perform an action; raise otherwise.

    - Raises `NotVisibleError` when they may not even view the scopes, `NotAllowedError` when their role is too weak.
    """
    if not isinstance(user, User):
        raise NotVisibleError("there is nothing here")
    if _is_superuser(user) or action is Action.USE_ACCOUNT:
        return user
    grants = list_grants(user)
    if _suffices(grants, action, None) and any(is_everywhere(g) and g.role in _GRANTED[action] for g in grants):
        return user
    scopes = None if at is None else tuple(at)
    if not _suffices(grants, Action.VIEW, scopes):
        raise NotVisibleError("there is nothing here")
    if not _suffices(grants, action, scopes):
        facts = {"what": _WORDS[action], "name": user.get_username(), "wanted": _wanted(action)}
        if _suffices(grants, action, None):
            raise NotAllowedError(_("to %(what)s, %(name)s needs the role %(wanted)s there") % facts)
        raise NotAllowedError(_("to %(what)s, %(name)s needs the role %(wanted)s") % facts)
    return user


def require_on(user: Visitor, action: Action, slug: str) -> Person:
    """Return the person if they may perform an action in at least one scope of a cluster; raise otherwise."""
    person = require(user, action)
    if not may_use(person, action, slug):
        raise NotAllowedError(
            _("to %(what)s, %(name)s needs the role %(wanted)s there")
            % {"name": person.get_username(), "wanted": _wanted(action), "what": _WORDS[action]}
        )
    return person


def _wanted(action: Action) -> str:
    return _(" or ").join(sorted(str(role.label) for role in _GRANTED[action]))


def scopes_of(review: Review) -> Iterator[ScopeEntry]:
    """Return the scopes that a review touches, read only for people without a right everywhere."""
    yield from moments.read_once(("scopes of review", review.pk), lambda: _read_scopes(review))


def read_scopes(reviews: Iterable[Review], user: Visitor) -> None:
    """Read the scopes of many reviews with one statement, while a page is shown to a person who does not see all."""

    def read(missing: list[int]) -> dict[int, tuple[ScopeEntry, ...]]:
        scopes: dict[int, list[ScopeEntry]] = {pk: [] for pk in missing}
        rows = ReviewScope.objects.filter(review__in=missing).order_by("pk")
        for review, *scope in rows.values_list("review_id", "cluster__slug", "namespace"):
            scopes[review].append(ScopeEntry(*scope))
        return {pk: tuple(found) for pk, found in scopes.items()}

    if not sees_every_cluster(user):
        moments.read_together("scopes of review", (review.pk for review in reviews), read)


def _read_scopes(review: Review) -> tuple[ScopeEntry, ...]:
    rows = ReviewScope.objects.filter(review=review).order_by("pk")
    return tuple(ScopeEntry(*row) for row in rows.values_list("cluster__slug", "namespace"))


def _list_viewing(user: Visitor) -> tuple[Grant, ...] | None:
    """Return the grants that let a person view; None when they see everything."""
    grants = tuple(grant for grant in list_grants(user) if grant.role in _GRANTED[Action.VIEW])
    return None if _is_superuser(user) or any(is_everywhere(grant) for grant in grants) else grants


def select_reviews(user: Visitor) -> Q:
    """Return the filter for reviews that a person may see: every scope of them is visible."""
    grants = _list_viewing(user)
    if grants is None:
        return Q()
    scopes = ReviewScope.objects.filter(review=OuterRef("pk"))
    covered = select_covered(grants, cluster="cluster__slug")
    return Q(Exists(scopes)) & ~Q(Exists(scopes.exclude(covered)))


def visible_entries(entries: QuerySet[AuditEntry], user: Visitor) -> QuerySet[AuditEntry]:
    """Return the entries that a person may see: of visible reviews, and of objects in visible scopes."""
    grants = _list_viewing(user)
    if grants is None:
        return entries
    reviews = Review.objects.filter(select_reviews(user)).values("number")
    covered = select_covered(grants, cluster="cluster") & ~Q(cluster="")
    return entries.filter(Q(review__in=reviews) | (Q(review=None) & covered))


def limit_findings(findings: QuerySet[LiveFinding], user: Visitor) -> QuerySet[LiveFinding]:
    """Return the findings in scopes that a person may view."""
    grants = _list_viewing(user)
    if grants is None:
        return findings
    return findings.filter(select_covered(grants, cluster="cluster__slug"))


def limit_rules(rules: QuerySet[ConflictRule], user: Visitor) -> QuerySet[ConflictRule]:
    """Return the conflict rules of namespaces that a person may view, and those of every namespace."""
    grants = _list_viewing(user)
    if grants is None:
        return rules
    return rules.filter(Q(namespace="") | select_covered(grants, cluster="cluster__slug"))


def sees_every_cluster(user: Visitor) -> bool:
    """Return whether a person sees every cluster, whatever its name."""
    return _list_viewing(user) is None


def sees_cluster(user: Visitor, slug: str) -> bool:
    """Return whether any of a person's grants reaches into a cluster."""
    grants = _list_viewing(user)
    return grants is None or any(fits(grant.cluster_pattern, slug) for grant in grants)


def sees_pattern(user: Visitor, pattern: str) -> bool:
    """Return whether a cluster pattern reveals nothing new to a person: `*`, or it matches a cluster that they see."""
    if pattern == "*" or _list_viewing(user) is None:
        return True
    slugs = Cluster.objects.values_list("slug", flat=True)
    return any(fits(pattern, slug) and sees_cluster(user, slug) for slug in slugs)


def may_use(user: Visitor, action: Action, slug: str) -> bool:
    """Return whether a person may perform an action in at least one scope of a cluster."""
    return _is_superuser(user) or bool(_list_fitting(user, action, slug))


def _list_fitting(user: Visitor, action: Action, slug: str) -> list[Grant]:
    return [g for g in list_grants(user) if g.role in _GRANTED[action] and fits(g.cluster_pattern, slug)]


def list_namespaces(user: Visitor, action: Action, slug: str) -> tuple[str, ...]:
    """Return the patterns of the only namespaces of a cluster where a person may perform an action; () for all."""
    patterns = {grant.namespace_pattern for grant in _list_fitting(user, action, slug)}
    return () if _is_superuser(user) or "*" in patterns else tuple(sorted(patterns))


def list_visible_scopes(user: Visitor, scopes: Iterable[ScopeEntry]) -> frozenset[ScopeEntry]:
    """Return the scopes among many that a person may view."""
    grants = _list_viewing(user)
    return frozenset(s for s in scopes if grants is None or any(holds_at(grant, s) for grant in grants))
