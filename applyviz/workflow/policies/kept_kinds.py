"""Objects that policies keep: a plan that would delete one of them cannot be approved or run.

Rule: a policy keeps the kinds that it names (`*`: every kind) within its clusters and namespaces. Deleting, pruning and
replacing all delete an object. Deleting a Namespace deletes what is in it, so any kind kept there keeps it too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from applyviz.engine.planning.model.plan import DELETIONS, Operation
from applyviz.records.models import ObjectChange, Plan, PolicyVersion
from applyviz.workflow.foundation.blockers import ObjectsKept
from applyviz.workflow.foundation.scopes import ScopeEntry, holds_at
from applyviz.workflow.policies.rules import EVERY_KIND, Rules, rules_from_json

_DELETING = (*DELETIONS, Operation.REPLACE)
_NAMESPACE = ("", "Namespace")
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


def _is_kept(rules: Rules, group: str, kind: str) -> bool:
    return EVERY_KIND in rules.kept_kinds or f"{group or 'core'}/{kind}" in rules.kept_kinds


def _keeps(version: PolicyVersion, rules: Rules, row: ObjectChange, cluster: str) -> bool:
    if _is_kept(rules, row.group, row.kind) and holds_at(version, ScopeEntry(cluster, row.namespace)):
        return True
    return (row.group, row.kind) == _NAMESPACE and holds_at(version, ScopeEntry(cluster, row.name))


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
    rows = ObjectChange.objects.filter(plan__in=found, operation__in=_DELETING).exclude(position__in=hidden)
    for row in rows.only("plan_id", "position", "group", "kind", "namespace", "name").order_by("position"):
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
