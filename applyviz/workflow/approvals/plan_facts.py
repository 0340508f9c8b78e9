"""Where plans stand, and what their reader may do next: computed once, as facts, for pages, lists and the API.

`find_plan_facts` answers for one person, `list_outlines` for lists in a fixed number of queries. The reasons are those
that the use cases enforce (`plan_blockers`); `next_steps` chooses the step from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from applyviz.records.enums import PlanState, ReviewState, ReviewStatus, RunState
from applyviz.records.models import ApplyRun, Plan
from applyviz.workflow import policies
from applyviz.workflow.approvals import (
    acknowledgments,
    next_steps,
    plan_blockers,
    quorum,
    requested_reviewers,
    viewed_objects,
)
from applyviz.workflow.approvals.next_steps import NextStep, Reader
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.approvals.requested_reviewers import RequestedReviewer
from applyviz.workflow.clusters import states
from applyviz.workflow.foundation import access, plan_rows
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.blockers import (
    AppliedElsewhere,
    ChangesRequested,
    NothingToApply,
    ObjectsUnviewed,
    OpenRisk,
    PlanBlocker,
    PlanSuperseded,
    RisksOpen,
)
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
_CALM = (NothingToApply, AppliedElsewhere, RisksOpen, ChangesRequested)
"""The blockers that have a status of their own, or wait for people; every other one makes a plan blocked."""


class PlanFacts(Struct, frozen=True):
    """What one person may know of a plan, and what they may do.

    - `blockers`: why the plan cannot be approved or run, whoever asks; `closed`: why no run may start at this moment.
    - `own`: why this person may not approve it, whatever its blockers are; `candidates`: who may, while an approval is
      missing; `requested`: whom the author asked.
    - `quorum`: the demands of the policy and the approvals that count.
    """

    status: ReviewStatus
    blockers: tuple[PlanBlocker, ...]
    quorum: Quorum
    closed: tuple[PlanBlocker, ...]
    candidates: tuple[str, ...]
    requested: tuple[RequestedReviewer, ...]
    own: tuple[PlanBlocker, ...]
    reader: Reader
    next: NextStep

    @property
    def stops(self) -> tuple[PlanBlocker, ...]:
        """Return why no plan and no run may start on the cluster, until an administrator acts on it."""
        return tuple(one for one in self.closed if isinstance(one, states.STOPS))

    @property
    def risks(self) -> tuple[OpenRisk, ...]:
        """Return the open risks."""
        return next((one.risks for one in self.blockers if isinstance(one, RisksOpen)), ())

    @property
    def awaited(self) -> tuple[str, ...]:
        """Return the names of the requested reviewers whose approval is still to come, while one is missing."""
        return tuple(one.name for one in self.requested if one.is_awaited) if self.quorum.missing else ()

    @property
    def is_asked(self) -> bool:
        """Return whether this person was asked for a review, and it is still to come."""
        return bool(self.quorum.missing) and any(
            one.is_awaited and one.account == self.reader.account for one in self.requested
        )

    @property
    def has_only_risks(self) -> bool:
        """Return whether open risks are the only blocker of the plan."""
        return bool(self.blockers) and all(isinstance(one, RisksOpen) for one in self.blockers)

    @property
    def newer(self) -> int:
        """Return the number of the plan that superseded this one; 0 for the latest."""
        return next((one.number for one in self.blockers if isinstance(one, PlanSuperseded)), 0)

    @property
    def unviewed(self) -> tuple[int, ...]:
        """Return the positions of the high-risk objects that this person must view before they approve."""
        return next((one.positions for one in self.own if isinstance(one, ObjectsUnviewed)), ())


def _decide_unfinished(plan: Plan, run: ApplyRun | None, *, is_latest: bool) -> ReviewStatus | None:
    """Return the status of a plan that cannot be approved yet, or any more; None when its blockers decide."""
    if run is not None:
        return _OF_RUN[RunState(run.state)]
    if not is_latest:
        return ReviewStatus.SUPERSEDED
    if plan.review.state == ReviewState.CLOSED:
        return ReviewStatus.CLOSED
    if plan.state == PlanState.PLANNING:
        return ReviewStatus.PLANNING if plan.expected else ReviewStatus.READING
    return ReviewStatus.PLAN_FAILED if plan.state == PlanState.FAILED else None


def _decide(blockers: Collection[PlanBlocker], *, is_missing: bool) -> ReviewStatus:
    """Return the status of a complete plan: what blocks comes before what people are waited for.

    - `is_missing`: an approval is.
    """
    kinds = {type(blocker) for blocker in blockers}
    if kinds - set(_CALM):
        return ReviewStatus.BLOCKED
    if NothingToApply in kinds:
        return ReviewStatus.NOTHING
    if AppliedElsewhere in kinds:
        return ReviewStatus.APPLIED_ELSEWHERE
    if ChangesRequested in kinds:
        return ReviewStatus.CHANGES_REQUESTED
    return ReviewStatus.NEEDS_APPROVAL if is_missing or RisksOpen in kinds else ReviewStatus.APPROVED


class PlanOutline(Struct, frozen=True):
    """The status of a plan and its blockers; without its open risks, unless its status depends on them."""

    status: ReviewStatus
    blockers: tuple[PlanBlocker, ...] = ()


def list_outlines(plans: Iterable[Plan]) -> dict[int, PlanOutline]:
    """Return the status of the latest plans of reviews, by their ids, as a reader for whom they were loaded sees them.

    - Their reviews, runs, clusters and requesters are read with them (`select_related`), so that many cost as little
      as one; open risks are looked up only for plans that lack no approval.
    """
    found: dict[int, PlanOutline] = {}
    undecided = []
    for plan in plans:
        status = _decide_unfinished(plan, getattr(plan, "run", None), is_latest=True)
        if status is None:
            undecided.append(plan)
        else:
            found[plan.pk] = PlanOutline(status)
    if not undecided:
        return found
    policy_of, agreed = policies.find_policies(undecided), quorum.find_agreed(undecided)
    acknowledgments.read_together(undecided if agreed else ())
    risks_of = {plan.pk: acknowledgments.find_open(plan) for plan in undecided if plan.pk in agreed}
    blockers = _list_blockers(undecided, policy_of, risks_of)
    for plan in undecided:
        status = _decide(blockers[plan.pk], is_missing=plan.pk not in agreed)
        found[plan.pk] = PlanOutline(status, blockers[plan.pk])
    return found


def _list_blockers(
    plans: Collection[Plan], policy_of: Mapping[int, PolicyRules], risks_of: Mapping[int, tuple[OpenRisk, ...]]
) -> dict[int, tuple[PlanBlocker, ...]]:
    hidden_of = {plan.pk: hidden_positions(plan) for plan in plans}
    return plan_blockers.list_plan_blockers(plans, policy_of, hidden_of, risks_of)


def _describe_reader(plan: Plan, found: Quorum, person: Person, *, is_latest: bool) -> Reader:
    is_open = plan.review.state == ReviewState.OPEN and is_latest
    return Reader(
        account=person.pk,
        can_edit=is_open and access.can(person, Action.WRITE, access.scopes_of(plan.review)),
        can_acknowledge=is_open and access.can(person, Action.ACKNOWLEDGE, access.scopes_of(plan.review)),
        can_start=access.can(person, Action.APPLY, access.scopes_of(plan.review)),
        has_approved=any(approval.by_id == person.pk for approval in found.approvals),
        has_objected=any(request.by_id == person.pk for request in plan_blockers.list_change_requests(plan)),
    )


def _name_candidates(plan: Plan, found: Quorum) -> tuple[str, ...]:
    if not found.missing or plan.state != PlanState.COMPLETE or plan.review.state != ReviewState.OPEN:
        return ()
    return tuple(person.get_username() for person in quorum.list_candidates(plan))


def _find_own(plan: Plan, found: Quorum, person: Person) -> tuple[PlanBlocker, ...]:
    """Return why a person may not approve a plan: their role, what the policy counts, what they have to view."""
    return (
        plan_blockers.find_role_blockers(plan, for_user=person)
        or plan_blockers.find_counting_blockers(found, person)
        or plan_blockers.find_unviewed(plan, by=person, hidden=hidden_positions(plan))
    )


def _find_facts(
    plan: Plan, blockers: tuple[PlanBlocker, ...], found: Quorum, run: ApplyRun | None, person: Person
) -> PlanFacts:
    is_latest = not any(isinstance(one, PlanSuperseded) for one in blockers)
    reader = _describe_reader(plan, found, person, is_latest=is_latest)
    closed = plan_blockers.find_start_blockers(plan, found.policy)
    candidates, own = _name_candidates(plan, found), _find_own(plan, found, person)
    status = _decide_unfinished(plan, run, is_latest=is_latest)
    return PlanFacts(
        status=_decide(blockers, is_missing=bool(found.missing)) if status is None else status,
        blockers=blockers,
        quorum=found,
        closed=closed,
        candidates=candidates,
        requested=requested_reviewers.find_reviewers(plan, found, run),
        own=own,
        reader=reader,
        next=next_steps.find_next(plan, run, blockers, (*found.lacking, *own), closed, reader),
    )


def _read_together(plans: Collection[Plan], reader: Person) -> None:
    """Read what the facts of many plans rest on, in a number of statements that does not grow with them."""
    plan_rows.read_together(plan for plan in plans if plan.state == PlanState.COMPLETE)
    access.read_scopes((plan.review for plan in plans), reader)
    quorum.read_involved(plans)
    acknowledgments.read_together(plans)
    viewed_objects.read_together(plans, by=reader)
    requested_reviewers.read_together(plans)


def find_plan_facts(plans: Collection[Plan], reader: Person) -> dict[int, PlanFacts]:
    """Return the facts about plans by their ids, as a reader for whom they were loaded sees them.

    - `plan.run` is the run of a plan, if it has one.
    """
    _read_together(plans, reader)
    policy_of = {plan.pk: policies.find_policy(plan) for plan in plans}
    risks_of = {plan.pk: acknowledgments.find_open(plan, policy=policy_of[plan.pk]) for plan in plans}
    blockers = _list_blockers(plans, policy_of, risks_of)
    return {
        plan.pk: _find_facts(
            plan, blockers[plan.pk], quorum.count_quorum(plan, policy_of[plan.pk]), getattr(plan, "run", None), reader
        )
        for plan in plans
    }
