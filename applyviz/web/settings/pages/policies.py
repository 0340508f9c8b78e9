"""Read models of policies: requirements line by line, and the calendar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from applyviz import clock
from applyviz.engine.diff.free_form import diff_free
from applyviz.engine.objects.kinds import EVERY_KIND
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.risks.model import KINDS
from applyviz.engine.schema.walk import MISSING
from applyviz.records.models import Plan, PolicyVersion
from applyviz.web.components.phrases import describe_scope, title_kind
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.policies import Demand, Rules, rules_from_json
from applyviz.workflow.policies.editing import Evaluation
from applyviz.workflow.policies.owners import OwnerRule
from applyviz.workflow.policies.rules import OnFailure, PolicyRules
from applyviz.workflow.policies.windows import Freeze, find_closed, find_opening


class PolicyRow(Struct, frozen=True):
    """One policy in the list."""

    slug: str
    url: str
    number: int
    where: str
    asks: str
    by: str
    at: datetime
    note: str = ""
    confirmed_by: str = ""
    lines: tuple[tuple[str | Promise, str], ...] = ()
    changes: tuple[tuple[str, str, str], ...] = ()
    is_in_force: bool = True


class FreezeRow(Struct, frozen=True):
    """A freeze in the calendar; start and end are local times of its zone."""

    policy: str
    url: str
    start: datetime
    end: datetime
    zone: str
    reason: str
    holds: bool
    is_over: bool


class WindowRow(Struct, frozen=True):
    """The times when plans may run under one policy, and whether they may now."""

    policy: str
    url: str
    windows: tuple[str, ...]
    is_open: bool
    opens: datetime | None


class Trial(Struct, frozen=True):
    """The requirements of a policy for one plan."""

    title: str
    url: str
    holds: bool
    version: str
    high_risks: tuple[str, ...]
    demands: tuple[str, ...]
    closed: tuple[str, ...]
    kept: tuple[str, ...]


def _name_cause(because: str) -> str:
    """Return the source of a demand: a risk by its title, a policy, or the kind or path that a team owns."""
    return _("risk: %(title)s") % {"title": title_kind(KINDS[because])} if because in KINDS else because


def describe_demand(demand: Demand) -> str:
    """Return how many approvals, by which team, and why."""
    text = ngettext("%(n)d approval", "%(n)d approvals", demand.approvals) % {"n": demand.approvals}
    return _name_whom(demand, text)


def describe_progress(demand: Demand, *, missing: int) -> str:
    """Return how many of the required approvals are given, by which team, and why."""
    text = ngettext("%(given)d of %(wanted)d approval", "%(given)d of %(wanted)d approvals", demand.approvals)
    return _name_whom(demand, text % {"given": demand.approvals - missing, "wanted": demand.approvals})


def _name_whom(demand: Demand, text: str) -> str:
    if demand.team:
        text = _("%(approvals)s of team %(team)s") % {"approvals": text, "team": demand.team}
    if not demand.because:
        return text
    return _("%(approvals)s (%(why)s)") % {"approvals": text, "why": _name_cause(demand.because)}


def _describe_owner(owner: OwnerRule) -> str:
    return f"{owner.of.value} {owner.pattern}: {describe_demand(Demand(owner.approvals, owner.team))}"


def _describe_runs(rules: Rules) -> str:
    parts = [_("continues after a failure") if rules.on_failure is OnFailure.CONTINUE else _("stops on failure")]
    parts.append(
        ngettext("%(n)d object at once", "%(n)d objects at once", rules.concurrency) % {"n": rules.concurrency}
    )
    if rules.waits_for_rollout:
        parts.append(_("waits up to %(n)d s for rollouts") % {"n": rules.rollout_seconds})
    return ", ".join(parts)


def _describe_replaced(rules: Rules) -> str:
    named = _("objects with %(name)s") % {"name": rules.replace_annotation} if rules.replace_annotation else ""
    return ", ".join(filter(None, (*rules.replaced_kinds, named)))


def _describe_kinds(kinds: Sequence[str]) -> str:
    return _("any object") if EVERY_KIND in kinds else ", ".join(kinds)


def _describe_deletions(rules: Rules) -> Iterator[tuple[str, str]]:
    """Yield what the policy says of deletions."""
    if rules.kept_kinds:
        yield _("Never deletes"), _describe_kinds(rules.kept_kinds)
    limits = []
    if rules.most_deletions:
        text = ngettext("%(n)d object", "%(n)d objects", rules.most_deletions) % {"n": rules.most_deletions}
        limits.append(_("at most %(objects)s in one plan") % {"objects": text})
    if rules.most_pruned_percent:
        limits.append(_("prune at most %(n)d %% of a set") % {"n": rules.most_pruned_percent})
    if limits:
        yield _("Deletions"), ", ".join(limits)
    if rules.critical_kinds:
        yield _("Critical kinds"), ", ".join(rules.critical_kinds)


def _describe_certainty(rules: Rules) -> str:
    allowed = [_("confirmed")]
    allowed += [_("estimated")] if rules.may_run_estimated else []
    allowed += [_("unknown")] if rules.may_run_unknown else []
    return ", ".join(allowed)


def describe_rules(rules: Rules) -> tuple[tuple[str | Promise, str], ...]:
    """Return the rules of one policy, each with its name."""
    more = "; ".join(f"{title_kind(d.risk)}: {describe_demand(Demand(d.approvals, d.team))}" for d in rules.for_risks)
    hours = rules.approval_hours
    lasts = ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours} if hours else _("no expiry")
    return (
        (_("Who can request"), ", ".join(rules.asking_teams) or _("every author")),
        (_("Approvals"), describe_demand(Demand(rules.approvals, rules.approving_team))),
        (_("Extra approvals by risk"), more or _("none")),
        *([(_("Owners"), "; ".join(map(_describe_owner, rules.owners)))] if rules.owners else []),
        (_("Large change"), _("more than %(n)d") % {"n": rules.many_objects}),
        (_("Approval valid for"), lasts),
        *(
            [(_("Sole administrator"), _("approvals from roles that they granted do not count"))]
            if rules.refuses_sole
            else []
        ),
        *(
            [(_("Unknown editors"), _("do not block approval; a high risk names them"))]
            if rules.allows_unknown_editors
            else []
        ),
        *([(_("API tokens"), _("can start plans with high risks"))] if rules.allows_tokens else []),
        (_("Allowed results"), _describe_certainty(rules)),
        *_describe_deletions(rules),
        (_("Change windows"), "; ".join(str(window) for window in rules.windows) or _("always")),
        (_("Freezes"), "; ".join(str(freeze) for freeze in rules.freezes) or _("none")),
        (_("Run behavior"), _describe_runs(rules)),
        *([(_("Replaces"), _describe_replaced(rules))] if rules.replaced_kinds or rules.replace_annotation else []),
    )


def present_versions(versions: Sequence[PolicyVersion]) -> list[PolicyRow]:
    """Return all versions of a policy, newest first, each with its changes: (name, before, after) in words of the page.

    - A number that has no effect in both versions, such as a deadline for rollouts that no run waits for, is no change.
    """
    rows = [present_policy(version) for version in versions]
    changed = [_list_changes(before, after) for after, before in pairwise(rows)]
    return [replace(row, changes=changes) for row, changes in zip(rows, (*changed, ()), strict=True)]


def _list_changes(before: PolicyRow, after: PolicyRow) -> tuple[tuple[str, str, str], ...]:
    """Return the lines of two versions that differ; a line that one of them lacks says "none" there."""
    found = diff_free(_read_lines(before), _read_lines(after))
    return tuple((str(one.path[0]), _print_line(one.before), _print_line(one.after)) for one in found)


def _print_line(text: JSONValue) -> str:
    return _("none") if text is MISSING else str(text)


def _read_lines(row: PolicyRow) -> dict[str, str]:
    return {_("Applies to"): row.where, **{str(name): text for name, text in row.lines}}


def present_policy(version: PolicyVersion) -> PolicyRow:
    """One version."""
    rules = rules_from_json(version.rules)
    asks = describe_demand(Demand(rules.approvals, rules.approving_team))
    if rules.for_risks:
        asks = _("%(asks)s, more for some risks") % {"asks": asks}
    if rules.owners:
        asks = _("%(asks)s, and those of owners") % {"asks": asks}
    return PolicyRow(
        slug=version.policy.slug,
        url=reverse("settings:show-policy", args=[version.policy.slug]),
        number=version.number,
        where=describe_scope(Scope(version.cluster_pattern, version.namespace_pattern, version.is_cluster_scoped)),
        asks=asks,
        by=version.by.get_username() if version.by else "applyviz",
        confirmed_by=version.confirmed_by.get_username() if version.confirmed_by else "",
        at=version.created_at,
        note=version.note,
        lines=describe_rules(rules),
        is_in_force=version.number == version.policy.number and version.policy.archived_at is None,
    )


def present_calendar(versions: Iterable[PolicyVersion]) -> tuple[tuple[WindowRow, ...], tuple[FreezeRow, ...]]:
    """Return all windows, and all freezes by their start."""
    now, windows, freezes = clock.now(), [], []
    for version in versions:
        rules = rules_from_json(version.rules)
        slug, url = version.policy.slug, reverse("settings:show-policy", args=[version.policy.slug])
        closed = find_closed((rules.windows,), rules.freezes, now)
        if rules.windows or rules.freezes:
            opens = find_opening((rules.windows,), rules.freezes, now) if closed else None
            windows.append(WindowRow(slug, url, tuple(str(w) for w in rules.windows), not closed, opens))
        freezes += [_present_freeze(slug, url, freeze, now) for freeze in rules.freezes]
    return tuple(windows), tuple(sorted(freezes, key=lambda row: (row.is_over, row.start)))


def _present_freeze(slug: str, url: str, freeze: Freeze, now: datetime) -> FreezeRow:
    return FreezeRow(
        slug,
        url,
        datetime.fromisoformat(freeze.start),
        datetime.fromisoformat(freeze.end),
        freeze.zone,
        freeze.reason,
        freeze.contains(now),
        freeze.ends_at <= now,
    )


def present_trial(plan: Plan, found: Evaluation) -> Trial:
    """Return the requirements for a plan."""
    number, review = plan.number, plan.review.number
    return Trial(
        title=_("%(title)s, plan %(number)d") % {"title": plan.review.title, "number": number},
        url=reverse("reviews:show-plan", args=[review, number]),
        holds=found.holds,
        version=found.policy.version,
        high_risks=tuple(f"{title_kind(kind)}: {count}" for kind, count in found.high_risks.items()),
        demands=tuple(describe_demand(demand) for demand in found.demands),
        closed=sentences.describe_all(found.closed),
        kept=sentences.describe_all(found.kept),
    )


def describe_policy(policy: PolicyRules) -> str:
    """Return the policies that apply, with their versions."""
    return policy.version.replace(" ", ", ")
