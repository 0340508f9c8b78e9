"""New manifests of a review that follows a branch: following ends, unless they come from that branch."""

from __future__ import annotations

import pytest
from django.urls import reverse

from applyviz.records.enums import AuditAction, NotificationKind, Role
from applyviz.records.git_enums import FollowEnd
from applyviz.records.models import AuditEntry, Following, Notification
from applyviz.sources.git.model import GitSource
from applyviz.workflow import notifications
from applyviz.workflow.following import branches
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import reviews
from applyviz.workflow.plans.intake import ReviewInput, read_manifests
from applyviz.workflow.plans.source_runs import followings
from tests.builders import make_person
from tests.following import PATH, begin, make_people, make_session_authority, make_stage  # noqa: F401 - fixtures
from tests.stories import config_map


def replace(stage, review, given, by):
    """Bring other manifests for the next plan, which is calculated."""
    reviews.replan_review(review, by=by, bundle=read_manifests(given, by=by).bundle)
    return stage.calculate(review)


def of_branch(stage, branch="main", path="deploy"):
    return ReviewInput(git=GitSource(stage.server.url(PATH), branch, path))


@pytest.mark.core(1)
@pytest.mark.parametrize("kind", ["files", "commit", "other branch"])
def test_manifests_from_elsewhere_end_it_at_once(stage, people, kind):
    review, first = begin(stage)
    stage.repository.commit({"deploy/app.yaml": config_map(a="3").encode()}, branch="feature")
    given = {
        "files": ReviewInput(text=config_map(b="1")),
        "commit": of_branch(stage, first),
        "other branch": of_branch(stage, "feature"),
    }[kind]
    replace(stage, review, given, people["alice"])

    following = Following.objects.get()
    assert (following.end_reason, following.ended_by) == (FollowEnd.OTHER_MANIFESTS, people["alice"])
    assert AuditEntry.objects.get(action=AuditAction.FOLLOWING_ENDED).detail["why"] == "other-manifests"
    second = stage.commit("carol", a="2")
    stage.push(first, second, login="carol")
    stage.follow()
    assert review.plans.count() == 2
    with pytest.raises(NotPossibleError, match="follows no branch"):
        branches.check_now(review, by=people["alice"])


def test_manifests_of_the_branch_go_on_with_their_path(stage, people):
    files = {"deploy/app.yaml": config_map(a="1").encode(), "other/app.yaml": config_map(b="1").encode()}
    stage.repository.commit(files, author="Alice <alice@example.org>")
    review = stage.open()
    stage.start(review)
    plan = replace(stage, review, of_branch(stage, path="other"), people["alice"])
    assert [file.name for file in plan.revision.files.all()] == ["other/app.yaml"]
    first = stage.repository.repo.head().decode()
    second = stage.repository.commit({**files, "other/app.yaml": config_map(b="2").encode()})

    stage.push(first, second, login="carol")
    stage.follow()

    assert Following.objects.get().ended_at is None
    newest = stage.calculate(review)
    assert (newest.number, [file.name for file in newest.revision.files.all()]) == (3, ["other/app.yaml"])


def test_whoever_switched_it_on_is_told_when_another_person_ends_it(stage, people):
    review, _first = begin(stage)
    replace(stage, review, ReviewInput(text=config_map(b="1")), make_person("erin", Role.AUTHOR))

    notifications.send_pending()
    told = Notification.objects.get(notification_event__event=NotificationKind.FOLLOWING_ATTENTION)
    assert told.person == people["alice"]


def test_review_that_left_its_branch_before_this_rule_ends_at_the_next_push(stage, people, monkeypatch):
    review, first = begin(stage)
    monkeypatch.setattr(followings, "end_left", lambda *_given, **_more: None)
    replace(stage, review, ReviewInput(text=config_map(b="1")), people["alice"])
    stage.push(first, stage.commit("carol", a="2"), login="carol")

    stage.follow()

    assert (Following.objects.get().end_reason, review.plans.count()) == (FollowEnd.OTHER_MANIFESTS, 2)


def test_page_for_new_manifests_says_what_ends(stage, people, client):
    review, _first = begin(stage)
    client.force_login(people["alice"])
    page = reverse("reviews:replace-manifests", args=[review.number])
    told = "This review follows main."
    assert told in client.get(page).content.decode()

    replace(stage, review, ReviewInput(text=config_map(b="1")), people["alice"])

    assert told not in client.get(page).content.decode()
