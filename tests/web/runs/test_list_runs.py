"""The list of runs: what it shows, its filters and pages, and who sees which runs."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Role
from applyviz.records.models import ApplyRun, Review, ReviewScope
from applyviz.web.components.pagers import PER_PAGE
from tests.builders import grant_role
from tests.web import builders, reading, rows

URL = reverse("runs:list-runs")
HTMX = {"HX-Request": "true"}


def make_run(author: User, by: User, *, title: str = "Upgrade the shop", state: str = "applied", namespace: str = ""):
    plan = rows.make_plan(author, [replace(builders.build_change(), operation=Operation.UPDATE)], title=title)
    if namespace:
        ReviewScope.objects.create(review=plan.review, cluster=plan.target.cluster, namespace=namespace)
    return rows.make_run(plan, by, state=state)


def titles(browser: Client, **query: str) -> list[str]:
    page = reading.read(browser, f"{URL}?{urlencode(query)}")
    return [reading.text_of(link) for link in reading.find_all(page, "a") if "main" in names(link)]


def names(link) -> list[str]:
    return (reading.attribute(link, "class") or "").split()


def test_a_run_is_listed_with_state_target_and_who_started_it(as_viewer, alice, bob):
    run = make_run(alice, bob, state="failed")

    found = reading.lines_of(reading.read(as_viewer, URL)).replace("\n", " ")

    assert "Upgrade the shop run 1 Shop" in found
    assert "Failed" in found
    assert "1 bob" in found
    assert reverse("runs:show-run", args=[run.number]) in as_viewer.get(URL).content.decode()


def test_an_empty_list_and_one_without_a_match_say_so(as_viewer, alice, bob):
    assert "No runs yet" in as_viewer.get(URL).content.decode()
    make_run(alice, bob)

    assert "No runs match" in as_viewer.get(URL, {"text": "nothing like it"}).content.decode()


def test_a_person_without_access_gets_no_list(as_charlie):
    assert as_charlie.get(URL).status_code == 404


def test_a_person_of_one_namespace_sees_only_its_runs(alice, bob):
    make_run(alice, bob, title="In the shop", namespace="shop")
    make_run(alice, bob, title="In the vault", namespace="vault")
    person = User.objects.create_user("part")
    grant_role(person, Role.VIEWER, cluster="shop", namespace="shop", is_cluster_scoped=False)
    browser = Client()
    browser.force_login(person)

    assert titles(browser) == ["In the shop"]
    for asked in ({"text": "vault"}, {"namespace": "vault"}, {"text": "run 2"}, {"text": "2"}):
        assert titles(browser, **asked) == []


@pytest.fixture
def several(alice, bob):
    """Four runs that differ in one thing each."""
    carol = User.objects.create_user("carol")
    found = [
        make_run(alice, bob, title="First", namespace="shop"),
        make_run(alice, bob, title="Second", state="failed", namespace="vault"),
        make_run(alice, carol, title="Third", namespace="shop"),
        make_run(alice, bob, title="Fourth", namespace="shop"),
    ]
    Review.objects.filter(title="Third").update(ticket="OPS-4711")
    ApplyRun.objects.filter(pk=found[3].pk).update(finished_at=rows.NOW + timedelta(days=3))
    return found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["Fourth", "Third", "Second", "First"]),
        ({"text": "ir"}, ["Third", "First"]),
        ({"text": "ops-47"}, ["Third"]),
        ({"text": "run 2"}, ["Second"]),
        ({"text": "#3"}, ["Third"]),
        ({"state": "failed"}, ["Second"]),
        ({"namespace": "VAULT"}, ["Second"]),
        ({"cluster": "shop", "namespace": "vault"}, ["Second"]),
        ({"person": "Car"}, ["Third"]),
        ({"person": "arol"}, []),
        ({"since": "2026-11-23"}, ["Fourth"]),
        ({"until": "2026-11-20"}, ["Third", "Second", "First"]),
        ({"since": "2026-11-21", "until": "2026-11-22"}, []),
        ({"state": "applied", "person": "bob", "text": "f"}, ["Fourth", "First"]),
        ({"text": "%"}, []),
    ],
)
def test_filters_all_have_to_match(as_viewer, several, query, found):
    assert titles(as_viewer, **query) == found


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"since": "yesterday"}, "Enter a valid date."),
        ({"until": "9999-12-31"}, "2999"),
        ({"since": "2026-11-22", "until": "2026-11-21"}, "must not be before its start"),
        ({"state": "gone"}, "gone is not one of the available choices"),
        ({"cluster": "elsewhere"}, "elsewhere is not one of the available choices"),
    ],
)
def test_an_invalid_filter_is_named_and_filters_nothing(as_viewer, several, query, said):
    page = as_viewer.get(URL, query, headers=HTMX).content.decode()

    assert said in page
    assert "4 runs" in page


def test_a_hidden_cluster_is_no_other_than_one_that_does_not_exist(alice, bob):
    make_run(alice, bob, namespace="shop")
    person = User.objects.create_user("part")
    grant_role(person, Role.VIEWER, cluster="own", namespace="shop", is_cluster_scoped=False)
    browser = Client()
    browser.force_login(person)
    hidden, missing = (browser.get(URL, {"cluster": slug}).content.decode() for slug in ("shop", "shap"))

    assert hidden.replace("shop", "").count("available choices") == missing.replace("shap", "").count(
        "available choices"
    )
    assert "Shop" not in hidden


@pytest.mark.long
def test_pages_keep_the_filters(as_viewer, alice, bob):
    for _n in range(PER_PAGE + 1):
        make_run(alice, bob)

    first = as_viewer.get(URL, {"text": "the shop", "person": "bob"}).content.decode()
    second = titles(as_viewer, text="the shop", person="bob", page="2")

    assert 'href="?page=2&amp;text=the+shop&amp;person=bob" rel="next"' in first
    assert len(second) == 1


def test_the_list_moves_while_a_run_goes_on(as_viewer, alice, bob):
    make_run(alice, bob)
    calm = as_viewer.get(URL).content.decode()
    make_run(alice, bob, state="applying")
    moving = as_viewer.get(URL, {"person": "bob"}, headers=HTMX).content.decode()

    assert "every 5s" not in calm
    assert f'hx-get="{URL}?page=1&amp;person=bob"' in moving
    assert "1 of 1 object" in moving
    assert "<html" not in moving


@pytest.mark.long
def test_navigation_home_and_the_page_of_the_cluster_lead_to_the_list(as_viewer, alice, bob):
    for _n in range(26):
        make_run(alice, bob)

    home = reading.read(as_viewer, "/")
    cluster = as_viewer.get("/clusters/shop/runs/").content.decode()

    assert [reading.text_of(a) for a in reading.find_all(home, "a") if reading.attribute(a, "href") == URL] == [
        "Runs",
        "All runs",
    ]
    assert f'href="{URL}?cluster=shop"' in cluster
    (current,) = reading.find_all(reading.read(as_viewer, URL), "a", has="aria-current")
    assert reading.text_of(current) == "Runs"


@pytest.mark.core(1)
@pytest.mark.parametrize("count", [1, 7])
def test_the_list_asks_the_database_a_fixed_number_of_times(as_viewer, alice, bob, count, django_assert_num_queries):
    for n in range(count):
        make_run(alice, bob, state="applying" if n % 2 else "applied")
    make_run(alice, bob, state="applying")
    as_viewer.get(URL)

    with django_assert_num_queries(7):
        as_viewer.get(URL, {"text": "shop", "namespace": "", "since": "2026-11-01"})
