"""Figures of a plan that several areas show."""

from __future__ import annotations

from applyviz.engine.planning.model.plan import Operation
from applyviz.records.models import Plan


def count_effects(plan: Plan) -> int:
    """Return how many objects the plan would write."""
    calm = (Operation.UNCHANGED, Operation.NOT_FOUND, Operation.BLOCKED, Operation.ERROR, Operation.LEFT_OUT)
    return sum(number for operation, number in plan.counts.items() if operation not in calm)
