"""Authorization of a run when a worker claims it: do its approvals and roles still count?

Checked before the first write and by every worker that resumes. The change window is checked until the first request
was sent: a run that began inside the window may finish. A further attempt of a run counts for itself; it also needs
approvals that have not expired, and a plan without open change requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz import clock, moments
from applyviz.records.models import ApplyRun, Approval, EmergencyApply, JournalEntry
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow import policies
from applyviz.workflow.approvals import plan_blockers, quorum
from applyviz.workflow.approvals.quorum import Need
from applyviz.workflow.audit import approval_macs
from applyviz.workflow.clusters import impersonation, states
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.blockers import PlanBlocker
from applyviz.workflow.foundation.run_blockers import (
    ApprovalExpired,
    ApprovalForged,
    ApprovalsTooFew,
    ApproverLost,
    AttemptForged,
    EmergencyForged,
    EmergencyRightLost,
    RequesterLost,
    StarterLost,
)
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.plans import conflict_rules
from applyviz.workflow.policies import PolicyRules
from applyviz.workflow.runs.attempts import find_attempt

_SPENT = WrittenQuery(lambda run: Approval.objects.filter(run=run).select_related("by", "entry"))


def _find_people(run: ApplyRun, scopes: tuple[ScopeEntry, ...]) -> Iterator[PlanBlocker]:
    plan = run.plan
    yield from quorum.find_forged_authors(plan)
    if not access.can(plan.requested_by, Action.WRITE, scopes):
        yield RequesterLost(plan.requested_by.get_username())
    broken = EmergencyApply.objects.filter(plan=plan).select_related("by", "entry").first()
    if broken is not None:
        if approval_macs.find_fault(broken):
            yield EmergencyForged(broken.by_name, approval_macs.find_fault(broken))
        if not access.can(broken.by, Action.BREAK_GLASS, scopes):
            yield EmergencyRightLost(broken.by_name)
        return
    attempt = find_attempt(run)
    if attempt is not None and row_macs.find_fault(attempt):
        yield AttemptForged(attempt.number, row_macs.find_fault(attempt))
    starter = attempt.requested_by if attempt else run.requested_by
    if not access.can(starter, Action.APPLY, scopes):
        yield StarterLost(starter.get_username())
    yield from _find_approvers(run, scopes)


def _find_approvers(run: ApplyRun, scopes: tuple[ScopeEntry, ...]) -> Iterator[PlanBlocker]:
    for approval in _SPENT.ask(run.pk):
        fault = approval_macs.find_fault(approval) or approval_macs.find_revocation(approval)
        if fault:
            yield ApprovalForged(approval.by_name, fault)
        if not access.can(approval.by, Action.APPROVE, scopes):
            yield ApproverLost(approval.by_name)


def _find_lapsed(run: ApplyRun) -> Iterator[PlanBlocker]:
    """Yield why the approvals that were spent on a run carry no further attempt."""
    now = clock.now()
    for approval in run.approvals.all():
        if approval.expires_at is not None and approval.expires_at <= now:
            yield ApprovalExpired(approval.by_name)


def _match_spent(run: ApplyRun, policy: PolicyRules) -> tuple[Need, ...]:
    genuine = approval_macs.keep_genuine(_SPENT.ask(run.pk))
    spent = quorum.keep_distinct(run.plan, quorum.keep_counted(policy, genuine))
    return quorum.match_demands(policies.find_demands(run.plan, policy), spent)


def find_retry_faults(run: ApplyRun) -> tuple[PlanBlocker, ...]:
    """Return why the approvals that were spent on a failed run do not carry a further attempt now.

    - What blocks the plan itself (`plan_blockers.find_plan_blockers`) is not repeated; objections are part of that.
    """
    scopes, policy = policies.list_scopes(run.plan), policies.find_policy(run.plan)
    faults: list[PlanBlocker] = [*_find_approvers(run, scopes), *_find_lapsed(run)]
    if not access.can(run.plan.requested_by, Action.WRITE, scopes):
        faults.append(RequesterLost(run.plan.requested_by.get_username()))
    if not faults and any(need.missing for need in _match_spent(run, policy)):
        faults.append(ApprovalsTooFew())
    return tuple(faults)


@moments.until_written()
def find_claim_blockers(run: ApplyRun) -> tuple[PlanBlocker, ...]:
    """Return why a run may not write, or may no longer write; empty when it may.

    - Approvals and emergency applies must be genuine (`approval_macs`): an inserted one stops the run.
    - The requester, the approvers and the person who started the run must be active and in their roles. Approvals count
      once per person, by the account links known now. Policy and conflict rules must be those of the plan.
    - `plan_integrity.py` checks separately, for every row, that the stored plan is the approved one.
    - Until the first request was sent, the change window must be open as well, even after a change of workers.
    """
    scopes = policies.list_scopes(run.plan)
    blockers = list(_find_people(run, scopes))
    if run.plan.target.cluster.archived_at is not None:
        blockers += states.find_stop(run.plan.target.cluster)
    blockers += impersonation.find_moved(run.plan)
    blockers += conflict_rules.find_blockers(run.plan)
    policy = policies.find_policy(run.plan)
    blockers += policies.find_change(run.plan, policy)
    if EmergencyApply.objects.filter(plan=run.plan).exists():
        return tuple(blockers)
    if any(need.missing for need in _match_spent(run, policy)):
        blockers.append(ApprovalsTooFew())
    attempt = find_attempt(run)
    sent = JournalEntry.objects.filter(result__run=run, epoch__gte=attempt.first_epoch if attempt else 1)
    if not sent.exists():
        blockers += [*_find_lapsed(run), *plan_blockers.find_objections(run.plan)] if attempt else ()
        blockers += plan_blockers.find_timing_blockers(policy)
    return tuple(blockers)
