"""Editing of policies: each edit is an immutable version and an audit entry.

A version that requires less, and the archiving of a policy, need a second administrator (`people.administrators`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import time
from zoneinfo import available_timezones

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import asdict, fields

from applyviz import clock
from applyviz.engine.objects.kinds import EVERY_KIND
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json
from applyviz.engine.planning.digest.serialize import to_json
from applyviz.engine.requests.replacement import find_odd_kinds
from applyviz.engine.risks.model import RiskKind
from applyviz.records.models import PendingChange, Plan, Policy, PolicyVersion, Team
from applyviz.records.pending_enums import PendingKind
from applyviz.workflow import policies
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.blockers import ObjectsKept, PlanBlocker
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError, NotVisibleError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.foundation.scopes import ScopeEntry, holds_at
from applyviz.workflow.people import administrators, pending_changes, policy_changes
from applyviz.workflow.people.policy_changes import NewVersion
from applyviz.workflow.people.rights_changes import Actors
from applyviz.workflow.policies.deletions import Exceeded, find_exceeded
from applyviz.workflow.policies.kept_kinds import find_kept
from applyviz.workflow.policies.owners import is_pattern
from applyviz.workflow.policies.rules import Demand, Rules, find_strictest, rules_from_json, rules_to_json
from applyviz.workflow.policies.rules import PolicyRules as Strictest
from applyviz.workflow.policies.weakening import find_weakened
from applyviz.workflow.policies.windows import Freeze, Window, find_closed

_ANNOTATION = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
MOST_APPROVALS, MOST_AT_ONCE, LONGEST_HOURS, LONGEST_ROLLOUT = 9, 64, 24 * 365, 6 * 3600


class Evaluation(Struct, frozen=True):
    """The requirements of a policy, together with the others, for one plan."""

    policy: Strictest
    holds: bool
    high_risks: dict[RiskKind, int]
    demands: tuple[Demand, ...]
    closed: tuple[PlanBlocker, ...]
    kept: tuple[ObjectsKept | Exceeded, ...] = ()


def _is_time(text: str) -> bool:
    try:
        time.fromisoformat(text)
    except ValueError:
        return False
    return True


def _find_time_problems(windows: tuple[Window, ...], freezes: tuple[Freeze, ...]) -> Iterator[str]:
    zones = available_timezones()
    for window in windows:
        if window.zone not in zones:
            yield _("%(zone)r is not a time zone") % {"zone": window.zone}
        elif not window.days or not set(window.days) <= set(range(7)):
            yield _("a window needs at least one day")
        elif not _is_time(window.start) or not _is_time(window.end):
            yield _("a window needs a start and an end like 09:30")
    for freeze in freezes:
        if freeze.zone not in zones:
            yield _("%(zone)r is not a time zone") % {"zone": freeze.zone}
            continue
        try:
            is_ordered = freeze.starts_at < freeze.ends_at
        except ValueError:
            yield _("a freeze needs a start and an end like 2026-12-20T18:00")
            continue
        if not is_ordered:
            yield _("the end of a freeze must be after its start")


def _find_problems(rules: Rules) -> Iterator[str]:
    of_parts = (*(d.team for d in rules.for_risks), *(one.team for one in rules.owners))
    named = {*rules.asking_teams, rules.approving_team, *of_parts} - {""}
    known = set(Team.objects.filter(slug__in=named, archived_at=None).values_list("slug", flat=True))
    yield from (_("team %(slug)s not found") % {"slug": slug} for slug in sorted(named - known))
    numbers = (
        (_("approvals"), rules.approvals, 0, MOST_APPROVALS),
        (_("Objects at once"), rules.concurrency, 1, MOST_AT_ONCE),
        (_("hours that an approval is valid"), rules.approval_hours, 0, LONGEST_HOURS),
        (_("seconds for a rollout"), rules.rollout_seconds, 1, LONGEST_ROLLOUT),
        (_("many objects"), rules.many_objects, 1, 100_000),
        (_("deletions in one plan"), rules.most_deletions, 0, 100_000),
        (_("percent that prune may delete"), rules.most_pruned_percent, 0, 100),
        *(
            (_("approvals for %(risk)s") % {"risk": d.risk.slug}, d.approvals, 0, MOST_APPROVALS)
            for d in rules.for_risks
        ),
        *(
            (_("approvals of owners: %(owner)s") % {"owner": one}, one.approvals, 1, MOST_APPROVALS)
            for one in rules.owners
        ),
    )
    yield from (f"{name}: from {low} to {high}" for name, given, low, high in numbers if not low <= given <= high)
    yield from (
        _("%(owner)s: not a pattern of kinds or files") % {"owner": one} for one in rules.owners if not is_pattern(one)
    )
    yield from (
        _("%(kind)r is not a kind: use group/Kind, such as batch/Job or core/Service") % {"kind": kind}
        for kind in find_odd_kinds((*rules.replaced_kinds, *rules.critical_kinds))
    )
    yield from (
        _("%(kind)r is not a kind: use group/Kind, such as core/PersistentVolumeClaim, or *") % {"kind": kind}
        for kind in find_odd_kinds(kind for kind in rules.kept_kinds if kind != EVERY_KIND)
    )
    if rules.replace_annotation and not _ANNOTATION.fullmatch(rules.replace_annotation):
        yield _("%(name)r is not the name of an annotation") % {"name": rules.replace_annotation}
    yield from _find_time_problems(rules.windows, rules.freezes)


def list_policies(*, for_user: Visitor) -> QuerySet[PolicyVersion]:
    """Return the versions in force; every member reads those that hold where they see anything."""
    access.require(for_user, Action.VIEW)
    seen = [row.pk for row in policies.list_in_force() if access.sees_pattern(for_user, row.cluster_pattern)]
    return PolicyVersion.objects.filter(pk__in=seen).select_related("policy").order_by("policy__slug")


def list_versions(slug: str, *, for_user: Visitor) -> list[PolicyVersion]:
    """Return all versions of one policy, newest first; a pattern may name a cluster that is not for this person."""
    access.require(for_user, Action.VIEW)
    found = list(PolicyVersion.objects.filter(policy__slug=slug).select_related("policy", "by", "confirmed_by"))
    if not found or not all(access.sees_pattern(for_user, row.cluster_pattern) for row in found):
        raise NotVisibleError(f"there is no policy {slug}")
    return found


def _read_in_force(slug: str) -> tuple[int, tuple[Scope, Rules] | None]:
    """Return the number of the newest version of a policy, 0 for none, and its scope and rules while it is in force."""
    policy = Policy.objects.filter(slug=slug).first()
    version = policy.versions.filter(number=policy.number).first() if policy else None
    if policy is None or version is None or policy.archived_at is not None:
        return (policy.number if policy else 0), None
    scope = Scope(version.cluster_pattern, version.namespace_pattern, version.is_cluster_scoped)
    return policy.number, (scope, rules_from_json(version.rules))


def save_policy(slug: str, *, by: Person, scope: Scope, rules: Rules, note: str = "") -> PolicyVersion | PendingChange:
    """Publish the next version of a policy, or the first one; it is in force at once.

    - Every plan that it covers must be re-planned: the digest is bound to the version.
    - Returns the pending change if a second administrator must confirm: for a version that requires less.
    - Raises `NotValidError` with everything that is wrong.
    """
    access.require(by, Action.MANAGE)
    scope.check()
    problems = (
        []
        if _SLUG.fullmatch(slug)
        else [_("%(slug)r is not a valid slug: use lowercase letters, digits and dashes") % {"slug": slug}]
    )
    problems += _find_problems(rules)
    if problems:
        raise NotValidError("; ".join(problems))
    number, before = _read_in_force(slug)
    new = NewVersion(slug, scope, rules_to_json(rules), note=note, after=number)
    weakened = find_weakened(before, (scope, rules), now=clock.now())
    if weakened and administrators.needs_second():
        return _ask_second(new, before, weakened, by=by)
    return policy_changes.publish(new, actors=Actors(by))


def _ask_second(
    new: NewVersion, before: tuple[Scope, Rules] | None, weakened: tuple[str, ...], *, by: Person
) -> PendingChange:
    given: JSONObject = {
        "slug": new.slug,
        "scope": [new.scope.cluster_pattern, new.scope.namespace_pattern, new.scope.is_cluster_scoped],
        "rules": new.rules,
        "note": new.note,
        "after": new.after,
    }
    changed = _list_changed(rules_to_json(before[1] if before else Rules()), new.rules)
    summary: JSONObject = {
        "policy": new.slug,
        "version": new.after + 1,
        "where": str(new.scope),
        "requires less": list(weakened),
        "rules": changed,
    }
    return pending_changes.ask(PendingKind.POLICY, by=by, given=given, summary=summary)


def _list_changed(before: JSONObject, after: JSONObject) -> list[JSONValue]:
    """Return each rule that a version changes, with both values; a rule at its default is not stored."""
    defaults = {field.name: to_json(field.default) for field in fields(Rules)}
    names = sorted({*before, *after})
    pairs = [(name, before.get(name, defaults[name]), after.get(name, defaults[name])) for name in names]
    return [f"{name}: {canonical_json(old)} → {canonical_json(new)}" for name, old, new in pairs if old != new]


def archive_policy(slug: str, *, by: Person, note: str = "") -> PendingChange | None:
    """Archive a policy; return the pending change if a second administrator must confirm."""
    access.require(by, Action.MANAGE)
    if not Policy.objects.filter(slug=slug, archived_at=None).exists():
        raise NotPossibleError(_("policy %(slug)s not found") % {"slug": slug})
    if administrators.needs_second():
        given: JSONObject = {"slug": slug, "note": note}
        return pending_changes.ask(PendingKind.ARCHIVE_POLICY, by=by, given=given, summary={"policy": slug})
    policy_changes.archive(slug, note, actors=Actors(by))
    return None


def evaluate(plan: Plan, *, slug: str = "", scope: Scope | None = None, rules: Rules | None = None) -> Evaluation:
    """Return what a plan would require under a changed policy, or under the present ones; stores nothing."""
    scopes = policies.list_scopes(plan)
    others = [row for row in policies.list_in_force() if row.policy.slug != slug]
    found = [
        (row.policy.slug, row.number, rules_from_json(row.rules))
        for row in others
        if any(holds_at(row, entry) for entry in scopes)
    ]
    holds = scope is not None and rules is not None and _holds(scope, scopes)
    if holds and scope is not None and rules is not None:
        found.append((slug or "draft", 0, rules))
        others.append(_draft(slug or "draft", scope, rules))
    policy = find_strictest(found) if found else policies.find_policy_at(())
    high_risks = policies.count_high_risks(plan, policy)
    closed = find_closed(policy.windows, policy.freezes, clock.now())
    kept = (*policies.group_kept(find_kept([plan], others)[plan.pk]), *find_exceeded([plan], others)[plan.pk])
    return Evaluation(policy, holds, high_risks, policies.find_demands(plan, policy), closed, kept)


def _draft(slug: str, scope: Scope, rules: Rules) -> PolicyVersion:
    """Return a version that is not stored."""
    return PolicyVersion(policy=Policy(slug=slug), rules=rules_to_json(rules), **asdict(scope))


def _holds(scope: Scope, scopes: tuple[ScopeEntry, ...]) -> bool:
    return any(holds_at(PolicyVersion(**asdict(scope)), entry) for entry in scopes)
