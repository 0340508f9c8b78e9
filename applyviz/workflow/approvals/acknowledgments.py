"""Acknowledgments: every high risk of what a plan will write must be acknowledged before the plan can be approved.

An acknowledgment is a personal act. It stays valid within its review while the effect on the object stays the same,
and can be undone. For a risk of the whole plan, it stays valid for the digest of the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from applyviz import clock, moments
from applyviz.engine.risks.model import Risk, RiskKind
from applyviz.engine.risks.rules import needs_acknowledgment
from applyviz.records.enums import AuditAction, PlanState, ReviewState
from applyviz.records.models import Acknowledgment, ObjectChange, Plan
from applyviz.workflow import policies
from applyviz.workflow.approvals.viewed_objects import name_object
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, gathering, plan_rows, row_macs
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.blockers import OpenRisk
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.plans import changes
from applyviz.workflow.policies import PolicyRules, risks

PLAN_ITSELF = -1
"""The position of a risk of the whole plan (`OpenRisk`)."""
_OF_PLANS = "acknowledgments of plan"


def find_kinds(risks: Iterable[Risk]) -> tuple[RiskKind, ...]:
    """Return the kinds among risks that must be acknowledged."""
    return tuple(dict.fromkeys(risk.kind for risk in risks if needs_acknowledgment(risk)))


def list_required(plan: Plan, *, policy: PolicyRules | None = None) -> tuple[OpenRisk, ...]:
    """Return every risk of a plan that requires an acknowledgment, acknowledged or not, in plan order."""
    many = (policy or policies.find_policy(plan)).many_objects
    found = [risk for risk in risks.list_risks(plan, many=many) if risk.needs_acknowledgment]
    if not found:
        return ()
    wanted = {position for risk in found if not risk.is_of_plan for position in risk.positions}
    kept = plan_rows.find_kept(plan)
    chosen = (
        kept
        if kept is not None
        else plan.changes.filter(position__in=wanted).defer("document", "found_risks", "sealed")
    )
    rows = {row.position: row for row in chosen}
    required = [
        OpenRisk(position, name_object(rows[position]), rows[position].effect, risk.kind)
        for risk in found
        if not risk.is_of_plan
        for position in risk.positions
    ]
    required += [OpenRisk(PLAN_ITSELF, "", plan.digest, risk.kind) for risk in found if risk.is_of_plan]
    return tuple(sorted(required, key=lambda one: (one.position == PLAN_ITSELF, one.position)))


def list_acknowledgments(plan: Plan) -> list[Acknowledgment]:
    """Return the genuine acknowledgments of a plan and of the plans before it, oldest first; each holds for its effect.

    - Those of a later plan are no part of what was known about this one.
    """
    rows = Acknowledgment.objects.filter(review=plan.review_id, plan__number__lte=plan.number, withdrawn_at=None)
    rows = rows.select_related("by", "plan")
    return list(moments.read_on_page((_OF_PLANS, plan.pk), lambda: tuple(row_macs.keep_genuine(rows))))


def read_together(plans: Iterable[Plan]) -> None:
    """Read the acknowledgments of many plans with one statement, for what the page asks about each of them."""
    by_id = {plan.pk: plan for plan in plans}

    def read(missing: list[int]) -> dict[int, tuple[Acknowledgment, ...]]:
        chosen = [by_id[pk] for pk in missing]
        rows = Acknowledgment.objects.filter(review__in={plan.review_id for plan in chosen}, withdrawn_at=None)
        of_review: dict[int, list[Acknowledgment]] = {}
        for one in row_macs.keep_genuine(rows.select_related("by", "plan")):
            of_review.setdefault(one.review_id, []).append(one)
        return {
            plan.pk: tuple(one for one in of_review.get(plan.review_id, ()) if one.plan.number <= plan.number)
            for plan in chosen
        }

    moments.read_together(_OF_PLANS, by_id, read)


def list_identities(rows: Iterable[Acknowledgment]) -> set[tuple[str, str, str]]:
    """Return the keys that acknowledgments cover (`OpenRisk.identity`)."""
    return {(row.object_key, row.effect, row.risk) for row in rows}


def find_open(plan: Plan, *, policy: PolicyRules | None = None) -> tuple[OpenRisk, ...]:
    """Return the risks of a finished plan that still block its approval; empty when all are acknowledged."""
    if plan.state != PlanState.COMPLETE:
        return ()
    required = list_required(plan, policy=policy)
    known = list_identities(list_acknowledgments(plan)) if required else set()
    return tuple(risk for risk in required if risk.identity not in known)


def _require_open(plan: Plan) -> None:
    review = lock_review(plan.review_id)  # no run can start between this check and the write
    if review.state != ReviewState.OPEN:
        facts = {"state": review.get_state_display()}
        raise NotPossibleError(_("the review is %(state)s; there is nothing to acknowledge") % facts)
    latest = review.latest_plan
    if latest is not None and latest.pk != plan.pk:
        raise NotPossibleError(
            _("superseded by plan %(number)s; acknowledge the risk there") % {"number": latest.number}
        )


def _subject(plan: Plan, row: ObjectChange | None) -> trail.AuditSubject:
    return trail.AuditSubject(
        cluster=plan.target.cluster.slug,
        review=plan.review.number,
        plan=plan.number,
        ref=changes.ref_of(row) if row is not None else None,
        plan_digest=plan.digest,
    )


def _store(plan: Plan, risks: Iterable[OpenRisk], *, by: Person, note: str) -> None:
    """Store acknowledgments with their audit entries, in a number of statements that does not grow with them."""
    rows = {row.position: row for row in plan.changes.defer("document", "found_risks", "sealed")}
    kept: dict[tuple[str, str, str], Acknowledgment] = {}
    with gathering.gather():  # nothing is written meanwhile, so the roles of the person are read and verified once
        for risk in risks:
            kept[risk.identity] = Acknowledgment(
                plan=plan,
                review=plan.review,
                effect=risk.effect,
                object_key=risk.object_key,
                risk=risk.kind.slug,
                by=by,
                note=note,
                created_at=clock.host_now(),
            )
            row_macs.vouch(kept[risk.identity])
            detail = {"risk": risk.kind.slug, "note": note}
            about = _subject(plan, rows.get(risk.position))
            trail.record(AuditAction.RISK_ACKNOWLEDGED, by=by, about=about, detail=detail)
    try:
        with transaction.atomic():
            Acknowledgment.objects.bulk_create(kept.values())
    except IntegrityError as error:
        raise NotPossibleError(_("you already acknowledged this")) from error


def acknowledge_risks(
    plan: Plan, kind: RiskKind, *, by: Person, positions: Collection[int] | None = None, note: str = ""
) -> int:
    """Acknowledge one kind of risk of some objects (None: of every object that has it); return how many.

    - `positions` are the objects whose risk the person was shown, `PLAN_ITSELF` for one of the whole plan.
    - Raises `NotPossibleError` when there is none (left), or the plan is not the one that counts.
    """
    access.require(by, Action.ACKNOWLEDGE, access.scopes_of(plan.review))
    with transaction.atomic(), moments.until_written():
        _require_open(plan)
        mine = list_identities(a for a in list_acknowledgments(plan) if a.by_id == by.pk)
        wanted = [h for h in list_required(plan) if h.kind is kind and (positions is None or h.position in positions)]
        chosen = [risk for risk in wanted if risk.identity not in mine]
        if not chosen:
            raise NotPossibleError(_("this risk does not exist, or you already acknowledged it"))
        _store(plan, chosen, by=by, note=note)
    return len(chosen)


def acknowledge_shown(plan: Plan, shown: Mapping[RiskKind, Collection[int]], *, by: Person, note: str = "") -> int:
    """Acknowledge several kinds of risks at once, each for the objects that were shown with it; returns for how many.

    - Raises `NotPossibleError` like `acknowledge_risks`; then nothing is acknowledged.
    """
    if not shown:
        raise NotPossibleError(_("no risk was selected; reload the page and try again"))
    with transaction.atomic():
        return sum(
            acknowledge_risks(plan, kind, by=by, positions=positions, note=note) for kind, positions in shown.items()
        )


def withdraw_acknowledgment(plan: Plan, kind: RiskKind, *, by: Person, position: int) -> None:
    """Undo the person's own acknowledgment.

    - Raises `NotPossibleError` when this person has none, or the review is no longer open.
    """
    access.require(by, Action.ACKNOWLEDGE, access.scopes_of(plan.review))
    with transaction.atomic():
        _require_open(plan)
        row = plan.changes.defer("document", "found_risks", "sealed").filter(position=position).first()
        if row is None and position != PLAN_ITSELF:
            raise NotPossibleError(
                _("plan %(number)s has no object %(position)s") % {"number": plan.number, "position": position}
            )
        mine = Acknowledgment.objects.filter(
            review=plan.review_id,
            effect=row.effect if row is not None else plan.digest,
            object_key=name_object(row) if row is not None else "",
            risk=kind.slug,
            by=by,
            withdrawn_at=None,
        )
        if not mine.update(withdrawn_at=clock.host_now()):
            raise NotPossibleError(_("you have no acknowledgment to undo"))
        trail.record(
            AuditAction.ACKNOWLEDGMENT_WITHDRAWN,
            by=by,
            about=_subject(plan, row),
            detail={"risk": kind.slug},
        )
