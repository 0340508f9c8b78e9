"""Recipients of an event: only people who may see it, and never the person who caused it."""

from __future__ import annotations

from collections.abc import Iterable

from applyviz.records.enums import NotificationKind
from applyviz.records.models import ApplyRun, Grant, Notification, Plan
from applyviz.workflow import policies
from applyviz.workflow.approvals import quorum, requested_reviewers
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person


def without(people: Iterable[Person], actor_id: int | None) -> tuple[Person, ...]:
    """Return each person once, without the actor and deactivated accounts."""
    return tuple(p for p in dict.fromkeys(people) if p.pk != actor_id and p.is_active)


def _list_granted() -> list[Person]:
    """Return everyone who holds a role, by their own grant or through a team."""
    own = Grant.objects.filter(ended_at=None)
    people = Person.objects.filter(is_active=True)
    granted = people.filter(pk__in=own.exclude(person=None).values("person_id"))
    members = people.filter(memberships__ended_at=None, memberships__team__in=own.exclude(team=None).values("team_id"))
    return list((granted | members | people.filter(is_superuser=True)).distinct().order_by("pk"))


def list_approvers(plan: Plan) -> tuple[Person, ...]:
    """Return the people who may approve a plan and have not, without its authors and requester."""
    scopes = policies.list_scopes(plan)
    involved = set(quorum.find_involved(plan))
    given = {approval.by_id for approval in quorum.list_valid_approvals(plan)}
    return tuple(
        person
        for person in _list_granted()
        if person.pk not in involved | given and access.can(person, Action.APPROVE, scopes) and not person.is_superuser
    )


def list_requested(plan: Plan) -> tuple[Person, ...]:
    """Return the requested reviewers who may approve a plan and have not."""
    given = {approval.by_id for approval in quorum.list_valid_approvals(plan)}
    asked = (one for one in requested_reviewers.list_asked(plan.review) if one.pk not in given)
    return tuple(one for one in asked if requested_reviewers.may_approve(plan, one))


def list_others(plan: Plan, found: Quorum) -> tuple[Person, ...]:
    """Return the people to notify that a plan lacks approvals, besides those who were asked for it.

    - None while no approval is missing, or while the requested reviewers are enough for the policy.
    """
    asked = list_requested(plan)
    if not found.missing or (asked and requested_reviewers.are_enough(found, asked)):
        return ()
    return tuple(one for one in list_approvers(plan) if one not in asked)


def list_notified(plan: Plan) -> frozenset[int]:
    """Return the accounts that were notified of a plan that needs them."""
    kinds = (NotificationKind.NEEDS_YOU, NotificationKind.REVIEW_REQUESTED)
    rows = Notification.objects.filter(notification_event__event__in=kinds)
    of_plan = rows.filter(
        notification_event__entry__review=plan.review.number, notification_event__entry__plan=plan.number
    )
    return frozenset(of_plan.values_list("person_id", flat=True))


def list_concerned(plan: Plan, run: ApplyRun) -> tuple[Person, ...]:
    """Return the people involved in a run: author, requester, approvers, and who started it."""
    approvers = [approval.by for approval in run.approvals.select_related("by")]
    return without((plan.review.author, plan.requested_by, *approvers, run.requested_by), None)


def list_guardians(plan: Plan) -> tuple[Person, ...]:
    """Return the people to notify of an emergency apply: author, approvers, auditors, administrators."""
    scopes = policies.list_scopes(plan)

    def guards(person: Person) -> bool:
        return access.can(person, Action.APPROVE, scopes) or any(
            access.can(person, action) for action in (Action.AUDIT, Action.MANAGE)
        )

    found = [person for person in _list_granted() if guards(person)]
    return without((plan.review.author, *found), None)
