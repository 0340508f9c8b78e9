"""Impersonation: administrators map people, teams or everybody to the Kubernetes users and groups of their requests.

A person's own mapping wins over those of their teams, a team's over the default; without any the cluster's own
credential is used. If two teams map a person to different identities, nothing is planned until an administrator
resolves it. A plan fixes its identity when it is created; its digest covers it, and a run sends it with every request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock, moments
from applyviz.clusters import connect
from applyviz.clusters.identity import OWN, Identity, find_identity_problems
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.values import canonical_json
from applyviz.records.enums import AuditAction
from applyviz.records.models import Cluster, IdentityMapping, Plan, Team
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.audit import trail
from applyviz.workflow.audit.entries import list_entries
from applyviz.workflow.foundation import access, account_macs, rare_rows, row_macs, sentences
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.blockers import (
    AccountChanged,
    IdentitiesClash,
    IdentityChanged,
    IdentityUnclear,
    MappingForged,
    MappingInvalid,
    PlanBlocker,
)
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError
from applyviz.workflow.foundation.locks import lock_cluster
from applyviz.workflow.foundation.sequences import next_number
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.people import humans as people

__all__ = ["Identity", "MappingDraft", "end_mapping", "find_identity", "find_moved", "map_identity", "read_identity"]
NAME = "{name}"
_HAS_MAPPINGS = "cluster has mappings"
_MAPPED = WrittenQuery(lambda cluster: Cluster.objects.filter(pk=cluster).values_list(*rare_rows.find_mappings("")))


class IdentityUnclearError(NotPossibleError):
    """A person has no identity on a cluster: their teams clash, their mapping is invalid, or mappings are forged."""

    def __init__(self, why: IdentitiesClash | MappingInvalid | MappingForged) -> None:
        super().__init__(sentences.describe(why))
        self.why = why


class MappingDraft(Struct, frozen=True):
    """The subject of a mapping (a person, a team, or neither: the default) and its identity."""

    user: str
    groups: tuple[str, ...] = ()
    person: Person | None = None
    team: Team | None = None
    note: str = ""

    def describe(self) -> str:
        """Return the name of the subject for people."""
        if self.person is not None:
            return self.person.get_username()
        return f"team {self.team.slug}" if self.team is not None else "everybody else"


def _in_force(cluster: Cluster) -> QuerySet[IdentityMapping]:
    return IdentityMapping.objects.filter(cluster=cluster, ended_at=None)


def _has_mappings(cluster: Cluster) -> bool:
    """Return whether a cluster has or had any mapping, by its rows or by the audit log: one query."""
    return moments.read_on_page((_HAS_MAPPINGS, cluster.pk), lambda: any(_MAPPED.ask(cluster.pk)[0]))


def read_together(clusters: Iterable[Cluster]) -> None:
    """Read which of many clusters have or had mappings with one statement, while a page is shown."""

    def read(missing: list[int]) -> dict[int, bool]:
        rows = Cluster.objects.filter(pk__in=missing).values_list("pk", *rare_rows.find_mappings(""))
        return {pk: given or mapped for pk, given, mapped in rows}

    moments.read_together(_HAS_MAPPINGS, (cluster.pk for cluster in clusters), read)


def _check_mappings(cluster: Cluster) -> None:
    """Raise `IdentityUnclearError` unless the mappings in force are genuine, and those that the audit log records.

    - Without its mapping, a person would act with the credential of the cluster itself.
    """
    stored = {row.number: row for row in _in_force(cluster)}
    given, ended = _read_recorded(cluster)
    if (
        given - ended - stored.keys()
        or ended & stored.keys()
        or any(fault for _, fault in row_macs.list_faults(stored.values()))
    ):
        raise IdentityUnclearError(MappingForged(cluster.slug))


def _read_recorded(cluster: Cluster) -> tuple[set[int], set[int]]:
    """Return the numbers of the mappings that were added, and of those that were ended, by the audit log."""
    recorded = list_entries(AuditAction.IDENTITY_MAPPED, AuditAction.IDENTITY_ENDED)
    entries = recorded.filter(cluster=cluster.slug)
    given: set[int] = set()
    ended: set[int] = set()
    for action, body in entries.values_list("action", "detail"):
        numbers = {name: n for name, n in map_or_empty(body).items() if isinstance(n, int)}
        (given if action == AuditAction.IDENTITY_MAPPED else ended).add(numbers.get("mapping", 0))
        ended.add(numbers.get("instead of", 0))
    return given - {0}, ended - {0}


def _identity_of(mapping: IdentityMapping, person: Person) -> Identity:
    if NAME in mapping.user and not account_macs.is_genuine(person, "username"):
        raise IdentityUnclearError(MappingForged(mapping.cluster.slug))
    identity = Identity(mapping.user.replace(NAME, person.get_username()), tuple(mapping.groups))
    found = tuple(find_identity_problems(identity.user, identity.groups))
    if found:
        raise IdentityUnclearError(MappingInvalid(mapping.number, person.get_username(), found[0]))
    return identity


def find_identity(person: Person, cluster: Cluster) -> Identity:
    """Return the identity that a person's requests to a cluster use now.

    - Raises `IdentityUnclearError` when their teams are mapped to different identities, a mapping is invalid, or the
      mappings of the cluster are not those that this installation stored.
    """
    if not _has_mappings(cluster):
        return Identity()
    _check_mappings(cluster)
    mine = Q(person=person) | Q(person=None, team=None)
    mine |= Q(team__slug__in=people.list_teams([person])[person.pk])
    rows = list(_in_force(cluster).filter(mine).select_related("team", "cluster"))
    for chosen in (
        [row for row in rows if row.person_id],
        [row for row in rows if row.team_id],
        [row for row in rows if not row.person_id and not row.team_id],
    ):
        found = {_identity_of(row, person): row for row in chosen}
        if len(found) > 1:
            teams = tuple(sorted(row.team.slug for row in chosen if row.team))
            raise IdentityUnclearError(IdentitiesClash(person.get_username(), cluster.slug, teams))
        if found:
            return next(iter(found))
    return Identity()


def open_reader(cluster: Cluster, *, for_user: Person) -> ClusterReader:
    """Open a reader that impersonates a person's identity, so that they read only what the cluster lets them read."""
    return connect.open_reader(cluster, find_identity(for_user, cluster))


def read_identity(plan: Plan) -> Identity:
    """Return the identity that a plan is bound to."""
    return Identity.from_json(plan.identity)


def name_for_digest(plan: Plan) -> str:
    """Return the identity that the digest of a plan covers: the impersonated user, or the credential's account."""
    if plan.identity:
        return canonical_json(plan.identity)
    return canonical_json({OWN: plan.account}) if plan.account else OWN


def _find_other_account(plan: Plan) -> tuple[PlanBlocker, ...]:
    """Return why the credential no longer belongs to the account of a plan; impersonation does not depend on it."""
    cluster = plan.target.cluster
    if plan.identity or plan.account == cluster.account:
        return ()
    return (AccountChanged(cluster.name, cluster.account.get("user") or ""),)


def _try_identity(person: Person, cluster: Cluster) -> Identity | IdentityUnclear:
    try:
        return find_identity(person, cluster)
    except IdentityUnclearError as error:
        return IdentityUnclear(error.why)


def _find_moved(plan: Plan, now: Identity | IdentityUnclear) -> tuple[PlanBlocker, ...]:
    if isinstance(now, IdentityUnclear):
        return (now,)
    if now == read_identity(plan):
        return _find_other_account(plan)
    return (IdentityChanged(plan.requested_by.get_username(), plan.target.cluster.slug),)


def find_moved(plan: Plan) -> tuple[PlanBlocker, ...]:
    """Return why a plan no longer has the identity of its requester; empty while it has."""
    return _find_moved(plan, _try_identity(plan.requested_by, plan.target.cluster))


def list_moved(plans: Iterable[Plan]) -> dict[int, tuple[PlanBlocker, ...]]:
    """Return what `find_moved` says of many plans by their ids; each person is asked for once per cluster."""
    known: dict[tuple[int, int], Identity | IdentityUnclear] = {}
    found = {}
    plans = list(plans)
    read_together(plan.target.cluster for plan in plans)
    for plan in plans:
        asked = (plan.requested_by_id, plan.target.cluster_id)
        if asked not in known:
            known[asked] = _try_identity(plan.requested_by, plan.target.cluster)
        found[plan.pk] = _find_moved(plan, known[asked])
    return found


def list_mappings(*, for_user: Visitor, text: str = "") -> QuerySet[IdentityMapping]:
    """Return all mappings, ended ones too, by cluster and newest first; for administrators and auditors.

    - `text`: a part of the name of the cluster, of the person or the team, or of the user; "" for all.
    """
    access.require(for_user, Action.VIEW_ACCOUNTS)
    names = Q(person__username__icontains=text) | Q(team__slug__icontains=text) | Q(user__icontains=text)
    named = Q(cluster__slug__icontains=text) | names if text else Q()
    return (
        IdentityMapping.objects.filter(named)
        .select_related("cluster", "person", "team", "by", "ended_by")
        .order_by("cluster__slug", "-number")
    )


def get_mapping(pk: int, *, for_user: Visitor) -> IdentityMapping:
    """Return one mapping; raises `NotVisibleError` when it does not exist."""
    return get_visible(list_mappings(for_user=for_user), "there is no such mapping", pk=pk)


def _check_draft(draft: MappingDraft, by: Person) -> None:
    if draft.person is not None and draft.team is not None:
        raise NotValidError(_("choose a person, a team or the default"))
    shown = draft.user.replace(NAME, "name")
    problems = [*find_identity_problems(shown, draft.groups)]
    if NAME in draft.user and draft.person is not None:
        problems.append(_("%(name)s is only for teams and the default; enter a user name") % {"name": NAME})
    if problems:
        raise NotValidError("; ".join(dict.fromkeys(problems)))
    if draft.person is not None and is_same_human(draft.person, by):
        raise NotAllowedError(_("you can't map yourself"))


def is_same_human(first: Person, second: Person) -> bool:
    """Return whether two accounts belong to one person."""
    humans = people.name_humans([first, second])
    return first.pk == second.pk or humans[first.pk] == humans[second.pk]


def _describe(draft: MappingDraft, number: int) -> dict[str, str | int | Sequence[str]]:
    recorded: dict[str, str | int | Sequence[str]] = {"mapping": number, "for": draft.describe(), "user": draft.user}
    return {**recorded, "groups": list(draft.groups), "note": draft.note}


def _end(mapping: IdentityMapping, by: Person) -> None:
    if mapping.ended_at is not None and mapping.number not in _read_recorded(mapping.cluster)[1]:
        return  # somebody ended it in the database: the entry that follows makes that true
    if not IdentityMapping.objects.filter(pk=mapping.pk, ended_at=None).update(ended_at=clock.now(), ended_by=by):
        raise NotPossibleError(_("the mapping is already removed"))


def map_identity(cluster: Cluster, draft: MappingDraft, *, by: Person) -> IdentityMapping:
    """Map a person, a team or the default to an identity; the earlier mapping of the same subject ends.

    - Plans that were created under another identity can no longer be approved or run.
    - Raises `NotValidError` with every reason for an invalid identity, `NotAllowedError` for the person's own mapping.
    """
    access.require(by, Action.MANAGE)
    _check_draft(draft, by)
    with transaction.atomic():
        lock_cluster(cluster.pk)  # mappings of a cluster are numbered in order
        before = _in_force(cluster).filter(person=draft.person, team=draft.team).first()
        if before is not None:
            _end(before, by)
        made = IdentityMapping(
            cluster=cluster,
            number=next_number(IdentityMapping.objects.filter(cluster=cluster)),
            person=draft.person,
            team=draft.team,
            user=draft.user,
            groups=list(draft.groups),
            note=draft.note.strip(),
            since=clock.now(),
            by=by,
        )
        row_macs.vouch(made)
        made.save(force_insert=True)
        detail = _describe(draft, made.number) | ({"instead of": before.number} if before else {})
        trail.record(AuditAction.IDENTITY_MAPPED, by=by, about=trail.AuditSubject(cluster=cluster.slug), detail=detail)
    return made


def end_mapping(mapping: IdentityMapping, *, by: Person) -> None:
    """End a mapping from now on."""
    access.require(by, Action.MANAGE)
    if mapping.person is not None and is_same_human(mapping.person, by):
        raise NotAllowedError(_("you can't change your own mapping"))
    draft = MappingDraft(mapping.user, tuple(mapping.groups), mapping.person, mapping.team, mapping.note)
    with transaction.atomic():
        _end(mapping, by)
        about = trail.AuditSubject(cluster=mapping.cluster.slug)
        trail.record(AuditAction.IDENTITY_ENDED, by=by, about=about, detail=_describe(draft, mapping.number))
