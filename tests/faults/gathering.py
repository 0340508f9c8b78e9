"""Reads from the database what the checker judges: runs with their plans opened, approvals, journal, audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.paths import element_value
from applyviz.engine.planning.model.placeholders import template
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject
from applyviz.records.models import ApplyRun, AuditEntry, EmergencyApply, JournalEntry, ObjectResult
from applyviz.workflow.audit import chain
from applyviz.workflow.plans import changes
from tests.faults.history import Consent, Entry, Exchange, History, Item, Run, Told, place_of


def _seconds(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0


def render_template(request: Request) -> dict[str, Any]:
    """An approved request as the checker compares it."""
    bare = template(request)
    return {
        "method": bare.method,
        "path": bare.path,
        "query": dict(bare.query),
        "contentType": bare.content_type,
        "body": bare.body,
        "placeholders": [
            ([element_value(step) for step in placeholder.path], placeholder.rule) for placeholder in bare.placeholders
        ],
    }


def _read_entry(row: JournalEntry) -> Entry:
    return Entry(
        part=row.part,
        epoch=row.epoch,
        state=row.state,
        method=row.method,
        path=row.path,
        query=row.query,
        content_type=row.content_type,
        body=row.sealed_request.open_json() if row.sealed_request else None,
        digest=row.request_digest,
        before=row.before,
        status=row.status,
        sent_at=_seconds(row.sent_at),
        answered_at=_seconds(row.answered_at),
    )


def _find_path(change: PlannedObject) -> str:
    places = [place_of(r.method, r.path, r.body) for r in change.requests]
    return next((place for place in places if place.endswith(f"/{change.ref.name}")), "")


def _read_item(row: ObjectResult) -> Item:
    change = changes.open_sealed(row.change)
    promised = change.versions.after or change.versions.merged
    return Item(
        key=change.ref.key,
        path=_find_path(change),
        step=row.step,
        operation=change.operation.value,
        requests=tuple(render_template(r) for r in change.requests),
        live=change.versions.live,
        after=None if change.operation is Operation.PRUNE else promised,
        is_exact=change.certainty is Certainty.CONFIRMED,
        outcome=row.outcome,
        detail=row.detail,
        differences=row.differences,
        finished_at=_seconds(row.finished_at),
        journal=tuple(_read_entry(entry) for entry in row.journal.order_by("sequence", "pk")),
        addon="" if change.is_record or change.operation.is_deletion else change.addon,
        addon_attempt=row.addon_attempt,
    )


def _authors(run: ApplyRun) -> frozenset[str]:
    review = run.plan.review
    taking_part = {
        run.plan.revision.created_by.get_username(),
        review.author.get_username(),
        run.plan.requested_by.get_username(),
    }
    taking_part |= {plan.requested_by.get_username() for plan in review.plans.select_related("requested_by")}
    return frozenset(taking_part | {d.by.get_username() for d in review.decisions.select_related("by")})


def read_run(run: ApplyRun, needed: int) -> Run:
    """One run with all that it rests on; `needed` is the quorum when it was started."""
    plan = run.plan
    consents = [
        Consent(
            row.pk,
            row.by_name,
            row.digest,
            _seconds(row.created_at),
            _seconds(row.spent_at),
            _seconds(row.revoked_at),
            _seconds(row.expires_at),
        )
        for row in run.approvals.order_by("pk")
    ]
    return Run(
        number=run.number,
        plan=plan.pk,
        review=plan.review.number,
        digest=plan.digest,
        target=plan.cluster_uid,
        state=run.state,
        error=run.error,
        summary=run.summary,
        epoch=run.epoch,
        created_at=_seconds(run.created_at),
        finished_at=_seconds(run.finished_at),
        authors=_authors(run),
        needed=needed,
        consents=tuple(consents),
        is_emergency=EmergencyApply.objects.filter(
            plan=plan, digest=plan.digest, created_at__lte=run.created_at
        ).exists(),
        items=tuple(_read_item(row) for row in run.results.select_related("change").order_by("position")),
    )


def read_audit(runs: Iterable[int] = ()) -> tuple[Told, ...]:
    """The audit in its order: of runs (by number), or all of it."""
    numbers = list(runs)
    rows = AuditEntry.objects.filter(run__in=numbers) if numbers else AuditEntry.objects.all()
    return tuple(
        Told(
            row.pk,
            _seconds(row.at),
            row.action,
            row.review,
            row.plan,
            row.run,
            row.actor_name,
            (row.group, row.kind, row.namespace, row.name),
            row.detail,
        )
        for row in rows.order_by("pk")
    )


def gather(
    exchanges: Iterable[Exchange],
    *,
    runs: Iterable[int] = (),
    is_settled: bool = True,
    quorums: Mapping[int, int] | None = None,
) -> History:
    """The history of these runs (by primary key; none given: all).

    - `quorums`: how many approvals were needed when a run was started, where that was not one.
    """
    chosen = ApplyRun.objects.select_related("plan__review__author", "plan__requested_by", "plan__revision__created_by")
    numbers = list(runs)
    rows = chosen.filter(pk__in=numbers) if numbers else chosen
    report = chain.verify_chain()
    told = tuple(read_run(run, (quorums or {}).get(run.pk, 1)) for run in rows.order_by("number"))
    return History(
        exchanges=tuple(exchanges),
        runs=told,
        audit=read_audit(run.number for run in told),
        chain="" if report.is_intact else str(report),
        is_settled=is_settled,
    )
