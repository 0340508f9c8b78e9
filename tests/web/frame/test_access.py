"""Every address, every role, own, other or missing: what is not theirs answers exactly as what is not there."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.records.enums import Role
from applyviz.records.models import Plan, ReviewScope
from applyviz.records.sealing import Unsealed
from tests.architecture.test_web import addresses
from tests.builders import grant_role, make_cluster_row
from tests.web import builders, rows

pytestmark = pytest.mark.django_db

PARTIAL = [role for role in Role if role is not Role.ADMINISTRATOR]
LOOKED_AT = {
    "show-review",
    "show-latest-overview",
    "show-plan",
    "show-overview",
    "show-changes",
    "show-graph",
    "show-addons",
    "show-owners",
    "show-requests",
    "show-activity",
    "show-risks",
    "list-changes",
    "scroll-objects",
    "show-record",
    "show-run",
    "show-result",
    "list-requests",
    "show-cluster",
    "show-objects",
    "show-managers",
    "show-runs",
    "show-settings",
}


def make_review(author: User, by: User, namespace: str, slug: str) -> Plan:
    """A plan, with its run, in one namespace of one cluster."""
    change = builders.build_change()
    plan = rows.make_plan(author, [change_in(change, namespace)])
    cluster = make_cluster_row(slug, credential=Unsealed.of_bytes(b"token"))
    plan.target.cluster = cluster
    plan.target.save()
    ReviewScope.objects.create(review=plan.review, cluster=cluster, namespace=namespace)
    rows.make_run(plan, by)
    return plan


def change_in(change, namespace):
    return replace(
        change, ref=change.ref._replace(namespace=namespace), operation=Operation.UPDATE, conflicts=(), risks=()
    )


@pytest.fixture
def own(alice, bob):
    return make_review(alice, bob, "shop", "own")


@pytest.fixture
def other(alice, bob, own):
    return make_review(alice, bob, "vault", "other")


@pytest.fixture
def partial(db):
    """A browser of somebody with one role, on namespace shop of cluster own alone."""

    def sign_in(role: Role) -> Client:
        person = User.objects.create_user(f"some-{role.name.lower()}")
        grant_role(person, role, cluster="own", namespace="shop", is_cluster_scoped=False)
        browser = Client(raise_request_exception=True)
        browser.force_login(person)
        return browser

    return sign_in


def of_reviews_runs_and_clusters():
    """Routes that lead to something that belongs somewhere, with the name of the address."""
    for route, name in addresses():
        if re.match(r"(reviews|runs)/<int:number>/|clusters/<slug:slug>/", route):
            yield route, name


def fill(route: str, number: str, slug: str) -> str:
    """A path: the thing by its number or slug, and what is below it by what the only plan has."""
    values = {
        "number": number,
        "slug": slug,
        "plan": "1",
        "position": "0",
        "tab": "changes",
        "index": "0",
    }
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: values.get(found[1], "1"), route)


def same_words(body: bytes) -> str:
    """A page without what only tells which number or token was meant."""
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", body.decode())
    return re.sub(r"\d+|nowhere|other", "N", text)


@pytest.mark.core(1)
@pytest.mark.parametrize("role", PARTIAL)
def test_what_is_not_theirs_is_not_there(role, partial, own, other):
    browser = partial(role)
    routes = sorted(set(of_reviews_runs_and_clusters()))

    differing, let_through = {}, {}
    for route, _name in routes:
        for method in ("get", "post"):
            foreign = getattr(browser, method)(fill(route, str(other.review.number), "other"))
            missing = getattr(browser, method)(fill(route, "4711", "nowhere"))
            answers = (foreign.status_code, missing.status_code)
            if answers[0] != answers[1] or same_words(foreign.content) != same_words(missing.content):
                differing[route, method] = answers
            if foreign.status_code not in (403, 404, 405):
                let_through[route, method] = foreign.status_code

    assert len(routes) > 20
    assert (differing, let_through) == ({}, {})


@pytest.mark.core(1)
@pytest.mark.parametrize("role", PARTIAL)
def test_what_is_theirs_can_be_looked_at(role, partial, own, other):
    browser = partial(role)

    statuses = {
        route: browser.get(fill(route, str(own.review.number), "own")).status_code
        for route, name in of_reviews_runs_and_clusters()
        if name in LOOKED_AT
    }

    assert set(statuses.values()) == {200}


@pytest.mark.parametrize("path", ["/reviews/", "/", "/history/", "/clusters/"])
def test_lists_hold_nothing_of_others(path, partial, own, other):
    page = partial(Role.VIEWER).get(path).content.decode()

    assert "vault" not in page
    assert f"/reviews/{other.review.number}/" not in page
    assert "/clusters/other/" not in page


@pytest.mark.parametrize("path", ["/settings/people/", "/settings/people/new/", "/settings/policies/new/"])
@pytest.mark.parametrize("role", PARTIAL)
def test_people_and_policies_are_managed_by_nobody_of_a_part(path, role, partial, own):
    assert partial(role).get(path).status_code in (403, 404)
