"""The manifests of a repository that changed since the last run: on a page, and beside the plan on the Overview."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.records.models import Plan
from tests.following import Stage, make_session_authority, make_stage  # noqa: F401 - fixtures
from tests.stories import config_map, secret

OLD = config_map(name="old", a="1")


def write(stage: Stage, **files: str) -> str:
    return stage.repository.commit({f"deploy/{name}.yaml": text.encode() for name, text in files.items()})


def read(client: Client, plan: Plan, **headers: str) -> str:
    address = reverse("reviews:show-source-changes", args=[plan.review.number, plan.number])
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode().replace("<wbr>", ""))).split())


@pytest.fixture
def client(stage: Stage) -> Client:
    found = Client()
    found.force_login(stage.team.bob)
    return found


@pytest.fixture
def plans(stage: Stage) -> tuple[Plan, Plan]:
    """The plan of a run, and that of a commit that changes, adds and drops an object and a password."""
    write(stage, app=f"{config_map(a='1', b='same')}---\n{secret(password='one')}", old=OLD)
    first = stage.open().plans.get()
    stage.team.work(stage.team.start(first))
    write(stage, app=f"{config_map(a='2', b='same')}---\n{secret(password='two')}", new=config_map(name="new", c="3"))
    return first, stage.open(title="Next").plans.get()


def test_changed_added_and_dropped_manifests_are_shown_by_file(client: Client, plans: tuple[Plan, Plan]) -> None:
    shown = read(client, plans[1])

    app, new, old = (shown.index(f"deploy/{name}.yaml") for name in ("app", "new", "old"))
    assert app < new < old
    assert re.search(r'a: "? ?1.*a: "? ?2', shown[app:new])
    assert "new in the source" in shown[new:old]
    assert 'c: "3"' in shown[new:old]
    assert "no longer in the source" in shown[old:]


def test_secret_is_masked_and_not_compared(client: Client, plans: tuple[Plan, Plan]) -> None:
    shown = read(client, plans[1])

    assert "Secret/" not in shown
    assert "Masked values look equal here." in shown
    for text in ("two", "dHdv", "b25l"):
        assert text not in shown


def test_overview_loads_it_beside_the_plan(client: Client, plans: tuple[Plan, Plan]) -> None:
    plan = plans[1]
    address = reverse("reviews:show-source-changes", args=[plan.review.number, plan.number])
    overview = client.get(reverse("reviews:show-overview", args=[plan.review.number, plan.number])).content.decode()

    assert f'hx-get="{address}" hx-trigger="load"' in overview
    part = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "new in the source" in part


def test_plan_without_an_earlier_run_has_no_such_page(client: Client, plans: tuple[Plan, Plan]) -> None:
    first = plans[0]

    assert client.get(reverse("reviews:show-source-changes", args=[first.review.number, 1])).status_code == 404


def test_same_manifests_are_said_to_be_the_same(client: Client, stage: Stage, plans: tuple[Plan, Plan]) -> None:
    stage.team.work(stage.team.start(plans[1]))
    again = stage.open(title="Again").plans.get()

    shown = read(client, again)
    assert "The manifests have the same content as in that run." in shown
    assert "Masked values look equal here." in shown
