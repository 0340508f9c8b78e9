"""Authorization of a run when a worker claims it: do its approvals and roles still count?

Checked before the first write and by every worker that resumes. The change window is checked until the first request
was sent: a run that began inside the window may finish.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.records.models import ApplyRun, EmergencyApply, JournalEntry
from applyviz.workflow import policies
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.audit import approval_macs
from applyviz.workflow.clusters import impersonation, states
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.plans import conflict_rules


def _find_people(run: ApplyRun, places: tuple[ScopeEntry, ...]) -> Iterator[str]:
    plan = run.plan
    if not access.can(plan.requested_by, Action.WRITE, places):
        yield f"{plan.requested_by.get_username()}, who asked for the plan, may no longer do so"
    broken = EmergencyApply.objects.filter(plan=plan).select_related("by", "entry").first()
    if broken is not None:
        if approval_macs.find_fault(broken):
            yield f"the emergency apply by {broken.by_name} is forged: {approval_macs.find_fault(broken)}"
        if not access.can(broken.by, Action.BREAK_GLASS, places):
            yield f"{broken.by_name} may no longer run plans without approval"
        return
    if not access.can(run.requested_by, Action.APPLY, places):
        yield f"{run.requested_by.get_username()} may no longer start apply runs"
    for approval in run.approvals.select_related("by", "entry"):
        fault = approval_macs.find_fault(approval)
        if fault:
            yield f"the approval by {approval.by_name} is forged: {fault}"
        if not access.can(approval.by, Action.APPROVE, places):
            yield f"{approval.by_name}, who approved, may no longer approve: the plan needs approval again"


def find_claim_blockers(run: ApplyRun) -> tuple[str, ...]:
    """Return why a run may not write, or may no longer write; empty when it may.

    - Approvals and emergency applies must be genuine (`approval_macs`): an inserted one stops the run.
    - The requester, the approvers and the person who started the run must be active and in their roles. Approvals count
      once per person, by the account links known now. Policy and conflict rules must be those of the plan.
    - `plan_integrity.py` checks separately, for every row, that the stored plan is the approved one.
    - Until the first request was sent, the change window must be open as well, even after a change of workers.
    """
    places = policies.list_places(run.plan)
    blockers = list(_find_people(run, places))
    if run.plan.target.cluster.archived_at is not None:
        blockers += states.find_stop(run.plan.target.cluster)
    blockers += impersonation.find_moved(run.plan)
    blockers += conflict_rules.find_blockers(run.plan)
    policy = policies.find_policy(run.plan)
    if policy.version != run.plan.policy_version:
        blockers.append("the policy changed since the plan was approved: re-plan")
    if EmergencyApply.objects.filter(plan=run.plan).exists():
        return tuple(blockers)
    genuine = approval_macs.keep_genuine(run.approvals.select_related("by", "entry"))
    spent = quorum.keep_distinct(run.plan, quorum.keep_counted(policy, genuine))
    needs = quorum.match_demands(policies.list_demands(policy, policies.count_high_risks(run.plan, policy)), spent)
    if any(need.missing for need in needs):
        blockers.append("the policy requires more approvals than were given")
    if not JournalEntry.objects.filter(result__run=run).exists():
        blockers += approving.find_timing_blockers(policy)
    return tuple(blockers)
