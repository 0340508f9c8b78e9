"""Whether a review follows a branch, as pages show it: state, last push, last fetch, and the people behind commits."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.records.enums import PlanState, ReviewState
from applyviz.records.git_enums import EditorRole, FollowEnd, FollowOutcome
from applyviz.records.models import BranchPush, Following, Plan, Review
from applyviz.sources.git.model import shorten
from applyviz.web.components.badges import Appearance
from applyviz.web.reviews.pages.sources.provenance import link_commit
from applyviz.workflow.following import branches, push_webhooks
from applyviz.workflow.foundation import access, sentences
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.people import commit_people
from applyviz.workflow.people.commit_people import Editor, PlanEditors
from applyviz.workflow.plans.source_runs import followings

_FOLLOWS = Appearance("✓", gettext_lazy("following"), "add")
_QUEUED = Appearance("▸", gettext_lazy("push queued"), "change")
_RETRIES = Appearance("!", gettext_lazy("retrying"), "warn")
_PAUSED = Appearance("!", gettext_lazy("paused"), "warn")
_ENDED = Appearance("·", gettext_lazy("stopped"), "calm")
_LISTED, _NAMED = 20, 3
Text = str | Promise


class PushRow(Struct, frozen=True):
    """One push that a git host reported."""

    short: str
    url: str
    pusher: str
    at: datetime


class EditorRow(Struct, frozen=True):
    """One person behind the commits of the plan; `accounts` is empty if no account matches."""

    name: str
    roles: str
    commits: tuple[str, ...]
    more: int
    accounts: str
    identity: str


class EditorTable(Struct, frozen=True):
    """The people behind the commits of a plan, since when they count, and what is not known of them."""

    plan_number: int
    since: str
    rows: tuple[EditorRow, ...]
    unknown: tuple[str, ...]


class FollowState(Struct, frozen=True):
    """The state of following, for the card and the page; addresses are empty where this person may not act.

    - `is_busy`: a push waits or is fetched, so that the page asks again.
    """

    following: Following
    style: Appearance
    text: Text
    pushed_commit: str
    pushed_url: str
    checked: Text
    is_busy: bool
    is_active: bool
    next_url: str
    next_number: int
    has_webhook: bool
    url: str


class FollowPage(Struct, frozen=True):
    """The page about following; `offer` is the branch that can be followed, `obstacle` why none can.

    - `plan`: the number of the plan that the branch is of.
    """

    state: FollowState | None
    editors: EditorTable | None
    pushes: tuple[PushRow, ...]
    offer: str
    obstacle: str
    can_act: bool
    can_manage: bool
    plan: int


def _choose_style(following: Following) -> Appearance:
    if following.ended_at is not None:
        return _ENDED
    if following.outcome == FollowOutcome.FAILED and following.due_at is not None:
        return _RETRIES
    if following.due_at is not None:
        return _QUEUED
    return _PAUSED if following.outcome == FollowOutcome.GAVE_UP else _FOLLOWS


def _describe_queue(review: Review) -> Text:
    """Return what a queued push waits for."""
    if review.state == ReviewState.APPLYING:
        return _("A push arrived during the run. The branch is fetched when the run has ended.")
    latest = review.latest_plan
    if latest is not None and latest.state == PlanState.PLANNING:
        return _("A push arrived while a plan is being created. The branch is fetched afterwards.")
    return _("A push arrived. The branch is about to be fetched.")


def _describe(following: Following, style: Appearance) -> Text:
    if following.ended_at is not None:
        return FollowEnd(following.end_reason).label
    if style is _QUEUED:
        return _describe_queue(following.review)
    if style is _RETRIES:
        return _("%(error)s. The branch is fetched again soon.") % {"error": following.detail.rstrip(".")}
    if style is _PAUSED:
        return _("%(error)s. The next push, or Check now, tries again.") % {"error": following.detail.rstrip(".")}
    if following.review.state == ReviewState.APPLIED:
        return _("This review was applied. The next push opens the next review, which then follows the branch.")
    return _("The next push creates the next plan.")


def _describe_check(following: Following) -> Text:
    """Return what the last fetch found."""
    commit = shorten(following.commit)
    if following.outcome == FollowOutcome.SAME:
        return _("nothing changed at commit %(commit)s") % {"commit": commit}
    if following.outcome == FollowOutcome.PLANNED:
        return _("created a plan of commit %(commit)s") % {"commit": commit}
    return _("failed") if following.outcome else ""


def present_state(following: Following, *, for_user: Person) -> FollowState:
    """Return the state of one following."""
    review, style = following.review, _choose_style(following)
    successor = following.successor
    sees_next = successor is not None and access.can(for_user, Action.VIEW, access.scopes_of(successor))
    return FollowState(
        following,
        style=style,
        text=_describe(following, style),
        pushed_commit=shorten(following.pushed_commit),
        pushed_url=link_commit(following.repository, following.pushed_commit) if following.pushed_commit else "",
        checked=_describe_check(following),
        is_busy=style is _QUEUED,
        is_active=following.ended_at is None,
        next_url=reverse("reviews:show-review", args=[successor.number]) if successor and sees_next else "",
        next_number=successor.number if successor and sees_next else 0,
        has_webhook=push_webhooks.has_webhook(following.location),
        url=reverse("reviews:follow-branch", args=[review.number]),
    )


def present_card(plan: Plan, *, for_user: Person) -> FollowState | None:
    """Return the state for the Overview; None for a review that never followed a branch."""
    following = branches.find_following(plan.review)
    return None if following is None else present_state(following, for_user=for_user)


def _present_editor(one: Editor, *, shows_addresses: bool) -> EditorRow:
    commits = tuple(shorten(commit) for commit in one.commits[:_NAMED])
    identity = one.person.email or one.person.login
    return EditorRow(
        name=one.person.name or one.person.login,
        roles=", ".join(str(EditorRole(role).label) for role in one.roles),
        commits=commits,
        more=len(one.commits) - len(commits),
        accounts=", ".join(account.get_username() for account in one.accounts),
        identity=identity if shows_addresses else "",
    )


def _describe_since(found: PlanEditors) -> str:
    base = found.range.base_plan
    if not found.range.base or base is None:
        return _("No plan of this source was approved yet: everybody in the newest commits counts.")
    facts = {"plan": base.number, "review": base.review.number, "commit": shorten(found.range.base)}
    return _("Since plan %(plan)d of review %(review)d, the last approved one, at commit %(commit)s.") % facts


def present_editors(plan: Plan, *, for_user: Person) -> EditorTable | None:
    """Return the people behind the commits of a plan; their addresses only for who may view accounts."""
    found = commit_people.find_editors(plan)
    if found is None:
        return None
    shows = access.can(for_user, Action.VIEW_ACCOUNTS)
    return EditorTable(
        plan_number=plan.number,
        since=_describe_since(found),
        rows=tuple(_present_editor(one, shows_addresses=shows) for one in found.editors),
        unknown=sentences.describe_all(commit_people.find_unknown(plan)),
    )


def _present_pushes(following: Following, pushes: Iterable[BranchPush]) -> tuple[PushRow, ...]:
    return tuple(
        PushRow(
            short=shorten(push.after),
            url=link_commit(following.repository, push.after),
            pusher=push.name or push.login,
            at=push.at,
        )
        for push in pushes
    )


def present_page(review: Review, *, for_user: Person) -> FollowPage:
    """Return the page about following."""
    following, latest = branches.find_following(review), review.latest_plan
    pushes: tuple[PushRow, ...] = ()
    if following is not None:
        same = BranchPush.objects.filter(location=following.location, branch=following.branch)
        pushes = _present_pushes(following, same.filter(at__gte=following.started_at)[:_LISTED])
    is_active = following is not None and following.ended_at is None
    obstacle = "" if is_active else branches.describe_obstacle(review)
    return FollowPage(
        state=None if following is None else present_state(following, for_user=for_user),
        editors=None if latest is None else present_editors(latest, for_user=for_user),
        pushes=pushes,
        offer=followings.find_branch(latest.revision) if latest is not None and not is_active and not obstacle else "",
        obstacle=obstacle,
        can_act=access.can(for_user, Action.WRITE, access.scopes_of(review)),
        can_manage=access.can(for_user, Action.MANAGE),
        plan=0 if latest is None else latest.number,
    )
