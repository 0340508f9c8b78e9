"""Policies: what must hold before a plan runs; every one that covers an object of the plan counts, the strictest wins.

`find_policy` is the door; what it gives is frozen and complete, so that nobody else reads the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import F, QuerySet

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import HazardKind, Severity
from applyviz.records.models import Plan, PolicyVersion
from applyviz.workflow.foundation.scopes import Place, holds_at
from applyviz.workflow.policies import risks
from applyviz.workflow.policies.rules import (
    BUILT_IN,
    POLICY_RISKS,
    DangerDemand,
    Demand,
    Freeze,
    OnFailure,
    Policy,
    Rules,
    Window,
    find_strictest,
    keep_strictest,
    rules_from_json,
    rules_to_json,
)

__all__ = [
    "BUILT_IN",
    "POLICY_RISKS",
    "DangerDemand",
    "Demand",
    "Freeze",
    "OnFailure",
    "Policy",
    "Rules",
    "Window",
    "find_policy",
    "find_policy_at",
    "list_dangers",
    "list_demands",
    "list_in_force",
    "list_places",
    "rules_from_json",
    "rules_to_json",
]


def list_places(plan: Plan) -> tuple[Place, ...]:
    """Where a plan writes; while it writes nothing yet, the namespace that it was asked for."""
    slug = plan.target.cluster.slug
    rows = plan.changes.exclude(operation=Operation.UNCHANGED.value)
    found = rows.order_by("namespace").values_list("namespace", flat=True).distinct()
    return tuple(Place(slug, n) for n in found) or (Place(slug, options_from_json(plan.options).namespace),)


def list_in_force() -> QuerySet[PolicyVersion]:
    """The version in force of every policy that is not retired, by name."""
    versions = PolicyVersion.objects.filter(number=F("policy__number"), policy__retired_at=None)
    return versions.select_related("policy").order_by("policy__slug")


def find_policy_at(places: Iterable[Place]) -> Policy:
    """The strictest of all policies that hold in any of some places; the built-in one where none does."""
    wanted = tuple(places)
    found = [
        (row.policy.slug, row.number, rules_from_json(row.rules))
        for row in list_in_force()
        if any(holds_at(row, place) for place in wanted)
    ]
    return find_strictest(found) if found else Policy()


def find_policy(plan: Plan) -> Policy:
    """The policy of a plan: frozen, complete, and with the version that its digest is bound to."""
    return find_policy_at(list_places(plan))


def list_dangers(plan: Plan, policy: Policy, *, hidden: Collection[int] = ()) -> dict[HazardKind, int]:
    """Return the high and medium risks of a plan, and how many objects have each.

    - `hidden`: for pages and the API alone, positions of objects whose risks a reader must not see.
    """
    counts: dict[HazardKind, int] = {}
    for risk in risks.list_risks(plan, many=policy.many_objects):
        if risk.level is not Severity.INFO:
            shown = sum(position not in hidden for position in risk.positions)
            counts[risk.kind] = counts.get(risk.kind, 0) + shown
    return {kind: count for kind, count in counts.items() if count}


def list_demands(policy: Policy, dangers: Iterable[HazardKind]) -> tuple[Demand, ...]:
    """The approvals that a plan with these risks needs: all of them must be met."""
    present = set(dangers)
    more = [Demand(d.approvals, d.team, d.danger.value) for d in policy.danger_demands if d.danger in present]
    return keep_strictest((*policy.demands, *more))
