"""What a push leads to: a worker fetches the branch as who switched following on, and requests the next plan.

The task may arrive twice: a following is claimed with a lease. While a plan is calculated or a run applies, nothing is
fetched; the recovery task asks again, so that all pushes of that time lead to one plan. What a push says is never used:
the branch is fetched as it is.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from msgspec import Struct

from applyviz import clock
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.enums import AuditAction, PlanState, ReviewState
from applyviz.records.git_enums import FollowEnd, FollowOutcome
from applyviz.records.models import Following, Plan, Review
from applyviz.workflow.audit import trail
from applyviz.workflow.following import branches
from applyviz.workflow.foundation import access, row_macs
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError, NotVisibleError
from applyviz.workflow.foundation.leases import find_lease_end
from applyviz.workflow.foundation.locks import lock_review
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.plans import charts, git_history, git_sources, reviews
from applyviz.workflow.plans.intake import Intake, ReviewInput, read_manifests
from applyviz.workflow.plans.object_choices import take_back
from applyviz.workflow.plans.source_runs.followings import end_following, is_followed

logger = logging.getLogger(__name__)
MAX_ATTEMPTS = 5
_FIRST_PAUSE = timedelta(seconds=30)


class _BusyError(Exception):
    """A plan is calculated or a run applies: come back later."""


class _NothingThereError(ApplyVizError):
    """A commit that cannot be planned; another attempt finds the same."""


class _FollowClaim(Struct, frozen=True):
    """A following, the push that it answers, and the epoch under which this worker has it."""

    following: Following
    due_at: datetime

    def finish(self, **values: object) -> None:
        """Give it back, with what was found; a push that came meanwhile stays due."""
        mine = Following.objects.filter(pk=self.following.pk, epoch=self.following.epoch, ended_at=None)
        mine.filter(due_at=self.due_at).update(due_at=None)
        mine.update(lease_until=None, checked_at=clock.now(), **values)

    def release(self) -> None:
        """Give it back as it was."""
        Following.objects.filter(pk=self.following.pk, epoch=self.following.epoch).update(lease_until=None)


def _claim(following_id: int) -> _FollowClaim | None:
    now = clock.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    end = find_lease_end(now + timedelta(seconds=120))  # a fetch may take two minutes
    mine = Following.objects.filter(free, pk=following_id, ended_at=None, due_at__lte=now)
    if not mine.update(lease_until=end, epoch=F("epoch") + 1):
        return None
    found = Following.objects.select_related("review", "by").get(pk=following_id)
    return None if found.due_at is None else _FollowClaim(found, found.due_at)


def _find_end(following: Following, review: Review) -> FollowEnd | None:
    """Return why a following must end now; None when it goes on."""
    if row_macs.find_fault(following):
        return FollowEnd.FORGED
    if review.state == ReviewState.CLOSED:
        return FollowEnd.REVIEW_CLOSED
    if not access.can(following.by, Action.WRITE, access.scopes_of(review)):
        return FollowEnd.RIGHTS_LOST
    latest = review.latest_plan
    if latest is not None and not is_followed(latest.revision, following):
        return FollowEnd.OTHER_MANIFESTS
    return None


def _find_latest(review: Review) -> Plan:
    latest = review.latest_plan
    if latest is None or latest.state == PlanState.PLANNING or review.state == ReviewState.APPLYING:
        raise _BusyError
    return latest


def _read(following: Following, latest: Plan) -> Intake:
    source = git_sources.find_again(latest.revision)
    if source is None:
        raise _BusyError  # other manifests came in between, and end it
    source = replace(source, ref=following.branch)
    namespace = options_from_json(latest.options).namespace
    chart = git_sources.find_chart(latest.revision)
    given = ReviewInput(git=source, chart=chart, cluster=latest.target.cluster, namespace=namespace)
    found = read_manifests(given, by=following.by)
    if not found.has_objects:
        raise _NothingThereError("the commit has no manifest with an object that can be read")
    return found


def follow_branch(following_id: int) -> None:
    """Fetch a followed branch and request its next plan; does nothing while another worker does, or nothing is due."""
    claim = _claim(following_id)
    if claim is None:
        return
    following = claim.following
    try:
        reason = _find_end(following, following.review)
        if reason is not None:
            _end(following, reason)
            return
        latest = _find_latest(following.review)
        _take(claim, _read(following, latest), latest)
    except _BusyError:
        claim.release()
    except (NotAllowedError, NotVisibleError):
        _end(following, FollowEnd.RIGHTS_LOST)
    except ApplyVizError as error:
        _fail(claim, str(error), is_final=isinstance(error, _NothingThereError))
    except Exception as error:
        log_unexpected(logger, f"following {following_id} could not be fetched", error)
        _fail(claim, f"an unexpected error stopped it ({type(error).__name__})", is_final=False)


def _end(following: Following, reason: FollowEnd) -> None:
    with transaction.atomic():
        end_following(following, reason, by=None)


def _subject(following: Following) -> trail.AuditSubject:
    return trail.AuditSubject(review=following.review.number)


def _take(claim: _FollowClaim, found: Intake, latest: Plan) -> None:
    """Request the plan of fetched manifests, or record that nothing changed; all in one transaction."""
    following = claim.following
    commit = git_sources.find_facts(found.bundle).get("commit", "")
    with transaction.atomic():
        review = lock_review(following.review_id)
        newest = _find_latest(review)
        if newest.pk != latest.pk:
            raise _BusyError
        reason = _find_end(following, review)
        if reason is not None:
            end_following(following, reason, by=None)
            return
        if reviews.has_same_bytes(latest.revision, found.bundle) and git_history.list_commits(latest.revision):
            detail = {"commit": commit, "plan": latest.number}
            trail.record(AuditAction.COMMIT_UNCHANGED, by=None, about=_subject(following), detail=detail)
            claim.finish(outcome=FollowOutcome.SAME, commit=commit, detail="", attempts=0)
            return
        _request(following, review, latest, found)
        claim.finish(outcome=FollowOutcome.PLANNED, commit=commit, detail="", attempts=0)


def _request(following: Following, review: Review, latest: Plan, found: Intake) -> None:
    """Request the next plan of an open review, or open the next review after one that was applied."""
    options = take_back(options_from_json(latest.options))
    chart = git_sources.find_chart(latest.revision)
    if chart is not None and not chart.applies_hooks:
        options = charts.leave_out_hooks(options, found.files, found.bundle)
    if review.state == ReviewState.OPEN:
        given, branch = found.bundle, following.branch
        reviews.replan_review(review, by=following.by, bundle=given, options=options, followed=branch, seen=latest)
        return
    made = reviews.create_review(
        by=following.by,
        title=review.title,
        reason=review.reason,
        ticket=review.ticket,
        cluster=latest.target.cluster,
        options=options,
        bundle=found.bundle,
        followed=following.branch,
    )
    plan = made.latest_plan
    if plan is not None:
        branches.hand_over(following, made, plan)


def _fail(claim: _FollowClaim, text: str, *, is_final: bool) -> None:
    """Record a failure; try again after 30 s, two minutes and so on, then wait for the next push."""
    following, text = claim.following, as_stored(text[:500])
    attempts = following.attempts + 1
    gives_up = is_final or attempts >= MAX_ATTEMPTS
    pause = _FIRST_PAUSE * 4 ** (attempts - 1)
    with transaction.atomic():
        mine = Following.objects.filter(pk=following.pk, epoch=following.epoch, ended_at=None)
        same = mine.filter(due_at=claim.due_at)
        same.update(due_at=None if gives_up else clock.now() + pause, attempts=attempts)
        outcome = FollowOutcome.GAVE_UP if gives_up else FollowOutcome.FAILED
        if not mine.update(lease_until=None, checked_at=clock.now(), outcome=outcome, detail=text):
            return
        detail = {"branch": following.branch, "error": text, "attempt": attempts, "paused": gives_up}
        trail.record(AuditAction.FOLLOWING_FAILED, by=None, about=_subject(following), detail=detail)


def find_due(*, now: datetime) -> list[int]:
    """Return the followings for which a fetch is due and no worker has it."""
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    due = Following.objects.filter(free, ended_at=None, due_at__lte=now).order_by("due_at")
    return list(due.values_list("pk", flat=True)[:200])


def end_closed() -> None:
    """End what follows for reviews that were closed."""
    closed = Following.objects.filter(ended_at=None, review__state=ReviewState.CLOSED)
    for following in closed.select_related("review", "by")[:100]:
        _end(following, FollowEnd.REVIEW_CLOSED)
