"""Planning: read the cluster, calculate, store each finished change, and complete the plan with a digest.

The task may arrive twice: a plan is claimed with a lease and an epoch, and a worker that lost it stores nothing more.
The next worker calculates again what the lost worker had stored.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Q
from msgspec import Struct

from applyviz import clock, moments, stopping
from applyviz.clusters import connect, facts
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.channels.model import ChannelPlan
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.digest import fingerprint
from applyviz.engine.planning.digest.serialize import options_from_json, options_to_json, to_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.overview import Overviewer
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.records.enums import AuditAction, PlanState
from applyviz.records.models import ObjectChange, Plan, PlanDetails
from applyviz.records.written_queries import WrittenQuery
from applyviz.sources.collector import defer_full_gc
from applyviz.workflow import policies
from applyviz.workflow.audit import trail
from applyviz.workflow.clusters import impersonation, lifecycle, masking_settings, permissions, states
from applyviz.workflow.foundation import access, compatibility, digests, failpoints, rare_rows, row_macs, sentences
from applyviz.workflow.foundation.access import Action, Visitor, require
from applyviz.workflow.foundation.blockers import AuthorsForged
from applyviz.workflow.foundation.compared import compares
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.foundation.leases import LeaseLostError, LeaseRenewer, WorkerStoppingError, find_lease_end
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.foundation.row_updates import update_rows
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.plans import (
    calculation,
    changes,
    conflict_rules,
    guess_limit,
    live_values,
    plan_details,
    plan_mac,
    revert,
    source_reading,
    turns,
)
from applyviz.workflow.plans.plan_rows import MOST_TOGETHER, PlanRows
from applyviz.workflow.plans.plan_scopes import store_reached, store_scopes, withhold_files

logger = logging.getLogger(__name__)
_MAX_ATTEMPTS = 3
# A page polls a few times a second: rows that arrive faster are stored together.
_WINDOW_SECONDS = 0.3


class _Claim(Struct, frozen=True):
    """A plan and the epoch under which this worker owns it."""

    plan: Plan
    epoch: int

    def renew(self, **values: object) -> bool:
        """Renew the lease of the plan; return False when another worker took it or it is finished.

        - Raises `WorkerStoppingError` once the plan is handed over.
        """
        if stopping.is_overdue():
            raise WorkerStoppingError("this plan is left to the next worker")
        return bool(
            Plan.objects.filter(pk=self.plan.pk, state=PlanState.PLANNING, epoch=self.epoch).update(
                **{"lease_until": find_lease_end(clock.now()), **values}
            )
        )


_CLAIMED = WrittenQuery(
    lambda plan: Plan.objects.select_related("review", "target__cluster", "revision", "requested_by").filter(pk=plan)
)


def _claim(plan_id: int) -> _Claim | None:
    waiting = next((plan for plan in _CLAIMED.ask(plan_id) if plan.state == PlanState.PLANNING), None)
    newer = "" if waiting is None else compatibility.find_newer_plan(waiting)
    if newer:
        logger.warning("%s: it is left to a worker of that version", newer)
        return None
    if stopping.is_requested():
        return None
    now = clock.now()
    if waiting is not None and turns.must_wait(waiting, now=now):
        logger.info("Plan %s waits: workers calculate other plans of its cluster", plan_id)
        return None
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    with transaction.atomic():
        claimed = Plan.objects.filter(free, pk=plan_id, state=PlanState.PLANNING).update(
            epoch=F("epoch") + 1, lease_until=find_lease_end(clock.now())
        )
        if not claimed:
            return None
        (plan,) = _CLAIMED.ask(plan_id)
        plan.rules = to_json(conflict_rules.read_rules(plan.target.cluster))
        Plan.objects.filter(pk=plan_id, epoch=plan.epoch).update(rules=plan.rules)
        ObjectChange.objects.filter(plan=plan).delete()
    return _Claim(plan, plan.epoch)


def _count(stored: Iterable[engine.PlannedObject]) -> dict[str, int]:
    return dict(Counter(change.operation.value for change in stored))


def _count_for_all(stored: Iterable[engine.PlannedObject]) -> dict[str, int]:
    """Return the counts that everyone may see, without comparisons of Secrets with live."""
    found = list(stored)
    rows = ((c.ref.gvk.group, c.ref.gvk.kind, c.operation.value) for c in found)
    hidden = (operation for group, kind, operation in rows if compares(group, kind, operation))
    return live_values.blur_counts(_count(found), hidden)


def _take_scopes(claim: _Claim, scopes: Collection[ScopeEntry]) -> None:
    """Store the scopes of the source, and fix what the policies of these scopes choose for replacement."""
    plan = claim.plan
    store_scopes(plan, scopes)
    policy, options = policies.find_policy_at(scopes), options_from_json(plan.options)
    chosen = replace(options.replacement, policy_kinds=policy.replaced_kinds, annotations=policy.replace_annotations)
    if chosen != options.replacement:
        plan.options = options_to_json(replace(options, replacement=chosen))
        claim.renew(options=plan.options)


def _take_addons(claim: _Claim, chosen: ChannelPlan | None) -> None:
    """Fix what the plan does with each addon of its kOps channel; None without a channel."""
    plan = claim.plan
    options = options_from_json(plan.options)
    if chosen != options.channel:
        plan.options = options_to_json(replace(options, channel=chosen))
        claim.renew(options=plan.options)


def _fix_identity(claim: _Claim) -> None:
    """Fix the identity of the plan's requests, and of its run, and the masking settings of this moment."""
    plan = claim.plan
    if row_macs.find_fault(plan):
        raise NotPossibleError(sentences.describe(AuthorsForged()))
    plan.identity = impersonation.find_identity(plan.requested_by, plan.target.cluster).to_json()
    plan.masking = to_json(masking_settings.policy_for(plan.target.cluster))
    claim.renew(identity=plan.identity, masking=plan.masking)


def _fix_account(claim: _Claim) -> None:
    """Verify that the cluster answers and is the registered one; fix the account of its credential."""
    plan, cluster = claim.plan, claim.plan.target.cluster
    with connect.open_reader(cluster) as own:
        found = facts.require_same(own, uid=cluster.uid, server=cluster.server, name=cluster.name)
        account = {} if plan.identity else facts.read_account(own)
    lifecycle.remember_facts(cluster, found, account)
    plan.account = {} if plan.identity else cluster.account
    claim.renew(account=plan.account)


@dataclass(slots=True)
class _Window:
    """Stores finished changes in few statements: at once while they are rare, several together while they are many."""

    at: float = 0.0

    def is_full(self, waiting: int) -> bool:
        """Return whether the rows that wait are to be stored now."""
        return waiting >= MOST_TOGETHER or time.monotonic() - self.at > _WINDOW_SECONDS

    def store(self, claim: _Claim, rows: PlanRows) -> bool:
        """Store the rows since the last time, and renew the lease; return False when the plan was lost."""
        is_stored = rows.store(lambda: claim.renew(counts=dict(rows.counts)))
        self.at = time.monotonic()
        return is_stored


def _learn_passwords(plan: Plan, prepared: calculation.Calculation, kinds: Iterable[GroupVersionKind]) -> bool:
    """Add the passwords of kinds to what the plan masks; return whether there are more than before."""
    policy, sources = masking_settings.policy_of(plan), (prepared.catalog, prepared.context.catalog)
    more = policy
    for gvk in kinds:
        more = masking_settings.with_passwords(more, masking_settings.find_passwords(gvk, *sources))
    plan.masking = to_json(more)
    return more != policy


def _calculate(claim: _Claim, source: calculation.FrozenSource, reader: ClusterReader, renewer: LeaseRenewer) -> None:
    plan = claim.plan
    prepared = calculation.prepare(
        plan,
        reader,
        source=source,
        check=lambda scopes: _take_scopes(claim, scopes),
        choose=lambda chosen: _take_addons(claim, chosen),
    )
    kinds = {document.ref.gvk for document in prepared.documents}
    _learn_passwords(plan, prepared, kinds)
    tag_key, policy = plan.tag_key.open_bytes(), masking_settings.policy_of(plan)
    guesses = guess_limit.GuessLimit(
        plan.target.cluster,
        namespace=options_from_json(plan.options).namespace,
        by=plan.requested_by,
        policy=policy,
    )
    guesses.count_documents(prepared.documents)
    plan.expected = len(prepared.documents)
    if not claim.renew(expected=plan.expected, masking=plan.masking):
        return
    rows = PlanRows(plan)
    overviewer = Overviewer()
    needs: dict[permissions.RequiredAccess, None] = {}
    known = set(access.scopes_of(plan.review))
    window = _Window()
    for change in renewer.each(prepared.run(renewer.check)):
        store_reached(plan, change, known)
        if change.ref.gvk not in kinds:
            kinds.add(change.ref.gvk)
            if _learn_passwords(plan, prepared, (change.ref.gvk,)) and not claim.renew(masking=plan.masking):
                return
            policy = masking_settings.policy_of(plan)
        guesses.count_operations(change)
        with renewer.interruptible():
            masked = mask_change(change, tag_key=tag_key, policy=policy)
        rows.add(change, masked)
        overviewer.add(masked)
        needs.update(dict.fromkeys(permissions.list_needs(change.requests)))
        if window.is_full(rows.waiting) and not window.store(claim, rows):
            return
    if not window.store(claim, rows):
        return
    plan.denied = permissions.describe_denied(permissions.find_denied(reader, tuple(needs)))
    plan.server_ahead = reader.measure_ahead(clock.now())
    _complete(claim, prepared, rows, overviewer)


def _seal(plan: Plan, stored: PlanRows, bound: JSONObject, details: PlanDetails) -> dict[str, str]:
    """Compute the MACs of a plan as it will be stored, after setting what it is bound to."""
    for name, value in bound.items():
        setattr(plan, name, value)
    return {**stored.make_seal(), "summary_seal": plan_mac.make_summary_seal(plan, details)}


def _bind(plan: Plan, finished: engine.PlannedSet, rows: Iterable[ObjectChange]) -> dict[str, str]:
    """Return what a plan is bound to: its digest, the key of it, the policy and the cluster."""
    policy, uid = policies.find_policy(plan), plan.target.cluster.uid
    digest = fingerprint.digest_plan(
        finished,
        key=digests.digest_key(),
        target=uid,
        identity=impersonation.name_for_digest(plan),
        policy_version=policy.version,
        policy_digest=policy.digest,
        review=plan.review_id,
        decisions=plan.decisions,
        effects=[row.effect for row in sorted(rows, key=lambda row: row.position)],
    )
    bound = {"policy_version": policy.version, "policy_digest": policy.digest, "cluster_uid": uid}
    return {"digest": digest, "digest_key_id": digests.digest_key_id(), **bound}


def _complete(claim: _Claim, prepared: calculation.Calculation, stored: PlanRows, overviewer: Overviewer) -> None:
    plan, finished, rows = claim.plan, prepared.planner.plan(), stored.rows
    placed = changes.place_rows(rows, finished.changes)
    for number in stored.add_risks(finished.changes, claim.renew):
        overviewer.replace_risks(number, finished.changes[rows[number].position])
    bound = {
        **_bind(plan, finished, rows),
        "counts": _count(finished.changes),
        "compared": live_values.list_compared(rows),
        "problems": as_stored([source_reading.problem_to_json(one) for one in finished.problems]),
    }
    with transaction.atomic():
        update_rows(placed, ["step", "position"])
        details = plan_details.make_details(plan, finished, overviewer.find([row.position for row in rows]))
        details.save(force_insert=True)
        is_mine = claim.renew(
            state=PlanState.COMPLETE,
            **bound,
            **_seal(plan, stored, bound, details),
            denied=plan.denied,
            server_ahead=plan.server_ahead,
            completed_at=clock.now(),
            lease_until=None,
        )
        if not is_mine:
            transaction.set_rollback(True)
            return
        revert.note_moved(plan, finished.changes)
        trail.record(
            AuditAction.PLAN_COMPLETED,
            by=None,
            about=trail.AuditSubject.of_plan(plan),
            detail={"counts": _count_for_all(finished.changes), "identity": str(impersonation.read_identity(plan))},
        )
        failpoints.reach("plan.completing")
    failpoints.reach("plan.completed")


def _fail(claim: _Claim, reason: str) -> None:
    # Before the namespaces are known, the reason may name what readers of the history may not see.
    detail = {"reason": reason} if claim.plan.expected else {}
    with transaction.atomic():
        if claim.renew(state=PlanState.FAILED, error=reason, completed_at=clock.now(), lease_until=None):
            trail.record(
                AuditAction.PLAN_FAILED,
                by=None,
                about=trail.AuditSubject.of_plan(claim.plan),
                detail=detail,
            )


def _release(claim: _Claim) -> None:
    """Return the plan to the next worker at once; a requested stop does not count as a failed attempt."""
    Plan.objects.filter(pk=claim.plan.pk, state=PlanState.PLANNING, epoch=claim.epoch).update(
        epoch=claim.epoch - 1, lease_until=clock.now()
    )


def make_plan(plan_id: int) -> None:
    """Calculate a plan and store it change by change; does nothing when another worker has it.

    - A known error fails the plan with its reason; an unexpected one fails it without its text, which may quote
      anything.
    """
    claim = _claim(plan_id)
    if claim is None:
        return
    failpoints.reach("plan.claimed")
    if claim.epoch > _MAX_ATTEMPTS:
        _fail(claim, "planning was interrupted several times; check the worker log")
    else:
        _calculate_claimed(claim)
    turns.wake_next(claim.plan)


def _calculate_claimed(claim: _Claim) -> None:
    plan_id = claim.plan.pk
    try:
        with LeaseRenewer(claim.renew, release=partial(_release, claim)) as renewer:
            states.require_open(claim.plan.target.cluster)
            _fix_identity(claim)
            source = source_reading.read_manifests_of(claim.plan, claim.renew)
            _fix_account(claim)
            identity = impersonation.read_identity(claim.plan)
            # Reading, storing and completing make as many lasting values as calculating.
            with connect.open_reader(claim.plan.target.cluster, identity) as reader, defer_full_gc():
                _calculate(claim, source, reader, renewer)
    except LeaseLostError:
        logger.info("another worker creates plan %s", plan_id)
    except WorkerStoppingError:
        _release(claim)
    except ApplyVizError as error:
        _fail(claim, str(error))
    except Exception as error:
        log_unexpected(logger, f"plan {plan_id} could not be made", error)
        _fail(claim, f"an unexpected error stopped the calculation ({type(error).__name__})")


def get_plan(number: int, *, review_number: int, for_user: Visitor) -> Plan:
    """Return one plan of a review by its number."""
    require(for_user, Action.VIEW)
    found = rare_rows.find_plan(number, review_number)
    missing = NotVisibleError(f"there is no plan {number} of review {review_number}")
    if found is None:
        raise missing
    if not access.can(for_user, Action.VIEW, access.scopes_of(found.review)):
        raise missing
    if moments.is_within():
        rare_rows.keep_answers(found)
    shown = withhold_files(live_values.show_plan(found, for_user), for_user)
    if getattr(shown, "newest", None) == shown.pk:
        moments.keep(("latest plan", shown.review_id), shown)
    return shown


def find_unfinished() -> list[int]:
    """Return plans without a worker: unclaimed for a while, or with an expired lease."""
    now = clock.now()
    lost = Q(lease_until__lt=now) | Q(lease_until=None, created_at__lt=now - timedelta(seconds=5))
    return list(Plan.objects.filter(lost, state=PlanState.PLANNING).values_list("pk", flat=True))
