"""Read model of acknowledgments: which risks of an object need one, who gave it, and the form to give or undo it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.urls import reverse
from msgspec import Struct

from applyviz.engine.planning.model import plan as engine
from applyviz.engine.risks.model import RiskKind
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import Acknowledgment, Plan
from applyviz.web.components.notices import AcknowledgeAction, AlikeRow, NotedBy
from applyviz.web.components.object_links import link_change
from applyviz.web.components.phrases import describe_risk
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.blockers import OpenRisk
from applyviz.workflow.plans.changes import read_risks
from applyviz.workflow.plans.live_values import hidden_positions

# This many other objects with the same risk are listed, and acknowledged, at once.
SHOWN = 50


def _note(row: Acknowledgment, person: Person) -> NotedBy:
    return NotedBy(row.by.get_username(), row.created_at, row.note, row.by_id == person.pk)


def _list_alike(plan: Plan, others: Iterable[OpenRisk]) -> Iterator[AlikeRow]:
    wanted = {risk.position: risk.kind for risk in others}
    if not wanted:
        return
    rows = plan.changes.filter(position__in=wanted).defer("document", "sealed").order_by("position")
    for row in rows:
        texts = tuple(describe_risk(h) for h in read_risks(row) if h.kind is wanted[row.position])
        yield AlikeRow(row.position, row.kind, row.name, link_change(plan, row.position), texts)


class _PlanAcknowledgments(Struct, frozen=True):
    """The acknowledgments of one plan for one person."""

    plan: Plan
    person: Person
    required: tuple[OpenRisk, ...]
    given: tuple[Acknowledgment, ...]
    can_act: bool

    def present(self, risk: OpenRisk, *, has_alike: bool = True) -> AcknowledgeAction:
        rows = [r for r in self.given if (r.object_key, r.effect, r.risk) == risk.identity]
        noted = tuple(_note(row, self.person) for row in rows)
        is_mine = any(n.is_you for n in noted)
        numbers = [self.plan.review.number, self.plan.number]
        known = acknowledgments.list_identities(self.given)
        same = [h for h in self.required if h.kind is risk.kind and h.position != risk.position]
        is_offered = has_alike and self.can_act and not is_mine
        others = [h for h in same if h.identity not in known] if is_offered else []
        return AcknowledgeAction(
            risk.kind.slug,
            risk.position,
            noted,
            reverse("reviews:acknowledge", args=numbers) if self.can_act and not is_mine else "",
            reverse("reviews:withdraw-acknowledgment", args=numbers) if self.can_act and is_mine else "",
            tuple(_list_alike(self.plan, others[:SHOWN])),
            len(others[SHOWN:]),
        )


def _load_acknowledgments(plan: Plan, person: Person) -> _PlanAcknowledgments:
    found = acknowledgments.list_required(plan) if plan.state == PlanState.COMPLETE else ()
    hidden = hidden_positions(plan) if found else ()
    required = tuple(risk for risk in found if risk.position not in hidden)
    latest = plan.review.latest_plan if required else None
    is_latest = plan.review.state == ReviewState.OPEN and latest is not None and latest.pk == plan.pk
    can_act = is_latest and access.can(person, Action.ACKNOWLEDGE, access.scopes_of(plan.review))
    given = tuple(acknowledgments.list_acknowledgments(plan)) if required else ()
    return _PlanAcknowledgments(plan, person, required, given, can_act)


def present_acts(
    plan: Plan, person: Person, position: int, change: engine.PlannedObject
) -> dict[RiskKind, AcknowledgeAction]:
    """Return the acknowledgments of the risks of one object, by kind; empty when none needs one."""
    if not acknowledgments.find_kinds(change.risks):
        return {}
    answerer = _load_acknowledgments(plan, person)
    return {risk.kind: answerer.present(risk) for risk in answerer.required if risk.position == position}


def present_all_acts(plan: Plan, person: Person) -> dict[tuple[int, RiskKind], AcknowledgeAction]:
    """Return the same for every risk of a plan that must be acknowledged, by position and kind."""
    answerer = _load_acknowledgments(plan, person)
    return {(risk.position, risk.kind): answerer.present(risk, has_alike=False) for risk in answerer.required}
