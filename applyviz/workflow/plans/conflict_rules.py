"""Conflict rules: proposed by one person, in force once another approves, ended by either; every step is recorded.

A rule begins as a resolution of a conflict, or as a field to ignore in comparisons. A plan freezes the rules in force
when it is created; when a rule changes, affected plans must be re-planned before they can be approved.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from applyviz import clock, moments
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.digest.serialize import from_json
from applyviz.engine.planning.objects.conflict_rules import FieldRule, RuleResolution
from applyviz.records.enums import AuditAction, RuleState
from applyviz.records.models import Cluster, ConflictRule, Plan
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.blockers import ConflictRulesChanged
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError
from applyviz.workflow.foundation.locks import lock_cluster
from applyviz.workflow.foundation.scopes import EVERY_NAMESPACE, ScopeEntry
from applyviz.workflow.foundation.sequences import next_number
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.people import humans as people
from applyviz.workflow.plans import changes


def list_scopes(cluster: Cluster, namespace: str) -> list[ScopeEntry]:
    """Return the scopes that a rule reaches: one namespace, or everything in its cluster."""
    if namespace:
        return [ScopeEntry(cluster.slug, namespace)]
    return [ScopeEntry(cluster.slug), ScopeEntry(cluster.slug, EVERY_NAMESPACE)]


def _about(rule: ConflictRule) -> trail.AuditSubject:
    ref = None
    if "*" not in rule.name:
        ref = ObjectRef(GroupVersionKind(rule.group, "", rule.kind), rule.namespace, rule.name)
    plan = rule.plan
    return trail.AuditSubject(cluster=rule.cluster.slug, review=plan.review.number, plan=plan.number, ref=ref)


def _describe(rule: ConflictRule, **more: str) -> dict[str, str | int]:
    recorded: dict[str, str | int] = {
        "rule": rule.number,
        "resolution": rule.resolution,
        "kind": rule.kind,
        "name": rule.name,
    }
    return {**recorded, "namespace": rule.namespace, "field": rule.path, "manager": rule.manager, **more}


def _check_draft(draft: FieldRule, reason: str) -> None:
    if not reason.strip():
        raise NotValidError(_("a conflict rule needs a reason"))
    if not draft.name.strip() or not draft.kind or not draft.path:
        raise NotValidError(_("a conflict rule needs a kind, a name or pattern, and a field"))


def propose_rule(plan: Plan, draft: FieldRule, *, by: Person, reason: str) -> ConflictRule:
    """Propose a rule for the cluster of a plan; it has no effect until another person approves it.

    - Raises `NotValidError` without a reason or name, `NotPossibleError` when such a rule already exists.
    """
    access.require(by, Action.RESOLVE, list_scopes(plan.target.cluster, draft.namespace))
    _check_draft(draft, reason)
    cluster = plan.target.cluster
    with transaction.atomic():
        lock_cluster(cluster.pk)  # rules of a cluster are numbered in order
        same = ConflictRule.objects.filter(
            cluster=cluster,
            state__in=(RuleState.PROPOSED, RuleState.IN_FORCE),
            group=draft.group,
            kind=draft.kind,
            namespace=draft.namespace,
            name=draft.name.strip(),
            elements=list(draft.path),
            manager=draft.manager,
        ).first()
        if same is not None:
            raise NotPossibleError(
                _("rule %(number)s already covers this field; end it first") % {"number": same.number}
            )
        rule = ConflictRule(
            cluster=cluster,
            number=next_number(ConflictRule.objects.filter(cluster=cluster)),
            group=draft.group,
            kind=draft.kind,
            namespace=draft.namespace,
            name=draft.name.strip(),
            path=render_path(draft.path),
            elements=list(draft.path),
            manager=draft.manager,
            resolution=draft.resolution.value,
            reason=reason.strip(),
            plan=plan,
            proposed_by=by,
            proposed_at=clock.host_now(),
        )
        row_macs.vouch(rule)
        rule.save()
        trail.record(AuditAction.RULE_PROPOSED, by=by, about=_about(rule), detail=_describe(rule, reason=rule.reason))
    return rule


def is_own(rule: ConflictRule, person: Person) -> bool:
    """Return whether the person behind an account proposed a rule, under any linked account."""
    humans = people.name_humans([person, rule.proposed_by])
    return humans[person.pk] == humans[rule.proposed_by_id]


def _require_genuine(rule: ConflictRule) -> None:
    if row_macs.find_fault(rule):
        raise NotPossibleError(_("this rule was not made by this installation; propose it again"))


def agree_rule(rule: ConflictRule, *, by: Person) -> None:
    """Approve a proposed rule: it applies to every plan created from now on.

    - Raises `NotAllowedError` for the person's own rule, `NotPossibleError` when it no longer awaits approval.
    """
    access.require(by, Action.APPROVE, list_scopes(rule.cluster, rule.namespace))
    _require_genuine(rule)
    if is_own(rule, by):
        raise NotAllowedError(_("you can't approve your own conflict rule"))
    with transaction.atomic():
        rule.agreed_by, rule.agreed_at = by, clock.host_now()
        row_macs.vouch(rule)
        agreed = ConflictRule.objects.filter(pk=rule.pk, state=RuleState.PROPOSED).update(
            state=RuleState.IN_FORCE, agreed_by=by, agreed_at=rule.agreed_at, mac=rule.mac
        )
        if not agreed:
            raise NotPossibleError(_("this rule was already approved or ended"))
        trail.record(AuditAction.RULE_AGREED, by=by, about=_about(rule), detail=_describe(rule))


def _end(rule: ConflictRule, *, by: Person, note: str, before: RuleState, after: RuleState) -> None:
    action = AuditAction.RULE_DECLINED if after is RuleState.DECLINED else AuditAction.RULE_REVOKED
    is_genuine = not row_macs.find_fault(rule)  # a forged rule can be ended, and stays forged
    with transaction.atomic():
        rule.ended_at = clock.host_now()
        if is_genuine:
            row_macs.vouch(rule)
        ended = ConflictRule.objects.filter(pk=rule.pk, state=before).update(
            state=after, ended_by=by, ended_at=rule.ended_at, end_note=note, mac=rule.mac
        )
        if not ended:
            raise NotPossibleError(_("this rule changed since you opened the page; reload and try again"))
        trail.record(action, by=by, about=_about(rule), detail=_describe(rule, note=note))


def decline_rule(rule: ConflictRule, *, by: Person, note: str = "") -> None:
    """End a proposal before it is in force: an approver declines it, or its author withdraws it."""
    action = Action.RESOLVE if rule.proposed_by_id == by.pk else Action.APPROVE
    access.require(by, action, list_scopes(rule.cluster, rule.namespace))
    _end(rule, by=by, note=note, before=RuleState.PROPOSED, after=RuleState.DECLINED)


def revoke_rule(rule: ConflictRule, *, by: Person, note: str = "") -> None:
    """End a rule that is in force; later plans leave its conflicts open again."""
    access.require(by, Action.ACKNOWLEDGE, list_scopes(rule.cluster, rule.namespace))
    _end(rule, by=by, note=note, before=RuleState.IN_FORCE, after=RuleState.REVOKED)


def list_rules(cluster: Cluster, *, for_user: Visitor) -> QuerySet[ConflictRule]:
    """Return the rules of a cluster that this person may see, ended ones included, newest first."""
    access.require(for_user, Action.VIEW)
    rows = access.limit_rules(ConflictRule.objects.filter(cluster=cluster), for_user).order_by("-number")
    return rows.select_related("proposed_by", "agreed_by", "ended_by", "plan__review", "cluster")


def get_rule(cluster: Cluster, number: int, *, for_user: Visitor) -> ConflictRule:
    """Return one rule of a cluster by its number; raises `NotVisibleError` when it does not exist."""
    return get_visible(
        list_rules(cluster, for_user=for_user), f"cluster {cluster.slug} has no rule {number}", number=number
    )


_RULES = "conflict rules of cluster"
_IN_FORCE = WrittenQuery(
    lambda cluster: ConflictRule.objects.filter(cluster=cluster, state=RuleState.IN_FORCE).order_by("number")
)


def read_rules(cluster: Cluster) -> tuple[FieldRule, ...]:
    """Return the rules in force on a cluster; one that was not agreed to here has no effect."""
    return moments.read_on_page((_RULES, cluster.pk), lambda: _make_rules(_IN_FORCE.ask(cluster.pk)))


def _make_rules(rows: Iterable[ConflictRule]) -> tuple[FieldRule, ...]:
    return tuple(
        FieldRule(
            *(row.group, row.kind, row.namespace, row.name),
            path=tuple(row.elements),
            resolution=RuleResolution(row.resolution),
            manager=row.manager,
            number=row.number,
        )
        for row in row_macs.keep_genuine(rows)
    )


def _read_together(clusters: Iterable[int]) -> None:
    """Read the rules of many clusters with one statement, while a page is shown."""

    def read(missing: list[int]) -> dict[int, tuple[FieldRule, ...]]:
        rows: dict[int, list[ConflictRule]] = {pk: [] for pk in missing}
        in_force = ConflictRule.objects.filter(cluster__in=missing, state=RuleState.IN_FORCE)
        for row in in_force.order_by("number"):
            rows[row.cluster_id].append(row)
        return {pk: _make_rules(found) for pk, found in rows.items()}

    moments.read_together(_RULES, clusters, read)


def rules_of(plan: Plan) -> tuple[FieldRule, ...]:
    """Return the rules that were in force when a plan was made."""
    return from_json(tuple[FieldRule, ...], plan.rules)


def find_blockers(plan: Plan) -> tuple[ConflictRulesChanged, ...]:
    """Return why a plan must be re-planned: rules that reach its objects were approved or ended since its creation."""
    return _find_blockers(plan, read_rules(plan.target.cluster))


def list_blockers(plans: Iterable[Plan]) -> dict[int, tuple[ConflictRulesChanged, ...]]:
    """Return what `find_blockers` says of many plans by their ids; the rules of a cluster are read once."""
    known: dict[int, tuple[FieldRule, ...]] = {}
    found = {}
    plans = list(plans)
    _read_together(plan.target.cluster_id for plan in plans)
    for plan in plans:
        if plan.target.cluster_id not in known:
            known[plan.target.cluster_id] = read_rules(plan.target.cluster)
        found[plan.pk] = _find_blockers(plan, known[plan.target.cluster_id])
    return found


def _find_blockers(plan: Plan, in_force: Iterable[FieldRule]) -> tuple[ConflictRulesChanged, ...]:
    before = {rule.number: rule for rule in rules_of(plan)}
    now = {rule.number: rule for rule in in_force}
    moved = [(before.get(n) or now[n]) for n in sorted(before.keys() ^ now.keys())]
    if not moved:
        return ()
    refs = [changes.ref_of(row) for row in plan.changes.defer("document", "found_risks", "sealed")]
    reached = tuple(rule.number for rule in moved if any(rule.covers(ref) for ref in refs))
    return (ConflictRulesChanged(reached),) if reached else ()
