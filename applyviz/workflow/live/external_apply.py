"""Reviews that another tool applies: planned under its field manager, never applied here, verified afterwards.

Helm, Argo CD and Flux apply everything that their field manager sets. The plan shows the effect, the conflicts, and
the fields of others that it resets. After the tool ran, live is compared with the plan, object by object.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.clusters import connect, discovery, facts
from applyviz.clusters.reader import ClusterReader
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.model.plan import DELETIONS, Certainty, Operation
from applyviz.engine.planning.objects.revert import list_touched
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import MISSING, LeafFinder
from applyviz.queue import TaskName
from applyviz.records import models as rows
from applyviz.records.enums import Applier, AuditAction, PlanState, VerificationResult, VerificationState
from applyviz.records.models import Plan, Verification
from applyviz.workflow.audit import trail
from applyviz.workflow.clusters import impersonation, masking_settings
from applyviz.workflow.foundation import access, outbox
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.leases import find_lease_end
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.live_values import WITHHELD as NOT_SHOWN
from applyviz.workflow.plans.live_values import hidden_positions
from applyviz.workflow.plans.outcome_check import find_broken

logger = logging.getLogger(__name__)
_MAX_ATTEMPTS = 3
_PATIENCE = timedelta(seconds=5)
_WRITES = (Operation.CREATE, Operation.UPDATE, Operation.REPLACE, *DELETIONS, Operation.BLOCKED)


class _Habit(Struct, frozen=True):
    """The field manager of a tool, and whether it forces conflicts."""

    manager: str
    takes_over: bool = False


HABITS: dict[Applier, _Habit] = {
    Applier.HELM: _Habit("helm"),
    Applier.ARGO: _Habit("argocd-controller"),
    Applier.FLUX: _Habit("kustomize-controller", takes_over=True),
}


def as_tool(options: ApplyOptions, applier: Applier, *, is_manager_given: bool) -> ApplyOptions:
    """Return the options with the defaults of a tool: its field manager, unless one was given, and Flux's force."""
    habit = HABITS.get(applier)
    if habit is None:
        return options
    manager = options.field_manager if is_manager_given else habit.manager
    return replace(options, field_manager=manager, takes_over=habit.takes_over, takes_client_side=False, takes_from=())


def find_verify_blockers(plan: Plan, *, for_user: Visitor) -> tuple[str, ...]:
    """Return why this person cannot verify live now; empty when they can."""
    blockers = []
    if not plan.review.applied_by:
        blockers.append(_("applyviz applies this review itself and verifies it during the run"))
    if plan.state != PlanState.COMPLETE:
        blockers.append(_("there is no complete plan to verify"))
    if not access.can(for_user, Action.COMMENT, access.scopes_of(plan.review)):
        blockers.append(_("you need a role in this scope"))
    if Verification.objects.filter(plan=plan, state=VerificationState.WAITING).exists():
        blockers.append(_("a verification is already running"))
    return tuple(blockers)


def verify_now(plan: Plan, *, by: Person) -> Verification:
    """Ask a worker to compare live with a plan that another tool applies."""
    access.require(by, Action.COMMENT, access.scopes_of(plan.review))
    with transaction.atomic():
        lock_review(plan.review_id)
        blockers = find_verify_blockers(plan, for_user=by)
        if blockers:
            raise NotPossibleError("; ".join(blockers))
        made = Verification.objects.create(plan=plan, requested_by=by, created_at=clock.now())
        outbox.post(TaskName.VERIFY_PLAN, verification_id=made.pk)
    return made


def _claim(verification_id: int, now: datetime) -> Verification | None:
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    mine = Verification.objects.filter(free, pk=verification_id, state=VerificationState.WAITING)
    if not mine.update(lease_until=find_lease_end(now), attempts=F("attempts") + 1):
        return None
    found = Verification.objects.select_related("plan__review", "plan__target__cluster", "requested_by")
    return found.get(pk=verification_id)


def show_results(results: Iterable[JSONObject], hidden: Collection[int]) -> list[JSONObject]:
    """Return the result of each object, with `NOT_SHOWN` for hidden positions, whether they were read or not."""
    shown = {result["position"]: result for result in results if result["position"] not in hidden}
    shown |= {at: {"position": at, "verdict": NOT_SHOWN, "differences": [], "detail": ""} for at in hidden}
    return [shown[position] for position in sorted(shown)]


def _finish(
    verification: Verification, state: VerificationState, *, results: list[JSONObject], error: str = ""
) -> None:
    hidden = hidden_positions(verification.plan)  # the audit entry hides every Secret
    shown = show_results(results, hidden) if results else []
    counts = dict(Counter(result["verdict"] for result in shown))
    with transaction.atomic():
        mine = Verification.objects.filter(
            pk=verification.pk, state=VerificationState.WAITING, attempts=verification.attempts
        )
        if not mine.update(
            state=state, results=as_stored(results), error=as_stored(error), finished_at=clock.now(), lease_until=None
        ):
            return
        detail = {"state": state.value, "verdicts": counts, "error": error}
        about = trail.AuditSubject.of_plan(verification.plan)
        trail.record(AuditAction.LIVE_VERIFIED, by=verification.requested_by, about=about, detail=detail)


def verify_plan(verification_id: int) -> None:
    """Compare every object of the plan with live and store the results; writes nothing to the cluster."""
    verification = _claim(verification_id, clock.now())
    if verification is None:
        return
    if verification.attempts > _MAX_ATTEMPTS:
        _finish(verification, VerificationState.FAILED, results=[], error="it was interrupted several times")
        return
    try:
        plan = verification.plan
        with connect.open_reader(plan.target.cluster) as own:
            cluster = plan.target.cluster
            facts.require_same(own, uid=plan.cluster_uid, server=cluster.server, name=cluster.name)
        with connect.open_reader(plan.target.cluster, impersonation.read_identity(plan)) as reader:
            results = _compare_objects(plan, reader)
        _finish(verification, VerificationState.DONE, results=results)
    except ApplyVizError as error:
        _finish(verification, VerificationState.FAILED, results=[], error=str(error))
    except Exception as error:
        log_unexpected(logger, f"verification {verification_id} stopped", error)
        _finish(
            verification, VerificationState.FAILED, results=[], error=f"an unexpected error ({type(error).__name__})"
        )


def _compare_objects(plan: Plan, reader: ClusterReader) -> list[JSONObject]:
    catalog = discovery.load_catalog(reader)
    tag_key = plan.tag_key.open_bytes()
    chosen = [row for row in plan.changes.order_by("position") if Operation(row.operation) in _WRITES]
    requests = [_find_request(catalog, row) for row in chosen]
    answers = iter(reader.try_send_all([request for request in requests if request is not None]))
    results = []
    for row, request in zip(chosen, requests, strict=True):
        answer = next(answers) if request is not None else None
        if answer is None or (answer.status != 404 and not answer.is_ok):
            why = "the cluster does not serve its kind" if answer is None else f"it could not be read ({answer.status})"
            results.append(_make_result(row, VerificationResult.UNKNOWN, why))
            continue
        kind = catalog.find_kind(changes.ref_of(row).gvk)
        live = dict(answer.body) if answer.is_ok else None
        results.append(_judge(row, live, root=kind.root if kind else None, tag_key=tag_key))
    return results


def _make_result(row: rows.ObjectChange, verdict: VerificationResult, detail: str = "") -> JSONObject:
    return {"position": row.position, "verdict": verdict.value, "differences": [], "detail": detail}


def _find_request(catalog: Catalog, row: rows.ObjectChange) -> Request | None:
    ref = changes.ref_of(row)
    resource = catalog.find_resource(ref.gvk)
    return None if resource is None else Request("GET", resource.path(ref.namespace, ref.name), purpose="read")


def _judge(row: rows.ObjectChange, live: JSONObject | None, *, root: Node | None, tag_key: bytes) -> JSONObject:
    change = changes.open_sealed_core(row)
    before, promised = change.versions.live, change.versions.after or change.versions.merged
    if change.operation.is_deletion:
        verdict = VerificationResult.AS_REVIEWED if live is None else VerificationResult.NOT_YET
        return _make_result(row, verdict)
    if live is None or promised is None:
        verdict = VerificationResult.NOT_YET if before is None else VerificationResult.DIFFERS
        detail = "it does not exist yet" if before is None else "it no longer exists"
        return _make_result(row, verdict, detail)
    is_confirmed = change.certainty is Certainty.CONFIRMED
    if not find_broken(promised, live, root=root, is_confirmed=is_confirmed, before=before):
        return _make_result(row, VerificationResult.AS_REVIEWED)
    if before is not None and _is_untouched(before, promised, live, root):
        return _make_result(row, VerificationResult.NOT_YET)
    ref, policy = change.ref, masking_settings.policy_of(row.plan)
    shown = find_broken(
        changes.mask_object(promised, ref, tag_key=tag_key, policy=policy),
        changes.mask_object(live, ref, tag_key=tag_key, policy=policy),
        root=root,
        is_confirmed=is_confirmed,
        before=None if before is None else changes.mask_object(before, ref, tag_key=tag_key, policy=policy),
    )
    differences = [
        {"path": render_path(d.path), "promised": changes.show_value(d.before), "got": changes.show_value(d.after)}
        for d in shown[:50]
    ]
    return {**_make_result(row, VerificationResult.DIFFERS), "differences": differences}


def _is_untouched(before: JSONObject, promised: JSONObject, live: JSONObject, root: Node | None) -> bool:
    """Return whether every field that the plan changes still has its earlier value."""
    touched = list_touched(before, promised, root)
    then, now = LeafFinder(root, before), LeafFinder(root, live)
    return all(_same(then.find(path), now.find(path)) for path in touched)


def _same(left: JSONValue, right: JSONValue) -> bool:
    return bool(left is right if MISSING in (left, right) else left == right)


def find_unfinished(*, now: datetime) -> list[int]:
    """Return verifications without a worker: unclaimed for a while, or with an expired lease."""
    lost = Q(lease_until__lt=now) | Q(lease_until=None, created_at__lt=now - _PATIENCE)
    return list(Verification.objects.filter(lost, state=VerificationState.WAITING).values_list("pk", flat=True))
