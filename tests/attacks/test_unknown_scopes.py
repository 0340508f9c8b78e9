"""Until the namespaces of a plan are known, access to the entered namespace does not show the names of its files."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.errors import ClusterError
from applyviz.records.enums import PlanState, Role, TokenScope
from applyviz.records.models import Plan
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import planner, reviews
from tests.attacks.answers import share
from tests.attacks.test_canaries import read_text
from tests.attacks.test_identical_pages import READ, World
from tests.builders import grant_role, make_person
from tests.stories import Killed, Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
HERE: dict[str, object] = {"cluster": "box", "namespace": "default", "is_cluster_scoped": False}
CANARY = "acquire-northwind"
FILES = {
    f"shop/{CANARY}.yaml": "kind: ConfigMap\n  name: [\n",
    f"shop/{CANARY}-plan.yaml": config_map(a="1").replace("metadata:", "metadata:\n  namespace: shop", 1),
}


def stop(team: Team, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> Plan:
    """Return a plan whose manifests were read, and whose worker then met an error."""

    def fail(claim: object) -> None:
        raise error

    monkeypatch.setattr(planner, "_fix_account", fail)
    review = team.review(FILES)
    with suppress(Killed):
        planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def find_shown(plan: Plan, reader: tuple[Client, str], addresses: Iterable[str]) -> list[str]:
    """Return the addresses that show the name of a file."""
    client, token = reader
    given = {"HTTP_AUTHORIZATION": f"Bearer {token}"}
    answers = {address: client.get(address, **given if "/api/" in address else {}) for address in addresses}
    return [address for address, answer in answers.items() if CANARY in read_text(answer)]


def list_pages(plan: Plan) -> list[str]:
    """Return the addresses that name the files of a plan to whom may read them."""
    at = [plan.review.number, plan.number]
    names = ("reviews:show-plan", "reviews:show-record", "api:show-plan")
    return [reverse(name, args=at) for name in names]


def sign_in(name: str, **scope: object) -> tuple[Client, str]:
    person = make_person(name)
    grant_role(person, Role.VIEWER, **scope)
    reader = Client()
    reader.force_login(person)
    return reader, tokens.make_token(by=person, account=person, name="ci", scope=TokenScope.READ, days=7)[1]


STOPPED = [(ClusterError(f"no answer to {CANARY}"), PlanState.FAILED), (Killed(), PlanState.PLANNING)]


@pytest.mark.parametrize(("error", "state"), STOPPED)
def test_names_of_files_wait_for_the_namespaces(
    team: Team, monkeypatch: pytest.MonkeyPatch, error: BaseException, state: PlanState
) -> None:
    plan = stop(team, monkeypatch, error)
    pages = list_pages(plan)
    limited, whole = sign_in("limited", **HERE), sign_in("whole")
    author = Client()
    author.force_login(team.alice)

    assert (plan.state, CANARY in str(plan.problems)) == (state, True)
    assert find_shown(plan, limited, [*pages, reverse("history:list-entries")]) == []
    assert [limited[0].get(page).status_code for page in pages[:2]] == [200, 200]
    shown = read_text(limited[0].get(pages[0]))
    assert "Not all manifests can be read" in shown
    assert ("The plan failed before its namespaces were known" in shown) == (state == PlanState.FAILED)
    assert find_shown(plan, whole, pages) == pages
    assert find_shown(plan, (author, ""), pages[:2]) == pages[:2]


def test_who_re_plans_a_review_brings_no_files_and_reads_no_names(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = stop(team, monkeypatch, ClusterError("no answer"))
    limited = sign_in("limited", **HERE)
    person = User.objects.get(username="limited")
    grant_role(person, Role.AUTHOR, **HERE)

    again = reviews.replan_review(plan.review, by=person)
    planner.make_plan(again.pk)

    again.refresh_from_db()
    assert (again.state, again.requested_by, CANARY in str(again.problems)) == (PlanState.FAILED, person, True)
    assert find_shown(again, limited, list_pages(again)) == []


@pytest.mark.core(1)
def test_no_page_names_a_file_before(team: Team, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    plan = stop(team, monkeypatch, ClusterError(f"no answer to {CANARY}"))
    world = World(team, [plan, plan, plan])
    every = (address for list_addresses in READ.values() for address in list_addresses(world))

    assert find_shown(plan, sign_in("limited", **HERE), share(every, 6, step)) == []


def test_who_views_all_namespaces_of_a_plan_reads_the_names(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    team.wire_up(monkeypatch)
    review = team.review(FILES)
    planner.make_plan(review.plans.get().pk)
    plan = review.plans.get()
    limited, other = sign_in("limited", **HERE), sign_in("other", **HERE)
    grant_role(User.objects.get(username="other"), Role.VIEWER, **{**HERE, "namespace": "shop"})

    assert plan.state == PlanState.COMPLETE, plan.error
    assert find_shown(plan, limited, list_pages(plan)) == []
    assert find_shown(plan, other, list_pages(plan)) == list_pages(plan)
