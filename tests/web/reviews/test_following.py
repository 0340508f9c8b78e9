"""The pages of a followed branch: its state on the review, its switches, the form, the API and the gate's fields."""

import html
import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.records.enums import ReviewState, Role, TokenScope
from applyviz.records.models import Following, Plan, Review
from applyviz.workflow.following import branches, push_webhooks
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import reviews
from tests.builders import make_person, set_email
from tests.following import PATH
from tests.stories import config_map

pytestmark = pytest.mark.django_db


def open_as(person):
    client = Client()
    client.force_login(person)
    return client


def read(client, name, *args):
    answer = client.get(reverse(name, args=args))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())))


@pytest.fixture
def alice(stage):
    set_email("alice", "alice@example.org")
    return open_as(stage.team.alice)


def act(client, act, number=1):
    seen = Plan.objects.filter(review__number=number).count()
    return client.post(reverse("reviews:follow-branch", args=[number]), {"act": act, "seen": seen}, follow=True)


def test_branch_of_a_superseded_plan_is_not_followed(stage, alice):
    """The later plan may be of another repository: she would follow pushes that she has not seen."""
    stage.commit("alice", a="1")
    review = stage.open()
    reviews.replan_review(review, by=stage.team.alice, seen=review.latest_plan)

    answer = alice.post(reverse("reviews:follow-branch", args=[1]), {"act": "start", "seen": 1}, follow=True)

    assert "superseded by a later plan" in answer.content.decode()
    assert branches.find_following(review) is None


def test_review_of_a_branch_offers_to_follow_it(stage, alice):
    stage.commit("alice", a="1")
    stage.open()
    assert "Follow branch…" in read(alice, "reviews:show-overview", 1, 1)
    assert "Follow main" in read(alice, "reviews:follow-branch", 1)

    assert "This review now follows main." in act(alice, "start").content.decode()
    page = read(alice, "reviews:follow-branch", 1)
    for text in ("The next push creates the next plan.", "alice since", "none yet", "No push to this branch"):
        assert text in page
    overview = read(alice, "reviews:show-overview", 1, 1)
    assert "Followed branch main" in overview
    assert "Follow branch…" not in overview


def test_page_shows_push_queue_plan_and_editors(stage, alice):
    first = stage.commit("alice", a="1")
    review = stage.open()
    act(alice, "start")
    second = stage.commit("carol", a="2")
    stage.push(first, second, login="carol", email="carol@example.org")
    waiting = alice.get(reverse("reviews:follow-branch", args=[1])).content.decode()
    assert "Push queued" in waiting
    assert 'hx-trigger="every 3s"' in waiting
    fragment = alice.get(reverse("reviews:follow-branch", args=[1]), headers={"HX-Request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<div class="following"')

    stage.follow()
    stage.calculate(review)
    page = read(alice, "reviews:follow-branch", 1)
    for text in (
        f"Created a plan of commit {second[:10]}",
        "No account matches Carol (author, committer of",
        "No plan of this source was approved yet",
        "pusher",
    ):
        assert text in page
    assert "carol@example.org" not in page
    assert "carol@example.org" in read(open_as(stage.admin), "reviews:follow-branch", 1)
    assert "Unknown editors" in read(alice, "reviews:show-overview", 1, 2)
    overview = alice.get(reverse("reviews:show-overview", args=[1, 2])).content.decode()
    assert f"{reverse('reviews:follow-branch', args=[1])}#editors" in overview


def test_page_tells_what_a_queued_push_waits_for(stage, alice):
    first = stage.commit("alice", a="1")
    stage.open()
    act(alice, "start")
    stage.push(first, stage.commit("alice", a="2"), login="alice")
    Review.objects.update(state=ReviewState.APPLYING)
    assert "A push arrived during the run." in read(alice, "reviews:follow-branch", 1)


@pytest.mark.long
def test_page_tells_failures_and_a_missing_webhook(stage, alice):
    first = stage.commit("alice", a="1")
    stage.open()
    act(alice, "start")
    stage.push(first, stage.repository.commit({"deploy/app.yaml": b"# none"}), login="alice")
    stage.follow()
    page = read(alice, "reviews:follow-branch", 1)
    assert "Paused" in page
    assert "no manifest with an object that can be read. The next push, or Check now, tries again." in page

    push_webhooks.remove_webhook(stage.webhook.webhook, by=stage.admin)
    assert "No pushes are reported" in read(alice, "reviews:follow-branch", 1)
    assert "Add a push webhook" not in read(alice, "reviews:follow-branch", 1)
    assert "Add a push webhook" in read(open_as(stage.admin), "reviews:follow-branch", 1)


@pytest.mark.long
def test_same_bytes_are_told_with_their_commit(stage, alice):
    first = stage.commit("alice", a="1")
    stage.open()
    act(alice, "start")
    second = stage.repository.commit({"deploy/app.yaml": config_map(a="1").encode(), "x.txt": b"x"})
    stage.push(first, second, login="alice")
    stage.follow()
    assert f"Nothing changed at commit {second[:10]}" in read(alice, "reviews:follow-branch", 1)


@pytest.mark.long
def test_stop_and_check_are_buttons(stage, alice):
    stage.commit("alice", a="1")
    stage.open()
    act(alice, "start")
    assert "about to be fetched" in act(alice, "check").content.decode()
    assert Following.objects.get().due_at is not None
    assert "no longer follows" in act(alice, "stop").content.decode()
    assert "A person stopped it" in read(alice, "reviews:follow-branch", 1) or "a person stopped it" in read(
        alice, "reviews:follow-branch", 1
    )
    assert "follows no branch" in act(alice, "stop").content.decode()
    assert "Choose what to do." in act(alice, "explode").content.decode()


def test_review_of_files_says_why_it_cannot_follow(stage, alice):
    review = stage.team.plan(config_map(a="1")).review
    assert "Only a review whose manifests all come from one branch" in read(
        alice, "reviews:follow-branch", review.number
    )
    assert "all come from one branch" in act(alice, "start", review.number).content.decode()


def test_viewer_sees_no_switch(stage, alice):
    stage.commit("alice", a="1")
    stage.open()
    page = open_as(make_person("viewer", Role.VIEWER)).get(reverse("reviews:follow-branch", args=[1])).content.decode()
    assert "An author can switch this on." in page
    assert 'value="start"' not in page


def fill(stage, **values):
    form = {"title": "Flags", "cluster": "box", "namespace": "default", "mode": "server", "field_manager": "ci"}
    return {**form, "git_repository": stage.server.url(PATH), "git_path": "deploy", "follow": "on", **values}


def test_form_follows_at_once(stage, alice):
    stage.commit("alice", a="1")
    assert alice.post(reverse("reviews:add-review"), fill(stage)).status_code == 302
    following = Following.objects.get()
    assert (following.branch, following.by.username) == ("main", "alice")


def test_form_refuses_to_follow_more_than_one_branch(stage, alice):
    stage.commit("alice", a="1")
    answer = alice.post(reverse("reviews:add-review"), fill(stage, text=config_map("other", b="1")))
    assert answer.status_code == 422
    assert "All manifests must come from one branch" in answer.content.decode()
    assert not Review.objects.exists()


def test_form_refuses_to_follow_a_commit(stage, alice):
    commit = stage.commit("alice", a="1")
    answer = alice.post(reverse("reviews:add-review"), fill(stage, git_ref=commit))
    assert "All manifests must come from one branch" in answer.content.decode()


def test_api_follows_reads_and_stops(stage):
    commit = stage.commit("alice", a="1")
    text = tokens.make_token(by=stage.team.alice, account=stage.team.alice, name="ci", scope=TokenScope.PLAN, days=7)[1]
    auth = {"Authorization": f"Bearer {text}"}

    def post(name, body, *args):
        address = reverse(name, args=args)
        return Client().post(address, json.dumps(body), content_type="application/json", headers=auth)

    body = {"title": "Flags", "cluster": "box", "git_repository": stage.server.url(PATH), "follow": "true"}
    answer = post("api:add-review", body)
    assert answer.status_code == 201
    assert answer.json()["following"]["branch"] == "main"
    found = Client().get(reverse("api:follow-branch", args=[1]), headers=auth).json()
    assert (found["following"]["is_active"], found["following"]["requested_by"]) == (True, "alice")
    assert len(found["unknown_editors"]) == 1
    assert post("api:follow-branch", {"act": "stop"}, 1).json()["following"]["ended"] == "by-person"
    assert post("api:follow-branch", {"act": "stop"}, 1).status_code == 409
    assert post("api:follow-branch", {"act": "explode"}, 1).status_code == 422
    assert post("api:follow-branch", {"act": "start"}, 1).json()["following"]["is_active"]
    refused = post("api:add-review", {**body, "git_ref": commit})
    assert refused.status_code == 422
    assert refused.json()["error"]["problems"][0]["field"] == "follow"
    alone = {"title": "x", "cluster": "box", "files": [{"name": "a.yaml", "content": config_map(a="1")}]}
    assert post("api:add-review", {**alone, "follow": "true"}).status_code == 422


@pytest.mark.long
def test_finished_review_links_to_the_next_one(stage, alice):
    stage.commit("alice", a="1")
    review = stage.open()
    act(alice, "start")
    other = stage.open(title="Next")
    following = Following.objects.get()
    branches.hand_over(following, other, other.plans.get())
    page = alice.get(reverse("reviews:follow-branch", args=[review.number])).content.decode()
    assert reverse("reviews:show-review", args=[other.number]) in page
