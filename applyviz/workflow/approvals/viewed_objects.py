"""Viewed marks of a person: one per object of a plan, stored with the digest.

A new plan with the same digest does the same, so ticks hold for it; one that does something else begins anew.
Ticks are a reader's own and no part of the history.
"""

from __future__ import annotations

from django.utils import timezone

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import RiskLevel
from applyviz.records.models import ObjectChange, Plan, ViewedObject
from applyviz.workflow.foundation.access import Action, Person, Visitor, places_of, require
from applyviz.workflow.plans.changes import ref_of


def name_object(row: ObjectChange) -> str:
    """How ticks, comments and decisions name an object."""
    return "/".join(ref_of(row).key)


def record_viewed(row: ObjectChange, plan: Plan, *, by: Person) -> bool:
    """Tick an object off; True the first time.

    - Nothing is kept while the plan has no digest, and nothing for an object that stays as it is.
    - Two requests at once leave one tick.
    """
    require(by, Action.VIEW, places_of(plan.review))
    if not plan.digest or row.operation == Operation.UNCHANGED:
        return False
    key = name_object(row)
    if ViewedObject.objects.filter(digest=plan.digest, by=by, object_key=key).exists():
        return False
    tick = ViewedObject(digest=plan.digest, by=by, object_key=key, at=timezone.now())
    ViewedObject.objects.bulk_create([tick], ignore_conflicts=True)
    return True


def list_viewed(plan: Plan, *, by: Visitor) -> frozenset[str]:
    """The objects that a person has seen, as `name_object` names them."""
    if not plan.digest:
        return frozenset()
    return frozenset(ViewedObject.objects.filter(digest=plan.digest, by_id=by.pk).values_list("object_key", flat=True))


def find_unopened(plan: Plan, *, by: Visitor) -> tuple[ObjectChange, ...]:
    """The objects with a high risk that a person has not opened: who approves has seen each of them."""
    rows = plan.changes.filter(highest_risk=RiskLevel.HIGH.value, has_effect=True).defer("document", "sealed")
    rows = rows.exclude(operation=Operation.BLOCKED.value)
    found = list(rows)
    seen = list_viewed(plan, by=by) if found else frozenset()
    return tuple(row for row in found if name_object(row) not in seen)
