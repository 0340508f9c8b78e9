"""Taking note of hazards: which of an object's need it, who did, and where a person does or takes it back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from applyviz.engine.hazards.model import HazardKind
from applyviz.engine.planning import plan as engine
from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.models import Acknowledgement, Plan
from applyviz.workflow import access, acknowledgements
from applyviz.workflow.access import Action, Person


@dataclass(frozen=True, slots=True)
class NotedBy:
    """One person who took note, and when."""

    name: str
    at: datetime
    note: str
    is_you: bool


@dataclass(frozen=True, slots=True)
class HazardAct:
    """What can be done about one hazard of an object; addresses are empty where it cannot be done.

    - `alike`: how many objects of the plan have the same hazard and wait for somebody, this one included.
    """

    kind: str
    position: int
    noted: tuple[NotedBy, ...] = ()
    url: str = ""
    withdraw_url: str = ""
    alike: int = 0


def _note(row: Acknowledgement, person: Person) -> NotedBy:
    return NotedBy(row.by.get_username(), row.created_at, row.note, row.by_id == person.pk)


def present_acts(plan: Plan, person: Person, position: int, change: engine.ObjectChange) -> dict[HazardKind, HazardAct]:
    """What is needed and done about the hazards of one object, by kind; empty when none needs anything."""
    if not acknowledgements.find_kinds(change.hazards):
        return {}
    required = acknowledgements.list_required(plan) if plan.state == PlanState.COMPLETE else ()
    here = [hazard for hazard in required if hazard.position == position]
    if not here:
        return {}
    standing = acknowledgements.list_standing(plan)
    known = acknowledgements.name_standing(standing)
    latest = plan.review.latest_plan
    is_live = plan.review.state == ReviewState.OPEN and latest is not None and latest.pk == plan.pk
    can_act = is_live and access.can(person, Action.ACKNOWLEDGE, access.places_of(plan.review))
    numbers = [plan.review.number, plan.number]
    found = {}
    for hazard in here:
        rows = [r for r in standing if (r.object_key, r.effect, r.hazard) == hazard.identity]
        noted = tuple(_note(row, person) for row in rows)
        is_mine = any(n.is_you for n in noted)
        found[hazard.kind] = HazardAct(
            hazard.kind.value,
            position,
            noted,
            reverse("reviews:acknowledge", args=numbers) if can_act and not is_mine else "",
            reverse("reviews:withdraw-acknowledgement", args=numbers) if can_act and is_mine else "",
            sum(h.kind is hazard.kind and h.identity not in known for h in required),
        )
    return found
