"""Open plans are compared with live: when, at what cost, what differs, and who sees what of it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.queue import TaskName
from applyviz.records.enums import LiveComparisonState, Role, TokenScope
from applyviz.records.models import LiveComparison, OutboxMessage, Plan
from applyviz.workflow.approvals import approving
from applyviz.workflow.live import plan_comparison
from applyviz.workflow.plans import calculation, planner, reviews
from tests.builders import acknowledge_all, make_person, open_dangers
from tests.shared_stories import share_story
from tests.stories import SETTINGS, config_map, secret
from tests.web.api.test_api import Program

pytestmark = pytest.mark.django_db
SAME, DIFFERS, FAILED = LiveComparisonState.SAME, LiveComparisonState.DIFFERS, LiveComparisonState.FAILED
LOGIN = "/api/v1/namespaces/default/secrets/login"
HTMX = {"HX-Request": "true"}


def play(team):
    team.apply(config_map(a="1"), config_map("other", b="1"))
    team.plan(config_map(a="2"), config_map("other", b="2"), config_map("new", c="1"))


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, play)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


def read(plan, person):
    return planner.get_plan(plan.number, review_number=plan.review.number, for_user=person)


def compare(plan):
    """A minute passes, somebody looks, and a worker compares."""
    LiveComparison.objects.update(requested_at=timezone.now() - timedelta(minutes=2), finished_at=None)
    plan_comparison.request_comparison(plan)
    plan_comparison.compare_plan(LiveComparison.objects.get().pk)


def state_of(plan, person):
    return plan_comparison.read_state(read(plan, person))


@pytest.fixture
def plan(team):
    return Plan.objects.latest("pk")


def test_nothing_differs(team, plan):
    assert state_of(plan, team.bob).state == LiveComparisonState.NOT_YET

    compare(plan)

    state = state_of(plan, team.bob)
    assert (state.state, state.is_running, state.objects, state.error) == (SAME, False, (), "")
    assert state.at is not None


def test_what_differs_is_listed_with_its_fields(team, plan):
    team.edit(SETTINGS, {"data": {"a": "by hand"}})
    team.apply_as("kubectl", config_map("new", c="9"))

    compare(plan)

    state = state_of(plan, team.bob)
    assert state.state == DIFFERS
    told = {one["position"]: one for one in state.objects}
    names = {row.position: row.name for row in plan.changes.all()}
    assert {names[position] for position in told} == {"settings", "new"}
    moved = next(one for position, one in told.items() if names[position] == "settings")
    assert {"path": ".data.a", "reviewed": "1", "live": "by hand"} in moved["fields"]
    assert next(o["how"] for p, o in told.items() if names[p] == "new") == "it was created since it was reviewed"


def test_deleted_object_differs(team, plan):
    from applyviz.engine.objects.exchange import Request  # noqa: PLC0415

    team.send(Request("DELETE", SETTINGS))

    compare(plan)

    assert [one["how"] for one in state_of(plan, team.bob).objects] == ["it was deleted since it was reviewed"]


def test_write_that_changes_no_effect_is_no_difference_and_is_calculated_once(team, plan, monkeypatch):
    team.edit(SETTINGS, {"metadata": {"labels": {"seen": "yes"}}})
    calculated = []
    prepare = calculation.prepare
    monkeypatch.setattr(calculation, "prepare", lambda *a, **k: calculated.append(1) or prepare(*a, **k))

    compare(plan)
    first = state_of(plan, team.bob)
    compare(plan)

    assert (first.state, state_of(plan, team.bob).state, calculated) == (SAME, SAME, [1])


def test_it_lists_once_per_kind_and_namespace_and_reads_no_object_that_did_not_move(team, plan):
    team.wire.identities.clear()

    compare(plan)

    asked = [(r.method, r.path) for _identity, r in team.wire.identities if r.path.count("configmaps")]
    assert asked == [("GET", "/api/v1/namespaces/default/configmaps")]
    assert team.wire.writes == team.wire.writes[:2], "nothing was written since the first run"


def test_at_most_one_request_a_minute(team, plan, move_clock):
    now = timezone.now()
    move_clock(now)
    for _ in range(3):
        plan_comparison.request_comparison(plan)
    asked = OutboxMessage.objects.filter(task=TaskName.COMPARE_PLAN)
    assert asked.count() == 1
    plan_comparison.compare_plan(LiveComparison.objects.get().pk)
    move_clock(now + timedelta(seconds=59))
    plan_comparison.request_comparison(plan)
    assert asked.count() == 1
    move_clock(now + timedelta(seconds=61))
    plan_comparison.request_comparison(plan)
    assert asked.count() == 2
    assert state_of(plan, team.bob).is_running


def test_two_workers_compare_once_and_a_lost_one_is_replaced(team, plan, move_clock):
    now = timezone.now()
    move_clock(now)
    plan_comparison.request_comparison(plan)
    row = LiveComparison.objects.get()
    assert plan_comparison.find_unfinished(now=now + timedelta(seconds=6)) == [row.pk]
    assert plan_comparison._claim(row.pk, now) is not None
    assert plan_comparison._claim(row.pk, now) is None
    assert plan_comparison.find_unfinished(now=now + timedelta(seconds=6)) == []
    move_clock(now + timedelta(minutes=5))
    assert plan_comparison.find_unfinished(now=now + timedelta(minutes=5)) == [row.pk]
    plan_comparison.compare_plan(row.pk)
    assert state_of(plan, team.bob).state == SAME


@pytest.mark.long
def test_closed_review_and_older_plan_are_not_compared(team, plan):
    reviews.replan_review(plan.review, by=team.alice)
    old = read(plan, team.bob)
    plan_comparison.request_comparison(old)
    assert (plan_comparison.read_state(old), LiveComparison.objects.count()) == (None, 0)
    reviews.close_review(plan.review, by=team.alice)
    latest = planner.get_plan(2, review_number=plan.review.number, for_user=team.bob)
    planner.make_plan(latest.pk)
    latest = planner.get_plan(2, review_number=plan.review.number, for_user=team.bob)
    assert plan_comparison.read_state(latest) is None


@pytest.mark.long
def test_cluster_that_does_not_answer_says_why(team, plan, monkeypatch):
    from applyviz.clusters import connect  # noqa: PLC0415
    from applyviz.engine.objects.errors import UnreachableError  # noqa: PLC0415

    def gone(cluster):
        raise UnreachableError("nobody answers at that address")

    monkeypatch.setattr(connect, "open_transport", gone)

    compare(plan)

    state = state_of(plan, team.bob)
    assert (state.state, "nobody answers" in state.error) == (FAILED, True)


@pytest.mark.long
def test_many_changed_objects_are_compared_over_several_minutes(team, monkeypatch):
    texts = [config_map(f"m-{n}", a="1") for n in range(6)]
    team.apply(*texts)
    plan = team.plan(*[config_map(f"m-{n}", a="2") for n in range(6)])
    for n in range(6):
        team.edit(f"/api/v1/namespaces/default/configmaps/m-{n}", {"metadata": {"labels": {"seen": "yes"}}})
    monkeypatch.setattr(plan_comparison, "MOST_CALCULATED", 4)

    compare(plan)
    first = state_of(plan, team.bob)
    compare(plan)

    assert (first.state, first.error) == (FAILED, "2 more objects were written since the review, and are compared next")
    assert state_of(plan, team.bob).state == SAME


@pytest.fixture
def secret_plan(team):
    team.apply(secret(password="one"), config_map(a="1"))
    return team.plan(secret(password="two"), config_map(a="2"))


def browser(person):
    found = Client()
    found.force_login(person)
    return found


def see(plan, person):
    """What the bar says to a person, without what differs from moment to moment."""
    address = reverse("reviews:live-comparison", args=[plan.review.number, plan.number])
    text = browser(person).get(address, headers=HTMX).content.decode()
    head, _mark, rest = text.partition("<time")
    return head + rest.partition("</time>")[2]


def test_whether_a_hidden_secret_moved_is_told_to_nobody_without_the_right(team, secret_plan, move_clock):
    """The same page, byte for byte, in both worlds; who has the right sees it, masked."""
    move_clock(timezone.now())
    vera = make_person("vera", Role.VIEWER)
    compare(secret_plan)
    untouched = see(secret_plan, vera)
    assert "Live is as reviewed." in untouched
    assert "1 object is not shown to you" in untouched
    team.edit(LOGIN, {"stringData": {"password": "canary-7f3a91"}})

    compare(secret_plan)

    assert LiveComparison.objects.get().state == DIFFERS
    assert see(secret_plan, vera).partition("csrf")[0] == untouched.partition("csrf")[0]
    author = see(secret_plan, team.bob)
    assert "Live differs: 1 object changed since this plan." in author
    assert "login" in author
    assert "canary" not in author + str(LiveComparison.objects.values_list())
    assert "Y2FuYXJ5" not in str(LiveComparison.objects.values_list())


def test_bar_on_review_and_approval_offers_a_new_plan(team, plan):
    team.edit(SETTINGS, {"data": {"a": "by hand"}})
    base = [plan.review.number, plan.number]
    address = reverse("reviews:live-comparison", args=base)
    before = browser(team.bob).get(reverse("reviews:show-overview", args=base)).content.decode()
    assert "Not compared with live yet." in before
    assert f'hx-get="{address}?bar=live-bar" hx-trigger="load, every 2s"' in before
    assert LiveComparison.objects.count() == 0, "a page that is only read asks for nothing"
    busy = browser(team.bob).get(address, headers=HTMX).content.decode()
    assert "Comparing…" in busy
    assert "load," not in busy

    plan_comparison.compare_plan(LiveComparison.objects.get().pk)

    page = browser(team.alice).get(reverse("reviews:show-overview", args=base)).content.decode()
    assert "Live differs: 1 object changed since this plan." in page
    assert page.count(f'action="{reverse("reviews:replan", args=[plan.review.number, plan.number])}"') >= 1
    approve = browser(team.bob).get(reverse("reviews:confirm-plan", args=base)).content.decode()
    assert "A run would stop there. An author can re-plan." in approve
    assert "by hand" in approve
    assert browser(team.bob).get(address).status_code == 302, "without script, back to the review"
    assert browser(make_person("charlie")).get(address, headers=HTMX).status_code == 404


def test_open_page_is_given_another_header_once_somebody_acted(team, plan):
    base = [plan.review.number, plan.number]
    address = reverse("reviews:live-comparison", args=base)
    page = browser(team.bob).get(reverse("reviews:show-overview", args=base)).content.decode()
    shown = page.partition('id="shown-header" value="')[2].partition('"')[0]
    asked = f"{address}?bar=live-bar&header={shown}"
    same = browser(team.bob).get(asked, headers=HTMX).content.decode()

    reviews.replan_review(plan.review, by=team.alice, seen=plan)
    other = browser(team.bob).get(asked, headers=HTMX).content.decode()

    assert ("review-header" in same, "hx-trigger" in same) == (False, True)
    assert "Superseded by plan 2" in other
    assert "Go to plan 2" in other
    assert '<div id="live-bar" hidden></div>' in other
    assert "hx-trigger" not in other.partition("<hx-partial")[0], "a plan that is not open is not asked for again"
    assert 'id="overview"' not in other, "other tabs have no Overview"


def test_open_overview_no_longer_offers_a_run_of_a_superseded_plan(team, plan):
    acknowledge_all(plan, team.bob)
    open_dangers(plan, team.bob)
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    base = [plan.review.number, plan.number]
    page = browser(team.bob).get(reverse("reviews:show-overview", args=base)).content.decode()
    shown = page.partition('id="shown-header" value="')[2].partition('"')[0]

    reviews.replan_review(plan.review, by=team.alice, seen=plan)
    asked = f"{reverse('reviews:live-comparison', args=base)}?bar=live-bar&header={shown}&tab=overview"
    other = browser(team.bob).get(asked, headers=HTMX).content.decode()

    assert "Schedule run…" in page
    assert 'id="overview"' in other
    assert "Schedule run…" not in other


def test_approved_plan_is_not_said_to_be_ready_where_live_differs(team, plan):
    acknowledge_all(plan, team.bob)
    open_dangers(plan, team.bob)
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    addresses = [reverse("reviews:show-overview", args=[plan.review.number, plan.number]), reverse("home")]
    compare(plan)
    before = [browser(team.bob).get(one).content.decode() for one in addresses]
    team.edit(SETTINGS, {"data": {"a": "by hand"}})

    compare(plan)

    after = [browser(team.bob).get(one).content.decode() for one in addresses]
    assert ["approved · ready to apply" in page for page in (before[1], after[1])] == [True, False]
    assert "approved · live differs, so a run would stop" in after[1]
    steps = [page.partition('class="track')[2].partition("</ol>")[0] for page in (before[0], after[0])]
    assert [("ready" in one, "live differs" in one) for one in steps] == [(True, False), (False, True)]


def test_plan_differs_for_those_who_may_read_the_secret_that_differs(team, secret_plan):
    team.edit(LOGIN, {"stringData": {"password": "canary-7f3a91"}})
    compare(secret_plan)

    found = [read(secret_plan, person) for person in (team.bob, make_person("vera", Role.VIEWER))]

    assert [plan_comparison.find_differing([one]) for one in found] == [{secret_plan.pk}, frozenset()]


@pytest.mark.long
def test_open_page_without_a_worker_asks_no_cluster(team, plan):
    team.wire.identities.clear()
    browser(team.bob).get(reverse("reviews:live-comparison", args=[plan.review.number, plan.number]), headers=HTMX)
    assert team.wire.identities == []


@pytest.mark.long
def test_program_reads_and_asks_for_a_comparison(team, secret_plan):
    program = Program(team.alice, TokenScope.READ)
    path = f"reviews/{secret_plan.review.number}/"
    assert program.get(path).json()["live"]["state"] == "not-compared"

    told = program.post(f"{path}plans/1/compare/", {}).json()["live"]
    assert (told["is_running"], told["compared_at"]) == (True, None)
    team.edit(SETTINGS, {"data": {"a": "by hand"}})
    compare(secret_plan)

    found = program.get(path).json()
    assert (found["live"]["state"], found["live"]["is_running"]) == ("differs", False)
    assert [field["path"] for one in found["live"]["objects"] for field in one["fields"]] == [".data.a"]
    assert program.post(f"{path}plans/1/compare/", {"odd": 1}).status_code == 422
