"""One clause per blocker, in the language of the reader: the only place where blockers become words.

Clauses begin in lower case, so that pages can put them into a sentence. No code compares them: they are shown, and kept
in records for people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar, cast

from django.db.models import Choices
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy
from msgspec.structs import asdict

from applyviz.workflow.foundation import blockers, run_blockers
from applyviz.workflow.foundation.blockers import PlanBlocker

B = TypeVar("B", bound=PlanBlocker)
Writer: TypeAlias = Callable[[PlanBlocker], str]
_MOST_NAMED = 3
_SHORT, _COMMITS_NAMED = 10, 2
_LONGEST_REASON = 50

_TEXTS: Mapping[type[PlanBlocker], str | Promise] = {
    blockers.PlanUnfinished: gettext_lazy("planning is not finished"),
    blockers.PlanFailed: gettext_lazy("the plan failed: %(error)s"),
    blockers.AppliedElsewhere: gettext_lazy("applied by %(tool)s, not applyviz: verify it afterwards"),
    blockers.PlanSuperseded: gettext_lazy("superseded by plan %(number)d"),
    blockers.ReviewNotOpen: gettext_lazy("the review is %(state)s"),
    blockers.AuthorsForged: gettext_lazy(
        "the authors of this plan were not recorded by this installation: create a new review"
    ),
    blockers.PolicyChanged: gettext_lazy("the policy changed since this plan was created: re-plan"),
    blockers.PolicyForged: gettext_lazy("policy %(names)s was not published by this installation: publish it again"),
    blockers.PolicyMissing: gettext_lazy("policy %(names)s was removed from the database: publish it again"),
    blockers.IdentitiesClash: gettext_lazy(
        "%(name)s belongs to teams with different identities on %(cluster)s: %(teams)s"
    ),
    blockers.IdentityChanged: gettext_lazy(
        "the identity of %(name)s on %(cluster)s changed since this plan was created: re-plan"
    ),
    blockers.MappingForged: gettext_lazy(
        "the mappings of cluster %(cluster)s were changed in the database: remove the wrong ones, and add them again"
    ),
    blockers.MappingInvalid: gettext_lazy("mapping %(number)s gives %(name)s no valid identity: %(problem)s"),
    blockers.NothingToApply: gettext_lazy("nothing to apply"),
    blockers.ChangesRequested: gettext_lazy("%(name)s requests changes"),
    blockers.ClusterArchived: gettext_lazy("%(name)s is archived. An administrator can restore it on its page"),
    blockers.NotApprover: gettext_lazy("only approvers can approve"),
    blockers.RoleNotCounted: gettext_lazy(
        "the policy does not count approvals from roles granted by the sole administrator"
    ),
    blockers.StartScheduled: gettext_lazy("%(name)s already scheduled this plan"),
    run_blockers.RequesterLost: gettext_lazy("%(name)s, who requested the plan, can no longer do so"),
    run_blockers.StarterLost: gettext_lazy("%(name)s can no longer start apply runs"),
    run_blockers.ApproverLost: gettext_lazy(
        "%(name)s, who approved, can no longer approve: the plan needs approval again"
    ),
    run_blockers.ApprovalForged: gettext_lazy("the approval by %(name)s is forged: %(fault)s"),
    run_blockers.ApprovalExpired: gettext_lazy("the approval by %(name)s expired: the plan needs approval again"),
    run_blockers.ApprovalsTooFew: gettext_lazy("the policy requires more approvals than were given"),
    run_blockers.AttemptForged: gettext_lazy("attempt %(number)d of this run is forged: %(fault)s"),
    run_blockers.EmergencyForged: gettext_lazy("the emergency apply by %(name)s is forged: %(fault)s"),
    run_blockers.EmergencyRightLost: gettext_lazy("%(name)s can no longer run plans without approval"),
    run_blockers.RunNotFailed: gettext_lazy("only a failed run can be retried"),
    run_blockers.EmergencyNotRetried: gettext_lazy(
        "an emergency apply has no approval that a retry could use: re-plan"
    ),
    run_blockers.RunOverlaps: gettext_lazy("run %(number)d changes the same objects: wait until it ends"),
    blockers.ManifestProblems: ngettext_lazy(
        "%(count)d problem in the manifests: fix or remove it and re-plan",
        "%(count)d problems in the manifests: fix or remove them and re-plan",
        "count",
    ),
    blockers.ConflictsOpen: ngettext_lazy(
        "%(count)d object with unresolved conflicts", "%(count)d objects with unresolved conflicts", "count"
    ),
    blockers.ObjectsBroken: ngettext_lazy("%(count)d object has errors", "%(count)d objects have errors", "count"),
    blockers.LiveUnknown: ngettext_lazy(
        "the live state of %(count)d object is unknown", "the live state of %(count)d objects is unknown", "count"
    ),
    blockers.OnlyEstimated: ngettext_lazy(
        "%(count)d object is only estimated, and the policy requires a dry run",
        "%(count)d objects are only estimated, and the policy requires a dry run",
        "count",
    ),
}
_WRITERS: dict[type[PlanBlocker], Writer] = {}


def _writes(kind: type[B]) -> Callable[[Callable[[B], str]], Callable[[B], str]]:
    """Register the function that writes the clause of one kind of blocker."""

    def register(write: Callable[[B], str]) -> Callable[[B], str]:
        _WRITERS[kind] = cast(Writer, write)
        return write

    return register


@_writes(blockers.ConflictRulesChanged)
def _write_rules(found: blockers.ConflictRulesChanged) -> str:
    text = ngettext(
        "conflict rule %(numbers)s changed since this plan was created: re-plan",
        "conflict rules %(numbers)s changed since this plan was created: re-plan",
        len(found.numbers),
    )
    return text % {"numbers": ", ".join(map(str, found.numbers))}


@_writes(blockers.IdentityUnclear)
def _write_unclear(found: blockers.IdentityUnclear) -> str:
    return _("%(reason)s: re-plan") % {"reason": describe(found.why)}


@_writes(blockers.AccountChanged)
def _write_account(found: blockers.AccountChanged) -> str:
    text = _("the credential of %(where)s now belongs to another account (%(now)s): re-plan")
    return text % {"where": found.cluster, "now": found.account or _("unknown")}


@_writes(blockers.AccessDenied)
def _write_denied(found: blockers.AccessDenied) -> str:
    rest = len(found.acts) - _MOST_NAMED
    facts = {
        "who": found.identity or _("the cluster credential"),
        "acts": ", ".join(found.acts[:_MOST_NAMED]),
        "more": _(", and %(n)d more") % {"n": rest} if rest > 0 else "",
    }
    return _("%(who)s is not allowed to %(acts)s%(more)s. Grant this permission to its account, then re-plan") % facts


@_writes(blockers.RequesterNotAllowed)
def _write_teams(found: blockers.RequesterNotAllowed) -> str:
    return _("the policy only allows team %(teams)s to request this") % {"teams": _(" or ").join(found.teams)}


@_writes(blockers.ObjectsKept)
def _write_kept(found: blockers.ObjectsKept) -> str:
    more = len(found.names) - _MOST_NAMED
    facts = {"policy": found.policy, "names": ", ".join(found.names[:_MOST_NAMED]), "more": more}
    if more > 0:
        return _("policy %(policy)s does not allow deleting %(names)s and %(more)d more") % facts
    return _("policy %(policy)s does not allow deleting %(names)s") % facts


@_writes(blockers.TooManyDeletions)
def _write_deletions(found: blockers.TooManyDeletions) -> str:
    facts = {"policy": found.policy, "limit": found.limit, "count": found.count}
    text = ngettext(
        "policy %(policy)s allows at most %(limit)d deletion in one plan, and this one has %(count)d",
        "policy %(policy)s allows at most %(limit)d deletions in one plan, and this one has %(count)d",
        found.limit,
    )
    return text % facts


@_writes(blockers.TooMuchPruned)
def _write_pruned(found: blockers.TooMuchPruned) -> str:
    facts = {"policy": found.policy, "percent": found.percent, "count": found.count, "live": found.live}
    text = _(
        "policy %(policy)s allows prune to delete at most %(percent)d %% of a set, and this plan prunes %(count)d of "
        "%(live)d objects"
    )
    return text % facts


def _shorten(commits: Sequence[str]) -> str:
    """Return the first of some commits as text."""
    more = " …" if len(commits) > _COMMITS_NAMED else ""
    return ", ".join(commit[:_SHORT] for commit in commits[:_COMMITS_NAMED]) + more


@_writes(blockers.EditorUnmatched)
def _write_editor(found: blockers.EditorUnmatched) -> str:
    return _("no account matches %(name)s (%(roles)s of %(commit)s)") % {
        "name": found.name or "?",
        "roles": ", ".join(str(role.label) for role in found.roles),
        "commit": _shorten(found.commits),
    }


@_writes(blockers.PushersUnknown)
def _write_pushers(found: blockers.PushersUnknown) -> str:
    text = ngettext(
        "no delivery of the git host names the pusher of %(commits)s",
        "no delivery of the git host names the pusher of %(n)d commits: %(commits)s",
        len(found.commits),
    )
    return text % {"n": len(found.commits), "commits": _shorten(found.commits)}


@_writes(blockers.CommitsUnknown)
def _write_gap(found: blockers.CommitsUnknown) -> str:
    return str(found.gap.label)


@_writes(blockers.RisksOpen)
def _write_risks(found: blockers.RisksOpen) -> str:
    text = ngettext("%(n)d risk to acknowledge", "%(n)d risks to acknowledge", found.count)
    return text % {"n": found.count}


@_writes(blockers.ApprovalsMissing)
def _write_approvals(found: blockers.ApprovalsMissing) -> str:
    facts = {"n": found.count, "team": found.team}
    if not found.team:
        return ngettext("%(n)d approval missing", "%(n)d approvals missing", found.count) % facts
    text = ngettext(
        "%(n)d approval from team %(team)s missing", "%(n)d approvals from team %(team)s missing", found.count
    )
    return text % facts


@_writes(blockers.ApprovalNotCounted)
def _write_not_counted(found: blockers.ApprovalNotCounted) -> str:
    return _("your approval would not count: %(lacking)s") % {"lacking": join_clauses(found.lacking)}


@_writes(blockers.ClusterPaused)
def _write_pause(found: blockers.ClusterPaused) -> str:
    # The page of the cluster has the whole reason; a header has room for two lines.
    facts = {"name": found.name, "reason": Truncator(found.reason).chars(_LONGEST_REASON)}
    if found.reason:
        return _("%(name)s is paused (%(reason)s). An administrator can resume it on its page") % facts
    return _("%(name)s is paused. An administrator can resume it on its page") % facts


@_writes(blockers.ChangesFrozen)
def _write_freeze(found: blockers.ChangesFrozen) -> str:
    facts = {"until": date_format(found.until, "j M Y H:i"), "zone": found.zone, "reason": found.reason}
    if found.reason:
        return _("changes are frozen until %(until)s %(zone)s: %(reason)s") % facts
    return _("changes are frozen until %(until)s %(zone)s") % facts


@_writes(blockers.WindowClosed)
def _write_window(found: blockers.WindowClosed) -> str:
    return _("the change window is closed; it is open %(windows)s") % {"windows": _(" or ").join(found.windows)}


@_writes(blockers.OwnChanges)
def _write_own(found: blockers.OwnChanges) -> str:
    if found.is_commit:
        return _("you can't approve your own changes: you wrote, committed or pushed commits of this plan")
    return _("you can't approve your own changes: you wrote, edited, resolved or requested this plan")


@_writes(blockers.ObjectsUnviewed)
def _write_unviewed(found: blockers.ObjectsUnviewed) -> str:
    count = len(found.positions)
    text = ngettext("view %(n)d high-risk object first", "view %(n)d high-risk objects first", count)
    return text % {"n": count}


@_writes(blockers.NotStarter)
def _write_role(found: blockers.NotStarter) -> str:
    if found.is_retry:
        return _("only approvers and operators can retry runs")
    return _("only approvers and operators can start runs")


def _print(fact: object) -> object:
    """Return a fact as texts name it: each of several, and the label of a choice."""
    if isinstance(fact, Choices):
        return str(fact.label)
    return ", ".join(map(str, fact)) if isinstance(fact, tuple) else fact


def describe(found: PlanBlocker) -> str:
    """Return the clause of a blocker."""
    kind = type(found)
    if kind in _WRITERS:
        return _WRITERS[kind](found)
    facts = {name: _print(fact) for name, fact in asdict(found).items()}
    return cast(str, _TEXTS[kind]) % facts if facts else str(_TEXTS[kind])


def describe_all(found: Iterable[PlanBlocker]) -> tuple[str, ...]:
    """Return the clauses of blockers, in order."""
    return tuple(map(describe, found))


def join_clauses(found: Iterable[PlanBlocker]) -> str:
    """Return the clauses of blockers as one text, as a refusal shows them."""
    return "; ".join(map(describe, found))
