"""Search: numbers, words, tickets, objects and people, and never what the reader may not see."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import Cluster, Review, ReviewScope
from applyviz.records.sealing import Unsealed
from applyviz.workflow.audit import trail
from tests.builders import grant_role, make_cluster_row
from tests.web import builders, reading, rows
from tests.web.measuring import measure_answer

# Processor time of an answer, among so many reviews and objects.
SECONDS, REVIEWS, OBJECTS = 0.15, 3_000, 1_000
TEXTS = ("web", "front", "deployment/front", "ali", "run 1", "ops-47")


def ask(browser, text):
    return reading.lines_of(reading.read(browser, f"/search/?q={text}"))


def update(name):
    change = replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())
    return replace(change, ref=change.ref._replace(name=name))


@pytest.fixture
def shop(alice, bob):
    plan = rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())])
    Review.objects.filter(pk=plan.review_id).update(title="Upgrade the web shop", ticket="OPS-4711")
    run = rows.make_run(plan, bob)
    trail.record(AuditAction.REVIEW_CREATED, by=alice, about=trail.AuditSubject.of_run(run))
    return run


def test_object_is_found_with_the_name_of_its_cluster(as_viewer, shop):
    Cluster.objects.update(name="Shop in Oslo")

    assert "Shop in Oslo" in ask(as_viewer, "frontend")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("%231", "Upgrade the web shop #1"),
        ("1", "Upgrade the web shop #1"),
        ("web shop", "Upgrade the web shop #1"),
        ("WEB SHOP", "Upgrade the web shop #1"),
        ("ops-47", "Upgrade the web shop #1"),
        ("run 1", "Run 1 Upgrade the web shop"),
        ("Run%231", "Run 1 Upgrade the web shop"),
        ("front", "Deployment/frontend"),
        ("deployment/front", "Deployment/frontend"),
        ("Deployment/", "Deployment/frontend"),
        ("ali", "People"),
    ],
)
def test_it_is_found_by(as_viewer, shop, text, told):
    found = ask(as_viewer, text)

    assert told.replace("/", "") in found.replace("/", "").replace("\n", " ").replace(
        "Deployment frontend", "Deploymentfrontend"
    )


@pytest.mark.parametrize("text", ["", "w", "nothing like it", "configmap/front", "end", "run 99"])
def test_nothing_else_is(as_viewer, shop, text):
    found = ask(as_viewer, text)

    assert "Upgrade" not in found
    assert "frontend" not in found


def test_what_a_person_may_not_see_is_found_by_nothing(alice, bob, shop):
    change = builders.build_change()
    hidden = replace(
        change, ref=change.ref._replace(namespace="vault", name="vault-keeper"), operation=Operation.UPDATE
    )
    plan = rows.make_plan(User.objects.create_user("mallory"), [replace(hidden, conflicts=(), risks=())])
    plan.target.cluster = make_cluster_row("vault", credential=Unsealed.of_bytes(b"token"))
    plan.target.save()
    ReviewScope.objects.create(review=plan.review, cluster=plan.target.cluster, namespace="vault")
    Review.objects.filter(pk=plan.review_id).update(title="Open the vault", ticket="SEC-1")
    run = rows.make_run(plan, bob)
    trail.record(AuditAction.REVIEW_CREATED, by=plan.review.author, about=trail.AuditSubject.of_run(run))
    person = User.objects.create_user("part")
    grant_role(person, Role.VIEWER, cluster="own", namespace="shop", is_cluster_scoped=False)
    browser = Client()
    browser.force_login(person)

    asked = (
        "the vault",
        "SEC-1",
        "vault-keeper",
        "deployment/vault",
        "mallory",
        f"run {run.number}",
        str(plan.review.number),
    )

    assert [text for text in asked if "Nothing found" not in ask(browser, text)] == []


def test_outsiders_find_nothing(as_charlie, shop):
    assert as_charlie.get("/search/?q=web").status_code == 404


@pytest.mark.long
def test_number_of_queries_does_not_grow_with_what_is_found(as_viewer, alice, shop, django_assert_num_queries):
    for number in range(30):
        rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE, conflicts=())])
        Review.objects.filter(number=number + 2).update(title=f"Upgrade of the web shop {number}")
    as_viewer.get("/search/?q=web")

    with django_assert_num_queries(9):
        page = as_viewer.get("/search/?q=web").content.decode()

    assert page.count('class="main" href="/reviews/') == 10


def test_text_is_escaped(as_viewer, shop):
    page = as_viewer.get("/search/?q=<script>alert(1)</script>").content.decode()

    assert "<script>alert" not in page


def test_every_page_has_the_field(as_viewer):
    page = as_viewer.get("/").content.decode()

    assert 'action="/search/"' in page
    assert "js/frame/search.js" in page


@pytest.mark.long
def test_answer_is_quick_among_many_reviews_and_objects(as_viewer, alice, shop):
    changes = [update(f"frontend-{n}") for n in range(OBJECTS)]
    rows.make_plan(alice, changes)
    times = {"created_at": rows.NOW, "updated_at": rows.NOW}
    reviews = [
        Review(number=100 + n, title=f"Upgrade {n} of the web shop", author=alice, ticket=f"OPS-{n}", **times)
        for n in range(REVIEWS)
    ]
    Review.objects.bulk_create(reviews)

    taken = {text: measure_answer(as_viewer, f"/search/?q={text}") for text in TEXTS}

    assert {text: seconds for text, seconds in taken.items() if seconds > SECONDS} == {}
