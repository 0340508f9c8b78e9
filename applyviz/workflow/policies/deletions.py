"""Deletions that policies limit: how many a plan may have, which share of a set prune may delete, and critical kinds.

Rule: each policy counts what a plan deletes, prunes or replaces within its clusters and namespaces. The share is that
of pruned objects in the live objects of the plan there. A plan above a limit is blocked; deleting an object of a
critical kind is a high risk, and so is deleting what such objects go with (`reach.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from django.db.models import Count, Min, Q
from msgspec import Struct

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.planning.model.plan import DELETIONS, Operation
from applyviz.records.models import ObjectChange, Plan, PolicyVersion
from applyviz.workflow.foundation.blockers import TooManyDeletions, TooMuchPruned
from applyviz.workflow.foundation.scopes import ScopeEntry, holds_at
from applyviz.workflow.policies.reach import deletes_kind
from applyviz.workflow.policies.rules import Rules, rules_from_json

_DELETED = frozenset((*DELETIONS, Operation.REPLACE))
_LIVE = frozenset((Operation.UPDATE, Operation.UNCHANGED, Operation.BLOCKED, Operation.REPLACE, Operation.PRUNE))
Exceeded = TooManyDeletions | TooMuchPruned


class _Group(Struct, frozen=True):
    """The objects of a plan with one operation in one namespace: their number, and the first position."""

    operation: Operation
    namespace: str
    count: int
    first: int


def _find_in_scope(slug: str, rules: Rules, groups: Collection[_Group]) -> Iterator[Exceeded]:
    deleted = [group for group in groups if group.operation in _DELETED]
    count = sum(group.count for group in deleted)
    if rules.most_deletions and count > rules.most_deletions:
        yield TooManyDeletions(slug, count, rules.most_deletions, min(group.first for group in deleted))
    pruned = [group for group in groups if group.operation is Operation.PRUNE]
    count, live = sum(group.count for group in pruned), sum(g.count for g in groups if g.operation in _LIVE)
    if rules.most_pruned_percent and count * 100 > rules.most_pruned_percent * live:
        first = min(group.first for group in pruned)
        yield TooMuchPruned(slug, count, live, rules.most_pruned_percent, first)


def _count_rows(plans: Collection[int], hidden_of: Mapping[int, Collection[int]]) -> dict[int, list[_Group]]:
    found: dict[int, list[_Group]] = {pk: [] for pk in plans}
    rows = ObjectChange.objects.filter(plan__in=plans, operation__in=_DELETED | _LIVE).order_by()
    for pk in plans:
        if hidden_of.get(pk):
            rows = rows.exclude(Q(plan=pk) & Q(position__in=hidden_of[pk]))
    counted = rows.values_list("plan_id", "operation", "namespace").annotate(Count("pk"), Min("position"))
    for pk, operation, namespace, count, first in counted:
        found[pk].append(_Group(Operation(operation), namespace, count, first))
    return found


def find_exceeded(
    plans: Collection[Plan],
    in_force: Iterable[PolicyVersion],
    hidden_of: Mapping[int, Collection[int]] | None = None,
) -> dict[int, tuple[Exceeded, ...]]:
    """Return the limits of policies that plans exceed, by the ids of the plans.

    - `hidden_of`: for display only, positions of objects whose operation must not be revealed to the reader.
    """
    read = [(version, rules_from_json(version.rules)) for version in in_force]
    limiting = [(version, rules) for version, rules in read if rules.most_deletions or rules.most_pruned_percent]
    if not limiting:
        return {plan.pk: () for plan in plans}
    groups_of = _count_rows([plan.pk for plan in plans], hidden_of or {})
    found = {}
    for plan in plans:
        slug, exceeded = plan.target.cluster.slug, list[Exceeded]()
        for version, rules in limiting:
            inside = [one for one in groups_of[plan.pk] if holds_at(version, ScopeEntry(slug, one.namespace))]
            exceeded += _find_in_scope(version.policy.slug, rules, inside)
        found[plan.pk] = tuple(exceeded)
    return found


def make_critical_finder(in_force: Iterable[PolicyVersion], cluster: str) -> Callable[[ObjectRef], str] | None:
    """Return what names the policy that counts the kind of an object as critical; None if no policy names any."""
    read = [(version, frozenset(rules_from_json(version.rules).critical_kinds)) for version in in_force]
    naming = [(version, kinds) for version, kinds in read if kinds]
    if not naming:
        return None

    def find(ref: ObjectRef) -> str:
        return next((v.policy.slug for v, kinds in naming if deletes_kind(ref.key, kinds, v, cluster)), "")

    return find
