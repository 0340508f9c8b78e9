"""Policies: the requirements of a plan; of all policies that cover an object of the plan, the strictest wins.

`find_policy` is the public entry; its result is frozen and complete, so that no caller reads the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping

from django.db.models import Exists, OuterRef, Q, QuerySet

from applyviz import moments
from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, canonical_json
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import RiskKind, RiskLevel
from applyviz.records.enums import AuditAction
from applyviz.records.models import ObjectChange, Plan, PolicyVersion
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.audit.entries import list_entries
from applyviz.workflow.foundation import plan_rows, row_macs
from applyviz.workflow.foundation.blockers import PlanBlocker, PolicyChanged, PolicyForged, PolicyMissing
from applyviz.workflow.foundation.compared import COMPARED, is_compared, list_possible_risks
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.policies import deletions, kept_kinds, owners, risks
from applyviz.workflow.policies.deletions import Exceeded
from applyviz.workflow.policies.kept_kinds import KeptObject, group_kept
from applyviz.workflow.policies.owners import OwnerRule
from applyviz.workflow.policies.reach import REACHED, list_reached, reaches
from applyviz.workflow.policies.rules import (
    BUILT_IN,
    POLICY_RISKS,
    Demand,
    OnFailure,
    PolicyRules,
    RiskDemand,
    Rules,
    find_strictest,
    keep_strictest,
    rules_from_json,
    rules_to_json,
)
from applyviz.workflow.policies.windows import Freeze, Window

__all__ = [
    "BUILT_IN",
    "POLICY_RISKS",
    "Demand",
    "Freeze",
    "KeptObject",
    "OnFailure",
    "OwnerRule",
    "PolicyRules",
    "RiskDemand",
    "Rules",
    "Window",
    "count_high_risks",
    "find_change",
    "find_critical_kinds",
    "find_demands",
    "find_exceeded",
    "find_kept",
    "find_policies",
    "find_policy",
    "find_policy_at",
    "group_kept",
    "list_demands",
    "list_in_force",
    "list_scopes",
    "rules_from_json",
    "rules_to_json",
]

_MAY_WRITE = ~Q(operation=Operation.UNCHANGED.value) | COMPARED
_NAMESPACES = WrittenQuery(
    lambda plan: (
        ObjectChange.objects.filter(_MAY_WRITE, plan=plan).order_by().values_list("namespace", REACHED).distinct()
    )
)
_RECORDED = WrittenQuery(lambda: list_entries(AuditAction.POLICY_CHANGED).values_list("detail", flat=True))


def _list_scopes(plan: Plan, spaces: Iterable[str]) -> tuple[ScopeEntry, ...]:
    slug = plan.target.cluster.slug
    found = tuple(ScopeEntry(slug, namespace) for namespace in spaces)
    return found or (ScopeEntry(slug, options_from_json(plan.options).namespace),)


def list_scopes(plan: Plan) -> tuple[ScopeEntry, ...]:
    """Return the scopes that a plan writes to; before planning, the requested namespace."""
    return moments.read_once(("scopes of plan", plan.pk), lambda: _list_scopes(plan, _list_namespaces(plan)))


def _list_namespaces(plan: Plan) -> Iterable[str]:
    kept = plan_rows.find_kept(plan)
    if kept is not None:
        written = (row for row in kept if row.operation != Operation.UNCHANGED or is_compared(row))
        return sorted({one for row in written for one in list_reached(_key_of(row), row.operation)})
    return sorted({one for found in _NAMESPACES.ask(plan.pk) for one in found})


def _key_of(row: ObjectChange) -> tuple[str, str, str, str]:
    return row.group, row.kind, row.namespace, row.name


def list_in_force() -> tuple[PolicyVersion, ...]:
    """Return the version in force of every policy that is not archived, by name; read once while a page is shown.

    - It is the newest one, whatever the row of the policy says, and an archiving that this installation did not do does
      not count: who writes to the database puts no earlier version back in force.
    """
    return moments.read_once("policies in force", _read_in_force)


def _newest_versions() -> QuerySet[PolicyVersion]:
    newer = PolicyVersion.objects.filter(policy=OuterRef("policy"), number__gt=OuterRef("number"))
    return PolicyVersion.objects.filter(~Exists(newer)).select_related("policy", "entry").order_by("policy__slug")


_IN_FORCE = WrittenQuery(_newest_versions)


def _read_in_force() -> tuple[PolicyVersion, ...]:
    rows = tuple(_IN_FORCE.ask())
    archived = row_macs.keep_genuine(row.policy for row in rows if row.policy.archived_at is not None)
    ended = {policy.pk for policy in archived}
    return tuple(row for row in rows if row.policy_id not in ended)


def _list_missing(in_force: Iterable[PolicyVersion]) -> tuple[str, ...]:
    """Return the versions that the audit log records as in force and that are not, read once while a page is shown.

    - Nobody knows where a missing version held, so it lets nothing run anywhere.
    """
    recorded = moments.read_once("recorded policies", _read_recorded)
    numbers = {row.policy.slug: row.number for row in in_force}
    return tuple(f"{slug}@{number}" for slug, number in recorded if numbers.get(slug, 0) < number)


def _read_recorded() -> tuple[tuple[str, int], ...]:
    """Return each policy that is not archived with its newest version, by the audit log."""
    last: dict[str, int] = {}
    for detail in map(map_or_empty, _RECORDED.ask()):
        number = detail.get("version")
        last[str(detail.get("policy", ""))] = number if isinstance(number, int) else 0
    return tuple(sorted(last.items()))


def _digest(rows: Iterable[PolicyVersion]) -> str:
    """Return the digest of the content of policies."""
    content: list[JSONValue] = [
        [r.policy.slug, r.number, r.cluster_pattern, r.namespace_pattern, r.is_cluster_scoped, r.rules] for r in rows
    ]
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def _find_strictest_at(scopes: Collection[ScopeEntry], in_force: Iterable[PolicyVersion]) -> PolicyRules:
    in_force = tuple(in_force)
    rows = [row for row in in_force if any(reaches(row, scope) for scope in scopes)]
    missing = _list_missing(in_force)
    if not rows:
        return PolicyRules(missing=missing)
    found = find_strictest((row.policy.slug, row.number, rules_from_json(row.rules)) for row in rows)
    forged = tuple(str(row.policy) for row, fault in row_macs.list_faults(rows) if fault)
    return replace(found, digest=_digest(rows), forged=forged, missing=missing)


def find_policy_at(scopes: Iterable[ScopeEntry]) -> PolicyRules:
    """Return the strictest of all policies within any of these scopes; the built-in one when none applies."""
    return _find_strictest_at(tuple(scopes), list_in_force())


def find_policy(plan: Plan) -> PolicyRules:
    """Return the policy of a plan: frozen, complete, and with the version that its digest is bound to."""
    return moments.read_once(("policy of plan", plan.pk), lambda: find_policy_at(list_scopes(plan)))


def find_change(plan: Plan, policy: PolicyRules) -> tuple[PlanBlocker, ...]:
    """Return why the policy of a plan is not the one that its digest is bound to, or is not genuine; empty if it is."""
    if policy.forged:
        return (PolicyForged(policy.forged),)
    if policy.missing:
        return (PolicyMissing(policy.missing),)
    if (plan.policy_version, plan.policy_digest) != (policy.version, policy.digest):
        return (PolicyChanged(),)
    return ()


def find_policies(plans: Iterable[Plan]) -> dict[int, PolicyRules]:
    """Return the policies of many plans by their ids, as `find_policy` does of one, in two queries."""
    by_id = {plan.pk: plan for plan in plans}

    def read(missing: list[int]) -> dict[int, tuple[ScopeEntry, ...]]:
        spaces: dict[int, set[str]] = {pk: set() for pk in missing}
        rows = ObjectChange.objects.filter(_MAY_WRITE, plan__in=missing).order_by()
        for pk, *namespaces in rows.values_list("plan_id", "namespace", REACHED).distinct():
            spaces[pk].update(namespaces)
        return {pk: _list_scopes(by_id[pk], sorted(found)) for pk, found in spaces.items()}

    moments.read_together("scopes of plan", by_id, read)
    return {pk: find_policy(plan) for pk, plan in by_id.items()}


def find_kept(plans: Iterable[Plan], *, hidden: Collection[int] = ()) -> dict[int, tuple[KeptObject, ...]]:
    """Return the objects that policies in force keep and plans would delete, by the ids of the plans."""
    return kept_kinds.find_kept(tuple(plans), list_in_force(), hidden)


def find_exceeded(plans: Collection[Plan], hidden_of: Mapping[int, Collection[int]]) -> dict[int, tuple[Exceeded, ...]]:
    """Return the limits on deletions of policies in force that plans exceed, by the ids of the plans."""
    return deletions.find_exceeded(plans, list_in_force(), hidden_of)


def find_critical_kinds(plan: Plan) -> Callable[[ObjectRef], str] | None:
    """Return what names the policy in force that counts the kind of an object of a plan as critical; None for none."""
    return deletions.make_critical_finder(list_in_force(), plan.target.cluster.slug)


def count_high_risks(plan: Plan, policy: PolicyRules, *, hidden: Collection[int] = ()) -> dict[RiskKind, int]:
    """Return the high and medium risks of a plan, and how many objects have each.

    - `hidden`: for pages and the API alone, positions of objects whose risks a reader must not see.
    """
    counts: dict[RiskKind, int] = {}
    for risk in risks.list_risks(plan, many=policy.many_objects):
        if risk.level is not RiskLevel.INFO:
            shown = sum(position not in hidden for position in risk.positions)
            counts[risk.kind] = counts.get(risk.kind, 0) + shown
    return {kind: count for kind, count in counts.items() if count}


def _list_compared_namespaces(plan: Plan) -> list[str]:
    kept = plan_rows.find_kept(plan)
    if kept is not None:
        return [row.namespace for row in kept if is_compared(row)]
    return list(plan.changes.filter(COMPARED).order_by().values_list("namespace", flat=True).distinct())


def find_demands(plan: Plan, policy: PolicyRules) -> tuple[Demand, ...]:
    """Return the approvals that a plan needs, for its risks and those its Secrets may have (`foundation.compared`)."""
    found = {*count_high_risks(plan, policy)}
    spaces = _list_compared_namespaces(plan) if policy.risk_demands else []
    if spaces:
        options = options_from_json(plan.options)
        is_forced = options.takes_over or plan.review.decisions.filter(undone_at=None).exists()
        found |= list_possible_risks(spaces, options, is_forced=is_forced)
    return list_demands(policy, found, owners.select_owners(policy.owners, plan))


def list_demands(
    policy: PolicyRules, high_risks: Iterable[RiskKind], owned: Iterable[OwnerRule] = ()
) -> tuple[Demand, ...]:
    """Return the approvals that a plan with these risks needs, and for what it writes of owners: all must be met."""
    present = set(high_risks)
    more = [Demand(d.approvals, d.team, d.risk.slug) for d in policy.risk_demands if d.risk in present]
    more += [Demand(o.approvals, o.team, f"{o.of.value} {o.pattern}") for o in owned]
    return keep_strictest((*policy.demands, *more))
