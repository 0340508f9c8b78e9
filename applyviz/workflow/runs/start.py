"""Starting and canceling runs: the transaction that creates a run spends its approvals."""

from __future__ import annotations

from collections.abc import Collection

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from applyviz import clock, moments
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.queue import TaskName
from applyviz.records.enums import AuditAction, ReviewState, RunState
from applyviz.records.models import ApplyRun, Approval, ObjectResult, Plan, Review
from applyviz.workflow import policies
from applyviz.workflow.approvals import approving, plan_blockers, quorum
from applyviz.workflow.approvals.quorum import Quorum, list_valid_approvals
from applyviz.workflow.audit import trail
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.foundation import access, failpoints, outbox, sentences
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.blockers import NotStarter, PlanBlocker
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.foundation.sequences import next_number
from applyviz.workflow.plans.live_values import hidden_positions
from applyviz.workflow.policies import PolicyRules
from applyviz.workflow.policies.risks import list_risks
from applyviz.workflow.runs.rules import RunRules


def find_run_blockers(plan: Plan, *, for_user: Visitor, hidden: Collection[int] = ()) -> tuple[PlanBlocker, ...]:
    """Return why this person cannot start a run of this plan now; empty when they can.

    - `hidden`: for display only, positions of objects whose state must not be revealed to the reader.
    """
    blockers = list(plan_blockers.find_plan_blockers(plan, hidden=hidden))
    if not access.can(for_user, Action.APPLY, policies.list_scopes(plan)):
        blockers.append(NotStarter())
    found = quorum.count_quorum(plan)
    blockers += found.lacking
    blockers += plan_blockers.find_start_blockers(plan, found.policy)
    return tuple(blockers)


def require_person(plan: Plan) -> None:
    """Raise `NotPossibleError` if a token must not start a plan: it has a high risk, and no policy allows that.

    - A person confirms their password for such a plan; a token confirms nothing. `plan` was loaded for its reader, so
      that the refusal reveals no hidden comparison.
    """
    policy, hidden = policies.find_policy(plan), hidden_positions(plan)
    found = () if policy.allows_tokens else list_risks(plan, many=policy.many_objects)
    if any(risk.needs_acknowledgment and not hidden.issuperset(risk.positions) for risk in found):
        raise NotPossibleError(
            _("the plan has a high risk: a person must start it in the browser, unless a policy allows API tokens")
        )


def _spend(found: Quorum, run: ApplyRun) -> tuple[Approval, ...]:
    rows = Approval.objects.filter(pk__in=[a.pk for a in found.approvals], revoked_at=None, spent_at=None)
    try:
        with transaction.atomic():
            spent = rows.update(spent_at=clock.now(), run=run)
    except IntegrityError as error:  # the database checks expiry once more (`records/triggers.py`)
        raise NotPossibleError(_("an approval has just expired; reload and try again")) from error
    if spent != len(found.approvals) or found.missing:
        raise NotPossibleError(_("an approval was just revoked or used; reload and try again"))
    return found.approvals


def _make_run(plan: Plan, *, by: Person, rules: RunRules, needed: int) -> ApplyRun:
    now = clock.now()
    try:
        with transaction.atomic():
            run = ApplyRun.objects.create(
                number=next_number(ApplyRun.objects.all()),
                plan=plan,
                requested_by=by,
                rules=rules.to_json(),
                needed=needed,
                created_at=now,
            )
    except IntegrityError as error:
        raise NotPossibleError(_("this plan has already run; a plan can run only once")) from error
    ObjectResult.objects.bulk_create(
        ObjectResult(run=run, change=change, position=change.position, step=change.step)
        for change in plan.changes.only("pk", "plan_id", "position", "step")
    )
    return run


def begin_run(
    plan: Plan,
    *,
    by: Person,
    policy: PolicyRules,
    is_consented: bool = True,
    waits_for_rollout: bool | None = None,
    is_scheduled: bool = False,
) -> ApplyRun:
    """Create the run and enqueue it, in the caller's transaction; without approvals nothing is spent.

    - `is_scheduled`: applyviz starts it as the person scheduled it; the audit entry says so.
    - Raises `NotPossibleError` when the review is being applied, or an approval was revoked meanwhile.
    """
    found = quorum.count_quorum(plan, policy) if is_consented else None
    taken = Review.objects.filter(pk=plan.review_id, state=ReviewState.OPEN).update(
        state=ReviewState.APPLYING, updated_at=clock.now()
    )
    if not taken:
        raise NotPossibleError(_("the review is already being applied"))
    has_addons = options_from_json(plan.options).channel is not None
    rules = RunRules.of_policy(policy, has_addons=has_addons)
    if waits_for_rollout is not None:  # a policy that requires waiting wins
        rules = replace(rules, waits_for_rollout=rules.waits_for_rollout or waits_for_rollout)
    run = _make_run(plan, by=by, rules=rules, needed=found.needed if found else 0)
    spent = _spend(found, run) if found else ()
    failpoints.reach("start.spent")
    given = [approval.by_name for approval in spent]
    identity = str(impersonation.read_identity(plan))
    facts = {"approved by": given, "policy": policy.version, "without approval": not is_consented}
    if is_scheduled:
        facts["scheduled"] = True
    trail.record(
        AuditAction.RUN_STARTED, by=by, about=trail.AuditSubject.of_run(run), detail={**facts, "identity": identity}
    )
    outbox.post(TaskName.EXECUTE_RUN, run_id=run.pk)
    failpoints.reach("start.made")
    return run


def start_run(
    plan: Plan, *, by: Person, digest: str, waits_for_rollout: bool | None = None, is_scheduled: bool = False
) -> ApplyRun:
    """Start applying an approved plan: spend its approvals, create the run, enqueue it.

    - `waits_for_rollout`: whether a step waits until its objects are ready, where the policy leaves the choice.
    - Raises `NotPossibleError` with everything that blocks, or when the digest is not the plan's.
    """
    access.require(by, Action.APPLY, access.scopes_of(plan.review))
    with transaction.atomic(), moments.until_written():
        lock_review(plan.review_id)  # no edit can happen between this check and the start
        plan = Plan.objects.select_related("review", "target__cluster", "revision", "requested_by").get(pk=plan.pk)
        if digest != plan.digest or not digest:
            raise NotPossibleError(_("this plan has changed. Reload and review again"))
        blockers = find_run_blockers(plan, for_user=by)
        if blockers:
            raise NotPossibleError(sentences.join_clauses(blockers))
        policy = policies.find_policy(plan)
        return begin_run(plan, by=by, policy=policy, waits_for_rollout=waits_for_rollout, is_scheduled=is_scheduled)


def approve_and_run(
    plan: Plan, *, by: Person, digest: str, note: str = "", waits_for_rollout: bool | None = None
) -> ApplyRun:
    """Approve and start in one step, for a policy that requires one approval."""
    with transaction.atomic(), moments.until_written():
        if all(approval.by_id != by.pk for approval in list_valid_approvals(plan)):
            approving.approve_plan(plan, by=by, digest=digest, note=note)
        return start_run(plan, by=by, digest=digest, waits_for_rollout=waits_for_rollout)


def cancel_run(run: ApplyRun, *, by: Person) -> None:
    """Cancel a run; objects that were begun are finished first.

    - A run without a worker ends as soon as a worker claims it.
    """
    access.require(by, Action.APPLY, access.scopes_of(run.plan.review))
    with transaction.atomic():
        asked = ApplyRun.objects.filter(pk=run.pk, state__in=RunState.unfinished(), cancel_requested_at=None).update(
            cancel_requested_at=clock.now(), canceled_by=by
        )
        if not asked:
            raise NotPossibleError(_("the run is finished or already being canceled"))
        _record_cancellation(run, by=by)


def cancel_unfinished_runs(*, reason: str) -> tuple[int, ...]:
    """Cancel every unfinished run for the operator of the server, who gives the reason; return their numbers.

    - In the caller's transaction. Objects that were begun are finished first, as when a person cancels.
    """
    unfinished = ApplyRun.objects.filter(state__in=RunState.unfinished(), cancel_requested_at=None)
    found = list(unfinished.select_related("plan__review", "plan__target__cluster").order_by("pk"))
    for run in found:
        ApplyRun.objects.filter(pk=run.pk).update(cancel_requested_at=clock.now())
        _record_cancellation(run, by=None, reason=reason)
    return tuple(run.number for run in found)


def _record_cancellation(run: ApplyRun, *, by: Person | None, **detail: str) -> None:
    trail.record(AuditAction.RUN_CANCELED, by=by, about=trail.AuditSubject.of_run(run), detail=detail)
    outbox.post(TaskName.EXECUTE_RUN, run_id=run.pk)
