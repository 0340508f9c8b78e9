"""The approval state of a plan for one person: who approved, what is missing, and the blockers with their links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from django.urls import reverse
from django.utils.translation import gettext as _

from applyviz import clock
from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import ApplyRun, Approval, ObjectChange, Plan
from applyviz.web.components.object_links import link_change
from applyviz.web.reviews.pages.available_actions import NextActs
from applyviz.web.reviews.pages.object_groups import needs_attention
from applyviz.web.reviews.pages.review_header import ApprovalState
from applyviz.workflow.approvals import acknowledgments, approving, quorum, viewed_objects
from applyviz.workflow.approvals.quorum import Quorum
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.people import commit_people
from applyviz.workflow.plans.live_values import hidden_positions, view_of
from applyviz.workflow.policies.windows import find_opening


def _risk_url(plan: Plan, risk: acknowledgments.OpenRisk) -> str:
    address = reverse("reviews:show-risks", args=[plan.review.number, plan.number])
    return f"{address}#risk-{risk.kind.value}"


def _name_not_counting(found: Quorum, person: Person) -> tuple[str, ...]:
    """Return that an approval of this person would meet no demand; empty when it would."""
    if quorum.would_count(found, person):
        return ()
    return (
        _("your approval would not count: %(lacking)s")
        % {"lacking": "; ".join(str(n) for n in found.needs if n.missing)},
    )


def name_approver(approval: Approval) -> str:
    """Return the name of the approver, marked if their role rests on a grant by the sole administrator."""
    if not approval.is_sole:
        return approval.by_name
    return _("%(name)s (role granted by the sole administrator)") % {"name": approval.by_name}


def link_conflict(plan: Plan, position: int) -> str:
    """Return the address of the first open conflict of an object in the scroll of all changes.

    An object whose conflict only the server names has no such row: then it is the page of the object.
    """
    change = view_of(plan).read(plan.changes.get(position=position))
    found = [n for n, reason in enumerate(change.fields) if reason.operation is FieldOperation.CONFLICT]
    open_paths = {one.path for one in change.open_fields}
    indices = iter([n for n in found if change.fields[n].path in open_paths] or found)
    index = next(indices, None)
    if index is None:
        return link_change(plan, position)
    scroll = reverse("reviews:show-changes", args=[plan.review.number, plan.number])
    return f"{scroll}?at={position}#conflict-{position}-{index}"


def link_in_changes(plan: Plan, position: int) -> str:
    """Return the address of one object in the scroll of all changes."""
    scroll = reverse("reviews:show-changes", args=[plan.review.number, plan.number])
    return f"{scroll}?at={position}#object-{position}"


def _name_candidates(plan: Plan, found: Quorum) -> tuple[str, ...]:
    """Return the names of people who can still approve, while an approval is missing."""
    if not found.missing or plan.state != PlanState.COMPLETE or plan.review.state != ReviewState.OPEN:
        return ()
    return tuple(person.get_username() for person in quorum.list_candidates(plan))


def _link_objects(plan: Plan, rows: Sequence[ObjectChange]) -> tuple[dict[str, str], str]:
    """Return where each blocker that objects cause is resolved, and the first object that needs attention."""
    refused = [row.position for row in rows if row.operation == Operation.BLOCKED]
    broken = [row.position for row in rows if row.operation == Operation.ERROR]
    links = {}
    if refused:
        links[approving.name_conflicting(len(refused))] = link_conflict(plan, refused[0])
    if broken:
        links[approving.name_broken(len(broken))] = link_change(plan, broken[0])
    others = (link_change(plan, row.position) for row in rows if needs_attention(row))
    return links, next(chain(links.values(), others), "")


def _link_editors(plan: Plan) -> dict[str, str]:
    """Return the address of the people behind the commits for each blocker that names one."""
    url = reverse("reviews:follow-branch", args=[plan.review.number])
    return dict.fromkeys(commit_people.name_unknown(plan), f"{url}#editors")


def find_approval_state(
    plan: Plan, person: Person, rows: Sequence[ObjectChange], found: Quorum, acts: NextActs, run: ApplyRun | None
) -> ApprovalState:
    """Return who approved, what is missing, and the blockers for this person."""
    candidates = _name_candidates(plan, found)
    role_blockers = approving.find_role_blockers(plan, for_user=person)
    change_requests, closed = approving.list_change_requests(plan), approving.find_start_blockers(plan, found.policy)
    latest = plan.review.latest_plan
    hidden = hidden_positions(plan)
    open_risks = acknowledgments.find_open(plan, policy=found.policy)
    risks = tuple(risk for risk in open_risks if risk.position not in hidden)
    unread = () if role_blockers else viewed_objects.find_unopened(plan, by=person)
    unopened = tuple(row for row in unread if row.position not in hidden)
    # A run spends the approvals of its plan, and nothing else does.
    spent = plan.approvals.filter(digest=plan.digest).exclude(spent_at=None) if run is not None else ()
    of_objects, attention_url = _link_objects(plan, rows)
    blocker_urls = {**of_objects, **_link_editors(plan)}
    blocked = [row for row in rows if row.operation == Operation.BLOCKED]
    scopes = access.scopes_of(plan.review)
    emergency = access.can(person, Action.BREAK_GLASS, scopes)
    is_latest = plan.review.state == ReviewState.OPEN and (latest is None or latest.pk == plan.pk)
    return ApprovalState(
        emergency_url=reverse("reviews:emergency-apply", args=[plan.review.number, plan.number]) if emergency else "",
        approved_by=tuple(name_approver(a) for a in (*found.approvals, *spent)),
        needed=found.needed,
        missing=found.missing,
        plan_blockers=approving.find_plan_blockers(plan, policy=found.policy, risks=risks, hidden=hidden),
        risk_blockers=acknowledgments.name_open(risks),
        risk_url=_risk_url(plan, risks[0]) if risks else "",
        open_risks=risks,
        conflicts=sum(row.conflicts for row in blocked) or len(blocked),
        conflict_url=blocker_urls.get(approving.name_conflicting(len(blocked)), ""),
        can_acknowledge=access.can(person, Action.ACKNOWLEDGE, scopes) and is_latest,
        unopened=len(unopened),
        candidates=candidates,
        person_blockers=role_blockers or _name_not_counting(found, person) or approving.name_unopened(unopened),
        can_write=access.can(person, Action.WRITE),
        can_apply=access.can(person, Action.APPLY, scopes),
        closed=closed,
        opens_at=find_opening(found.policy.windows, found.policy.freezes, clock.now()) if closed else None,
        objectors=tuple(change_request.by.get_username() for change_request in change_requests),
        has_approved=any(approval.by_id == person.pk for approval in found.approvals),
        lacking=tuple(str(need) for need in found.needs if need.missing),
        can_replan=bool(acts.replan_url),
        manifests_url=acts.manifests_url,
        waits_for_rollout=found.policy.waits_for_rollout,
        has_asked=any(change_request.by_id == person.pk for change_request in change_requests),
        is_outdated=plan.state == PlanState.COMPLETE
        and plan.review.state == ReviewState.OPEN
        and plan.policy_version != found.policy.version,
        attention_url=attention_url,
        blocker_urls=blocker_urls,
        replaced_by=latest.number if latest is not None and latest.number > plan.number else 0,
        latest_url=reverse("reviews:show-plan", args=[plan.review.number, latest.number]) if latest else "",
        unopened_url=link_in_changes(plan, unopened[0].position) if unopened else "",
    )
