"""What a new version of a policy requires less than the one before: such a version needs a second administrator.

Rule: of all policies that cover an object the strictest wins, and without any the built-in one. So a version is
compared with the version in force, and, where it newly covers anything, with the built-in rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext as _

from applyviz.engine.objects.kinds import EVERY_KIND
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.policies.owners import OwnerRule
from applyviz.workflow.policies.rules import OnFailure, RiskDemand, Rules


def find_weakened(before: tuple[Scope, Rules] | None, after: tuple[Scope, Rules], *, now: datetime) -> tuple[str, ...]:
    """Return what a version requires less than the one in force (None: the built-in rules); empty if nothing."""
    scope, rules = after
    if before is None:
        return tuple(dict(_compare(Rules(), rules, now)).values())
    found = dict(_compare(before[1], rules, now))
    if scope != before[0]:
        found |= {} if _covers(scope, before[0]) else {"scope": _("scope")}
        found |= dict(_compare(Rules(), rules, now))
    return tuple(found.values())


def _covers(wide: Scope, narrow: Scope) -> bool:
    """Return whether a scope certainly contains another: each of its patterns is the same, or matches everything."""
    pairs = ((wide.cluster_pattern, narrow.cluster_pattern), (wide.namespace_pattern, narrow.namespace_pattern))
    return all(a in ("*", b) for a, b in pairs) and wide.is_cluster_scoped >= narrow.is_cluster_scoped


def _compare(before: Rules, after: Rules, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield each rule that is weaker, by its name, and its words."""
    yield from _compare_people(before, after)
    yield from _compare_demands(before, after)
    yield from _compare_times(before, after, now)
    yield from _compare_runs(before, after)


def _is_narrower(before: tuple[object, ...], after: tuple[object, ...]) -> bool:
    """Return whether a choice of which an empty one means everything admits nothing new."""
    return not before or (bool(after) and set(after) <= set(before))


def _is_met(wanted: RiskDemand, after: Rules) -> bool:
    """Return whether a demand for a risk is still made."""
    return wanted.approvals <= 0 or any(
        one.risk is wanted.risk and one.approvals >= wanted.approvals and wanted.team in ("", one.team)
        for one in after.for_risks
    )


def _is_owned(wanted: OwnerRule, after: Rules) -> bool:
    """Return whether the approvals of an owner are still asked for."""
    kept = (one for one in after.owners if (one.of, one.pattern, one.team) == (wanted.of, wanted.pattern, wanted.team))
    return wanted.approvals <= 0 or any(one.approvals >= wanted.approvals for one in kept)


def _compare_demands(before: Rules, after: Rules) -> Iterator[tuple[str, str]]:
    for wanted in before.for_risks:
        if not _is_met(wanted, after):
            yield wanted.risk.slug, _("approvals for %(risk)s") % {"risk": wanted.risk.slug}
    for owner in before.owners:
        if not _is_owned(owner, after):
            yield str(owner), _("approvals of owners: %(owner)s") % {"owner": owner}


def _compare_people(before: Rules, after: Rules) -> Iterator[tuple[str, str]]:
    if not _is_narrower(before.asking_teams, after.asking_teams):
        yield "asking_teams", _("who can request")
    if after.approvals < before.approvals or before.approving_team not in ("", after.approving_team):
        yield "approvals", _("approvals")
    if after.many_objects > before.many_objects:
        yield "many_objects", _("many objects")
    if before.approval_hours and not 0 < after.approval_hours <= before.approval_hours:
        yield "approval_hours", _("hours that an approval is valid")
    if before.refuses_sole and not after.refuses_sole:
        yield "refuses_sole", _("approvals that rest on the sole administrator")
    if after.allows_unknown_editors and not before.allows_unknown_editors:
        yield "allows_unknown_editors", _("commits of unknown people")
    if after.allows_tokens and not before.allows_tokens:
        yield "allows_tokens", _("high risks started by API tokens")


def _compare_times(before: Rules, after: Rules, now: datetime) -> Iterator[tuple[str, str]]:
    if not _is_narrower(before.windows, after.windows):
        yield "windows", _("change windows")
    if {freeze for freeze in before.freezes if freeze.ends_at > now} - set(after.freezes):
        yield "freezes", _("freezes")


def _compare_runs(before: Rules, after: Rules) -> Iterator[tuple[str, str]]:
    if after.may_run_estimated and not before.may_run_estimated:
        yield "may_run_estimated", _("estimated plans")
    if after.may_run_unknown and not before.may_run_unknown:
        yield "may_run_unknown", _("unknown results")
    if after.on_failure is OnFailure.CONTINUE and before.on_failure is OnFailure.STOP:
        yield "on_failure", _("what happens after a failure")
    if before.waits_for_rollout and not after.waits_for_rollout:
        yield "waits_for_rollout", _("waiting for rollouts")
    if set(after.replaced_kinds) - set(before.replaced_kinds) or after.replace_annotation not in (
        "",
        before.replace_annotation,
    ):
        yield "replaced_kinds", _("replaced kinds")
    if EVERY_KIND not in after.kept_kinds and set(before.kept_kinds) - set(after.kept_kinds):
        yield "kept_kinds", _("kept kinds")
    if before.most_deletions and not 0 < after.most_deletions <= before.most_deletions:
        yield "most_deletions", _("deletions in one plan")
    if before.most_pruned_percent and not 0 < after.most_pruned_percent <= before.most_pruned_percent:
        yield "most_pruned_percent", _("percent that prune may delete")
    if set(before.critical_kinds) - set(after.critical_kinds):
        yield "critical_kinds", _("critical kinds")
