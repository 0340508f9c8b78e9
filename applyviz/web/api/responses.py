"""Plans and runs as plain JSON for programs: the same facts as on the pages, values masked.

`status` is the one word that a pipeline acts on; `mark` changes whenever anything except the objects changes, so that a
program can wait for news.
"""

from __future__ import annotations

import hashlib
from collections import Counter

from django.urls import reverse

from applyviz.engine.explain.sentences import render_reason
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONObject, canonical_json
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.sentences import render_risk
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import ApplyRun, ObjectChange, ObjectResult, Plan, Review
from applyviz.web.reviews.pages.plan_summary import present_impact, present_sentence
from applyviz.web.reviews.pane.fields import FieldFilter, present_sections
from applyviz.workflow import policies
from applyviz.workflow.approvals import approving, quorum, review_states
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans.live_values import LiveView, hidden_positions, show_result, show_run, view_of


def _present_review(review: Review, root: str) -> JSONObject:
    return {
        "number": review.number,
        "title": review.title,
        "ticket": review.ticket,
        "is_open": review.state == ReviewState.OPEN,
        "author": review.author.get_username(),
        "url": root + reverse("reviews:show-review", args=[review.number]),
    }


def _count(plan: Plan) -> JSONObject:
    rows = view_of(plan).show(plan.changes.defer("document", "sealed"))
    sure, conflicts = Counter(row.certainty for row in rows), sum(row.conflicts for row in rows)
    return {"operations": plan.counts, "certainty": dict(sure), "conflicts": conflicts}


def _present_consent(plan: Plan) -> JSONObject:
    if plan.state != PlanState.COMPLETE:
        return {}
    found = quorum.count_quorum(plan)
    return {
        "policy": found.policy.version,
        "needed": found.needed,
        "missing": found.missing,
        "given_by": [approval.by_name for approval in found.approvals],
        "still_needed": [str(need) for need in found.needs if need.missing],
        "closed": list(approving.find_start_blockers(plan, found.policy)),
    }


def _mark(document: JSONObject) -> str:
    return hashlib.sha256(canonical_json(document).encode()).hexdigest()[:24]


def present_plan(plan: Plan, *, for_user: Person, root: str) -> JSONObject:
    """Return a plan without its objects; `root` is the address of this installation."""
    run = ApplyRun.objects.filter(plan=plan).first()
    if run is not None:
        run.plan = plan
        show_run(run, for_user)
    hidden = hidden_positions(plan)
    blockers = () if plan.state == PlanState.PLANNING or run else approving.find_plan_blockers(plan, hidden=hidden)
    options = options_from_json(plan.options)
    policy = policies.find_policy(plan)
    status = review_states.find_status(plan, run)
    document: JSONObject = {
        "status": status.value,
        "status_text": str(status.label),
        "review": _present_review(plan.review, root),
        "plan": plan.number,
        "digest": plan.digest,
        "cluster": plan.target.cluster.slug,
        "namespace": options.namespace,
        "mode": options.mode.value,
        "field_manager": options.field_manager,
        "identity": str(impersonation.read_identity(plan)),
        "requested_by": plan.requested_by.get_username(),
        "sentence": present_sentence(plan),
        "impact": list(present_impact(plan)) if plan.state == PlanState.COMPLETE else [],
        "counts": _count(plan),
        "risks": {kind.value: count for kind, count in policies.count_high_risks(plan, policy, hidden=hidden).items()},
        "blockers": list(blockers),
        "problems": list(plan.problems),
        "error": plan.error,
        "approvals": _present_consent(plan),
        "run": present_run(run, root=root) if run else None,
        "url": root + reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
    }
    return {**document, "mark": _mark(document)}


def _present_fields(change: engine.PlannedObject, options: ApplyOptions) -> list[JSONObject]:
    sections = present_sections(
        change,
        mode=options.mode,
        you=options.field_manager,
        chosen=FieldFilter.CHANGES,
        explain=render_reason,
        url_of=lambda index: "",
    )
    return [
        {
            "path": row.path,
            "operation": str(row.look.word),
            "live": row.live.text if row.live else None,
            "after": row.after.text if row.after else None,
            "why": row.why,
        }
        for section in sections
        for row in section.rows
    ]


def _present_object(row: ObjectChange, options: ApplyOptions, view: LiveView) -> JSONObject:
    change = view.read(row)
    (row,) = view.show([row])
    return {
        "position": row.position,
        "operation": row.operation,
        "api_version": change.ref.gvk.api_version,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "file": change.position.file,
        "line": change.position.line,
        "method": row.method,
        "certainty": row.certainty,
        "certainty_reason": change.certainty_reason,
        "error": row.error,
        "risks": [{"kind": h.kind.value, "level": h.level.value, "text": render_risk(h)} for h in change.risks],
        "conflicts": [
            {"field": render_path(c.path), "field_manager": c.manager, "operation": c.operation}
            for c in change.conflicts
        ],
        "fields": _present_fields(change, options) if change.has_effect else [],
    }


def list_objects(plan: Plan, *, start: int, count: int) -> list[JSONObject]:
    """Return some objects of a plan in order, unchanged ones too; every Secret value is masked."""
    options = options_from_json(plan.options)
    rows = plan.changes.defer("sealed").order_by("position")[start : start + count]
    return [_present_object(row, options, view_of(plan)) for row in rows]


def present_run(run: ApplyRun, *, root: str) -> JSONObject:
    """Return a run without its objects."""
    return {
        "number": run.number,
        "state": run.state,
        "state_text": run.get_state_display(),
        "is_finished": run.is_finished,
        "requested_by": run.requested_by.get_username(),
        "outcomes": run.summary,
        "error": run.error,
        "url": root + reverse("runs:show-run", args=[run.number]),
    }


def present_run_with_results(run: ApplyRun, *, root: str) -> JSONObject:
    """Return a run with the outcome of each object."""
    results = ObjectResult.objects.filter(run=run).select_related("change").order_by("position")
    document, view = present_run(run, root=root), view_of(run.plan)
    listed = [
        {
            "position": result.position,
            "kind": result.change.kind,
            "namespace": result.change.namespace,
            "name": result.change.name,
            "outcome": result.outcome,
            "outcome_text": result.get_outcome_display(),
            "detail": result.detail,
            "rollout": result.rollout,
        }
        for result in (show_result(one, view) for one in results.defer("change__document", "change__sealed"))
    ]
    return {**document, "plan_digest": run.plan.digest, "mark": _mark({**document, "of": listed}), "objects": listed}
