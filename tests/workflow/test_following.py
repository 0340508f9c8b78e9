"""A review follows a branch: pushes lead to plans, their people are editors, and what may not go on stops."""

import pytest
from django.contrib.auth.models import User

from applyviz import clock
from applyviz.records.enums import AuditAction, NotificationKind, ReviewState
from applyviz.records.git_enums import FollowEnd, FollowOutcome, PushResult
from applyviz.records.models import (
    ApplyRun,
    AuditEntry,
    Following,
    Notification,
    Plan,
    PushDelivery,
    Review,
)
from applyviz.workflow import notifications, runs
from applyviz.workflow.following import branches, fetching
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError
from applyviz.workflow.ops import recovery
from applyviz.workflow.people import commit_people
from applyviz.workflow.plans import intake, reviews
from tests.builders import open_dangers, take_roles
from tests.following import approve, begin, push, sign, write_body
from tests.stories import config_map

pytestmark = pytest.mark.django_db


def test_push_makes_the_next_plan_requested_by_who_switched_it_on(stage, people):
    review, first = begin(stage)
    second, plan = push(stage, review, first, "carol", a="2")

    assert (plan.number, plan.requested_by, plan.state) == (2, people["alice"], "complete")
    assert plan.revision.provenance["git"]["commit"] == second
    following = Following.objects.get()
    assert (following.outcome, following.commit, following.due_at) == (FollowOutcome.PLANNED, second, None)
    requested = AuditEntry.objects.filter(action=AuditAction.PLAN_REQUESTED).latest("pk")
    assert (requested.actor_name, requested.detail["followed"]) == ("alice", "main")
    received = AuditEntry.objects.get(action=AuditAction.PUSH_RECEIVED)
    assert (received.detail["pusher"], received.detail["commit"], received.review) == ("carol", second, review.number)


def test_equal_bytes_make_no_plan(stage, people):
    review, first = begin(stage)
    files = {"deploy/app.yaml": config_map(a="1").encode(), "other.txt": b"x"}
    second = stage.repository.commit(files, author="Carol <carol@example.org>")
    stage.push(first, second, login="carol")
    stage.follow()

    following = Following.objects.get()
    assert (following.outcome, following.commit) == (FollowOutcome.SAME, second)
    assert review.plans.count() == 1
    entry = AuditEntry.objects.get(action=AuditAction.COMMIT_UNCHANGED)
    assert entry.detail == {"commit": second, "plan": 1}


def test_burst_makes_one_plan(stage, people):
    review, before = begin(stage)
    for number in range(5):
        commit = stage.commit("carol", a=f"burst {number}")
        stage.push(before, commit, login="carol", email="carol@example.org")
        before = commit
    stage.follow()
    plan = stage.calculate(review)

    assert (plan.number, plan.revision.provenance["git"]["commit"]) == (2, before)
    stage.follow()
    assert review.plans.count() == 2
    assert sentences.describe_all(commit_people.find_unknown(plan)) == ()


@pytest.mark.long
def test_push_while_a_plan_is_calculated_waits(stage, people):
    review, first = begin(stage)
    second = stage.commit("carol", a="2")
    stage.push(first, second, login="carol", email="carol@example.org")
    stage.follow()
    third = stage.commit("carol", a="3")
    stage.push(second, third, login="carol", email="carol@example.org")
    stage.follow()
    assert review.plans.count() == 2
    assert Following.objects.get().due_at is not None

    stage.calculate(review)
    stage.follow()
    assert stage.calculate(review).revision.provenance["git"]["commit"] == third


@pytest.mark.long
def test_push_during_a_run_waits_and_opens_the_next_review(stage, people):
    review, first = begin(stage)
    second, plan = push(stage, review, first, "carol", a="2")
    open_dangers(plan, people["bob"])
    run = runs.approve_and_run(plan, by=people["bob"], digest=plan.digest)
    third = stage.commit("dave", a="3")
    stage.push(second, third, login="dave", email="dave@example.org")
    stage.follow()
    assert (Review.objects.count(), review.plans.count()) == (1, 2)

    stage.team.work(run)
    stage.follow()
    following = Following.objects.get(ended_at=None)
    assert following.review.number == 2
    assert Following.objects.get(review=review).end_reason == FollowEnd.NEXT_REVIEW
    plan = stage.calculate(following.review)
    assert (plan.number, plan.requested_by) == (1, people["alice"])
    found = commit_people.find_editors(plan)
    assert (found.range.base, found.range.commits) == (second, [third])
    approve(plan, people["carol"])


@pytest.mark.long
def test_push_after_a_failed_run_makes_the_next_plan(stage, people):
    review, first = begin(stage)
    plan = review.plans.get()
    open_dangers(plan, people["bob"])
    run = runs.approve_and_run(plan, by=people["bob"], digest=plan.digest)
    second = stage.commit("carol", a="2")
    stage.push(first, second, login="carol", email="carol@example.org")
    runs.cancel_run(run, by=people["bob"])
    stage.follow()
    assert review.plans.count() == 1
    stage.team.work(run)
    assert ApplyRun.objects.get().is_finished
    stage.follow()

    assert stage.calculate(review).revision.provenance["git"]["commit"] == second


def test_lost_rights_end_it_with_a_notification(stage, people):
    review, first = begin(stage)
    second = stage.commit("carol", a="2")
    take_roles(people["alice"])
    stage.push(first, second, login="carol")
    stage.follow()

    following = Following.objects.get()
    assert (following.end_reason, review.plans.count()) == (FollowEnd.RIGHTS_LOST, 1)
    assert AuditEntry.objects.get(action=AuditAction.FOLLOWING_ENDED).detail["why"] == "rights-lost"
    notifications.send_pending()
    told = Notification.objects.get(notification_event__event=NotificationKind.FOLLOWING_ATTENTION)
    assert told.person == people["alice"]


@pytest.mark.long
def test_deactivated_account_ends_it(stage, people):
    review, first = begin(stage)
    User.objects.filter(pk=people["alice"].pk).update(is_active=False)
    stage.push(first, stage.commit("carol", a="2"), login="carol")
    stage.follow()

    assert Following.objects.get().end_reason == FollowEnd.RIGHTS_LOST
    assert review.plans.count() == 1


@pytest.mark.long
def test_closed_review_ends_it(stage, people):
    review, _first = begin(stage)
    reviews.close_review(review, by=people["alice"])
    recovery.recover()

    assert Following.objects.get().end_reason == FollowEnd.REVIEW_CLOSED


@pytest.mark.long
def test_branch_that_cannot_be_fetched_is_tried_again_and_then_waits(stage, people, monkeypatch):
    _review, first = begin(stage)
    second = stage.commit("carol", a="2")
    stage.push(first, second, login="carol", email="carol@example.org")
    del stage.repository.repo.refs[b"refs/heads/main"]
    for _attempt in range(fetching.MAX_ATTEMPTS):
        stage.follow()

    following = Following.objects.get()
    assert (following.outcome, following.due_at, following.ended_at) == (FollowOutcome.GAVE_UP, None, None)
    assert "has no branch" in following.detail
    assert AuditEntry.objects.filter(action=AuditAction.FOLLOWING_FAILED).count() == fetching.MAX_ATTEMPTS


@pytest.mark.long
def test_commit_without_objects_is_told_and_not_tried_again(stage, people):
    review, first = begin(stage)
    second = stage.repository.commit({"deploy/app.yaml": b"# nothing"}, author="Carol <carol@example.org>")
    stage.push(first, second, login="carol")
    stage.follow()

    following = Following.objects.get()
    assert (following.outcome, following.due_at) == (FollowOutcome.GAVE_UP, None)
    assert "no manifest with an object" in following.detail
    assert review.state == ReviewState.OPEN


@pytest.mark.long
def test_what_cannot_follow_says_so(stage, people):
    stage.commit("alice", a="1")
    review = stage.open()
    stage.start(review)
    with pytest.raises(NotPossibleError, match="already follows"):
        stage.start(review)
    uploaded = stage.team.plan(config_map(b="1")).review
    with pytest.raises(NotPossibleError, match="all come from one branch"):
        stage.start(uploaded)
    with pytest.raises(NotAllowedError):
        branches.start_following(review, by=people["bob"], seen=1)


def test_stopped_following_ignores_pushes(stage, people):
    review, first = begin(stage)
    branches.stop_following(review, by=people["alice"])
    second = stage.commit("carol", a="2")
    stage.push(first, second, login="carol")
    stage.follow()

    assert review.plans.count() == 1
    assert PushDelivery.objects.get().reason == "no review follows this branch"
    with pytest.raises(NotPossibleError):
        branches.check_now(review, by=people["alice"])


@pytest.mark.long
def test_push_to_another_branch_changes_nothing(stage, people):
    review, _first = begin(stage)
    second = stage.repository.commit({"deploy/app.yaml": config_map(a="2").encode()}, branch="feature")
    stage.push("", second, login="carol", branch="feature")
    stage.follow()

    assert PushDelivery.objects.get().state == PushResult.ACCEPTED
    assert review.plans.count() == 1


@pytest.mark.long
def test_two_workers_make_one_plan(stage, people, monkeypatch):
    review, first = begin(stage)
    second = stage.commit("carol", a="2")
    stage.push(first, second, login="carol", email="carol@example.org")
    Following.objects.update(due_at=clock.now())
    pk = Following.objects.get().pk
    read = intake.read_manifests

    def meanwhile(*args, **kwargs):
        monkeypatch.setattr(fetching, "read_manifests", read)
        fetching.follow_branch(pk)  # the second worker finds it taken
        return read(*args, **kwargs)

    monkeypatch.setattr(fetching, "read_manifests", meanwhile)
    fetching.follow_branch(pk)

    assert Plan.objects.filter(review=review).count() == 2


@pytest.mark.long
def test_worker_that_died_is_replaced(stage, people):
    review, first = begin(stage)
    second = stage.commit("carol", a="2")
    stage.push(first, second, login="carol", email="carol@example.org")
    Following.objects.update(due_at=clock.now(), lease_until=clock.now(), epoch=7)
    stage.follow()

    assert stage.calculate(review).number == 2


def test_body_and_headers_are_forgotten_once_read(stage, people):
    _review, first = begin(stage)
    body = write_body(first, stage.commit("carol", a="2"), login="carol")
    stage.deliver(body, sign(body, stage.webhook.secret))

    assert PushDelivery.objects.get().content is None
