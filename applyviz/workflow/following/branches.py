"""Following: switched on by an author for one review and its branch, stopped by a person or by what happened.

Whoever switches it on requests the plans that pushes lead to; their rights are checked each time. A review that was
applied is finished: the next push opens the next review, which follows the branch instead.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz import clock
from applyviz.engine.objects.values import JSONValue
from applyviz.queue import TaskName
from applyviz.records.enums import AuditAction, ReviewState
from applyviz.records.git_enums import FollowEnd
from applyviz.records.models import BranchPush, CommitRange, Following, Plan, Review
from applyviz.records.written_queries import WrittenQuery
from applyviz.sources.bundle import SourceBundle
from applyviz.sources.git.addresses import locate
from applyviz.workflow.approvals import commit_ranges
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access, outbox, row_macs
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.plans import git_sources
from applyviz.workflow.plans.source_runs import earlier_plans
from applyviz.workflow.plans.source_runs.followings import describe_subject, end_following, find_branch

NOT_ONE_BRANCH = gettext_lazy("only a review whose manifests all come from one branch of a repository can follow it")
QUIET = timedelta(seconds=2)
"""How long after a push to wait for the next one: a burst leads to one plan."""


def _select_last(review: int) -> QuerySet[Following]:
    rows = Following.objects.filter(review=review).select_related("by", "ended_by", "successor")
    return rows.order_by(F("ended_at").desc(nulls_first=True), "-pk")[:1]


_LAST = WrittenQuery(_select_last)


def find_following(review: Review) -> Following | None:
    """Return the following of a review in force, else its last one; None if it never followed a branch."""
    return _LAST.find(review.pk)


def find_followed(review: Review) -> str:
    """Return the branch that a review follows now; "" if it follows none."""
    found = find_following(review)
    return "" if found is None or found.ended_at is not None else found.branch


def can_follow(bundle: SourceBundle) -> bool:
    """Return whether a review of these manifests could follow a branch: all of them come from one."""
    facts = git_sources.find_facts(bundle)
    is_one = facts.get("ref_kind") == "branch" and git_sources.count_files(bundle) == len(bundle.files)
    return is_one and git_sources.is_whole(facts)


def describe_obstacle(review: Review) -> str:
    """Return why a review cannot follow a branch; "" when it can."""
    latest = review.latest_plan
    if review.state != ReviewState.OPEN:
        return _("this review is %(state)s") % {"state": review.get_state_display()}
    if review.applied_by:
        return _("another tool applies this review")
    if latest is None or not find_branch(latest.revision):
        return str(NOT_ONE_BRANCH)
    return ""


def start_following(review: Review, *, by: Person, seen: int) -> Following:
    """Follow the branch that the manifests of a review come from; this person requests the plans of later pushes.

    - `seen`: the number of the plan whose branch the person was shown; refused once there is a later one.
    - Raises `NotAllowedError` without the role author, `NotPossibleError` if the manifests are not from one branch, or
      the review follows it already.
    """
    access.require(by, Action.WRITE, access.scopes_of(review))
    with transaction.atomic():
        review = lock_review(review.pk)
        obstacle = describe_obstacle(review)
        latest = review.latest_plan
        if obstacle or latest is None:
            raise NotPossibleError(obstacle)
        if latest.number != seen:
            raise NotPossibleError(_("this plan was superseded by a later plan; open that plan"))
        return _store(review, latest, by=by, first_commit=git_sources.find_commit(latest.revision))


def _find_first(review: Review, location: str, branch: str) -> str:
    """Return the commit at which the review began to follow this branch for the first time; "" if it never did."""
    same = [one for one in earlier_plans.list_followings(review, location) if one.branch == branch]
    return same[-1].first_commit if same else ""


def _store(review: Review, plan: Plan, *, by: Person, first_commit: str) -> Following:
    """Store a following that begins at a plan, in the caller's transaction.

    - Who pushed must be known since `first_commit`, or since an earlier start: a stop in between explains no commit.
    """
    source = git_sources.find_again(plan.revision)
    repository = "" if source is None else source.repository
    location, branch, now = locate(repository), find_branch(plan.revision), clock.now()
    try:
        with transaction.atomic():
            following = Following(
                review=review,
                by=by,
                repository=repository,
                location=location,
                branch=branch,
                first_commit=_find_first(review, location, branch) or first_commit,
                started_at=now,
                commit=git_sources.find_commit(plan.revision),
            )
            row_macs.vouch(following)
            following.save(force_insert=True)
    except IntegrityError:
        raise NotPossibleError(_("this review already follows its branch")) from None
    commit_ranges.record_commits(plan, following)
    detail: dict[str, JSONValue] = {"repository": repository, "branch": branch, "plan": plan.number}
    trail.record(AuditAction.FOLLOWING_STARTED, by=by, about=describe_subject(review), detail=detail)
    return following


def hand_over(following: Following, review: Review, plan: Plan) -> None:
    """Let the next review follow the branch instead, in the caller's transaction."""
    end_following(following, FollowEnd.NEXT_REVIEW, by=None, successor=review)
    _store(review, plan, by=following.by, first_commit=following.first_commit)


def _get_active(review: Review) -> Following:
    found = find_following(review)
    if found is None or found.ended_at is not None:
        raise NotPossibleError(_("this review follows no branch"))
    return found


def stop_following(review: Review, *, by: Person) -> None:
    """Stop following; plans that exist stay, and the people behind their commits stay editors."""
    access.require(by, Action.WRITE, access.scopes_of(review))
    with transaction.atomic():
        review = lock_review(review.pk)
        if not end_following(_get_active(review), FollowEnd.BY_PERSON, by=by):
            raise NotPossibleError(_("this review follows no branch"))


def check_now(review: Review, *, by: Person) -> None:
    """Fetch the branch as soon as possible, as after a push; the plan is requested by who switched following on."""
    access.require(by, Action.WRITE, access.scopes_of(review))
    with transaction.atomic():
        _set_due(Following.objects.filter(pk=_get_active(review).pk), timedelta())


def _set_due(rows: QuerySet[Following], after: timedelta, **values: object) -> None:
    rows.update(due_at=clock.now() + after, attempts=0, **values)
    for pk in rows.values_list("pk", flat=True):
        outbox.post(TaskName.FOLLOW_BRANCH, following_id=pk)


def note_push(push: BranchPush) -> list[int]:
    """Let every review that follows the branch fetch it; return their numbers. In the caller's transaction.

    - The pusher becomes an editor of plans whose commits the push contains.
    """
    same = Q(location=push.location, branch=push.branch)
    rows = Following.objects.filter(same, ended_at=None, review__state__in=_FOLLOWED)
    numbers = sorted(rows.values_list("review__number", flat=True))
    pusher = push.name or push.login.rpartition("/")[2] or push.email
    _set_due(rows, QUIET, pushed_at=push.at, pushed_commit=push.after, pusher=pusher[:200])
    for following in rows.select_related("review"):
        detail = {"branch": push.branch, "commit": push.after, "before": push.before, "pusher": pusher}
        trail.record(AuditAction.PUSH_RECEIVED, by=None, about=describe_subject(following.review), detail=detail)
    for found in CommitRange.objects.filter(same, plan__review__state=ReviewState.OPEN).select_related("plan"):
        commit_ranges.add_pushers(found)
    return numbers


_FOLLOWED = (ReviewState.OPEN, ReviewState.APPLYING, ReviewState.APPLIED)
