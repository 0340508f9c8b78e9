"""Rows of the database for the tests of pages: a cluster, a review with a plan of hand-built changes, a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User

from applyviz.engine.planning.digest.serialize import options_from_json, options_to_json, to_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.graph import PlanGraph
from applyviz.engine.planning.model.overview import Overviewer
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.model.summary import PlanSummary
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import PlanState
from applyviz.records.models import (
    ApplyRun,
    Approval,
    Cluster,
    JournalEntry,
    ObjectChange,
    ObjectResult,
    Plan,
    Review,
    SourceRevision,
    Target,
)
from applyviz.records.sealing import Unsealed
from applyviz.workflow import policies
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.plans import live_values, plan_details
from applyviz.workflow.plans.changes import write_document
from tests.builders import make_approval

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
DIGEST = "9d1c03ee71" * 6


def name_policy(plan: Plan) -> dict[str, str]:
    """Return the columns that bind a plan to the policy in force."""
    found = policies.find_policy(plan)
    return {"policy_version": found.version, "policy_digest": found.digest}


def make_cluster(slug: str = "shop") -> Cluster:
    """A sandbox."""
    return Cluster.objects.create(
        slug=slug,
        name=slug.title(),
        kind="sandbox",
        credential=Unsealed.of_bytes(b"token"),
        uid=f"uid-of-{slug}",
        created_at=NOW,
    )


def make_change(plan: Plan, position: int, change: engine.PlannedObject) -> ObjectChange:
    """The row of one change."""
    return make_changes(plan, {position: change})[0]


def make_changes(plan: Plan, changes: Mapping[int, engine.PlannedObject]) -> list[ObjectChange]:
    """The rows of changes, by their position."""
    return ObjectChange.objects.bulk_create([_fill_change(plan, *one) for one in changes.items()])


def _fill_change(plan: Plan, position: int, change: engine.PlannedObject) -> ObjectChange:
    return ObjectChange(
        plan=plan,
        position=position,
        step=0,
        group=change.ref.gvk.group,
        version=change.ref.gvk.version,
        kind=change.ref.gvk.kind,
        namespace=change.ref.namespace,
        name=change.ref.name,
        operation=change.operation.value,
        method=change.method,
        certainty=change.certainty.value,
        has_effect=change.has_effect and change.operation is not Operation.BLOCKED,
        conflicts=len(change.conflicts),
        risks=len(change.risks),
        highest_risk=change.risks[0].level.value if change.risks else "",
        risk_levels=[[h.kind.slug, h.level.value] for h in change.risks],
        error=change.error,
        effect="effect",
        document=write_document(change),
        found_risks=to_json(change.risks),
        sealed=Unsealed.of_json(write_document(change)),
    )


def make_plan(
    author: User,
    changes: Iterable[engine.PlannedObject],
    *,
    state: str = PlanState.COMPLETE,
    title: str = "Upgrade the shop",
    options: ApplyOptions | None = None,
    problems: tuple[dict[str, object], ...] = (),
    error: str = "",
    applied_by: str = "",
    impact: PlanSummary | None = None,
    graph: PlanGraph | None = None,
) -> Plan:
    """A review with one plan; `impact` and `graph` are kept beside what the changes say."""
    number = Review.objects.count() + 1
    cluster = Cluster.objects.first() or make_cluster()
    review = Review.objects.create(
        number=number, title=title, reason="why", author=author, applied_by=applied_by, created_at=NOW, updated_at=NOW
    )
    revision = SourceRevision(digest="3f1c9e2a" * 8, created_at=NOW, created_by=author)
    row_macs.vouch(revision)
    revision.save()
    plan = Plan(
        review=review,
        target=Target.objects.create(review=review, cluster=cluster),
        revision=revision,
        number=1,
        options=options_to_json(options or ApplyOptions(field_manager="ci", namespace="shop")),
        requested_by=author,
        tag_key=Unsealed.of_bytes(b"k" * 32),
        created_at=NOW,
        expected=9,
        authors=[author.pk],
    )
    row_macs.vouch(plan)
    plan.save()
    changes = tuple(changes)
    rows = make_changes(plan, dict(enumerate(changes)))
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.operation] = counts.get(row.operation, 0) + 1
    values = {"state": state, "counts": counts, "problems": list(problems), "error": error}
    if state == PlanState.COMPLETE:
        keep_details(plan, changes, impact=impact, graph=graph)
        values["compared"] = live_values.list_compared(rows)
        values |= {"digest": f"{number}{DIGEST}", "completed_at": NOW, **name_policy(plan)}
    Plan.objects.filter(pk=plan.pk).update(**values)
    return Plan.objects.select_related("review__author", "target__cluster", "revision").get(pk=plan.pk)


def keep_details(
    plan: Plan,
    changes: Sequence[engine.PlannedObject],
    *,
    impact: PlanSummary | None = None,
    graph: PlanGraph | None = None,
) -> None:
    """Keep what pages show of a plan as a whole; before it is complete."""
    finished = engine.PlannedSet(options_from_json(plan.options), tuple(changes), graph=graph or PlanGraph())
    overviewer = Overviewer()
    for change in changes:
        overviewer.add(change)
    made = plan_details.make_details(plan, finished, overviewer.find(range(len(changes))))
    made.impact = made.impact if impact is None else to_json(impact)
    made.save(force_insert=True)


def add_plan(plan: Plan, changes: Iterable[engine.PlannedObject], *, effect: str = "effect") -> Plan:
    """The next plan of the same review, finished; `effect` is that of all its changes."""
    number = plan.review.plans.count() + 1
    following = Plan(
        review=plan.review,
        target=plan.target,
        revision=plan.revision,
        number=number,
        options=plan.options,
        requested_by=plan.requested_by,
        tag_key=Unsealed.of_bytes(b"k" * 32),
        created_at=NOW,
        authors=plan.authors,
    )
    row_macs.vouch(following)
    following.save()
    changes = tuple(changes)
    rows = make_changes(following, dict(enumerate(changes)))
    keep_details(following, changes)
    ObjectChange.objects.filter(plan=following).update(effect=effect)
    compared = live_values.list_compared(rows)
    values = {"digest": f"{number}{DIGEST}", "compared": compared, **name_policy(following)}
    Plan.objects.filter(pk=following.pk).update(state=PlanState.COMPLETE, completed_at=NOW, **values)
    return Plan.objects.select_related("review__author", "target__cluster", "revision").get(pk=following.pk)


def make_run(plan: Plan, by: User, *, state: str = "applying", outcome: str = "applied") -> ApplyRun:
    """A run of a plan with one outcome for all objects, and a journal."""
    run = ApplyRun.objects.create(
        number=ApplyRun.objects.count() + 1, plan=plan, requested_by=by, created_at=NOW, started_at=NOW
    )
    approval = make_approval(plan, by, created_at=NOW)
    Approval.objects.filter(pk=approval.pk).update(spent_at=NOW, run=run)
    if state != "queued":
        ApplyRun.objects.filter(pk=run.pk).update(state=state, epoch=1)
        run.refresh_from_db()
    for change in plan.changes.all():
        result = ObjectResult.objects.create(
            run=run,
            change=change,
            position=change.position,
            step=change.step,
            outcome=outcome,
            detail="all as promised",
        )
        JournalEntry.objects.create(
            result=result,
            sequence=1,
            part=0,
            epoch=1,
            state="answered",
            purpose="apply",
            method="PATCH",
            path="/apis/apps/v1/namespaces/shop/deployments/frontend",
            query={"fieldManager": "ci"},
            request={"kind": "Deployment"},
            request_digest="digest",
            status=200,
            answer={"kind": "Deployment"},
            sent_at=NOW,
            answered_at=NOW + timedelta(milliseconds=9),
        )
    return run
