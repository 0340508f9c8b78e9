"""Plans and runs as plain JSON for programs: the same facts as on the pages, values masked.

`status` is the one word that a pipeline acts on; `mark` changes whenever anything except the objects changes, so that a
program can wait for news.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from django.db.models import Count
from django.urls import reverse

from applyviz.engine.explain.sentences import render_reason
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject, canonical_json
from applyviz.engine.planning.digest.serialize import options_from_json, to_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.owner_map import OwnerShare
from applyviz.engine.planning.model.request_sequence import list_sequence
from applyviz.engine.planning.simulation.kubectl import unbind
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.sentences import render_risk
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import ApplyRun, ObjectChange, ObjectResult, Plan, Review
from applyviz.web.api import managed_fields
from applyviz.web.api.reviewers import present_reviewers
from applyviz.web.api.sources import list_source_changes, present_source
from applyviz.web.components.values import show_value
from applyviz.web.reviews.pages.addons.table import list_addons
from applyviz.web.reviews.pages.plan_summary import describe_deletion, describe_prune, present_impact, present_sentence
from applyviz.web.reviews.pages.sources.staying import list_stays
from applyviz.web.reviews.pane.equal_values import is_equal_to_live
from applyviz.web.reviews.pane.fields import FieldFilter, RowParts, present_rows, select_reasons
from applyviz.workflow import policies, runs
from applyviz.workflow.approvals.plan_facts import PlanFacts, find_plan_facts
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.live import plan_comparison
from applyviz.workflow.plans import plan_details
from applyviz.workflow.plans.changes import read_masked
from applyviz.workflow.plans.live_values import (
    count_shown_outcomes,
    hidden_positions,
    list_results,
    list_rows,
    show_results,
    show_rows,
    show_run,
)
from applyviz.workflow.plans.revert import find_lost


def _present_preset(review: Review) -> JSONObject | None:
    """Return the preset that filled the review, and the names of the fields that were changed; None without one."""
    if review.preset is None:
        return None
    changed = [change["field"] for change in review.preset_changes]
    return {"slug": review.preset.slug, "version": review.preset_version, "changed": changed}


def _present_review(review: Review, root: str) -> JSONObject:
    return {
        "number": review.number,
        "title": review.title,
        "ticket": review.ticket,
        "is_open": review.state == ReviewState.OPEN,
        "author": review.author.get_username(),
        "preset": _present_preset(review),
        "url": root + reverse("reviews:show-review", args=[review.number]),
    }


def _count(plan: Plan) -> JSONObject:
    rows = list_rows(plan)
    sure, conflicts = Counter(row.certainty for row in rows), sum(row.conflicts for row in rows)
    return {"operations": plan.counts, "certainty": dict(sure), "conflicts": conflicts}


def _present_approvals(plan: Plan, facts: PlanFacts, run: ApplyRun | None) -> JSONObject:
    """Return the approvals of a plan; of one with a run those that the run used, whatever a policy requires today."""
    if plan.state != PlanState.COMPLETE:
        return {}
    if run is not None:
        used = list(run.approvals.order_by("pk").values_list("by_name", flat=True))
        return {
            "policy": plan.policy_version,
            "needed": len(used),
            "missing": 0,
            "given_by": used,
            "still_needed": [],
            "closed": [],
        }
    found = facts.quorum
    return {
        "policy": found.policy.version,
        "needed": found.needed,
        "missing": found.missing,
        "given_by": [approval.by_name for approval in found.approvals],
        "still_needed": list(sentences.describe_all(found.lacking)),
        "closed": list(sentences.describe_all(facts.closed)),
    }


def _mark(document: JSONObject) -> str:
    return hashlib.sha256(canonical_json(document).encode()).hexdigest()[:24]


def present_live(plan: Plan) -> JSONObject | None:
    """Return the last comparison of an open plan with live as its reader sees it; None for one that is not compared."""
    found = plan_comparison.read_state(plan)
    if found is None:
        return None
    return {
        "state": found.state.value,
        "state_text": str(found.state.label),
        "is_running": found.is_running,
        "compared_at": found.at.isoformat() if found.at else None,
        "objects": [dict(one) for one in found.objects],
        "objects_not_shown": found.hidden,
        "error": found.error,
    }


def _present_scheduled(plan: Plan) -> JSONObject | None:
    """Return the scheduled start that waits for a plan; None without one."""
    row = runs.find_waiting(plan)
    if row is None:
        return None
    return {"by": row.by_name, "not_before": row.not_before.isoformat(), "not_after": row.expires_at.isoformat()}


def present_plan(plan: Plan, *, for_user: Person, root: str) -> JSONObject:
    """Return a plan without its objects; `root` is the address of this installation."""
    run = ApplyRun.objects.filter(plan=plan).first()
    if run is not None:
        run.plan = plan
        show_run(run, for_user)
    hidden, facts = hidden_positions(plan), find_plan_facts([plan], for_user)[plan.pk]
    blockers = () if plan.state == PlanState.PLANNING or run else sentences.describe_all(facts.blockers)
    options = options_from_json(plan.options)
    policy, status = facts.quorum.policy, facts.status
    document: JSONObject = {
        "status": status.value,
        "status_text": str(status.label),
        "review": _present_review(plan.review, root),
        "requested_reviewers": present_reviewers(facts.requested),
        "plan": plan.number,
        "digest": plan.digest,
        "cluster": plan.target.cluster.slug,
        "namespace": options.namespace,
        "source": present_source(plan.revision),
        "source_changes": list_source_changes(plan, for_user=for_user),
        "operation": options.action.value,
        "deletion": describe_deletion(options),
        "mode": options.mode.value,
        "field_manager": options.field_manager,
        "prune": describe_prune(options),
        "stays": list_stays(plan, for_user),
        "addons": list_addons(plan, options),
        "identity": str(impersonation.read_identity(plan)),
        "requested_by": plan.requested_by.get_username(),
        "sentence": present_sentence(plan),
        "impact": list(present_impact(plan)) if plan.state == PlanState.COMPLETE else [],
        "counts": _count(plan),
        "risks": {kind.slug: count for kind, count in policies.count_high_risks(plan, policy, hidden=hidden).items()},
        "blockers": list(blockers),
        "problems": list(plan.problems),
        "error": plan.error,
        "approvals": _present_approvals(plan, facts, run),
        "run": present_run(run, root=root) if run else None,
        "scheduled_start": None if run else _present_scheduled(plan),
        "url": root + reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
    }
    return {**document, "mark": _mark(document), "live": present_live(plan)}


def _present_conflict(change: engine.PlannedObject, conflict: Conflict) -> JSONObject:
    """Return a conflict with both values as text, masked; `is_equal` for one value in two spellings, as 1000m and 1."""
    versions = change.versions
    shown, kept = (show_value(v.find(conflict.path)) for v in (versions.in_manifest, versions.in_live))
    return {
        "field": render_path(conflict.path),
        "field_manager": conflict.manager,
        "operation": conflict.operation,
        "subresource": conflict.subresource,
        "manifest": shown.text if shown else None,
        "live": kept.text if kept else None,
        "is_equal": is_equal_to_live(change, conflict.path),
    }


def present_fields(change: engine.PlannedObject, options: ApplyOptions) -> list[JSONObject]:
    """Return the changes of one object field by field; none if nothing of it is written."""
    if not change.has_effect:
        return []
    reasons = select_reasons(change, FieldFilter.CHANGES)
    parts = RowParts(has_versions=False, has_lines=False)
    rows = present_rows(change, reasons, options=options, explain=render_reason, url_of=lambda index: "", parts=parts)
    return [
        {
            "path": row.path,
            "operation": str(row.style.word),
            "live": row.live.text if row.live else None,
            "after": row.after.text if row.after else None,
            "why": row.why,
        }
        for row in rows
    ]


def _present_calculation(change: engine.PlannedObject) -> JSONObject | None:
    """Return the maps of a three-way patch by the names of kubectl's source; None without a patch.

    - `deltaMap` is without the annotation; `setsAnnotation` says whether that is set. `patchMap` is None if it is not
      sent.
    """
    found = change.calculation
    if found is None:
        return None
    patch = next((request for request in change.requests if request.purpose == "patch"), None)
    return {
        "deletionsMap": found.deletions,
        "deltaMap": found.additions,
        "setsAnnotation": found.sets_annotation,
        "patchMap": None if patch is None else unbind(patch).body,
    }


def _present_requests(change: engine.PlannedObject) -> list[JSONObject]:
    """Return the requests in order, reads included; `status` is the answer that a read needs, 0 if it failed."""
    return [
        {"purpose": step.purpose.value, "method": step.method, "path": step.path}
        | ({"status": step.status} if step.request is None else {})
        for step in list_sequence(change)
    ]


def _present_object(row: ObjectChange, options: ApplyOptions, owners: Sequence[OwnerShare]) -> JSONObject:
    change = read_masked(row)
    return {
        "position": row.position,
        "operation": row.operation,
        "api_version": change.ref.gvk.api_version,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "file": change.position.file,
        "line": change.position.line,
        "method": change.method,
        "certainty": row.certainty,
        "certainty_reason": change.certainty_reason,
        "error": row.error,
        "can_be_replaced": change.can_be_replaced,
        "owners": [to_json(share) for share in owners],
        "managed_fields": managed_fields.present_planned(change),
        "left_out": "" if change.left_out is None else change.left_out.reason,
        "risks": [{"kind": h.kind.slug, "level": h.level.value, "text": render_risk(h)} for h in change.risks],
        "conflicts": [_present_conflict(change, conflict) for conflict in change.conflicts],
        "fields": present_fields(change, options),
        "requests": _present_requests(change),
        "calculation": _present_calculation(change),
    }


def list_objects(plan: Plan, *, start: int, count: int) -> list[JSONObject]:
    """Return some objects of a plan in order, unchanged ones too; every Secret value is masked."""
    options = options_from_json(plan.options)
    rows = show_rows(plan, plan.changes.defer("sealed").order_by("position")[start : start + count])
    found = plan_details.read_owners(plan)
    owners = {} if found is None else {n: one.shares for n, one in enumerate(found.objects)}
    return [_present_object(row, options, owners.get(row.position, ())) for row in rows]


def present_run(run: ApplyRun, *, root: str) -> JSONObject:
    """Return a run without its objects."""
    return _present_run(run, count_shown_outcomes(run), root)


def _present_run(run: ApplyRun, outcomes: Mapping[str, int], root: str) -> JSONObject:
    return {
        "number": run.number,
        "state": run.state,
        "state_text": run.get_state_display(),
        "is_finished": run.is_finished,
        "requested_by": run.requested_by.get_username(),
        "attempt": run.attempt,
        "outcomes": dict(sorted(outcomes.items())),
        "error": run.error,
        "url": root + reverse("runs:show-run", args=[run.number]),
    }


def read_progress(run: ApplyRun) -> tuple[object, ...]:
    """Return a value that changes whenever `present_run_with_results` would; it is not for display.

    - Outcomes and rollouts only move forward within an attempt of an addon, so that no two moments of it have the same
      counts.
    """
    facts = ("outcome", "rollout", "addon_attempt")
    counted = ObjectResult.objects.filter(run=run).order_by(*facts).values_list(*facts)
    return run.state, run.attempt, run.error, str(run.summary), *counted.annotate(number=Count("pk"))


def _present_retry(run: ApplyRun, person: Person) -> JSONObject:
    """Return the objects of a failed run that can be retried, by position, and why this person cannot retry them."""
    objects = [result.position for result in runs.list_retryable(run)]
    blockers = runs.find_retry_blockers(run, for_user=person) if objects else ()
    return {"objects": objects, "blockers": list(sentences.describe_all(blockers))}


def _present_result(result: ObjectResult, *, is_gone: bool) -> JSONObject:
    return {
        "position": result.position,
        "kind": result.change.kind,
        "namespace": result.change.namespace,
        "name": result.change.name,
        "outcome": result.outcome,
        "outcome_text": result.get_outcome_display(),
        "detail": result.detail,
        "is_gone": is_gone,
        "owners": result.owners.get("state", ""),
        "rollout": result.rollout,
        "addon_attempt": result.addon_attempt,
    }


def present_run_with_results(run: ApplyRun, *, for_user: Person, root: str) -> JSONObject:
    """Return a run with the outcome of each object, and what a retry could do.

    - An object `is_gone` when it was deleted to be replaced and not created again.
    """
    results = list_results(run)
    gone = {result.pk for result in find_lost(results)}
    listed = [_present_result(one, is_gone=one.pk in gone) for one in results]
    # Counted here, so that the counts are those of the objects beside them, also while the run goes on.
    document = _present_run(run, Counter(one.outcome for one in results), root)
    document = {**document, "retry": _present_retry(run, for_user)}
    return {**document, "plan_digest": run.plan.digest, "mark": _mark({**document, "of": listed}), "objects": listed}


def add_managed_fields(document: JSONObject, run: ApplyRun, *, start: int, count: int) -> JSONObject:
    """Return a presented run with some of its objects alone, each with its managedFields before and after."""
    results = ObjectResult.objects.filter(run=run).select_related("change").order_by("position")
    some = show_results(run.plan, results.defer("change__sealed")[start : start + count])
    found = managed_fields.list_of_results(some)
    listed = document["objects"][start : start + count]
    objects = [{**one, "managed_fields": fields} for one, fields in zip(listed, found, strict=False)]
    return {**document, "objects": objects, "objects_in_all": len(document["objects"])}
