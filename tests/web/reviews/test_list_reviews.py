"""The list of reviews: what it shows, its filters and pages, and who sees which reviews."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Role
from applyviz.records.models import Review, ReviewScope
from applyviz.web.components.pagers import PER_PAGE
from tests.builders import grant_role
from tests.web import builders, reading, rows

URL = reverse("reviews:list-reviews")


def test_list_names_every_review_with_what_it_does(as_viewer, plan):
    page = as_viewer.get(URL).content.decode()

    assert "Upgrade the shop" in page
    assert "1 update" in page


@pytest.mark.parametrize(("state", "tone"), [("failed", "remove"), ("applied", "add"), ("closed", "calm")])
def test_state_of_a_review_has_its_shape_and_tone(as_viewer, plan, bob, state, tone):
    if state == "closed":
        Review.objects.update(state=state)
    else:
        rows.make_run(plan, bob, state=state)

    spans = reading.find_all(reading.read(as_viewer, URL), "span", has="class")
    badges = [(reading.attribute(one, "class"), reading.text_of(one).split()[-1]) for one in spans]
    assert (f"badge tone-{tone}", state.capitalize()) in badges


def test_list_asks_again_while_a_review_is_planned_or_applied(as_viewer, alice, bob):
    plan = rows.make_plan(alice, [builders.build_change()])
    calm = as_viewer.get(URL).content.decode()
    rows.make_run(plan, bob, state="applying")
    applying = as_viewer.get(URL, {"text": "shop"}, headers={"HX-Request": "true"}).content.decode()
    rows.make_plan(alice, [], state="planning", title="Another")
    planning = as_viewer.get(URL, {"text": "another"}).content.decode()

    assert "every 5s" not in calm
    assert f'hx-get="{URL}?page=1&amp;text=shop"' in applying
    assert f'hx-get="{URL}?page=1&amp;text=another"' in planning


def test_plan_whose_run_was_stale_leads_to_that_run(as_alice, plan, bob):
    run = rows.make_run(plan, bob, state="stale", outcome="stale")

    page = reading.read(as_alice, reverse("reviews:show-overview", args=[plan.review.number, plan.number]))

    address = reverse("runs:show-run", args=[run.number])
    texts = {reading.text_of(a) for a in reading.find_all(page, "a") if reading.attribute(a, "href") == address}
    assert "This plan is stale" in reading.text_of(page)
    assert (f"View run {run.number}" in texts, "Changes between plans" in texts) == (True, False)


def test_empty_list_says_so(as_viewer):
    assert "No reviews yet" in as_viewer.get(URL).content.decode()


def test_list_is_hidden_from_outsiders(as_charlie):
    assert as_charlie.get(URL).status_code == 404


@pytest.mark.parametrize("count", [1, 3])
def test_list_asks_the_database_a_fixed_number_of_times(as_viewer, alice, count, django_assert_num_queries):
    for _n in range(count):
        rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE)])

    with django_assert_num_queries(15):
        as_viewer.get(URL, {"text": "shop", "namespace": "", "since": "2026-11-01"})


def titles(browser, **query):
    page = reading.read(browser, f"{URL}?{'&'.join(f'{name}={value}' for name, value in query.items())}")
    links = [link for link in reading.find_all(page, "a") if reading.attribute(link, "class") == "main"]
    return [reading.text_of(link) for link in links]


@pytest.fixture
def several(alice):
    """Three reviews that differ in one thing each."""
    for title, author, state, namespace in (
        ("First", alice, "open", "shop"),
        ("Second", alice, "closed", "vault"),
        ("Third", User.objects.create_user("carol"), "applied", "shop"),
    ):
        plan = rows.make_plan(author, [replace(builders.build_change(), operation=Operation.UPDATE)], title=title)
        ReviewScope.objects.create(review=plan.review, cluster=plan.target.cluster, namespace=namespace)
        Review.objects.filter(pk=plan.review_id).update(state=state)
    Review.objects.filter(title="Third").update(ticket="OPS-4711", updated_at=rows.NOW + timedelta(days=3))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["Third", "Second", "First"]),
        ({"text": "IR"}, ["Third", "First"]),
        ({"text": "ops-47"}, ["Third"]),
        ({"text": "2"}, ["Second"]),
        ({"state": "closed"}, ["Second"]),
        ({"namespace": "vault"}, ["Second"]),
        ({"cluster": "shop", "namespace": "shop"}, ["Third", "First"]),
        ({"person": "Car"}, ["Third"]),
        ({"since": "2026-11-21"}, ["Third"]),
        ({"until": "2026-11-20", "state": "open"}, ["First"]),
    ],
)
def test_filters_all_have_to_match(as_viewer, several, query, found):
    assert titles(as_viewer, **query) == found


def test_a_filter_without_a_match_and_an_invalid_one_say_so(as_viewer, several):
    none = as_viewer.get(URL, {"text": "nothing like it"}).content.decode()
    invalid = as_viewer.get(URL, {"until": "soon"}, headers={"HX-Request": "true"}).content.decode()

    assert "No reviews match" in none
    assert ("Enter a valid date." in invalid, "3 reviews" in invalid, "<html" in invalid) == (True, True, False)


def test_a_person_of_one_namespace_finds_only_its_reviews(several):
    person = User.objects.create_user("part")
    grant_role(person, Role.VIEWER, cluster="shop", namespace="shop", is_cluster_scoped=False)
    browser = Client()
    browser.force_login(person)

    assert titles(browser) == ["Third", "First"]
    assert [titles(browser, **asked) for asked in ({"namespace": "vault"}, {"text": "2"}, {"state": "closed"})] == [
        []
    ] * 3


def test_pages_keep_the_filters(as_viewer, alice):
    for _n in range(PER_PAGE + 1):
        rows.make_plan(alice, [])

    first = as_viewer.get(URL, {"text": "the shop"}).content.decode()

    assert 'href="?page=2&amp;text=the+shop" rel="next"' in first
    assert len(titles(as_viewer, text="the+shop", page="2")) == 1
