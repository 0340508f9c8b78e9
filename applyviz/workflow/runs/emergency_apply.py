"""Emergency apply: a complete plan runs without the approvals that its policy requires.

It needs the break-glass role, a reason and a ticket, and leaves an immutable record; every page of the review and the
run shows it. It bypasses approvals, change windows, freezes and limits on requesters. It bypasses nothing that makes a
plan unsafe: unresolved conflicts, errors, unknown live state, another digest, a later plan.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from applyviz import clock, moments
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import ApplyRun, EmergencyApply, Grant, Plan, Review
from applyviz.workflow import policies
from applyviz.workflow.approvals import plan_blockers, quorum
from applyviz.workflow.audit import approval_macs, trail
from applyviz.workflow.clusters import states
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.blockers import PlanBlocker
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.foundation.scopes import is_everywhere
from applyviz.workflow.policies import PolicyRules
from applyviz.workflow.runs.start import begin_run


def find_break_glass_blockers(plan: Plan) -> tuple[PlanBlocker, ...]:
    """Return what even an emergency apply does not bypass; empty when the plan can be run that way."""
    stop = states.find_stop(plan.target.cluster)
    return (*stop, *plan_blockers.find_unsafe(plan, policies.find_policy(plan)))


def list_lifted(plan: Plan, policy: PolicyRules) -> tuple[PlanBlocker, ...]:
    """Return the requirements of the policy that the plan does not meet and that the run would bypass."""
    unsafe = find_break_glass_blockers(plan)
    asked = tuple(blocker for blocker in plan_blockers.find_plan_blockers(plan) if blocker not in unsafe)
    return (*asked, *quorum.count_quorum(plan, policy).lacking, *plan_blockers.find_timing_blockers(policy))


def list_administrators() -> list[Person]:
    """Return the recipients of notifications about emergency applies: active administrators and superusers."""
    grants = Grant.objects.filter(role=Role.ADMINISTRATOR, ended_at=None).select_related("person")
    whole = [grant for grant in grants if is_everywhere(grant)]
    members = Q(memberships__ended_at=None, memberships__team__in={g.team_id for g in whole if g.team_id})
    chosen = Q(is_superuser=True) | Q(pk__in={g.person_id for g in whole if g.person_id}) | members
    return list(Person.objects.filter(chosen, is_active=True).distinct().order_by("username"))


def start_emergency_apply(plan: Plan, *, by: Person, digest: str, reason: str, ticket: str) -> ApplyRun:
    """Run a plan now; its approvals stay unspent.

    - Raises `NotValidError` without reason or ticket, `NotPossibleError` when the plan is unsafe or misses no approval.
    """
    if not reason.strip() or not ticket.strip():
        raise NotValidError(_("an emergency apply needs a reason and a ticket"))
    with transaction.atomic(), moments.until_written():
        lock_review(plan.review_id)
        plan = Plan.objects.select_related("review", "target__cluster", "revision", "requested_by").get(pk=plan.pk)
        access.require(by, Action.BREAK_GLASS, access.scopes_of(plan.review))
        blockers = find_break_glass_blockers(plan)
        if digest != plan.digest or not digest:
            raise NotPossibleError(_("this plan has changed. Reload and review again"))
        if blockers:
            raise NotPossibleError(sentences.join_clauses(blockers))
        policy = policies.find_policy(plan)
        missing = list_lifted(plan, policy)
        if not missing:
            raise NotPossibleError(_("no approval is missing: start the run normally"))
        detail = {"reason": reason.strip(), "ticket": ticket.strip(), "missing": list(sentences.describe_all(missing))}
        notified = [person.get_username() for person in list_administrators()]
        facts = {**detail, "notified": notified}
        entry = trail.record(AuditAction.EMERGENCY_APPLIED, by=by, about=trail.AuditSubject.of_plan(plan), detail=facts)
        made = EmergencyApply(
            plan=plan,
            digest=digest,
            by=by,
            by_name=by.get_username(),
            policy_version=policy.version,
            created_at=clock.now(),
            **detail,
        )
        approval_macs.vouch(made, entry)
        made.save(force_insert=True)
        return begin_run(plan, by=by, policy=policy, is_consented=False)


def find_broken(plan: Plan) -> EmergencyApply | None:
    """Return the record of a plan's emergency apply, or None."""
    if moments.is_within():
        return getattr(plan, "emergency_apply", None)
    return EmergencyApply.objects.filter(plan=plan).first()


def list_broken(*, for_user: Visitor) -> QuerySet[EmergencyApply]:
    """Return all emergency applies that a person may see, newest first; part of every evidence."""
    access.require(for_user, Action.VIEW)
    seen = Review.objects.filter(access.select_reviews(for_user))
    return EmergencyApply.objects.filter(plan__review__in=seen).select_related("plan__review", "plan__target__cluster")
