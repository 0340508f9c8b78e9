"""Why plans cannot be approved or run now, and why a person may not: the conditions of every blocker.

Use cases ask about one plan and enforce the answer; lists ask about many at once, in a fixed number of queries. The
database enforces the same rules again (`records/triggers.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from django.db.models import Count, Min, Q, Sum
from msgspec import Struct

from applyviz import clock, moments
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.records.enums import Applier, AuditAction, PlanState, ReviewState
from applyviz.records.models import AuditEntry, ChangeRequest, ObjectChange, Plan, Review
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow import policies
from applyviz.workflow.approvals import acknowledgments, quorum, viewed_objects
from applyviz.workflow.clusters import impersonation, permissions, states
from applyviz.workflow.foundation import access, plan_rows, rare_rows, row_macs
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.blockers import (
    AppliedElsewhere,
    ApprovalNotCounted,
    ChangesRequested,
    ConflictsOpen,
    LiveUnknown,
    ManifestProblems,
    NotApprover,
    NothingToApply,
    ObjectsBroken,
    ObjectsUnviewed,
    OnlyEstimated,
    OpenRisk,
    OwnChanges,
    PlanBlocker,
    PlanFailed,
    PlanSuperseded,
    PlanUnfinished,
    RequesterNotAllowed,
    ReviewNotOpen,
    RisksOpen,
    RoleNotCounted,
)
from applyviz.workflow.people import commit_people, humans
from applyviz.workflow.plans import conflict_rules
from applyviz.workflow.policies import PolicyRules
from applyviz.workflow.policies.windows import find_closed, find_opening

_REQUESTS = WrittenQuery(
    lambda review: Review.objects.filter(pk=review).values_list(*rare_rows.count_change_requests(""))
)
PolicyOf = Mapping[int, PolicyRules]
HiddenOf = Mapping[int, Collection[int]]


class _RowGroup(Struct, frozen=True):
    """The objects of a plan with one operation, certainty and effect: their number, conflicts and first position."""

    operation: str
    certainty: str
    has_effect: bool
    count: int
    conflicts: int
    first: int


def _group_kept(rows: Iterable[ObjectChange], hidden: Collection[int]) -> list[_RowGroup]:
    found: dict[tuple[str, str, bool], list[ObjectChange]] = {}
    for row in rows:
        if row.position not in hidden:
            found.setdefault((row.operation, row.certainty, row.has_effect), []).append(row)
    return [_RowGroup(*key, len(v), sum(r.conflicts for r in v), v[0].position) for key, v in found.items()]


def _group_rows(plans: Collection[Plan], hidden_of: HiddenOf) -> dict[int, list[_RowGroup]]:
    """Return the objects of plans that their readers may know of, counted."""
    groups: dict[int, list[_RowGroup]] = {plan.pk: [] for plan in plans}
    read = []
    for plan in plans:
        kept = plan_rows.find_kept(plan)
        if kept is None:
            read.append(plan.pk)
        else:
            groups[plan.pk] = _group_kept(kept, hidden_of[plan.pk])
    rows = ObjectChange.objects.filter(plan__in=read).order_by()
    for pk in read:
        if hidden_of[pk]:
            rows = rows.exclude(Q(plan=pk) & Q(position__in=hidden_of[pk]))
    counted = rows.values_list("plan_id", "operation", "certainty", "has_effect")
    for pk, *group in counted.annotate(Count("pk"), Sum("conflicts"), Min("position")) if read else ():
        groups[pk].append(_RowGroup(*group))
    return groups


def _merge(groups: Iterable[_RowGroup]) -> tuple[int, int, int]:
    """Return how many objects are in any of these groups, how many conflicts they have, and the first position."""
    groups = list(groups)
    first = min((group.first for group in groups), default=0)
    return sum(group.count for group in groups), sum(group.conflicts for group in groups), first


def _find_object_blockers(
    groups: Sequence[_RowGroup], policy: PolicyRules, *, has_hidden: bool
) -> Iterator[PlanBlocker]:
    refused, conflicts, first = _merge(g for g in groups if g.operation == Operation.BLOCKED)
    if refused:
        yield ConflictsOpen(refused, conflicts or refused, first)
    broken, _conflicts, first = _merge(g for g in groups if g.operation == Operation.ERROR)
    if broken:
        yield ObjectsBroken(broken, first)
    unknown, _conflicts, first = _merge(g for g in groups if g.certainty == Certainty.UNKNOWN)
    if unknown and not policy.may_run_unknown:
        yield LiveUnknown(unknown, first)
    estimated, _conflicts, first = _merge(g for g in groups if g.has_effect and g.certainty == Certainty.ESTIMATED)
    if estimated and not policy.may_run_estimated:
        yield OnlyEstimated(estimated, first)
    if not (refused or broken or unknown or has_hidden) and not any(group.has_effect for group in groups):
        yield NothingToApply()


def find_policy_blockers(plan: Plan, policy: PolicyRules) -> tuple[PlanBlocker, ...]:
    """Return why a policy does not allow this requester; empty when it does."""
    mine = humans.list_teams([plan.requested_by])[plan.requested_by_id] if policy.asking else frozenset()
    return tuple(RequesterNotAllowed(tuple(teams)) for teams in policy.asking if mine.isdisjoint(teams))


def _list_editor_blockers(plans: Collection[Plan], policy_of: PolicyOf) -> dict[int, tuple[PlanBlocker, ...]]:
    """Return which people behind the commits of plans are not known, unless their policies allow that."""
    asked = [plan for plan in plans if not policy_of[plan.pk].allows_unknown_editors]
    return {plan.pk: commit_people.find_unknown(plan) for plan in asked}


def _find_newer(plan: Plan) -> Iterator[PlanBlocker]:
    latest = plan.review.latest_plan
    if latest is not None and latest.pk != plan.pk:
        yield PlanSuperseded(latest.number)


def _find_unfinished(plan: Plan) -> Iterator[PlanBlocker]:
    yield PlanUnfinished() if plan.state == PlanState.PLANNING else PlanFailed(plan.error)
    yield from _find_newer(plan)


def _find_plan_state(plan: Plan, policy: PolicyRules) -> Iterator[PlanBlocker]:
    """Yield why a complete plan is not the one that can be run, or was made for something else."""
    if plan.review.applied_by:
        yield AppliedElsewhere(Applier(plan.review.applied_by))
    yield from _find_newer(plan)
    if plan.review.state != ReviewState.OPEN:
        yield ReviewNotOpen(ReviewState(plan.review.state))
    yield from quorum.find_forged_authors(plan)
    yield from policies.find_change(plan, policy)


def list_unsafe(
    plans: Collection[Plan], policy_of: PolicyOf, hidden_of: HiddenOf
) -> dict[int, tuple[PlanBlocker, ...]]:
    """Return what `find_unsafe` returns, for many plans by their ids."""
    commit_people.read_together(plans)
    unfinished = {plan.pk: tuple(_find_unfinished(plan)) for plan in plans if plan.state != PlanState.COMPLETE}
    made = [plan for plan in plans if plan.pk not in unfinished]
    if not made:
        return dict(unfinished)
    ruled, moved = conflict_rules.list_blockers(made), impersonation.list_moved(made)
    kept, groups = policies.find_kept(made), _group_rows(made, hidden_of)
    exceeded = policies.find_exceeded(made, hidden_of)
    found: dict[int, tuple[PlanBlocker, ...]] = dict(unfinished)
    for plan in made:
        hidden = hidden_of[plan.pk]
        shown = [one for one in kept[plan.pk] if one.position not in hidden]
        found[plan.pk] = (
            *_find_plan_state(plan, policy_of[plan.pk]),
            *ruled[plan.pk],
            *moved[plan.pk],
            *permissions.list_denied(impersonation.read_identity(plan), plan.denied),
            *((ManifestProblems(len(plan.problems)),) if plan.problems else ()),
            *policies.group_kept(shown),
            *exceeded[plan.pk],
            *_find_object_blockers(groups[plan.pk], policy_of[plan.pk], has_hidden=bool(hidden)),
        )
    return found


def find_unsafe(plan: Plan, policy: PolicyRules, hidden: Collection[int] = ()) -> tuple[PlanBlocker, ...]:
    """Return why a plan cannot run, regardless of approvals: it is incomplete, or no longer the current plan.

    - `hidden`: for display only, positions of objects whose state must not be revealed to the reader.
    """
    return list_unsafe([plan], {plan.pk: policy}, {plan.pk: hidden})[plan.pk]


def list_plan_blockers(
    plans: Collection[Plan], policy_of: PolicyOf, hidden_of: HiddenOf, risks_of: Mapping[int, Sequence[OpenRisk]]
) -> dict[int, tuple[PlanBlocker, ...]]:
    """Return why plans cannot be approved now, by their ids; `risks_of` are the open risks of those that have any."""
    unsafe, unknown = list_unsafe(plans, policy_of, hidden_of), _list_editor_blockers(plans, policy_of)
    objections = _list_objections(plans)
    found = {}
    for plan in plans:
        if plan.state != PlanState.COMPLETE:
            found[plan.pk] = unsafe[plan.pk]
            continue
        risks = tuple(risk for risk in risks_of.get(plan.pk, ()) if risk.position not in hidden_of[plan.pk])
        found[plan.pk] = (
            *unsafe[plan.pk],
            *find_policy_blockers(plan, policy_of[plan.pk]),
            *unknown.get(plan.pk, ()),
            *((RisksOpen(risks),) if risks else ()),
            *objections.get(plan.pk, ()),
        )
    return found


def find_plan_blockers(plan: Plan, *, hidden: Collection[int] = ()) -> tuple[PlanBlocker, ...]:
    """Return why this plan cannot be approved now; empty when it can.

    - `hidden`: for display only, positions of objects whose state must not be revealed to the reader.
    """
    policy = policies.find_policy(plan)
    risks = acknowledgments.find_open(plan, policy=policy)
    return list_plan_blockers([plan], {plan.pk: policy}, {plan.pk: hidden}, {plan.pk: risks})[plan.pk]


def find_objections(plan: Plan) -> tuple[ChangesRequested, ...]:
    """Return the open change requests for a plan, as blockers; also those whose rows are gone."""
    names = [request.by.get_username() for request in list_change_requests(plan)]
    return tuple(map(ChangesRequested, (*names, *(_find_removed(plan) if plan.digest else ()))))


def _list_objections(plans: Collection[Plan]) -> dict[int, tuple[ChangesRequested, ...]]:
    asked = [plan for plan in plans if plan.digest and plan.state == PlanState.COMPLETE]
    _count_requests_together(asked)
    return {plan.pk: find_objections(plan) for plan in asked}


def list_change_requests(plan: Plan) -> list[ChangeRequest]:
    """Return the open change requests for this digest, by people who may still approve.

    - One that is not genuine is open, for every digest: who writes to the database withdraws none and moves none.
    """
    if not plan.digest:
        return []
    found = _list_change_requests(plan)
    forged = [one for one, fault in row_macs.list_faults(found) if fault]
    genuine = [one for one in found if one not in forged and one.digest == plan.digest and one.withdrawn_at is None]
    scopes = policies.list_scopes(plan) if genuine else ()
    return [*forged, *(one for one in genuine if access.can(one.by, Action.APPROVE, scopes))]


def _list_change_requests(plan: Plan) -> tuple[ChangeRequest, ...]:
    """Return all change requests of the review of a plan, withdrawn ones too; there are few."""
    if not any(_count_requests(plan)):
        return ()
    rows = ChangeRequest.objects.filter(plan__review=plan.review_id).select_related("by", "plan")
    return moments.read_once(("change requests of plan", plan.pk), lambda: tuple(rows))


def _count_requests(plan: Plan) -> tuple[int, int]:
    """Return how many change requests of the review the audit log records, and how many rows there are: one query."""
    key = ("number of change requests of plan", plan.pk)
    recorded, stored = moments.read_once(key, lambda: _REQUESTS.ask(plan.review_id)[0])
    return recorded or 0, stored or 0


def _count_requests_together(plans: Iterable[Plan]) -> None:
    """Count the change requests of many plans with one statement, while a page is shown."""
    review_of = {plan.pk: plan.review_id for plan in plans}

    def read(missing: list[int]) -> dict[int, tuple[int | None, int | None]]:
        rows = Review.objects.filter(pk__in={review_of[pk] for pk in missing})
        counted = rows.values_list("pk", *rare_rows.count_change_requests(""))
        found = {review: (recorded, stored) for review, recorded, stored in counted}
        return {pk: found[review_of[pk]] for pk in missing}

    moments.read_together("number of change requests of plan", review_of, read)


def _find_removed(plan: Plan) -> tuple[str, ...]:
    """Return who requested changes of a review by requests that are no longer there, by the audit log."""
    if not _count_requests(plan)[0]:
        return ()
    entries = AuditEntry.objects.filter(review=plan.review.number, action=AuditAction.CHANGES_REQUESTED)
    recorded = entries.values_list("actor", "actor_name")
    missing = Counter(actor for actor, _ in recorded)
    missing.subtract(one.by_id for one in _list_change_requests(plan))
    return tuple(sorted({name for actor, name in recorded if missing[actor] > 0}))


def find_timing_blockers(policy: PolicyRules) -> tuple[PlanBlocker, ...]:
    """Return why no run may start at this moment under a policy; empty when one may."""
    return find_closed(policy.windows, policy.freezes, clock.now())


def find_start_blockers(plan: Plan, policy: PolicyRules) -> tuple[PlanBlocker, ...]:
    """Return why no run of this plan may start now: its cluster is paused or archived, or the policy forbids it."""
    return (*states.find_stop(plan.target.cluster), *find_timing_blockers(policy))


def find_start_opening(policy: PolicyRules, closed: Collection[PlanBlocker]) -> datetime | None:
    """Return when a change window opens next; None if no time ends what blocks a start (`closed`), or nothing does."""
    if not closed or any(isinstance(one, states.STOPS) for one in closed):
        return None
    return find_opening(policy.windows, policy.freezes, clock.now())


def find_role_blockers(plan: Plan, *, for_user: Visitor) -> tuple[PlanBlocker, ...]:
    """Return why this person can never approve this plan; empty when they can."""
    if not isinstance(for_user, Person) or not access.can(for_user, Action.APPROVE, policies.list_scopes(plan)):
        return (NotApprover(),)
    if policies.find_policy(plan).refuses_sole and access.rests_on_sole(
        for_user, Action.APPROVE, policies.list_scopes(plan)
    ):
        return (RoleNotCounted(),)
    if quorum.is_involved(plan, for_user):
        return (OwnChanges(is_commit=quorum.is_commit_editor(plan, for_user)),)
    return ()


def find_unviewed(plan: Plan, *, by: Visitor, hidden: Collection[int] = ()) -> tuple[ObjectsUnviewed, ...]:
    """Return that the approver has not viewed high-risk objects; empty when they have.

    - `hidden`: for display only, positions of objects whose state must not be revealed to the reader.
    """
    rows = viewed_objects.find_unopened(plan, by=by)
    positions = tuple(row.position for row in rows if row.position not in hidden)
    return (ObjectsUnviewed(positions),) if positions else ()


def find_approver_blockers(plan: Plan, *, for_user: Visitor) -> tuple[PlanBlocker, ...]:
    """Return why this person may not approve this plan now; empty when they may."""
    return find_role_blockers(plan, for_user=for_user) or find_unviewed(plan, by=for_user)


def find_counting_blockers(found: quorum.Quorum, person: Person) -> tuple[ApprovalNotCounted, ...]:
    """Return that an approval of this person would meet no demand; empty when it would."""
    return () if quorum.would_count(found, person) else (ApprovalNotCounted(found.lacking),)
