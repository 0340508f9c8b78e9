"""The risks of a plan: one list for pages, acknowledgments, policies and counts.

An object that is blocked by a conflict has no risk yet; its risks count once its conflicts are resolved.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, QuerySet
from msgspec import Struct

from applyviz import moments
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import LEVELS, Risk, RiskKind, RiskLevel, find_kind
from applyviz.engine.risks.planning.whole import MANY_OBJECTS, UNKNOWN_EDITORS
from applyviz.engine.risks.rules import needs_acknowledgment
from applyviz.records.models import ObjectChange, Plan
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.foundation import plan_rows
from applyviz.workflow.foundation.blockers import PlanBlocker
from applyviz.workflow.foundation.compared import COMPARED, is_compared
from applyviz.workflow.people import commit_people

_NOT_WRITTEN = (
    Operation.BLOCKED.value,
    Operation.ERROR.value,
    Operation.UNCHANGED.value,
    Operation.NOT_FOUND.value,
    Operation.LEFT_OUT.value,
)


class PlanRisk(Struct, frozen=True):
    """One kind of risk at one level, and the positions of the objects that have it.

    - For many objects, `limit` is the number that the policy allows without it, and `unsure` counts the Secrets among
      the objects that may not change: it is shown only where the others alone do not exceed the limit.
    - `unknown` says who edited the commits of a plan and is no account.
    """

    kind: RiskKind
    level: RiskLevel
    positions: tuple[int, ...]
    limit: int = 0
    unsure: int = 0
    unknown: tuple[PlanBlocker, ...] = ()

    @property
    def is_of_plan(self) -> bool:
        """Return whether it is a risk of the whole plan instead of its objects."""
        return self.kind.is_of_plan

    @property
    def needs_acknowledgment(self) -> bool:
        """Return whether it must be acknowledged before the plan can be approved."""
        return needs_acknowledgment(Risk(self.kind, self.level))


def gather_risks(
    rows: Iterable[ObjectChange], *, many: int, unknown: tuple[PlanBlocker, ...] = ()
) -> tuple[PlanRisk, ...]:
    """Return the risks of the changes of a plan, worst first; `many`: the number of changes above which is a risk.

    - `unknown`: who edited its commits and is no account (`commit_people.find_unknown`).
    - A Secret that is compared with live counts as one of many, because this number is shown to everyone.
    """
    found: dict[tuple[RiskLevel, RiskKind], list[int]] = {}
    written, unsure = [], []
    for row in rows:
        if not row.has_effect or row.operation in _NOT_WRITTEN:
            if is_compared(row):
                unsure.append(row.position)
            continue
        written.append(row.position)
        for kind, level in row.risk_levels:
            found.setdefault((RiskLevel(level), find_kind(kind)), []).append(row.position)
    risks = [PlanRisk(kind, level, tuple(positions)) for (level, kind), positions in found.items()]
    if len(written) + len(unsure) > many:
        more = 0 if len(written) > many else len(unsure)
        risks.append(PlanRisk(MANY_OBJECTS, RiskLevel.HIGH, tuple(written or unsure), many, more))
    if unknown and (written or unsure):
        touched = tuple(written or unsure)
        risks.append(PlanRisk(UNKNOWN_EDITORS, RiskLevel.HIGH, touched, unknown=unknown))
    # Those of one object stay in the order in which it has them.
    return tuple(sorted(risks, key=lambda r: (LEVELS.index(r.level), r.is_of_plan, r.positions[0])))


def list_risks(plan: Plan, *, many: int) -> tuple[PlanRisk, ...]:
    """Return the risks of a stored plan."""
    return moments.read_once(("risks of plan", plan.pk, many), lambda: _read_risks(plan, many))


def _select_risky(plan: int) -> QuerySet[ObjectChange]:
    rows = ObjectChange.objects.filter(Q(has_effect=True) | COMPARED, plan=plan).order_by("position")
    return rows.only("position", "group", "kind", "operation", "has_effect", "risk_levels", "plan_id")


_RISKY = WrittenQuery(_select_risky)


def _read_risks(plan: Plan, many: int) -> tuple[PlanRisk, ...]:
    kept = plan_rows.find_kept(plan)
    unknown = commit_people.find_unknown(plan)
    if kept is not None:
        return gather_risks(kept, many=many, unknown=unknown)
    return gather_risks(_RISKY.ask(plan.pk), many=many, unknown=unknown)
