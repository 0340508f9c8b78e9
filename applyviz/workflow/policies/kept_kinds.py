"""Objects that policies keep: a plan that would delete one of them cannot be approved or run.

Rule: a policy keeps the kinds that it names (`*`: every kind), in each group that serves them, within its clusters and
namespaces. Deleting, pruning and replacing all delete an object, and an owner that it gets lets the garbage collector
delete it. Deleting a Namespace deletes what is in it, so any kind kept there keeps it too; deleting a definition
deletes its objects, so a kept kind of its group keeps it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import Q

from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.set_context import GAINS_OWNER
from applyviz.records.models import ObjectChange, Plan, PolicyVersion
from applyviz.workflow.foundation.blockers import ObjectsKept
from applyviz.workflow.policies.reach import DELETING, deletes_kind
from applyviz.workflow.policies.rules import Rules, rules_from_json

InForce = tuple[PolicyVersion, Rules]


@dataclass(frozen=True, slots=True)
class KeptObject:
    """An object of a plan that a policy keeps."""

    position: int
    name: str
    policy: str


def select_keeping(in_force: Iterable[PolicyVersion]) -> tuple[InForce, ...]:
    """Return the policies that keep any kind, with their rules."""
    read = ((version, rules_from_json(version.rules)) for version in in_force)
    return tuple((version, rules) for version, rules in read if rules.kept_kinds)


def _ends(row: ObjectChange) -> bool:
    """Return whether an operation deletes an object, or gives it an owner with which the garbage collector does."""
    return row.operation in DELETING or any(kind == GAINS_OWNER.slug for kind, _level in row.risk_levels)


def _keeps(version: PolicyVersion, rules: Rules, row: ObjectChange, cluster: str) -> bool:
    key = row.group, row.kind, row.namespace, row.name
    return deletes_kind(key, frozenset(rules.kept_kinds), version, cluster)


def find_kept(
    plans: Collection[Plan], in_force: Iterable[PolicyVersion], hidden: Collection[int] = ()
) -> dict[int, tuple[KeptObject, ...]]:
    """Return the objects that policies keep and plans would delete, by the ids of the plans, in order.

    - `hidden`: positions of objects whose operation must not be revealed to the reader of a single plan.
    """
    keeping = select_keeping(in_force)
    found: dict[int, list[KeptObject]] = {plan.pk: [] for plan in plans}
    if not keeping:
        return dict.fromkeys(found, ())
    cluster_of = {plan.pk: plan.target.cluster.slug for plan in plans}
    ending = Q(operation__in=sorted(DELETING)) | Q(highest_risk=RiskLevel.HIGH)
    rows = ObjectChange.objects.filter(ending, plan__in=found).exclude(position__in=hidden)
    names = ("plan_id", "position", "group", "kind", "namespace", "name", "operation", "risk_levels")
    for row in filter(_ends, rows.only(*names).order_by("position")):
        for version, rules in keeping:
            if _keeps(version, rules, row, cluster_of[row.plan_id]):
                found[row.plan_id].append(KeptObject(row.position, f"{row.kind}/{row.name}", version.policy.slug))
                break
    return {pk: tuple(objects) for pk, objects in found.items()}


def group_kept(objects: Iterable[KeptObject]) -> tuple[ObjectsKept, ...]:
    """Return one blocker for each policy that keeps objects of a plan."""
    groups: dict[str, list[KeptObject]] = {}
    for one in objects:
        groups.setdefault(one.policy, []).append(one)
    return tuple(
        ObjectsKept(policy, tuple(one.name for one in kept), kept[0].position) for policy, kept in groups.items()
    )
