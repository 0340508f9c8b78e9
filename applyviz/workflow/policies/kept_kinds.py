"""Objects that policies keep: a plan that would delete one of them cannot be approved or run.

Rule: a policy keeps the kinds that it names (`*`: every kind), in each group that serves them, within its clusters and
namespaces. Deleting, pruning and replacing all delete an object, and an owner that it gets lets the garbage collector
delete it; so do the deletion of its owner in its namespace, and a field by which Kubernetes deletes it later. Deleting
a Namespace deletes what is in it, so any kind kept there keeps it too; deleting a definition deletes its objects, so a
kept kind of its group keeps it. The dependents of an object are those that the plan found; a kind that could not be
listed counts as if there were such objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from django.db.models import Q
from msgspec import Struct

from applyviz.engine.objects.kinds import Kind, find_stored
from applyviz.engine.planning.digest.serialize import from_json
from applyviz.engine.risks.deletions import DEPENDENTS, list_going_kinds
from applyviz.engine.risks.lifetimes import ENDED_KINDS, ENDS_OBJECTS
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.set_context import GAINS_OWNER
from applyviz.records.models import ObjectChange, Plan, PolicyVersion
from applyviz.workflow.foundation.blockers import ObjectsKept
from applyviz.workflow.policies.reach import DELETING, deletes_kind
from applyviz.workflow.policies.rules import Rules, rules_from_json

InForce = tuple[PolicyVersion, Rules]


class KeptObject(Struct, frozen=True):
    """An object of a plan that a policy keeps."""

    position: int
    name: str
    policy: str


def select_keeping(in_force: Iterable[PolicyVersion]) -> tuple[InForce, ...]:
    """Return the policies that keep any kind, with their rules."""
    read = ((version, rules_from_json(version.rules)) for version in in_force)
    return tuple((version, rules) for version, rules in read if rules.kept_kinds)


def _list_ended(row: ObjectChange, belonging: Iterable[Kind]) -> Iterator[tuple[Kind, str]]:
    """Yield the kind and name of what a change deletes, or lets Kubernetes delete; of other objects only the kind."""
    found = {kind for kind, _level in row.risk_levels}
    if row.operation in DELETING or GAINS_OWNER.slug in found:
        yield (row.group, row.kind), row.name
    if ENDS_OBJECTS.slug in found:
        own = (row.group, row.kind)
        yield ENDED_KINDS.get(find_stored(*own), own), row.name
    for kind in belonging:
        yield kind, ""


def _read_belonging(rows: Iterable[ObjectChange]) -> dict[int, set[Kind]]:
    """Return the kinds of the objects that go with those of some rows because they belong to them, by row."""
    owning = [row.pk for row in rows if any(kind == DEPENDENTS.slug for kind, _level in row.risk_levels)]
    shown = ObjectChange.objects.filter(pk__in=owning).only("pk", "found_risks") if owning else ()
    risks = {row.pk: [from_json(Risk, one) for one in row.found_risks] for row in shown}
    return {pk: {kind for risk in found for kind in list_going_kinds(risk)} for pk, found in risks.items()}


def _find_keeping(row: ObjectChange, belonging: Iterable[Kind], keeping: Iterable[InForce], cluster: str) -> str:
    """Return the policy that keeps something that a change ends; "" for none."""
    ended = [(*kind, row.namespace, name) for kind, name in _list_ended(row, belonging)]
    for version, rules in keeping:
        if any(deletes_kind(key, frozenset(rules.kept_kinds), version, cluster) for key in ended):
            return version.policy.slug
    return ""


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
    chosen = ObjectChange.objects.filter(ending, plan__in=found).exclude(position__in=hidden)
    names = ("plan_id", "position", "group", "kind", "namespace", "name", "operation", "risk_levels")
    rows = list(chosen.only(*names).order_by("position"))
    belonging = _read_belonging(rows)
    for row in rows:
        policy = _find_keeping(row, belonging.get(row.pk, ()), keeping, cluster_of[row.plan_id])
        if policy:
            found[row.plan_id].append(KeptObject(row.position, f"{row.kind}/{row.name}", policy))
    return {pk: tuple(objects) for pk, objects in found.items()}


def group_kept(objects: Iterable[KeptObject]) -> tuple[ObjectsKept, ...]:
    """Return one blocker for each policy that keeps objects of a plan."""
    groups: dict[str, list[KeptObject]] = {}
    for one in objects:
        groups.setdefault(one.policy, []).append(one)
    return tuple(
        ObjectsKept(policy, tuple(one.name for one in kept), kept[0].position) for policy, kept in groups.items()
    )
