"""The risks of a plan: one list for pages, acknowledgements, policies and counts.

An object that is blocked by a conflict has no risk yet; its risks count once its conflicts are resolved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel
from applyviz.engine.risks.rules import needs_acknowledgement
from applyviz.records.models import ObjectChange, Plan

_LEVELS = (RiskLevel.HIGH, RiskLevel.MEDIUM, RiskLevel.INFO)
_NOT_WRITTEN = (Operation.BLOCKED.value, Operation.ERROR.value, Operation.UNCHANGED.value)


@dataclass(frozen=True, slots=True)
class PlanRisk:
    """One kind of risk at one level, and the positions of the objects that have it.

    - `limit`: for many objects, the number that the policy allows without it.
    """

    kind: RiskKind
    level: RiskLevel
    positions: tuple[int, ...]
    limit: int = 0

    @property
    def is_of_plan(self) -> bool:
        """Return whether it is a risk of the whole plan instead of its objects."""
        return self.kind is RiskKind.MANY_OBJECTS

    @property
    def needs_acknowledgement(self) -> bool:
        """Return whether it must be acknowledged before the plan can be approved."""
        return needs_acknowledgement(Risk(self.kind, self.level))


def _place(risk: PlanRisk) -> tuple[int, bool, int, int]:
    kinds = list(RiskKind)
    return _LEVELS.index(risk.level), risk.is_of_plan, risk.positions[0], kinds.index(risk.kind)


def gather_risks(rows: Iterable[ObjectChange], *, many: int) -> tuple[PlanRisk, ...]:
    """Return the risks of the changes of a plan, worst first; `many`: the number of changes above which is a risk."""
    found: dict[tuple[RiskLevel, RiskKind], list[int]] = {}
    written = []
    for row in rows:
        if not row.has_effect or row.operation in _NOT_WRITTEN:
            continue
        written.append(row.position)
        for kind, level in row.high_risks:
            found.setdefault((RiskLevel(level), RiskKind(kind)), []).append(row.position)
    risks = [PlanRisk(kind, level, tuple(positions)) for (level, kind), positions in found.items()]
    if len(written) > many:
        risks.append(PlanRisk(RiskKind.MANY_OBJECTS, RiskLevel.HIGH, tuple(written), many))
    order = list(RiskKind)
    return tuple(
        sorted(risks, key=lambda r: (_LEVELS.index(r.level), r.is_of_plan, r.positions[0], order.index(r.kind)))
    )


def list_risks(plan: Plan, *, many: int) -> tuple[PlanRisk, ...]:
    """Return the risks of a stored plan."""
    rows = plan.changes.filter(has_effect=True).only("position", "operation", "has_effect", "high_risks", "plan_id")
    return gather_risks(rows.order_by("position"), many=many)
