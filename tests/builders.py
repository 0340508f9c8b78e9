"""People, clusters, bundles and reviews for tests of the back end: Alice writes, Bob approves, Charlie is outside."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar
from zlib import compress

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import AuditAction, ClusterKind, PlanState, Role
from applyviz.records.models import (
    AccountLink,
    Approval,
    Cluster,
    EmergencyApply,
    Grant,
    IdentityMapping,
    ObjectChange,
    Plan,
    PlanDetails,
    Policy,
    PolicyVersion,
    Review,
    SourceRevision,
    Target,
    Team,
    TeamMember,
)
from applyviz.records.sealing import Unsealed
from applyviz.workflow import policies
from applyviz.workflow.approvals import acknowledgments, viewed_objects
from applyviz.workflow.audit import approval_macs, trail
from applyviz.workflow.foundation import account_macs, row_macs
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotVisibleError
from applyviz.workflow.plans import resolutions, reviews
from applyviz.workflow.policies import BUILT_IN, Rules, rules_to_json

Right = TypeVar("Right", Grant, TeamMember)


def make_person(name: str, *roles: Role) -> User:
    """Somebody with these roles; without any, an outsider."""
    person = User.objects.create_user(name, password=f"{name}-secret")
    for role in roles:
        grant_role(person, role)
    return person


def set_email(name: str, email: str) -> None:
    """Give an account an address, past every use case."""
    person = User.objects.get(username=name)
    person.email = email
    person.save(update_fields=["email"])


def link_rows(human: str, *people: User) -> None:
    """Link accounts, past every use case."""
    for person in people:
        person.link = AccountLink.objects.create(person=person, human=human)
        account_macs.vouch(person, account_macs.LINK)


def grant_role(person: User, role: Role | str, cluster: str = "*", namespace: str = "*", **values: object) -> Grant:
    """A grant of a role; everywhere, unless patterns are given."""
    patterns = {"cluster_pattern": cluster, "namespace_pattern": namespace}
    return _save_vouched(Grant(role=role, person=person, since=timezone.now(), **{**patterns, **values}))


def grant_team(team: Team, role: Role, **values: object) -> Grant:
    """A grant of a role everywhere to a team."""
    return _save_vouched(Grant(role=role, team=team, since=timezone.now(), **values))


def add_member(team: Team, person: User, **values: object) -> TeamMember:
    """A membership, past every use case."""
    return _save_vouched(TeamMember(team=team, person=person, **{"since": timezone.now(), **values}))


def _save_vouched(row: Right) -> Right:
    """A genuine row without an audit entry, so that tests count only entries of their own."""
    row_macs.vouch(row, None)
    row.save(force_insert=True)
    return row


def take_roles(person: User) -> None:
    """End every grant of a person."""
    Grant.objects.filter(person=person, ended_at=None).update(ended_at=timezone.now())


def make_cluster_row(slug: str = "box", **values: object) -> Cluster:
    """A cluster that only exists as a row."""
    defaults = {"name": slug, "kind": ClusterKind.SANDBOX, "uid": f"uid-of-{slug}", "created_at": timezone.now()}
    return Cluster.objects.create(slug=slug, **{**defaults, **values})


def make_plan_row(
    author: User,
    *,
    requester: User | None = None,
    state: str = PlanState.COMPLETE,
    changes: int = 1,
    policy_version: str = BUILT_IN,
    **values: object,
) -> Plan:
    """A finished plan with some changes (`values` are theirs), without a calculation behind it."""
    now = timezone.now()
    number = Review.objects.count() + 1
    review = Review.objects.create(number=number, title="Upgrade", author=author, created_at=now, updated_at=now)
    cluster = Cluster.objects.filter(slug="box").first() or make_cluster_row()
    revision = SourceRevision(digest="d" * 64, created_at=now, created_by=author)
    row_macs.vouch(revision)
    revision.save()
    plan = Plan(
        review=review,
        target=Target.objects.create(review=review, cluster=cluster),
        revision=revision,
        number=1,
        options={},
        requested_by=requester or author,
        authors=sorted({author.pk, (requester or author).pk}),
        tag_key=Unsealed.of_bytes(b"k" * 32),
        created_at=now,
    )
    row_macs.vouch(plan)
    plan.save()
    if state == PlanState.COMPLETE:
        nothing = compress(b"{}")
        PlanDetails.objects.create(
            plan=plan, impact={}, overview={}, quotas=[], staying=[], graph=nothing, owners=nothing
        )
    for position in range(changes):
        given = {
            "version": "v1",
            "kind": "ConfigMap",
            "namespace": "default",
            "name": f"settings-{position}",
            "operation": "update",
            "certainty": "confirmed",
            "has_effect": True,
            "effect": "e" * 64,
            "document": {},
            "sealed": Unsealed.of_json({}),
        }
        ObjectChange.objects.create(plan=plan, position=position, **{**given, **values})
    bound = {"policy_version": policy_version, "policy_digest": policies.find_policy(plan).digest}
    Plan.objects.filter(pk=plan.pk).update(state=state, digest="a" * 64, cluster_uid=cluster.uid, **bound)
    plan.refresh_from_db()
    return plan


def build_approval(plan: Plan, by: User, **values: object) -> Approval:
    """A genuine approval, not stored yet, past every use case; its audit entry is."""
    given = {"digest": plan.digest, "by_name": by.username, "created_at": timezone.now(), **values}
    made = Approval(plan=plan, by=by, **given)
    about = trail.AuditSubject(review=plan.review.number, plan=plan.number, plan_digest=str(given["digest"]))
    approval_macs.vouch(made, trail.record(AuditAction.APPROVAL_GIVEN, by=by, about=about))
    return made


def make_approval(plan: Plan, by: User, **values: object) -> Approval:
    """The same as a row; what the database refuses leaves nothing behind."""
    with transaction.atomic():
        made = build_approval(plan, by, **values)
        made.save(force_insert=True)
    return made


def build_emergency(plan: Plan, by: User, **values: object) -> EmergencyApply:
    """A genuine record of an emergency apply, not stored yet, past every use case."""
    given = {"digest": plan.digest, "by_name": by.username, "created_at": timezone.now(), **values}
    made = EmergencyApply(plan=plan, by=by, **given)
    about = trail.AuditSubject(review=plan.review.number, plan=plan.number, plan_digest=str(given["digest"]))
    approval_macs.vouch(made, trail.record(AuditAction.EMERGENCY_APPLIED, by=by, about=about))
    return made


def acknowledge_all(plan: Plan, person: User) -> None:
    """One person acknowledges every high risk of a plan that nobody acknowledged yet."""
    for kind in dict.fromkeys(risk.kind for risk in acknowledgments.find_open(plan)):
        acknowledgments.acknowledge_risks(plan, kind, by=person)


def open_dangers(plan: Plan, *people: User) -> None:
    """These people look at every object with a high risk, as who approves must, and acknowledge what they may."""
    for person in people:
        for row in viewed_objects.find_unopened(plan, by=person):
            viewed_objects.record_viewed(row, plan, by=person)
        with suppress(NotPossibleError, NotAllowedError, NotVisibleError):
            acknowledge_all(plan, person)


def overwrite_conflicts(review: Review, *, by: User, note: str = "") -> Plan:
    """Overwrite every open conflict of the latest plan: asks for the next plan, which does it."""
    choices = resolutions.choose_everywhere(review.latest_plan, ResolutionKind.OVERWRITE)
    return reviews.replan_review(review, by=by, choices=choices, note=note)


def server_side(**values: object) -> ApplyOptions:
    """The product's own options."""
    return ApplyOptions(**{"namespace": "shop", **values})


def make_policy(
    slug: str = "strict",
    cluster: str = "*",
    namespace: str = "*",
    *,
    is_cluster_scoped: bool = True,
    **rules: object,
) -> PolicyVersion:
    """The next version of a policy with these rules, written as rows."""
    policy, _ = Policy.objects.get_or_create(slug=slug)
    number = policy.number + 1
    made = PolicyVersion(
        policy=policy,
        number=number,
        cluster_pattern=cluster,
        namespace_pattern=namespace,
        is_cluster_scoped=is_cluster_scoped,
        rules=rules_to_json(Rules(**rules)),
        created_at=timezone.now(),
    )
    row_macs.vouch(made)
    made.save(force_insert=True)
    Policy.objects.filter(pk=policy.pk).update(number=number, archived_at=None, mac="")
    return made


def map_person(cluster: Cluster, person: User, user: str, *, number: int = 1) -> IdentityMapping:
    """Map an account to a user of a cluster, as an administrator would."""
    row = IdentityMapping(cluster=cluster, number=number, person=person, user=user, groups=[], since=timezone.now())
    row_macs.vouch(row)
    row.save(force_insert=True)
    return row
