"""The pages and the API of requested reviewers: asking, changing, withdrawing, and where each of them stands."""

import html
import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.records.enums import Role, TokenScope
from applyviz.records.models import AuditEntry, Plan, Review
from applyviz.web.home.pages import present_home
from applyviz.web.reviews.pages.approvals.reviewers import SEARCHED, SHOWN
from applyviz.workflow import notifications
from applyviz.workflow.approvals import approving, requested_reviewers
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import reviews
from tests.builders import grant_role, make_person, make_policy, take_roles
from tests.shared_stories import share_story
from tests.stories import config_map

pytestmark = pytest.mark.django_db
ADDRESS = "/reviews/1/reviewers/"
OVERVIEW = "/reviews/1/plans/1/overview/"


def begin(team):
    """A plan is ready for its reviewers."""
    team.plan(config_map(a="1"))


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, begin)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


@pytest.fixture
def plan(team):
    return Plan.objects.get()


@pytest.fixture
def carol(db):
    return make_person("carol", Role.APPROVER)


def open_as(person):
    client = Client()
    client.force_login(person)
    return client


def words(answer):
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", answer.content.decode(), flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def read(person, address):
    answer = open_as(person).get(address)
    assert answer.status_code == 200
    return words(answer)


def ask(review, team, *people):
    requested_reviewers.request_reviewers(review, by=team.alice, accounts=[one.pk for one in people])


@pytest.mark.long
def test_author_asks_on_a_page_without_script(team, plan, carol):
    alice = open_as(team.alice)
    assert f'href="{ADDRESS}"' in alice.get(OVERVIEW).content.decode()
    assert "Request reviewers…" in words(alice.get(OVERVIEW))
    page = alice.get(ADDRESS)
    assert page.templates[0].name == "reviews/reviewers.html"
    assert re.findall(r'name="reviewers" value="(\d+)"', page.content.decode()) == [str(team.bob.pk), str(carol.pk)]

    answer = alice.post(ADDRESS, {"act": "save", "reviewers": [carol.pk]}, follow=True)

    assert answer.redirect_chain[0] == ("/reviews/1/overview/", 302)
    assert "Review requested from carol." in words(answer)
    assert "Reviewers ○ carol awaiting review Change…" in words(answer)
    assert f'value="{carol.pk}" checked' in re.sub(r"\s+", " ", alice.get(ADDRESS).content.decode())
    answer = alice.post(ADDRESS, {"act": "save"}, follow=True)
    assert "No reviewers are requested." in words(answer)
    assert Review.objects.get().requested_reviewers == []


def test_sheet_gets_the_form_alone_and_leads_the_whole_page(team, plan):
    alice, part = open_as(team.alice), {"HX-Request": "true"}
    sheet = alice.get(ADDRESS, headers=part).content.decode()
    assert sheet.lstrip().startswith("<form")
    assert 'id="sheet-title"' in sheet

    answer = alice.post(ADDRESS, {"act": "save", "reviewers": [team.bob.pk]}, headers=part)

    assert (answer.status_code, answer["HX-Redirect"]) == (200, "/reviews/1/overview/")


@pytest.mark.parametrize("value", ["0", "4711", "x", "-1", "{charlie}", "{erin}", "{alice}"])
def test_id_that_was_not_offered_is_refused_with_one_sentence(team, plan, value):
    erin = make_person("erin")
    grant_role(erin, Role.APPROVER, namespace="another")
    known = {"charlie": make_person("charlie").pk, "erin": erin.pk, "alice": team.alice.pk}

    answer = open_as(team.alice).post(ADDRESS, {"act": "save", "reviewers": [value.format(**known)]})

    assert answer.status_code == 422
    assert "Choose people from the list." in words(answer)
    assert Review.objects.get().requested_reviewers == []
    assert not {"erin", "charlie"} & set(words(answer).split())


def test_viewer_approver_and_outsider_cannot_ask(team, plan):
    vera, charlie = make_person("vera", Role.VIEWER), make_person("charlie")
    for person, status in ((vera, 403), (team.bob, 403), (charlie, 404)):
        client = open_as(person)
        assert client.get(ADDRESS).status_code == status
        assert client.post(ADDRESS, {"act": "save", "reviewers": [team.bob.pk]}).status_code == status
    assert Review.objects.get().requested_reviewers == []
    for person in (vera, team.bob):
        assert ADDRESS not in open_as(person).get(OVERVIEW).content.decode()


def test_author_of_another_namespace_cannot_ask(team, plan):
    erin = make_person("erin")
    grant_role(erin, Role.AUTHOR, namespace="another")
    assert open_as(erin).get(ADDRESS).status_code == 404


def test_page_says_when_nobody_else_may_approve(team, plan):
    take_roles(team.bob)
    page = read(team.alice, ADDRESS)
    assert "There is no other approver for this review" in page
    assert "Save request" not in page


def test_page_of_a_closed_review_asks_nobody(team, plan):
    reviews.close_review(plan.review, by=team.alice)
    assert "This review is closed" in read(team.alice, ADDRESS)
    answer = open_as(team.alice).post(ADDRESS, {"act": "save", "reviewers": [team.bob.pk]})
    assert answer.status_code == 422
    assert "this review is closed, so no reviewers can be requested" in words(answer)
    assert ADDRESS not in open_as(team.alice).get(OVERVIEW).content.decode()


@pytest.mark.long
def test_a_long_list_is_searched_and_keeps_what_is_checked(team, plan):
    people = [make_person(f"person-{n:02}", Role.APPROVER) for n in range(SHOWN + 4)]
    alice = open_as(team.alice)
    page = alice.get(ADDRESS)
    assert 'type="search"' in page.content.decode()
    assert "5 more people: enter a part of the name." in words(page)

    given = {"act": "find", "name": "-3", "reviewers": [people[2].pk]}
    found = alice.post(ADDRESS, given, headers={"HX-Request": "true"}).content.decode()

    assert re.findall(r"<b>([^<]+)</b>", found) == ["person-02", *(f"person-{n}" for n in range(30, 34))]
    assert re.sub(r"\s+", " ", found).count(" checked>") == 1
    assert Review.objects.get().requested_reviewers == []
    assert alice.post(ADDRESS, given).status_code == 200
    nobody = alice.post(ADDRESS, {"act": "find", "name": "<zoe>"})
    assert "No person named “<zoe>” may approve this review." in words(nobody)


def test_a_short_list_has_no_search(team, plan):
    for n in range(SEARCHED - 1):
        make_person(f"person-{n}", Role.APPROVER)
    assert 'type="search"' not in open_as(team.alice).get(ADDRESS).content.decode().partition("reviewers-form")[2]


@pytest.mark.long
def test_header_overview_panel_and_sheet_name_who_was_asked(team, plan, carol):
    make_policy("two", approvals=2)
    plan = team.plan(config_map(b="1"))
    ask(plan.review, team, team.bob, carol)
    overview = read(team.alice, "/reviews/2/plans/1/overview/")
    assert "0 of 2 · asked: bob, carol" in overview
    assert "Waiting for bob or carol." in overview
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)

    overview = read(team.alice, "/reviews/2/plans/1/overview/")
    assert "1 of 2 · asked: carol" in overview
    assert "Reviewers ✓ bob approved ○ carol awaiting review Change…" in overview
    mine = read(team.bob, "/reviews/2/plans/1/overview/")
    assert "You approved this plan" in mine
    assert "Waiting for carol." in mine
    assert "Your review was requested." in read(carol, "/reviews/2/plans/1/overview/")
    confirm = read(carol, "/reviews/2/plans/1/confirm/")
    assert confirm.count("Requested ✓ bob approved ○ carol awaiting review") == 1
    assert confirm.count("carol awaiting review") == 1


def test_whoever_lost_the_right_is_shown_so_and_can_be_withdrawn(team, plan, carol):
    ask(plan.review, team, team.bob)
    take_roles(team.bob)
    overview = read(team.alice, OVERVIEW)
    assert "! bob can no longer approve" in overview
    assert "asked: bob" not in overview
    assert "bob ! can no longer approve" in read(team.alice, ADDRESS)


def test_nobody_is_awaited_once_the_review_is_over(team, plan, carol):
    ask(plan.review, team, team.bob, carol)
    team.work(team.start(plan))

    overview = read(team.alice, OVERVIEW)

    assert "Reviewers ✓ bob approved · carol did not review" in overview
    assert "Change…" not in overview


def test_more_than_two_are_counted_in_the_header(team, plan, carol):
    others = [make_person(name, Role.APPROVER) for name in ("dave", "frank")]
    ask(plan.review, team, team.bob, carol, *others)
    overview = read(team.alice, OVERVIEW)
    assert "0 of 1 · asked: bob, carol +2" in overview
    assert "Waiting for bob, carol or 2 more." in overview


def test_blockers_end_with_the_full_stop_of_their_sentence(team, plan):
    """A person who may not approve reads what is missing, then for whom the plan waits."""
    ask(plan.review, team, team.bob)
    approving.request_changes(plan, by=team.bob, digest=plan.digest, note="no")
    page = open_as(make_person("vera", Role.VIEWER)).get(OVERVIEW).content.decode()
    why = page.partition('id="why"')[2].partition("</p>")[0]
    assert '<span class="dot">. </span>' not in why
    assert not re.search(r"\s\.", html.unescape(re.sub(r"<[^>]+>", "", why)))
    assert "</a>.</span><span>Only approvers can approve. Waiting for alice." in why


def test_home_lists_what_was_asked_of_you_first(team, plan, carol):
    team.plan(config_map(b="1"))
    ask(plan.review, team, carol)

    rows = present_home(carol).attention
    assert [(row.number, str(row.what), row.is_first) for row in rows] == [
        (1, "asked of you · needs your approval", True),
        (2, "needs your approval", False),
    ]
    assert [row.number for row in present_home(team.bob).attention] == [2, 1]
    waiting = {row.review.number: str(row.next.what) for row in present_home(team.alice).others}
    assert waiting == {1: "requested from carol", 2: "needs approval"}


def test_notification_and_audit_log_name_who_was_asked(team, plan, carol):
    ask(plan.review, team, team.bob)
    ask(Review.objects.get(), team, carol)
    notifications.send_pending()

    assert "alice asks you to review plan 1 of “Change”" in read(carol, "/notifications/")
    history = read(team.alice, "/history/")
    assert "changed the requested reviewers" in history
    assert "requested carol; withdrew bob" in history
    entry = AuditEntry.objects.filter(action="reviewers.changed").latest("pk")
    assert "carol" in read(team.alice, reverse("history:show-entry", args=[entry.pk]))


# --- the API


class Program:
    def __init__(self, person, scope):
        self.text = tokens.make_token(by=person, account=person, name="ci", scope=scope, days=7)[1]
        self.client = Client(headers={"Authorization": f"Bearer {self.text}"})

    def get(self, path="reviews/1/reviewers/"):
        return self.client.get(f"/api/v1/{path}")

    def post(self, body, path="reviews/1/reviewers/"):
        return self.client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


@pytest.mark.long
def test_program_asks_and_reads_who_approved(team, plan, carol):
    program = Program(team.alice, TokenScope.PLAN)
    assert program.get().json() == {"requested_reviewers": [], "can_be_asked": ["bob", "carol"]}

    answer = program.post({"reviewers": ["carol"]})

    awaited = {"name": "carol", "has_approved": False, "can_approve": True}
    assert (answer.status_code, answer.json()["requested_reviewers"]) == (200, [awaited])
    before = program.get("reviews/1/").json()
    assert before["requested_reviewers"] == [awaited]
    approving.approve_plan(plan, by=carol, digest=plan.digest)
    after = program.get("reviews/1/").json()
    assert after["requested_reviewers"] == [{**awaited, "has_approved": True}]
    assert after["mark"] != before["mark"]
    assert program.post({"reviewers": []}).json()["requested_reviewers"] == []


@pytest.mark.parametrize("name", ["charlie", "alice", "nobody", ""])
def test_program_cannot_ask_who_may_not_approve(team, plan, name):
    make_person("charlie")

    answer = Program(team.alice, TokenScope.PLAN).post({"reviewers": [name]})

    problem = answer.json()["error"]["problems"][0]
    assert (answer.status_code, problem["field"]) == (422, "reviewers")
    assert problem["message"] == f"no person named {name} may approve this review"


@pytest.mark.parametrize(
    "body", [{}, {"reviewers": "bob"}, {"reviewers": [1]}, {"reviewers": ["bob"] * 21}, {"x": "y"}]
)
def test_program_that_asks_wrongly_is_told_how(team, plan, body):
    answer = Program(team.alice, TokenScope.PLAN).post(body)
    assert answer.status_code == 422
    assert "reviewers must be a list of at most 20 names" in answer.content.decode()


def test_reading_token_viewer_and_outsider_cannot_ask(team, plan, carol):
    ask(plan.review, team, carol)
    asked = {"requested_reviewers": [{"name": "carol", "has_approved": False, "can_approve": True}], "can_be_asked": []}
    reading = Program(team.alice, TokenScope.READ)
    viewer = Program(make_person("vera", Role.VIEWER), TokenScope.PLAN)
    assert reading.get().status_code == 200
    assert viewer.get().json() == asked
    for program in (reading, viewer):
        assert program.post({"reviewers": ["bob"]}).status_code == 403
    erin = make_person("erin")
    grant_role(erin, Role.AUTHOR, namespace="another")
    outsider = Program(erin, TokenScope.PLAN)
    assert (outsider.get().status_code, outsider.post({"reviewers": []}).status_code) == (404, 404)
    assert Review.objects.get().requested_reviewers == [carol.pk]
