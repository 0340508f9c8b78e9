"""The state of a review, derived in one place and with one vocabulary for pages, the API and waiting programs.

`find_status` answers for one plan, `list_statuses` for the latest plans of many reviews in a fixed number of queries;
both gather the same facts and leave the answer to `_decide`. The words are the labels of `ReviewStatus`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.records.enums import PlanState, ReviewState, ReviewStatus, RunState
from applyviz.records.models import ApplyRun, ChangeRequest, ObjectChange, Plan
from applyviz.workflow import policies
from applyviz.workflow.approvals import acknowledgments, approving, quorum
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.plans import conflict_rules
from applyviz.workflow.plans.live_values import hidden_positions
from applyviz.workflow.policies import PolicyRules

_OF_RUN = {
    RunState.QUEUED: ReviewStatus.APPLYING,
    RunState.APPLYING: ReviewStatus.APPLYING,
    RunState.APPLIED: ReviewStatus.APPLIED,
    RunState.FAILED: ReviewStatus.FAILED,
    RunState.STALE: ReviewStatus.STALE,
    RunState.CANCELED: ReviewStatus.CANCELED,
}


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts about a complete plan that was not run.

    - `is_missing`: an approval or an acknowledgment is.
    """

    has_effect: bool
    is_blocked: bool
    is_asked: bool
    is_missing: bool


def _decide_unfinished(plan: Plan, run: ApplyRun | None, *, is_latest: bool) -> ReviewStatus | None:
    """Return the status of a plan that cannot be approved yet, or any more; None when its facts decide."""
    if run is not None:
        return _OF_RUN[RunState(run.state)]
    if not is_latest:
        return ReviewStatus.SUPERSEDED
    if plan.review.state == ReviewState.CLOSED:
        return ReviewStatus.CLOSED
    if plan.state == PlanState.PLANNING:
        return ReviewStatus.PLANNING if plan.expected else ReviewStatus.READING
    return ReviewStatus.PLAN_FAILED if plan.state == PlanState.FAILED else None


def _decide(plan: Plan, facts: _Facts) -> ReviewStatus:
    """The status of a complete plan: what blocks comes before what people are waited for."""
    if facts.is_blocked:
        return ReviewStatus.BLOCKED
    if not facts.has_effect:
        return ReviewStatus.NOTHING
    if plan.review.applied_by:
        return ReviewStatus.APPLIED_ELSEWHERE
    if facts.is_asked:
        return ReviewStatus.CHANGES_REQUESTED
    return ReviewStatus.NEEDS_APPROVAL if facts.is_missing else ReviewStatus.APPROVED


def _find_effects(plans: Collection[Plan]) -> frozenset[int]:
    """The plans that would write anything; what a reader must not see counts as if it did."""
    rows = ObjectChange.objects.filter(plan__in=plans, has_effect=True).order_by().values_list("plan_id", flat=True)
    return frozenset(rows.distinct()) | {plan.pk for plan in plans if hidden_positions(plan)}


def _find_unfit(plans: Collection[Plan], policy_of: dict[int, PolicyRules]) -> frozenset[int]:
    """The plans with an object that has conflicts or errors, or is less certain than their policy asks for."""
    hidden = {plan.pk: hidden_positions(plan) for plan in plans}
    unknown = [pk for pk, policy in policy_of.items() if not policy.may_run_unknown]
    estimated = [pk for pk, policy in policy_of.items() if not policy.may_run_estimated]
    rows = ObjectChange.objects.filter(
        Q(plan__in=list(policy_of), operation__in=(Operation.BLOCKED, Operation.ERROR))
        | Q(plan__in=unknown, certainty=Certainty.UNKNOWN)
        | Q(plan__in=estimated, certainty=Certainty.ESTIMATED, has_effect=True)
    )
    found = rows.order_by().values_list("plan_id", "position")
    return frozenset(pk for pk, position in found if position not in hidden[pk])


def _find_asked(plans: Collection[Plan]) -> frozenset[int]:
    """Return the plans with a change request by a person who may approve them."""
    rows = ChangeRequest.objects.filter(plan__review__in={p.review_id for p in plans}, withdrawn_at=None)
    asked = set(rows.values_list("plan__review_id", "digest"))
    likely = [plan for plan in plans if plan.digest and (plan.review_id, plan.digest) in asked]
    return frozenset(plan.pk for plan in likely if approving.list_change_requests(plan))


def _find_blocked(plans: Collection[Plan], policy_of: dict[int, PolicyRules]) -> frozenset[int]:
    """Return the plans with blockers other than missing acknowledgments and approvals."""
    moved, ruled = impersonation.list_moved(plans), conflict_rules.list_blockers(plans)
    unfit = _find_unfit(plans, policy_of)
    kept = policies.find_kept(plans)
    return frozenset(
        plan.pk
        for plan in plans
        if plan.problems
        or plan.denied
        or plan.policy_version != policy_of[plan.pk].version
        or plan.pk in unfit
        or any(one.position not in hidden_positions(plan) for one in kept[plan.pk])
        or moved[plan.pk]
        or ruled[plan.pk]
        or approving.find_policy_blockers(plan, policy_of[plan.pk])
    )


def _is_missing(plan: Plan) -> bool:
    """Whether a plan that lacks no approval lacks the acknowledgment of a risk that its reader sees."""
    hidden = hidden_positions(plan)
    return any(risk.position not in hidden for risk in acknowledgments.find_open(plan))


def _gather(plans: Sequence[Plan]) -> dict[int, _Facts]:
    policy_of = policies.find_policies(plans)
    effects, asked, agreed = _find_effects(plans), _find_asked(plans), quorum.find_agreed(plans)
    blocked = _find_blocked(plans, policy_of)
    return {
        plan.pk: _Facts(
            has_effect=plan.pk in effects,
            is_blocked=plan.pk in blocked,
            is_asked=plan.pk in asked,
            is_missing=plan.pk not in agreed or _is_missing(plan),
        )
        for plan in plans
    }


def list_statuses(plans: Iterable[Plan]) -> dict[int, ReviewStatus]:
    """The status of the latest plans of reviews, by their ids, as a reader for whom they were loaded sees them.

    - Their reviews, runs, clusters and requesters are read with them (`select_related`), so that many cost as little
      as one; only plans that lack no approval are looked at one by one.
    """
    found: dict[int, ReviewStatus] = {}
    undecided = []
    for plan in plans:
        status = _decide_unfinished(plan, getattr(plan, "run", None), is_latest=True)
        if status is None:
            undecided.append(plan)
        else:
            found[plan.pk] = status
    facts = _gather(undecided) if undecided else {}
    return found | {plan.pk: _decide(plan, facts[plan.pk]) for plan in undecided}


def find_status(plan: Plan, run: ApplyRun | None) -> ReviewStatus:
    """The status of one plan, whether it is the latest of its review or not; `run` is its run."""
    latest = plan.review.latest_plan
    status = _decide_unfinished(plan, run, is_latest=latest is None or latest.pk == plan.pk)
    return _decide(plan, _gather([plan])[plan.pk]) if status is None else status
